// A file that is written whole or not at all.
#pragma once

#include <cstddef>
#include <fstream>
#include <span>
#include <string>
#include <string_view>

namespace clr {

// Written beside its place and renamed by commit(): what was there before stays until then, and whoever has
// it mapped keeps it. Every function throws Error{io} with the system's reason.
class OutputFile {
public:
  explicit OutputFile(std::string path);
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  // Without commit() nothing is left.
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
