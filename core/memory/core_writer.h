// Writes ELF core files that hold chosen pages only: a recording of what commands touched, small enough to
// send or to keep with tests, that LLDB and this library open like any core. Source: Linux fs/binfmt_elf.c
// and uapi elfcore.h for the notes, System V gABI for the file.
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

// A run of memory to be written, with the access that the process had to it.
struct CoreWriteRange {
  MemoryRange range;
  bool readable = true, writable = false, executable = false;
};

struct WrittenCore {
  std::uint64_t file_size = 0;
  std::uint64_t memory_size = 0; // bytes of memory in it
  std::size_t segments = 0;
  std::vector<MemoryRange> missing; // asked for and not there
};

constexpr std::uint64_t max_core_pages = 1u << 24; // 64 GB of memory in one core that we write

// The notes of `core` as they are: threads with all their registers, process, signal, auxiliary vector,
// files.
std::vector<CoreNote> copy_notes(const ElfCore& core);

// Notes made from what is known of a process, for one that is no core: NT_PRSTATUS for each thread (the first
// is the one that a debugger selects), NT_PRPSINFO, NT_SIGINFO, NT_AUXV, NT_FILE. Throws
// Error{unsupported_contract} for threads of a CPU other than x64 and arm64.
std::vector<CoreNote> make_notes(Platform platform, const CoreNotes& process);

// `ranges` with the access that `segments` (sorted by begin, as ElfCore has them) state, split where it
// changes; readable only where there is no segment.
std::vector<CoreWriteRange> with_access_of(const std::vector<CoreSegment>& segments,
                                           const std::vector<MemoryRange>& ranges);

// Reads through `memory` what a native debugger reads of a process before it shows a stack: headers, notes
// and dynamic sections of the modules, the link map with its names, the vDSO whole. With a RecordingReader as
// `memory` these pages become part of the recording. Skips what cannot be read.
void touch_for_debugger(MemoryReader& memory, const std::vector<LoadedModule>& modules);

// Writes the core to `path` (by way of a file beside it that is renamed at the end). Overlapping ranges are
// written once; bytes that `memory` lacks are left out and named in the result. Reads each page twice. Throws
// Error{io}; Error{invalid_argument} for ranges of more than max_core_pages. `stop`, when given, is asked
// after each megabyte; true ends the writing with Error{io} "stopped" and leaves no file.
WrittenCore write_core(const std::string& path, Platform platform, const std::vector<CoreNote>& notes,
                       std::vector<CoreWriteRange> ranges, MemoryReader& memory,
                       const std::function<bool()>& stop = {});

} // namespace clr
