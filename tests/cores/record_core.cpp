// Records a minimal core of a core, as `clr savecore` does, without a debugger.
//   record_core [--all-methods] [--heap] [--objects] CORE OUT [SYSROOT]     SYSROOT: a copy of the target's
//   root directory; --objects: what it takes to show the objects that stacks hold, and the static fields of
//   the program's own types
#include "core/objects/inspected_object.h"
#include "core/objects/static_fields.h"
#include "core/report/save_core.h"
#include "core/stack/threads.h"

#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <vector>

namespace {

constexpr unsigned words_of_stack = 1024;

bool is_of_program(const std::string& name) {
  for (const char* const framework : {"System.", "Microsoft.", "Interop", "Internal.", "<"})
    if (name.starts_with(framework)) return false;
  return true;
}

void show_objects(clr::Runtime& runtime, const clr::CoreSession& session) {
  clr::ObjectReader& objects = *runtime.objects();
  const clr::InspectionLimits limits;
  const auto try_to = [](auto&& work) {
    try {
      work();
    } catch (const clr::Error&) {
      // no object, or one that is not whole
    }
  };
  for (const clr::ThreadRegisters& thread : session.core().threads()) {
    const auto sp = clr::context_of_thread(session.core().platform().cpu, thread).sp();
    for (unsigned word = 0; sp && word < words_of_stack; ++word)
      try_to([&] {
        const clr::Address at = runtime.target()->read_pointer(*sp + 8 * word);
        if (at % 8 != 0) return;
        clr::inspect_object(objects, at, limits);
        objects.describe_object(at, limits.text);
      });
  }
  clr::StaticSearch search{.accepts = [](const std::string& name) { return is_of_program(name); },
                           .threads = {},
                           .limits = limits};
  for (const clr::RuntimeThread& thread : clr::read_threads(*runtime.target()).threads)
    search.threads.push_back({.os_id = thread.os_id.value_or(0), .address = thread.address});
  clr::for_each_static(objects, search, [](const clr::StaticRow&) { return true; });
}

} // namespace

int main(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  const bool all_methods = std::erase(words, "--all-methods") != 0;
  const bool heap = std::erase(words, "--heap") != 0;
  const bool shown = std::erase(words, "--objects") != 0;
  if (words.size() != 2 && words.size() != 3) {
    std::fputs("usage: record_core [--all-methods] [--heap] [--objects] CORE OUT [SYSROOT]\n", stderr);
    return 2;
  }
  try {
    clr::PathMap paths;
    if (words.size() == 3) paths.sysroot = words[2];
    const auto session = clr::CoreSession::open(words[0], paths);
    clr::SaveOptions options{.all_methods = all_methods, .heap = heap, .values = shown};
    if (shown)
      options.describe = [&](clr::Runtime& runtime, std::span<const clr::Address>) {
        show_objects(runtime, *session);
      };
    const clr::WrittenCore written = clr::save_core(clr::source_of(*session, paths), words[1], options);
    fmt::print("{}: {} bytes of memory in {} segments\n", words[1], written.memory_size, written.segments);
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return 1;
  }
}
