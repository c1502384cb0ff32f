// Seeds that the builders of the tests make: forms that no recorded program has, each of them small.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string_view>
#include <vector>

namespace clr::fuzz {

class SeedFolder {
public:
  explicit SeedFolder(std::filesystem::path path) : path_(std::move(path)) {}

  // Writes FOLDER/TARGET/built-NUMBER.
  void write(std::string_view target, const std::vector<std::byte>& seed);
  // Behind the byte by which the target chooses.
  void write(std::string_view target, unsigned choice, const std::vector<std::byte>& seed);

private:
  std::filesystem::path path_;
  unsigned number_ = 0;
};

// All of them.
void write_built_seeds(const std::filesystem::path& folder);
// Those of native modules, cores and PE files.
void write_module_seeds(SeedFolder& folder);
// Those of native unwinding and of instructions.
void write_call_frames(SeedFolder& folder);

} // namespace clr::fuzz
