// Seeds for the fuzz targets from a recorded core: the debug info and the unwind data of the methods on its
// stacks, its descriptor, and cores of a few pages.
//   seed_tool CORE FOLDER NAME        writes FOLDER/TARGET/NAME-...; tests/fuzz/make_corpus.py chooses among
//   them seed_tool --built FOLDER          the same of what the builders of the tests make seed_tool
//   --symbols FILE OUT      writes the .sym file of a file of symbols
#include "core/debuginfo/debug_info_reader.h"
#include "core/isa/arm64/unwind.h"
#include "core/isa/x64/unwind.h"
#include "core/memory/core_writer.h"
#include "core/runtime/core_session.h"
#include "core/runtime/stack_reporter.h"
#include "core/symbols/load_symbols.h"
#include "tests/fuzz/built_seeds.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

namespace {

using namespace clr;
using Bytes = std::vector<std::byte>;

// Keeps what was read last.
class LastRead final : public MemoryReader {
public:
  explicit LastRead(MemoryReader& next) : next_(&next) {}
  std::size_t read_some(Address address, std::span<std::byte> out) override {
    const std::size_t got = next_->read_some(address, out);
    bytes.assign(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(got));
    return got;
  }
  Bytes bytes;

private:
  MemoryReader* next_;
};

class Seeds {
public:
  Seeds(CoreSession& session, std::filesystem::path folder, std::string name)
      : session_(session), folder_(std::move(folder)), name_(std::move(name)) {}

  void write_all() {
    LastRead memory(session_.memory());
    Runtime runtime(memory, session_.modules(), session_.core().platform(), nullptr);
    ExecutionManager& code = *runtime.code();
    DebugInfoReader reader(code);
    for (const Address ip : managed_addresses()) {
      const CodeLookup found = code.find(ip);
      const auto* block = std::get_if<CodeBlock>(&found);
      if (block == nullptr) continue;
      try {
        debug_info(reader, memory, *block);
        unwind(code, memory, *block);
      } catch (const Error&) {
        // A minimal core lacks the pages that no command read.
      }
    }
    small_core();
  }

private:
  void write(std::string_view target, std::span<const std::byte> bytes) {
    const std::filesystem::path file = folder_ / target / fmt::format("{}-{}", name_, number_++);
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  }

  std::set<Address> managed_addresses() {
    std::set<Address> found;
    StackReporter reporter(session_.runtime(), session_.memory(), [](FrameRow&, Address) {});
    for (const ThreadRegisters& thread : session_.core().threads())
      reporter.walk(context_of_thread(session_.core().platform().cpu, thread), thread.os_id, {},
                    [&](const FrameRow& row) {
                      found.insert(row.ip);
                      return true;
                    });
    return found;
  }

  // The part that was read last, behind the byte that chooses its coding.
  void debug_info(DebugInfoReader& reader, const LastRead& memory, const CodeBlock& block) {
    const auto keep = [&](unsigned choice) {
      Bytes seed{static_cast<std::byte>(choice)};
      seed.insert(seed.end(), memory.bytes.begin(), memory.bytes.end());
      write("debug_info", seed);
    };
    // Both cores are of .NET 10, jitted and ReadyToRun code alike.
    const DebugInfoFormat format = debug_info_format(16);
    if (!reader.il_map(block)->stretches().empty()) keep(static_cast<unsigned>(format.bounds));
    if (!reader.variables(block).empty()) keep(0x40 | static_cast<unsigned>(format.variables));
  }

  // RUNTIME_FUNCTION, unwind information and code as the target has them, moved together: the code begins
  // at 64.
  void unwind(ExecutionManager& code, MemoryReader& memory, const CodeBlock& block) {
    constexpr std::uint32_t info_at = 16, code_at = 64, code_bytes = 64;
    const Address function = code.unwind_info(block), base = code.unwind_info_base(block);
    const bool arm64 = session_.core().platform().cpu == Cpu::arm64;
    const std::size_t entry = arm64 ? 8 : 12;
    Bytes seed(1 + code_at + code_bytes);
    seed[0] = arm64 ? std::byte{1} : std::byte{0};
    const auto place = [&](std::size_t at, std::uint32_t value) {
      for (std::size_t i = 0; i < 4; ++i) seed[1 + at + i] = static_cast<std::byte>(value >> (8 * i));
    };
    Bytes raw(entry);
    memory.read(function, raw);
    const auto begin = load<std::uint32_t>(raw, ByteOrder::little);
    const auto last = load<std::uint32_t>(std::span(raw).subspan(entry - 4), ByteOrder::little);
    place(0, code_at);
    if (!arm64) place(4, code_at + code_bytes);
    const bool packed = arm64 && (last & 3) != 0;
    place(entry - 4, packed ? last : info_at);
    if (!packed) memory.read_some(base + last, std::span(seed).subspan(1 + info_at, code_at - info_at));
    memory.read_some(base + begin, std::span(seed).subspan(1 + code_at));
    write("unwind", seed);
    // The code alone, for what tells instructions apart.
    constexpr std::size_t most_code = 512;
    Bytes code_seed(1 + most_code);
    code_seed[0] = arm64 ? std::byte{5} : std::byte{4};
    memory.read_some(base + begin, std::span(code_seed).subspan(1));
    write("unwind", code_seed);
  }

  // One thread, and the first page of each of the first modules: what a search for modules sees.
  void small_core() {
    const ElfCore& core = session_.core();
    CoreNotes notes;
    notes.threads = {core.threads().front()};
    notes.process_id = 1;
    notes.name = "seed";
    std::vector<CoreWriteRange> ranges;
    for (const LoadedModule& module : session_.modules()) {
      if (ranges.size() == 2) break;
      ranges.push_back({.range = {module.base, 1024}});
      notes.files.push_back({module.base, module.base + 4096, 0, module.path});
    }
    const std::filesystem::path file = folder_ / "elf_core" / (name_ + "-core");
    std::filesystem::create_directories(file.parent_path());
    write_core(file.string(), core.platform(), make_notes(core.platform(), notes), ranges, session_.memory());
  }

  CoreSession& session_;
  std::filesystem::path folder_;
  std::string name_;
  unsigned number_ = 0;
};

} // namespace

int main(int argc, char** argv) {
  const bool built = argc == 3 && std::string_view(argv[1]) == "--built";
  if (argc != 4 && !built) {
    std::fputs("usage: seed_tool CORE FOLDER NAME | --built FOLDER | --symbols FILE OUT\n", stderr);
    return 2;
  }
  try {
    if (built) {
      clr::fuzz::write_built_seeds(argv[2]);
      return 0;
    }
    if (std::string_view(argv[1]) == "--symbols") {
      load_symbols(argv[2]).symbols->save(argv[3]);
      return 0;
    }
    const auto session = CoreSession::open(argv[1], {});
    Seeds(*session, argv[2], argv[3]).write_all();
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return 1;
  }
}
