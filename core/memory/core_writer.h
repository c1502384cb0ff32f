// Writes ELF core files that hold only chosen pages: a recording of the pages that commands touched. Such a
// core is small enough to send or to keep with tests, and LLDB and this library open it like any core.
// Source: Linux fs/binfmt_elf.c and uapi elfcore.h for the notes, System V gABI for the file.
#pragma once

#include "core/memory/elf_core.h"
#include "core/memory/loaded_module.h"

#include <functional>
#include <string>
#include <vector>

namespace clr {

struct CoreNote {
  std::string owner; // "CORE", "LINUX"
  std::uint32_t type = 0;
  std::vector<std::byte> description;
};

// A run of memory to write, with the access rights that the process had to it.
struct CoreWriteRange {
  MemoryRange range;
  bool readable = true, writable = false, executable = false;
};

struct WrittenCore {
  std::uint64_t file_size = 0;
  std::uint64_t memory_size = 0; // bytes of memory in the file
  std::size_t segments = 0;
  std::vector<MemoryRange> missing; // requested but not readable
};

// The owner of the notes that only this project writes and reads.
constexpr const char* own_note_owner = "lldb-clr";

constexpr std::uint64_t max_core_pages = 1u << 24; // 64 GB of memory in one core that we write

// The notes of `core`, unchanged: threads with all their registers, process, signal, auxiliary vector, files.
std::vector<CoreNote> copy_notes(const ElfCore& core);

// Makes notes from the facts about a process, for a process that is no core: NT_PRSTATUS for each thread (a
// debugger selects the first one), NT_PRPSINFO, NT_SIGINFO, NT_AUXV, NT_FILE. Throws
// Error{unsupported_contract} for threads of a CPU other than x64 and arm64.
std::vector<CoreNote> make_notes(Platform platform, const CoreNotes& process);

// `ranges` with the access rights that `segments` state, split where the access changes. `segments` are
// sorted by begin, as in ElfCore. Bytes in no segment are readable only.
std::vector<CoreWriteRange> with_access_of(const std::vector<CoreSegment>& segments,
                                           const std::vector<MemoryRange>& ranges);

// Reads through `memory` everything that a native debugger reads from a process before it shows a stack:
// headers, notes and dynamic sections of the modules, the whole link map of the first that has one with its
// names, the whole vDSO. When `memory` is a RecordingReader, these pages become part of the recording. Skips
// bytes that cannot be read. Ends where `stop`, which is asked for each module, returns true.
void touch_for_debugger(MemoryReader& memory, const std::vector<LoadedModule>& modules,
                        const std::function<bool()>& stop = {});

// Writes the core to `path`: first to a file beside it, which is renamed at the end. Overlapping ranges are
// written once; bytes that `memory` lacks are left out and listed in the result. Reads each page twice.
// Throws Error{io}, and Error{invalid_argument} for ranges of more than max_core_pages. `stop`, when given,
// is called after each megabyte; when it returns true, writing ends with Error{io} "stopped" and leaves no
// file.
WrittenCore write_core(const std::string& path, Platform platform, const std::vector<CoreNote>& notes,
                       std::vector<CoreWriteRange> ranges, MemoryReader& memory,
                       const std::function<bool()>& stop = {});

} // namespace clr
