// The notes of the cores that we write.
#include "core/memory/core_writer.h"
#include "core/memory/target_bytes.h"

#include <array>
#include <fmt/format.h>

namespace clr {
namespace {

// The registers in the slots of x64's user_regs_struct, which begins with r15, as numbers of ThreadRegisters;
// -1: a register that we do not have.
constexpr std::array<int, 27> x64_register_of_slot{15, 14, 13, 12, 6,  3, 11, 10, 9,  8,  0,  2,  1, 4,
                                                   5,  -1, 16, -1, -1, 7, -1, -1, -1, -1, -1, -1, -1};
constexpr std::size_t arm64_slots = 34; // x0..x30, sp, pc, pstate
constexpr std::uint64_t x64_user_code = 0x33,
                        x64_user_stack = 0x2b; // cs and ss of every 64-bit Linux program
constexpr std::size_t x64_code_slot = 17, x64_stack_slot = 20, x64_call_slot = 15;

CoreNote thread_note(Platform platform, const ThreadRegisters& thread) {
  TargetBytes out(platform);
  const auto signal = static_cast<std::uint32_t>(thread.signal);
  out.u32(signal);
  out.u32(0);
  out.u32(0);
  out.u16(signal);
  out.pad_to(32);
  out.u32(thread.os_id);
  out.pad_to(112);
  const auto value = [&](std::size_t number) {
    return number < thread.values.size() ? thread.values[number] : std::uint64_t{0};
  };
  if (platform.cpu == Cpu::x64) {
    for (std::size_t slot = 0; slot < x64_register_of_slot.size(); ++slot) {
      if (x64_register_of_slot[slot] >= 0)
        out.word(value(static_cast<std::size_t>(x64_register_of_slot[slot])));
      else if (slot == x64_code_slot)
        out.word(x64_user_code);
      else if (slot == x64_stack_slot)
        out.word(x64_user_stack);
      else
        out.word(slot == x64_call_slot ? ~std::uint64_t{0} : 0);
    }
  } else if (platform.cpu == Cpu::arm64) {
    for (std::size_t slot = 0; slot < arm64_slots; ++slot) out.word(value(slot));
  } else {
    throw Error(ErrorKind::unsupported_contract,
                fmt::format("thread notes cannot be made for {}", to_string(platform.cpu)));
  }
  out.u32(0);
  out.align(8);
  return {"CORE", NT_PRSTATUS, out.bytes()};
}

CoreNote process_note(Platform platform, const CoreNotes& process) {
  const bool wide = platform.pointer_size == 8;
  TargetBytes out(platform);
  out.pad_to(wide ? 24 : 12);
  out.u32(process.process_id);
  out.pad_to(wide ? 40 : 28);
  // The kernel ends both texts with a NUL, so a text that is too long is cut one byte earlier.
  out.text(std::string_view(process.name).substr(0, 15), 16);
  out.text(std::string_view(process.arguments).substr(0, 79), 80);
  return {"CORE", NT_PRPSINFO, out.bytes()};
}

CoreNote signal_note(Platform platform, const SignalInfo& signal) {
  constexpr std::size_t siginfo_size = 128;
  TargetBytes out(platform);
  out.u32(static_cast<std::uint32_t>(signal.number));
  out.u32(0);
  out.u32(static_cast<std::uint32_t>(signal.code));
  out.pad_to(platform.pointer_size == 8 ? 16 : 12);
  out.word(signal.address);
  out.pad_to(siginfo_size);
  return {"CORE", NT_SIGINFO, out.bytes()};
}

CoreNote files_note(Platform platform, const std::vector<FileMapping>& files) {
  TargetBytes out(platform);
  out.word(files.size());
  out.word(1); // offsets in bytes
  for (const FileMapping& file : files) {
    out.word(file.begin);
    out.word(file.end);
    out.word(file.file_offset);
  }
  for (const FileMapping& file : files) out.text(file.path, file.path.size() + 1);
  return {"CORE", NT_FILE, out.bytes()};
}

} // namespace

std::vector<CoreNote> copy_notes(const ElfCore& core) {
  std::vector<CoreNote> notes;
  for (const ElfNote& note : core.notes().all)
    notes.push_back({std::string(note.owner), note.type, {note.description.begin(), note.description.end()}});
  return notes;
}

std::vector<CoreNote> make_notes(Platform platform, const CoreNotes& process) {
  std::vector<CoreNote> notes;
  // The order of the kernel: first thread, notes of the process, other threads.
  const auto threads = process.threads.size();
  if (threads != 0) notes.push_back(thread_note(platform, process.threads[0]));
  notes.push_back(process_note(platform, process));
  if (process.signal) notes.push_back(signal_note(platform, *process.signal));
  if (!process.auxv.empty()) {
    TargetBytes out(platform);
    for (const auto& [key, value] : process.auxv) {
      out.word(key);
      out.word(value);
    }
    out.word(0);
    out.word(0);
    notes.push_back({"CORE", NT_AUXV, out.bytes()});
  }
  if (!process.files.empty()) notes.push_back(files_note(platform, process.files));
  for (std::size_t i = 1; i < threads; ++i) notes.push_back(thread_note(platform, process.threads[i]));
  return notes;
}

} // namespace clr
