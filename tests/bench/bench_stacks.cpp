// Measures whole stacks on a core file, with the core library alone:
//   bench_stacks CORE [ROUNDS]
// All threads walked and every frame named, minimum of the rounds (default 5): the first time in a session
// (cold) and again (warm), each without and with the text of every frame; the frames alone and with all their
// roots; and the reads of target memory that a frame costs. These are figures, not tests, so the noise of the
// machine cannot make anything fail.
#include "core/memory/counting_reader.h"
#include "core/runtime/core_session.h"
#include "core/runtime/native_names.h"
#include "core/runtime/root_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <limits>

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

struct Count {
  std::size_t frames = 0, managed = 0, characters = 0; // characters: so that no text is optimised away
};

void print(std::string_view what, const std::string& figure) {
  std::fputs(fmt::format("{:<58} {}\n", what, figure).c_str(), stdout);
}

std::string per_frame(double milliseconds, std::size_t frames) {
  return fmt::format("{:.1f} ms, {:.2f} us a frame", milliseconds,
                     1000 * milliseconds / static_cast<double>(std::max<std::size_t>(1, frames)));
}

// A session over `memory` that walks the threads of `core`.
class Stacks {
public:
  Stacks(const ElfCore& core, MemoryReader& memory, const std::vector<LoadedModule>& modules)
      : core_(core), runtime_(memory, modules, core.platform(), &assemblies_), names_(memory, modules, {}),
        reporter_(runtime_, memory, [this](FrameRow& row, Address lookup) { names_.name(row, lookup); }) {}

  Count walk(bool text) {
    Count count;
    for (const ThreadRegisters& registers : core_.threads())
      reporter_.walk(context_of_thread(core_.platform().cpu, registers), registers.os_id,
                     {.runtime_frames = false}, [&](const FrameRow& row) {
                       ++count.frames;
                       count.managed += row.answer ? 1 : 0;
                       if (text) count.characters += text_of(row).size();
                       return true;
                     });
    return count;
  }

  // The frames alone: what the roots cost is beside them.
  std::size_t walk_frames() {
    std::size_t frames = 0;
    for (const ThreadRegisters& registers : core_.threads())
      reporter_.walk_frames(context_of_thread(core_.platform().cpu, registers), registers.os_id,
                            [&](const StackFrame&) { return ++frames != 0; });
    return frames;
  }

  // With the frames and the types of the objects.
  std::size_t roots() {
    if (!roots_) roots_.emplace(runtime_, reporter_);
    std::size_t count = 0;
    for (const ThreadRegisters& registers : core_.threads())
      roots_->walk(context_of_thread(core_.platform().cpu, registers), registers.os_id,
                   [&](const RootRow&) { return ++count != 0; });
    return count;
  }

private:
  const ElfCore& core_;
  HostAssemblies assemblies_{PathMap{}};
  Runtime runtime_;
  NativeNames names_;
  StackReporter reporter_;
  std::optional<RootReporter> roots_;
};

int run(const char* path, int rounds) {
  constexpr double never = std::numeric_limits<double>::max();
  double open = never, cold = never, cold_text = never, warm = never, warm_text = never;
  double cold_roots = never, warm_roots = never, warm_frames = never, cold_frames = never;
  std::size_t root_count = 0;
  Count count;
  for (int round = 0; round < rounds; ++round) {
    const Timer open_timer;
    const auto session = CoreSession::open(path, {});
    open = std::min(open, open_timer.milliseconds());
    {
      PageCache pages(session->memory());
      const Timer cold_timer;
      Stacks(session->core(), pages, session->modules()).walk(true);
      cold_text = std::min(cold_text, cold_timer.milliseconds());
    }
    {
      PageCache pages(session->memory());
      const Timer frames_timer;
      Stacks(session->core(), pages, session->modules()).walk_frames();
      cold_frames = std::min(cold_frames, frames_timer.milliseconds());
    }
    {
      PageCache pages(session->memory());
      const Timer roots_timer;
      Stacks stacks(session->core(), pages, session->modules());
      root_count = stacks.roots();
      cold_roots = std::min(cold_roots, roots_timer.milliseconds());
      stacks.walk_frames();
      const Timer frames_timer;
      stacks.walk_frames();
      warm_frames = std::min(warm_frames, frames_timer.milliseconds());
      const Timer warm_timer;
      stacks.roots();
      warm_roots = std::min(warm_roots, warm_timer.milliseconds());
    }
    PageCache pages(session->memory());
    const Timer cold_timer;
    Stacks stacks(session->core(), pages, session->modules());
    count = stacks.walk(false);
    cold = std::min(cold, cold_timer.milliseconds());
    const Timer warm_timer;
    stacks.walk(false);
    warm = std::min(warm, warm_timer.milliseconds());
    const Timer text_timer;
    stacks.walk(true);
    warm_text = std::min(warm_text, text_timer.milliseconds());
  }
  print("open the core and find the runtime", fmt::format("{:.1f} ms", open));
  print("frames, of which managed", fmt::format("{}, {}", count.frames, count.managed));
  print("all stacks with names and lines, cold session", per_frame(cold, count.frames));
  print("the same again, warm", per_frame(warm, count.frames));
  print("with the text of each frame, cold session", per_frame(cold_text, count.frames));
  print("the same again, warm", per_frame(warm_text, count.frames));
  print("frames alone, cold session", per_frame(cold_frames, count.frames));
  print("the same again, warm", per_frame(warm_frames, count.frames));
  print(fmt::format("{} roots with their frames, cold session", root_count),
        per_frame(cold_roots, count.frames));
  print("the same again, warm", per_frame(warm_roots, count.frames));

  const auto session = CoreSession::open(path, {});
  // As a live process is read: page by page, every page once.
  CountingReader fills(session->memory());
  PageCache pages(fills);
  CountingReader reads(pages);
  Stacks stacks(session->core(), reads, session->modules());
  const auto figure = [&](std::uint64_t reads_before, std::uint64_t fills_before) {
    const auto frames = static_cast<double>(std::max<std::size_t>(1, count.frames));
    return fmt::format("{:.3f} reads, {:.3f} page fills",
                       static_cast<double>(reads.reads() - reads_before) / frames,
                       static_cast<double>(fills.reads() - fills_before) / frames);
  };
  std::uint64_t reads_before = reads.reads(), fills_before = fills.reads();
  stacks.walk(false);
  print("target reads a frame, cold", figure(reads_before, fills_before));
  reads_before = reads.reads();
  fills_before = fills.reads();
  stacks.walk(false);
  print("target reads a frame, warm", figure(reads_before, fills_before));
  return 0;
}

} // namespace

int main(int argc, char** argv) {
  const int rounds = argc == 3 ? std::atoi(argv[2]) : 5;
  if (argc < 2 || argc > 3 || rounds < 1) {
    std::fputs("usage: bench_stacks CORE [ROUNDS]\n", stderr);
    return 2;
  }
  try {
    return run(argv[1], rounds);
  } catch (const std::exception& error) {
    std::fputs(fmt::format("error: {}\n", error.what()).c_str(), stderr);
    return 1;
  }
}
