// Seeds that the builders of the tests make: forms that no recorded program has, each of them small.
#pragma once

#include <filesystem>

namespace clr::fuzz {

// Writes FOLDER/TARGET/built-NUMBER.
void write_built_seeds(const std::filesystem::path& folder);

} // namespace clr::fuzz
