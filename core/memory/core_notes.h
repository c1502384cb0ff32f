// The notes of an ELF core, which describe the process: threads with registers, files, the signal. Source:
// Linux uapi headers (elfcore.h, auxvec.h, ptrace.h), fs/binfmt_elf.c.
#pragma once

#include "core/memory/elf_records.h"
#include "core/memory/process_image.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace clr {

// A part of a file that was mapped (NT_FILE).
struct FileMapping {
  Address begin = 0, end = 0;
  std::uint64_t file_offset = 0; // bytes
  std::string path; // in the target's spelling; createdump gives a bare name to images made in memory
};

struct SignalInfo {
  int number = 0;
  int code = 0;        // si_code: who sent the signal, or which kind of fault it was
  Address address = 0; // si_addr; meaningful for SIGILL, SIGFPE, SIGSEGV, SIGBUS and SIGTRAP with code > 0
};

struct CoreNotes {
  static constexpr std::size_t max_notes = 1u << 20;
  static constexpr std::size_t max_file_mappings = 1u << 20; // of all notes together, and of their names:
  static constexpr std::size_t max_name_bytes = 64u << 20;
  static constexpr std::size_t max_auxiliary = 1024; // entries of the auxiliary vector
  static constexpr std::size_t max_problems = 20;

  // In the order of the file; the kernel and gdb put the thread that received the signal first. Register
  // values are known for x64 and arm64 (in the order that ThreadRegisters states, with pstate behind arm64's
  // pc); for other CPUs there are none.
  std::vector<ThreadRegisters> threads;
  std::vector<FileMapping> files; // sorted by begin; without those that end before they begin, or whose
                                  // paths no file can have (is_possible_path)
  std::map<std::uint64_t, std::uint64_t> auxv;
  std::uint64_t process_id = 0; // 0: not known
  std::string name;             // file name of the program, at most 15 characters
  std::string arguments;        // at most 79 characters
  std::optional<SignalInfo> signal;
  std::vector<ElfNote> all; // the undecoded notes; their bytes belong to the core
  std::vector<std::string> problems;
};

struct NoteSegment {
  std::span<const std::byte> bytes;
  std::uint64_t alignment = 4;
};

// Never throws because of its input: torn notes are left out, and `problems` says so.
CoreNotes parse_core_notes(std::span<const NoteSegment> segments, ElfFormat format, Cpu cpu);

} // namespace clr
