// Measures lookups on a core file, all in one run:
//   bench_lookup CORE [ORACLE]
// Warm lookups a second; cold lookups of 10,000 methods, each with its name; all jitted methods with their
// names; and the reads through the page cache that one cold lookup costs. With the oracle of the live tests
// (oracle.dll) the same by ClrMD. Processor time of this process, the least of several rounds; each cold
// round is a new session, and the sessions before it keep their memory. These are figures, not tests, so the
// noise of the machine cannot make anything fail.
#include "core/memory/counting_reader.h"
#include "core/memory/elf_core.h"
#include "core/memory/file_overlay.h"
#include "core/memory/module_list.h"
#include "core/memory/page_cache.h"
#include "core/runtime/core_session.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>
#include <limits>
#include <map>
#include <memory>
#include <random>

namespace {

using namespace clr;

constexpr int rounds = 7;

// Of this process; the host's other work does not count.
double processor_milliseconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

// The least time that `work` takes, each time after `prepare`.
template<typename Prepare, typename Work>
double least_milliseconds(const Prepare& prepare, const Work& work) {
  double least = std::numeric_limits<double>::max();
  for (int round = 0; round < rounds; ++round) {
    prepare();
    const double start = processor_milliseconds();
    work();
    least = std::min(least, processor_milliseconds() - start);
  }
  return least;
}

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

// The same work by ClrMD: `dotnet ORACLE bench --core CORE`.
void print_clrmd(const char* oracle, const char* core) {
  const std::string command = fmt::format("dotnet '{}' bench --core '{}'", oracle, core);
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  if (!pipe) throw Error(ErrorKind::io, "the oracle cannot be run");
  std::map<std::string, std::pair<double, double>> least; // milliseconds, and how many, by what was done
  std::array<char, 4096> line{};
  while (std::fgets(line.data(), line.size(), pipe.get()) != nullptr) {
    const auto row = nlohmann::json::parse(line.data());
    const double milliseconds = row["milliseconds"];
    const auto [known, added] = least.try_emplace(row["what"], milliseconds, row["count"].get<double>());
    if (!added && milliseconds < known->second.first) known->second.first = milliseconds;
  }
  for (const auto& [what, figures] : least)
    print(fmt::format("ClrMD: {} of {}", what, figures.second),
          fmt::format("{:.1f} ms, {:.2f} us each", figures.first, 1000 * figures.first / figures.second));
}

int run(const char* path, const char* oracle) {
  const double opened = processor_milliseconds();
  const auto session = CoreSession::open(path, {});
  if (session->runtime().absence() != nullptr)
    throw Error(ErrorKind::invalid_argument, "no runtime in this core");
  print("open the core and find the runtime", fmt::format("{:.1f} ms", processor_milliseconds() - opened));

  const std::vector<Address> starts = jitted_starts(session->runtime());
  std::vector<Address> order = starts;
  std::mt19937 random(1);
  std::ranges::shuffle(order, random);

  // Nothing of the session before is of use to a new one, but what the system keeps of the file.
  std::vector<std::unique_ptr<CoreSession>> sessions;
  const auto open_again = [&] { sessions.push_back(CoreSession::open(path, {})); };
  {
    std::size_t named = 0, letters = 0;
    const double least = least_milliseconds(open_again, [&] {
      Runtime& cold = sessions.back()->runtime();
      named = letters = 0;
      for (const Address start : jitted_starts(cold)) {
        const CodeLookup found = cold.code()->find(start);
        const auto* block = std::get_if<CodeBlock>(&found);
        if (block == nullptr) continue;
        const Method method = cold.names()->describe(block->method_desc);
        letters += method.full_name.size();
        named += method.name.empty() ? 0 : 1;
      }
    });
    print(fmt::format("all {} jitted methods with names ({} letters)", named, letters),
          fmt::format("{:.1f} ms", least));
  }
  {
    std::size_t named = 0;
    const double least = least_milliseconds(open_again, [&] {
      Runtime& cold = sessions.back()->runtime();
      named = 0;
      cold.code()->for_each_jitted([&](const JittedBody& body) {
        named += cold.names()->describe_once(body.method_desc).spell().full_name.empty() ? 0 : 1;
        return true;
      });
    });
    print(fmt::format("the same {} by a walk that keeps nothing, without sizes", named),
          fmt::format("{:.1f} ms", least));
  }
  {
    const std::size_t count = std::min<std::size_t>(order.size(), 10'000);
    std::size_t found = 0;
    const double least = least_milliseconds(open_again, [&] {
      Runtime& cold = sessions.back()->runtime();
      found = 0;
      for (std::size_t i = 0; i < count; ++i)
        found += std::holds_alternative<MethodAnswer>(cold.resolve(order[i]).result) ? 1 : 0;
    });
    print(fmt::format("cold lookups of {} methods, with names", found),
          fmt::format("{:.1f} ms, {:.2f} us each", least,
                      1000 * least / static_cast<double>(std::max<std::size_t>(1, found))));
  }
  {
    constexpr std::size_t passes = 50;
    ExecutionManager& code = *session->runtime().code();
    for (const Address start : order) code.find(start);
    std::size_t found = 0;
    const double least =
        least_milliseconds([] {},
                           [&] {
                             found = 0;
                             for (std::size_t pass = 0; pass < passes; ++pass)
                               for (const Address start : order)
                                 found += std::holds_alternative<CodeBlock>(code.find(start + 1)) ? 1 : 0;
                           });
    print("warm lookups, random order",
          fmt::format("{:.1f} million a second", static_cast<double>(found) / least / 1000));
  }
  if (!order.empty()) {
    // As a live process is read: page by page.
    const auto core = ElfCore::open(path);
    FileOverlay files(*core);
    CountingReader fills(files);
    PageCache pages(fills);
    Runtime runtime(pages, list_modules(*core, files).modules, core->platform(), nullptr);
    const std::size_t at_start = fills.reads();
    runtime.resolve(order.front());
    const std::size_t cold = fills.reads() - at_start;
    runtime.resolve(order.front() + 1);
    print("page fills: session start", fmt::format("{}", at_start));
    print("page fills: one cold lookup, name included", fmt::format("{}", cold));
    print("page fills: a second address in the same method",
          fmt::format("{}", fills.reads() - at_start - cold));
  }
  if (oracle != nullptr) print_clrmd(oracle, path);
  return 0;
}

} // namespace

int main(int argc, char** argv) {
  if (argc != 2 && argc != 3) {
    std::fputs("usage: bench_lookup CORE [ORACLE]\n", stderr);
    return 2;
  }
  try {
    return run(argv[1], argc == 3 ? argv[2] : nullptr);
  } catch (const std::exception& error) {
    std::fputs(fmt::format("error: {}\n", error.what()).c_str(), stderr);
    return 1;
  }
}
