// A file that is written completely or not at all.
#pragma once

#include <cstddef>
#include <fstream>
#include <span>
#include <string>
#include <string_view>

namespace clr {

// Written beside its place and renamed by commit(). Until then the old file stays, and programs that have it
// mapped keep its content. Every function throws Error{io} with the system's reason.
class OutputFile {
public:
  explicit OutputFile(std::string path);
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  // Removes the new file unless commit() was called.
  ~OutputFile();

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text);
  void commit();

private:
  void check();
  [[noreturn]] void fail();

  std::string path_, partial_;
  std::ofstream stream_;
};

} // namespace clr
