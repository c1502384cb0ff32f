// Records a minimal core of a core, as `clr savecore` does, without a debugger.
//   record_core [--all-methods] [--heap] CORE OUT [SYSROOT]     SYSROOT: a copy of the target's root
//   directory
#include "core/report/save_core.h"

#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <vector>

int main(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  const bool all_methods = std::erase(words, "--all-methods") != 0;
  const bool heap = std::erase(words, "--heap") != 0;
  if (words.size() != 2 && words.size() != 3) {
    std::fputs("usage: record_core [--all-methods] [--heap] CORE OUT [SYSROOT]\n", stderr);
    return 2;
  }
  try {
    clr::PathMap paths;
    if (words.size() == 3) paths.sysroot = words[2];
    const auto session = clr::CoreSession::open(words[0], paths);
    const clr::WrittenCore written =
        clr::save_core(clr::source_of(*session, paths), words[1], {.all_methods = all_methods, .heap = heap});
    fmt::print("{}: {} bytes of memory in {} segments\n", words[1], written.memory_size, written.segments);
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return 1;
  }
}
