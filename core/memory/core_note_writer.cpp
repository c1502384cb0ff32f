// The notes of the cores that we write.
#include "core/memory/core_writer.h"
#include "core/memory/cpu_table.h"
#include "core/memory/target_bytes.h"

#include <fmt/format.h>

namespace clr {
namespace {

CoreNote thread_note(Platform platform, const ThreadRegisters& thread) {
  const CoreNoteRegisters& registers = cpu_row(platform.cpu).core_registers;
  if (registers.slots == 0)
    throw Error(ErrorKind::unsupported_contract,
                fmt::format("thread notes cannot be made for {}", to_string(platform.cpu)));
  TargetBytes out(platform);
  const auto signal = static_cast<std::uint32_t>(thread.signal);
  out.u32(signal);
  out.u32(0);
  out.u32(0);
  out.u16(signal);
  out.pad_to(32);
  out.u32(thread.os_id);
  out.pad_to(112);
  std::vector<std::uint64_t> words(registers.slots);
  for (const CoreNoteRegisters::Constant& constant : registers.constants)
    words[constant.slot] = constant.value;
  for (std::size_t i = 0; i < registers.slot_of_register.size() && i < thread.values.size(); ++i)
    words[registers.slot_of_register[i]] = thread.values[i];
  for (const std::uint64_t word : words) out.word(word);
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
