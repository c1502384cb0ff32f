// Records a minimal core of a core, as `clr savecore` does, without a debugger.
//   record_core [--all-methods] [--heap] [--values] [--objects] [--pdb=FILE] [--LIMIT=N]... CORE OUT
//   [SYSROOT]
// SYSROOT: a copy of the target's root directory; --values: the objects that stacks
// hold; --objects: also what it takes to show them, and the static fields of the program's own types; LIMIT:
// pdbs, stack, stacks, frames, objects or object, of SaveLimits. Prints what a limit has left out.
//   record_core --pdbs-of-target=N CORE     prints why the PDBs that the core holds are not read
#include "core/objects/inspected_object.h"
#include "core/objects/static_fields.h"
#include "core/report/save_core.h"
#include "core/runtime/source_lines.h"
#include "core/stack/threads.h"

#include <fmt/format.h>

#include <cstdio>
#include <optional>
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

// The value of "--NAME=VALUE", which is taken out of `words`.
std::optional<std::string> take(std::vector<std::string>& words, const std::string& name) {
  const std::string begin = "--" + name + "=";
  for (auto word = words.begin(); word != words.end(); ++word)
    if (word->starts_with(begin)) {
      std::string value = word->substr(begin.size());
      words.erase(word);
      return value;
    }
  return std::nullopt;
}

template<typename Number>
void take_number(std::vector<std::string>& words, const std::string& name, Number& into) {
  if (const auto value = take(words, name)) into = static_cast<Number>(std::stoull(*value));
}

int tell_pdbs(const std::string& core, std::uint64_t most) {
  const auto session = clr::CoreSession::open(core, {});
  clr::SourceLines& lines = *session->runtime().lines();
  lines.set_recorded(clr::RecordedPdbs(session->core()), most);
  session->runtime().names()->modules();
  for (const clr::Address module : session->runtime().names()->module_addresses()) lines.pdb_of(module);
  for (const clr::SourceLines::Symbols& found : lines.symbols())
    fmt::print("{}: {}\n", found.module, found.path.empty() ? found.problem : found.path);
  return 0;
}

} // namespace

int main(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  const bool all_methods = std::erase(words, "--all-methods") != 0;
  const bool heap = std::erase(words, "--heap") != 0;
  const bool shown = std::erase(words, "--objects") != 0;
  const bool values = std::erase(words, "--values") != 0 || shown;
  try {
    const auto of_target = take(words, "pdbs-of-target"), pdb = take(words, "pdb");
    if (of_target && words.size() == 1) return tell_pdbs(words[0], std::stoull(*of_target));
    clr::SaveLimits limits;
    take_number(words, "pdbs", limits.pdbs);
    take_number(words, "stack", limits.stack);
    take_number(words, "stacks", limits.stacks);
    take_number(words, "frames", limits.frames);
    take_number(words, "objects", limits.objects);
    take_number(words, "object", limits.object);
    take_number(words, "steps", limits.steps);
    if (words.size() != 2 && words.size() != 3) {
      std::fputs(
          "usage: record_core [--all-methods] [--heap] [--values] [--objects] [--pdb=FILE] [--LIMIT=N]... "
          "CORE OUT [SYSROOT]\n",
          stderr);
      return 2;
    }
    clr::PathMap paths;
    if (words.size() == 3) paths.sysroot = words[2];
    const auto session = clr::CoreSession::open(words[0], paths);
    clr::SaveOptions options{.all_methods = all_methods, .heap = heap, .values = values, .limits = limits};
    if (shown)
      options.describe = [&](clr::Runtime& runtime, std::span<const clr::Address>) {
        show_objects(runtime, *session);
      };
    clr::SaveSource source = clr::source_of(*session, paths);
    if (pdb) source.symbols.places.push_back(*pdb);
    const clr::SavedCore written = clr::save_core(source, words[1], options);
    fmt::print("{}: {} bytes of memory in {} segments\n", words[1], written.memory_size, written.segments);
    for (const std::string& what : written.left_out) fmt::print("{}\n", what);
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return 1;
  }
}
