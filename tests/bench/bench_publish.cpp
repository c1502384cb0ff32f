// Measures the cost of publishing the code of a core: the catalog, and the modules that are written from it.
//   bench_publish CORE [--lines] [--exact]
// Prints methods, modules, bytes, milliseconds of processor time in each phase, reads of the target's memory
// and the growth of the resident memory.
#include "core/dwarf/elf_module_writer.h"
#include "core/memory/counting_reader.h"
#include "core/publish/code_catalog.h"
#include "core/runtime/core_session.h"

#include <fmt/format.h>

#include <cstdio>
#include <ctime>
#include <fstream>
#include <string>
#include <vector>

namespace {

using namespace clr;
// Of this thread: other programs on the machine do not count.
double now_ms() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) / 1e6;
}

// Of this process, in MB.
double resident() {
  std::ifstream in("/proc/self/statm");
  std::size_t total = 0, pages = 0;
  in >> total >> pages;
  return static_cast<double>(pages) * 4096 / 1e6;
}

void report(const char* phase, CodeCatalog& catalog, Runtime& runtime, const CatalogOptions& options) {
  const double before = resident();
  double begin = now_ms();
  const CatalogChange change = catalog.update(runtime, options);
  const double described = now_ms() - begin;
  const double after = resident();
  begin = now_ms();
  std::size_t bytes = 0, codes = 0, rows = 0, lines = 0, sections = 0;
  for (const CatalogModule& module : change.added) bytes += write_elf_module(module.module).size();
  const double written = now_ms() - begin;
  for (const CatalogModule& module : change.added) {
    codes += module.module.code.size();
    sections += module.module.sections.size();
    for (const DebugCode& code : module.module.code) {
      lines += code.lines.size();
      for (const DebugUnwindRange& range : code.unwind) rows += range.rows.size();
    }
  }
  fmt::print("{:<7} {:>6} methods {:>4} modules {:>5} sections {:>6} codes {:>7} unwind rows {:>7} lines  "
             "catalog {:>7.1f} ms  writer {:>6.1f} ms  {:>5.1f} MB  resident {:+.1f} MB\n",
             phase, change.methods, change.added.size(), sections, codes, rows, lines, described, written,
             static_cast<double>(bytes) / 1e6, after - before);
  for (const std::string& text : change.problems) fmt::print("  {}\n", text);
}

int run(const std::vector<std::string>& words) {
  const auto has = [&](std::string_view option) {
    return std::find(words.begin(), words.end(), option) != words.end();
  };
  CatalogOptions options{.lines = has("--lines"), .variables = has("--variables")};
  const auto session = CoreSession::open(words.front(), {});
  CodeCatalog catalog;
  report("first", catalog, session->runtime(), options);
  report("again", catalog, session->runtime(), options);
  catalog.clear();
  report("warm", catalog, session->runtime(), options);
  return 0;
}

} // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.empty()) {
    std::fputs("usage: bench_publish CORE [--lines] [--variables]\n", stderr);
    return 2;
  }
  try {
    return run(words);
  } catch (const std::exception& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return 1;
  }
}
