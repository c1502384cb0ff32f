// Records a minimal core of a core, as `clr savecore --all-methods` does, without a debugger.
//   record_core CORE OUT
#include "core/runtime/save_core.h"

#include <fmt/format.h>

#include <cstdio>

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("usage: record_core CORE OUT\n", stderr);
    return 2;
  }
  try {
    const auto session = clr::CoreSession::open(argv[1], {});
    const clr::WrittenCore written =
        clr::save_core(clr::source_of(*session, {}), argv[2], {.all_methods = true});
    fmt::print("{}: {} bytes of memory in {} segments\n", argv[2], written.memory_size, written.segments);
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return 1;
  }
}
