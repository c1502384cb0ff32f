// Publishes damaged cores, many times: the contents of a core must not crash the debugger's process, nor make
// it wait for ever.
//   mutation_tool CORE COUNT [SEED]
// In each copy some bytes are changed, half of them in code headers, unwind data and debug info. All managed
// code of the copy is written into modules, which libdw reads to the last entry. Prints the totals.
#include "core/dwarf/elf_module_writer.h"
#include "core/publish/code_catalog.h"
#include "core/runtime/core_session.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using namespace clr;
using Bytes = std::vector<std::byte>;
using Clock = std::chrono::steady_clock;

constexpr std::size_t images_each = 100; // copies

struct Figures {
  std::size_t modules = 0, methods = 0, entries = 0, lines = 0, frames = 0, problems = 0, without_runtime = 0;
};

// Offsets in the core's file that hold what publishing reads of each body.
std::vector<std::size_t> interesting_places(CoreSession& session) {
  std::vector<std::size_t> places;
  const auto add = [&](Address address) {
    const CoreSegment* const segment = session.core().segment_at(address);
    if (segment != nullptr && address - segment->begin < segment->file_size)
      places.push_back(segment->file_offset + (address - segment->begin));
  };
  ExecutionManager* const code = session.runtime().code();
  if (code == nullptr) return places;
  code->for_each_jitted([&](const JittedBody& body) {
    add(body.start);
    for (unsigned word = 0; word < 8; ++word) {
      const Address field = body.code_header + 8 * word;
      add(field);
      std::array<std::byte, 8> bytes{};
      if (session.memory().read_some(field, bytes) != bytes.size()) continue;
      Address pointer = 0;
      std::memcpy(&pointer, bytes.data(), sizeof pointer);
      for (unsigned at = 0; at < 48; at += 3) add(pointer + at);
    }
    return true;
  });
  for (const RangeSection& section : code->sections()) add(section.begin);
  return places;
}

class Mutator {
public:
  Mutator(const Bytes& original, std::vector<std::size_t> places, std::size_t first, std::uint64_t seed)
      : original_(&original), places_(std::move(places)), first_(first), random_(seed) {}

  Bytes next() {
    Bytes bytes = *original_;
    const std::size_t changes = std::size_t{1} << upto(9);
    for (std::size_t i = 0; i < changes; ++i) change(bytes, place(bytes.size()));
    return bytes;
  }

private:
  std::size_t upto(std::size_t limit) {
    return std::uniform_int_distribution<std::size_t>(0, limit)(random_);
  }

  std::size_t place(std::size_t size) {
    if (!places_.empty() && upto(1) == 0) return places_[upto(places_.size() - 1)];
    return first_ + upto(size - first_ - 1);
  }

  void change(Bytes& bytes, std::size_t at) {
    switch (upto(3)) {
    case 0:
      bytes[at] ^= static_cast<std::byte>(1u << upto(7));
      break;
    case 1:
      bytes[at] = static_cast<std::byte>(upto(255));
      break;
    case 2: // all ones: sizes and counts
      for (std::size_t i = at; i < std::min(at + 4, bytes.size()); ++i) bytes[i] = std::byte{0xFF};
      break;
    default: // what lies elsewhere, a pointer among it
      const std::size_t from = place(bytes.size());
      const std::size_t count = std::min<std::size_t>({8, bytes.size() - at, bytes.size() - from});
      std::memmove(&bytes[at], &bytes[from], count);
    }
  }

  const Bytes* original_;
  std::vector<std::size_t> places_;
  std::size_t first_;
  std::mt19937_64 random_;
};

void require(bool fact, const char* what) {
  if (!fact) throw std::logic_error(what);
}

void read_entry(Dwarf_Die& entry, Figures& figures, unsigned depth) {
  do {
    ++figures.entries;
    dwarf_diename(&entry);
    Dwarf_Attribute location{};
    if (dwarf_attr(&entry, DW_AT_location, &location) != nullptr) {
      Dwarf_Op* operations = nullptr;
      std::size_t count = 0;
      dwarf_getlocation(&location, &operations, &count);
    }
    Dwarf_Die child{};
    if (depth < 64 && dwarf_child(&entry, &child) == 0) read_entry(child, figures, depth + 1);
  } while (dwarf_siblingof(&entry, &entry) == 0);
}

void read_units(Dwarf* dwarf, Figures& figures) {
  Dwarf_CU* unit = nullptr;
  Dwarf_Die entry{};
  while (dwarf_get_units(dwarf, unit, &unit, nullptr, nullptr, &entry, nullptr) == 0) {
    Dwarf_Lines* lines = nullptr;
    std::size_t count = 0;
    if (dwarf_hasattr(&entry, DW_AT_stmt_list) != 0) {
      require(dwarf_getsrclines(&entry, &lines, &count) == 0, "the line table cannot be read");
      figures.lines += count;
    }
    read_entry(entry, figures, 0);
  }
}

void read_rules(Dwarf_CFI* rules, const DebugModule& module, Figures& figures) {
  for (const DebugCode& code : module.code) {
    Dwarf_Frame* frame = nullptr;
    if (dwarf_cfi_addrframe(rules, code.start, &frame) != 0) continue;
    ++figures.frames;
    std::free(frame); // as libdw asks of its caller
  }
}

void read_module(const DebugModule& module, Bytes& file, Figures& figures) {
  for (std::size_t i = 0; i < module.sections.size(); ++i) {
    require(module.sections[i].begin < module.sections[i].end, "an empty section");
    require(i == 0 || module.sections[i - 1].end <= module.sections[i].begin, "sections overlap");
  }
  Elf* const elf = elf_memory(reinterpret_cast<char*>(file.data()), file.size());
  require(elf != nullptr && elf_kind(elf) == ELF_K_ELF, "what was written is no ELF file");
  if (Dwarf* const dwarf = dwarf_begin_elf(elf, DWARF_C_READ, nullptr)) {
    read_units(dwarf, figures);
    if (Dwarf_CFI* const rules = dwarf_getcfi(dwarf)) read_rules(rules, module, figures);
    dwarf_end(dwarf);
  }
  elf_end(elf);
}

// `images`: the code of ReadyToRun images too, 60,000 methods where the machine has the assemblies.
void publish(std::span<const std::byte> core, bool images, Figures& figures) {
  CoreSession session(std::make_unique<ElfCore>(core), {});
  figures.without_runtime += session.runtime().absence() != nullptr ? 1 : 0;
  CodeCatalog catalog;
  CatalogOptions options;
  options.r2r = images;
  options.codes_at_once = 64; // so that a small core's code comes in parts too
  for (const ThreadRegisters& thread : session.core().threads())
    if (const auto ip = context_of_thread(session.core().platform().cpu, thread).pc())
      options.exact.push_back(*ip);
  CatalogChange change = catalog.update(session.runtime(), options);
  require(change.gone.empty(), "something is withdrawn before anything was published");
  std::vector<DebugSection> all;
  for (const SpelledModule& made : change.added) {
    Bytes file = write_elf_module(made.module);
    read_module(made.module, file, figures);
    for (const DebugSection& section : made.module.sections) all.push_back({section.begin, section.end, {}});
  }
  std::ranges::sort(all, {}, &DebugSection::begin);
  for (std::size_t i = 1; i < all.size(); ++i)
    require(all[i - 1].end <= all[i].begin, "sections of two modules overlap");
  figures.modules += change.added.size();
  figures.methods += change.methods;
  figures.problems += change.problems.size();
  if (!change.added.empty() && !change.added.front().module.code.empty())
    catalog.add(session.runtime(), change.added.front().module.code.front().start, options);
  catalog.update(session.runtime(), options);
}

int run(const std::string& path, std::size_t count, std::uint64_t seed) {
  const LoadedFile file = LoadedFile::open(path);
  const Bytes original(file.bytes().begin(), file.bytes().end());
  const auto session = CoreSession::open(path, {});
  std::size_t first = original.size();
  for (const CoreSegment& segment : session->core().segments())
    if (segment.file_size != 0) first = std::min<std::size_t>(first, segment.file_offset);
  Figures whole;
  publish(original, true, whole);
  fmt::print("whole: {} modules, {} methods, {} entries, {} lines, {} frames\n", whole.modules, whole.methods,
             whole.entries, whole.lines, whole.frames);
  require(whole.methods > 50 && whole.frames > 50, "hardly anything was published");

  Mutator mutator(original, interesting_places(*session), first, seed);
  Figures figures;
  double longest = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const Bytes mutated = mutator.next();
    const auto begin = Clock::now();
    try {
      publish(mutated, i % images_each == 0, figures);
    } catch (const Error& error) {
      fmt::print("copy {}: {}\n", i, error.what());
    } catch (const std::logic_error& error) {
      fmt::print("copy {} of seed {}: {}\n", i, seed, error.what());
      return 1;
    }
    longest = std::max(longest, std::chrono::duration<double>(Clock::now() - begin).count());
  }
  fmt::print(
      "{} damaged copies: {} modules, {} methods, {} entries, {} lines, {} frames, {} problems told, {} "
      "without a runtime; the longest took {:.2f} s\n",
      count, figures.modules, figures.methods, figures.entries, figures.lines, figures.frames,
      figures.problems, figures.without_runtime, longest);
  return 0;
}

} // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fputs("usage: mutation_tool CORE COUNT [SEED]\n", stderr);
    return 2;
  }
  try {
    elf_version(EV_CURRENT);
    return run(argv[1], std::stoul(argv[2]), argc > 3 ? std::stoull(argv[3]) : 1);
  } catch (const std::exception& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return 1;
  }
}
