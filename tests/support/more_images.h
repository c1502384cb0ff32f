// ReadyToRun images beside the recorded ones: whole assemblies of the framework, of every CPU
// (tests/live/images.py makes them).
#pragma once

#include "tests/support/skip.h"

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <vector>

namespace clr::test {

// The images below the folder that CLR_R2R_IMAGES names; nothing, and the test case is skipped, when it names
// none.
inline std::optional<std::vector<std::filesystem::path>> more_r2r_images(std::string_view test_case) {
  const char* folder = std::getenv("CLR_R2R_IMAGES");
  if (folder == nullptr) {
    skip(test_case, "CLR_R2R_IMAGES does not name a folder with ReadyToRun images");
    return std::nullopt;
  }
  std::vector<std::filesystem::path> images;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
    if (entry.path().extension() == ".dll") images.push_back(entry.path());
  return images;
}

// The map that the compiler wrote beside an image.
inline std::filesystem::path compilers_map(std::filesystem::path image) {
  return image.replace_extension(".ni.r2rmap");
}

} // namespace clr::test
