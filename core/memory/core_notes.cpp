#include "core/memory/core_notes.h"

#include "core/memory/cpu_table.h"
#include "core/memory/host_file.h"

#include <algorithm>
#include <fmt/format.h>

namespace clr {
namespace {

using Bytes = std::span<const std::byte>;

// Offsets of the fields of struct elf_prstatus and struct elf_prpsinfo. The type `long` has the word size of
// the ELF class.
struct Layout {
  std::size_t status_pid, status_registers;
  std::size_t info_pid, info_name, info_arguments, info_size;
  std::size_t signal_address;
};
constexpr Layout wide_layout{32, 112, 24, 40, 56, 136, 16};
constexpr Layout narrow_layout{24, 72, 12, 28, 44, 124, 12};
constexpr std::size_t status_signal = 12; // pr_cursig, 16 bits
constexpr std::size_t name_size = 16, arguments_size = 80;

// The text as it lies there, to its NUL.
std::string_view text_at(Bytes bytes, std::size_t at, std::size_t limit) {
  const Bytes field = bytes.subspan(at, std::min(limit, bytes.size() - at));
  const std::string_view all(reinterpret_cast<const char*>(field.data()), field.size());
  return all.substr(0, all.find('\0'));
}

class Parser {
public:
  Parser(ElfFormat format, Cpu cpu, CoreNotes& out)
      : format_(format), cpu_(cpu), layout_(format.wide ? wide_layout : narrow_layout), out_(out) {}

  void note(const ElfNote& note) {
    if (note.owner != "CORE") return;
    switch (note.type) {
    case NT_PRSTATUS:
      return thread(note.description);
    case NT_PRPSINFO:
      return process(note.description);
    case NT_AUXV:
      return auxiliary_vector(note.description);
    case NT_FILE:
      return files(note.description);
    case NT_SIGINFO:
      return signal(note.description);
    default:
      return;
    }
  }

  void problem(std::string text) {
    if (out_.problems.size() >= CoreNotes::max_problems) return;
    const bool last = out_.problems.size() + 1 == CoreNotes::max_problems;
    out_.problems.push_back(last ? "more is wrong with the notes than is told" : std::move(text));
  }

private:
  std::uint64_t word(Bytes bytes, std::size_t index) const {
    return decode_word(bytes.subspan(index * format_.word_size()), format_);
  }

  void thread(Bytes bytes) {
    if (bytes.size() < layout_.status_registers) return problem("a thread note (NT_PRSTATUS) is too short");
    ThreadRegisters thread;
    thread.os_id = load<std::uint32_t>(bytes.subspan(layout_.status_pid), format_.order);
    thread.signal = load<std::uint16_t>(bytes.subspan(status_signal), format_.order);
    const Bytes registers = bytes.subspan(layout_.status_registers);
    const std::size_t slots = registers.size() / format_.word_size();
    const CpuRow& row = cpu_row(cpu_);
    const CoreNoteRegisters& known = row.core_registers;
    if (known.slots != 0 && slots >= known.slots && format_.word_size() == row.pointer_size) {
      for (const std::size_t slot : known.slot_of_register) thread.values.push_back(word(registers, slot));
    } else if (!without_registers_) {
      without_registers_ = true;
      problem(fmt::format("the registers of thread {} are not there in a form that is known for {}",
                          thread.os_id, to_string(cpu_)));
    }
    out_.threads.push_back(std::move(thread));
  }

  void process(Bytes bytes) {
    if (bytes.size() < layout_.info_size) return problem("the process note (NT_PRPSINFO) is too short");
    out_.process_id = load<std::uint32_t>(bytes.subspan(layout_.info_pid), format_.order);
    out_.name = text_at(bytes, layout_.info_name, name_size);
    out_.arguments = text_at(bytes, layout_.info_arguments, arguments_size);
    while (out_.arguments.ends_with(' ')) out_.arguments.pop_back();
  }

  void auxiliary_vector(Bytes bytes) {
    const std::size_t pairs = bytes.size() / (2 * format_.word_size());
    for (std::size_t i = 0; i < pairs; ++i) {
      const std::uint64_t key = word(bytes, 2 * i);
      if (key == 0 /* AT_NULL */) break;
      if (out_.auxv.size() == CoreNotes::max_auxiliary)
        return problem("the auxiliary vector (NT_AUXV) is too long: its end was not read");
      out_.auxv.emplace(key, word(bytes, 2 * i + 1));
    }
  }

  void files(Bytes bytes) {
    const std::size_t word_size = format_.word_size();
    const std::uint64_t words = bytes.size() / word_size;
    const std::uint64_t count = words < 2 ? 0 : word(bytes, 0);
    // Each mapping takes three words and at least one byte for its name (the NUL).
    if (words < 2 || count > (bytes.size() - 2 * word_size) / (3 * word_size + 1))
      return problem("the list of mapped files (NT_FILE) has an impossible count");
    const std::uint64_t unit = word(bytes, 1);
    std::size_t name_at = (2 + 3 * static_cast<std::size_t>(count)) * word_size;
    bool odd = false;
    for (std::size_t i = 0; i < count; ++i) {
      if (name_at >= bytes.size())
        return problem("the list of mapped files (NT_FILE) lacks names at its end");
      const std::string_view path = text_at(bytes, name_at, bytes.size());
      name_at += path.size() + 1;
      const Address begin = word(bytes, 2 + 3 * i), end = word(bytes, 3 + 3 * i);
      const std::uint64_t units = word(bytes, 4 + 3 * i);
      const bool fits = unit == 0 || units <= ~std::uint64_t{0} / unit;
      if (end <= begin || !fits || !is_possible_path(path)) {
        odd = true;
        continue;
      }
      name_bytes_ += path.size();
      if (out_.files.size() == CoreNotes::max_file_mappings || name_bytes_ > CoreNotes::max_name_bytes)
        return problem(
            fmt::format("the list of mapped files (NT_FILE) is too long: only its first {} were read",
                        out_.files.size()));
      out_.files.push_back({begin, end, units * unit, std::string(path)});
    }
    if (odd) problem("the list of mapped files (NT_FILE) has impossible entries, which are left out");
  }

  void signal(Bytes bytes) {
    // gdb writes one such note for each thread; the first belongs to the thread that received the signal.
    if (out_.signal || bytes.size() < layout_.signal_address + format_.word_size()) return;
    out_.signal = SignalInfo{load<std::int32_t>(bytes, format_.order),
                             load<std::int32_t>(bytes.subspan(8), format_.order),
                             decode_word(bytes.subspan(layout_.signal_address), format_)};
  }

  ElfFormat format_;
  Cpu cpu_;
  const Layout& layout_;
  CoreNotes& out_;
  bool without_registers_ = false;
  std::size_t name_bytes_ = 0; // of mapped files
};

} // namespace

CoreNotes parse_core_notes(std::span<const NoteSegment> segments, ElfFormat format, Cpu cpu) {
  CoreNotes notes;
  Parser parser(format, cpu, notes);
  bool all = true, whole = true;
  for (const NoteSegment& segment : segments) {
    const auto take = [&](const ElfNote& note) {
      all = notes.all.size() < CoreNotes::max_notes;
      if (!all) return false;
      notes.all.push_back(note);
      parser.note(note);
      return true;
    };
    whole = for_each_note(segment.bytes, format.order, segment.alignment, take) && whole;
    if (!all) break;
  }
  if (!all) parser.problem(fmt::format("only the first {} notes were read", CoreNotes::max_notes));
  if (!whole) parser.problem("the notes end in the middle of one");
  std::stable_sort(notes.files.begin(), notes.files.end(),
                   [](const FileMapping& a, const FileMapping& b) { return a.begin < b.begin; });
  return notes;
}

} // namespace clr
