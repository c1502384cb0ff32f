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
#include <cstring>
#include <ctime>
#include <limits>
#include <malloc.h>
#include <map>
#include <memory>
#include <new>
#include <random>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using namespace clr;

constexpr int rounds = 7;

// Of this process; the host's other work does not count.
double processor_milliseconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

struct Round {
  double milliseconds = 0;
  std::size_t count = 0, letters = 0;
};

// The round of `work` that takes least. Each has a session and a process of its own, so that nothing of the
// rounds before is of use to it, neither what they know nor their memory, but what the system keeps of the
// file. To open the session is not counted.
template<typename Work>
Round least_of_cold_rounds(const char* path, const Work& work) {
  void* const shared =
      mmap(nullptr, sizeof(Round), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) throw std::bad_alloc();
  const std::unique_ptr<void, void (*)(void*)> room(shared, [](void* at) { munmap(at, sizeof(Round)); });
  Round least{.milliseconds = std::numeric_limits<double>::max()};
  for (int number = 0; number < rounds; ++number) {
    const pid_t child = fork();
    if (child < 0) throw Error(ErrorKind::io, "no process can be made");
    if (child == 0) {
      int status = 1;
      try {
        const auto session = CoreSession::open(path, {});
        Round round;
        const double start = processor_milliseconds();
        work(session->runtime(), round);
        round.milliseconds = processor_milliseconds() - start;
        std::memcpy(shared, &round, sizeof round);
        status = 0;
      } catch (const std::exception&) {
        // The status tells of it.
      }
      _exit(status);
    }
    int status = 0;
    if (waitpid(child, &status, 0) != child || status != 0) throw Error(ErrorKind::io, "a round failed");
    Round round;
    std::memcpy(&round, shared, sizeof round);
    if (round.milliseconds < least.milliseconds) least = round;
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
  std::vector<Address> starts;
  {
    const double opened = processor_milliseconds();
    const auto session = CoreSession::open(path, {});
    if (session->runtime().absence() != nullptr)
      throw Error(ErrorKind::invalid_argument, "no runtime in this core");
    print("open the core and find the runtime", fmt::format("{:.1f} ms", processor_milliseconds() - opened));
    starts = jitted_starts(session->runtime());
  }
  malloc_trim(0); // the rounds begin with no more memory than a new process has
  std::vector<Address> order = starts;
  std::mt19937 random(1);
  std::ranges::shuffle(order, random);

  const auto all_bodies = [&](auto letters_of) {
    return [letters_of](Runtime& cold, Round& round) {
      for (const Address start : jitted_starts(cold)) {
        const CodeLookup found = cold.code()->find(start);
        const auto* block = std::get_if<CodeBlock>(&found);
        if (block == nullptr) continue;
        const std::size_t letters = letters_of(*cold.names(), block->method_desc);
        round.letters += letters;
        round.count += letters == 0 ? 0 : 1;
      }
    };
  };
  const auto print_bodies = [](std::string_view what, const Round& round) {
    print(fmt::format("all {} jitted bodies, {} ({} letters)", round.count, what, round.letters),
          fmt::format("{:.1f} ms", round.milliseconds));
  };
  print_bodies("with both names",
               least_of_cold_rounds(path, all_bodies([](MethodNames& names, Address method) {
                                      const Method named = names.describe(method);
                                      return named.name.size() + named.full_name.size();
                                    })));
  print_bodies("by a walk that keeps nothing, without sizes",
               least_of_cold_rounds(path, [](Runtime& cold, Round& round) {
                 cold.code()->for_each_jitted([&](const JittedBody& body) {
                   const Method named = cold.names()->describe_once(body.method_desc).spell();
                   const std::size_t letters = named.name.size() + named.full_name.size();
                   round.letters += letters;
                   round.count += letters == 0 ? 0 : 1;
                   return true;
                 });
               }));
  {
    const std::size_t count = std::min<std::size_t>(order.size(), 10'000);
    const auto print_lookups = [&](std::string_view what, const auto& is_named) {
      const Round least = least_of_cold_rounds(path, [&](Runtime& cold, Round& round) {
        for (std::size_t i = 0; i < count; ++i) round.count += is_named(cold, order[i]) ? 1 : 0;
      });
      print(fmt::format("cold lookups of {} methods, {}", least.count, what),
            fmt::format("{:.1f} ms, {:.2f} us each", least.milliseconds,
                        1000 * least.milliseconds /
                            static_cast<double>(std::max<std::size_t>(1, least.count))));
    };
    // What ClrMD's figure below is of, but for one more name.
    print_lookups("with names", [](Runtime& cold, Address ip) {
      const CodeLookup found = cold.code()->find(ip);
      const auto* block = std::get_if<CodeBlock>(&found);
      return block != nullptr && !cold.names()->describe(block->method_desc).full_name.empty();
    });
    print_lookups("with all that clrip2md tells but the line", [](Runtime& cold, Address ip) {
      return std::holds_alternative<MethodAnswer>(cold.resolve(ip).result);
    });
  }
  {
    constexpr std::size_t passes = 50;
    const auto session = CoreSession::open(path, {});
    ExecutionManager& code = *session->runtime().code();
    for (const Address start : order) code.find(start);
    std::size_t found = 0;
    double least = std::numeric_limits<double>::max();
    for (int round = 0; round < rounds; ++round) {
      found = 0;
      const double begin = processor_milliseconds();
      for (std::size_t pass = 0; pass < passes; ++pass)
        for (const Address start : order)
          found += std::holds_alternative<CodeBlock>(code.find(start + 1)) ? 1 : 0;
      least = std::min(least, processor_milliseconds() - begin);
    }
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
