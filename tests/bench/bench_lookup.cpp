// Measures lookups on a core file, all in one run:
//   bench_lookup CORE
// Warm lookups a second; cold lookups of 10,000 methods, each with its name; all jitted methods with their
// names; and the reads through the page cache that one cold lookup costs. These are figures, not tests, so
// the noise of the machine cannot make anything fail.
#include "core/memory/counting_reader.h"
#include "core/memory/elf_core.h"
#include "core/memory/file_overlay.h"
#include "core/memory/module_list.h"
#include "core/memory/page_cache.h"
#include "core/runtime/runtime.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <random>

namespace {

using namespace clr;

class Timer {
public:
  double milliseconds() const {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start_).count();
  }

private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

struct Session {
  Session(MemoryReader& memory, const std::vector<LoadedModule>& modules, Platform platform)
      : runtime(memory, modules, platform, nullptr) {
    if (runtime.absence() != nullptr) throw Error(ErrorKind::invalid_argument, "no runtime in this core");
  }
  Runtime runtime;
};

std::vector<Address> jitted_starts(Runtime& runtime) {
  std::vector<Address> starts;
  runtime.code()->for_each_jitted([&](const JittedBody& body) {
    starts.push_back(body.start);
    return true;
  });
  return starts;
}

void print(std::string_view what, const std::string& figure) {
  std::fputs(fmt::format("{:<58} {}\n", what, figure).c_str(), stdout);
}

int run(const char* path) {
  const Timer open_timer;
  const auto core = ElfCore::open(path);
  FileOverlay files(*core);
  const ModuleList modules = list_modules(*core, files);
  Session session(files, modules.modules, core->platform());
  print("open the core and find the runtime", fmt::format("{:.1f} ms", open_timer.milliseconds()));

  const std::vector<Address> starts = jitted_starts(session.runtime);
  std::vector<Address> order = starts;
  std::mt19937 random(1);
  std::ranges::shuffle(order, random);

  {
    const Timer timer;
    Session cold(files, modules.modules, core->platform());
    std::size_t named = 0;
    for (const Address start : jitted_starts(cold.runtime)) {
      const CodeLookup found = cold.runtime.code()->find(start);
      const auto* block = std::get_if<CodeBlock>(&found);
      if (block != nullptr && !cold.runtime.names()->describe(block->method_desc).name.empty()) ++named;
    }
    print(fmt::format("all {} jitted methods with names", named),
          fmt::format("{:.1f} ms", timer.milliseconds()));
  }
  {
    const std::size_t count = std::min<std::size_t>(order.size(), 10'000);
    const Timer timer;
    Session cold(files, modules.modules, core->platform());
    std::size_t found = 0;
    for (std::size_t i = 0; i < count; ++i)
      found += std::holds_alternative<MethodAnswer>(cold.runtime.resolve(order[i]).result) ? 1 : 0;
    print(fmt::format("cold lookups of {} methods, with names", found),
          fmt::format("{:.1f} ms, {:.2f} us each", timer.milliseconds(),
                      1000 * timer.milliseconds() / static_cast<double>(std::max<std::size_t>(1, found))));
  }
  {
    ExecutionManager& code = *session.runtime.code();
    for (const Address start : order) code.find(start);
    constexpr std::size_t rounds = 50;
    const Timer timer;
    std::size_t found = 0;
    for (std::size_t round = 0; round < rounds; ++round)
      for (const Address start : order)
        found += std::holds_alternative<CodeBlock>(code.find(start + 1)) ? 1 : 0;
    print("warm lookups, random order",
          fmt::format("{:.1f} million a second", static_cast<double>(found) / timer.milliseconds() / 1000));
  }
  if (!order.empty()) {
    // As a live process is read: page by page.
    CountingReader fills(files);
    PageCache cache(fills);
    Session counted(cache, modules.modules, core->platform());
    const std::size_t at_start = fills.reads();
    counted.runtime.resolve(order.front());
    const std::size_t cold = fills.reads() - at_start;
    counted.runtime.resolve(order.front() + 1);
    print("page fills: session start", fmt::format("{}", at_start));
    print("page fills: one cold lookup, name included", fmt::format("{}", cold));
    print("page fills: a second address in the same method",
          fmt::format("{}", fills.reads() - at_start - cold));
  }
  return 0;
}

} // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: bench_lookup CORE\n", stderr);
    return 2;
  }
  try {
    return run(argv[1]);
  } catch (const std::exception& error) {
    std::fputs(fmt::format("error: {}\n", error.what()).c_str(), stderr);
    return 1;
  }
}
