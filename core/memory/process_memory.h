// Memory of a live process on this host, read from the kernel: a page takes a microsecond, where a debug
// server takes a hundred. Source: Linux, Documentation/filesystems/proc.rst (mem, maps, auxv),
// Documentation/admin-guide/mm/pagemap.rst; getauxval(3).
#pragma once

#include "core/memory/memory_reader.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace clr {

// Numbers and values of /proc/PID/auxv of a 64-bit process in this host's byte order; empty when it cannot be
// read.
std::map<std::uint64_t, std::uint64_t> auxiliary_vector(const std::string& folder);

// A line of /proc/PID/maps.
struct ProcessMapping {
  Address begin = 0, end = 0;
  std::string access; // "r-xp"
  std::uint64_t file_offset = 0;
  std::string path; // empty: no file; "[stack]"
};
// The lines in ascending order; empty when the file cannot be read. Lines of another form are left out.
std::vector<ProcessMapping> process_mappings(const std::string& folder);

class ProcessMemory final : public MemoryReader {
public:
  // `folder` is "/proc/PID". Null when this user may not read the process (ptrace(2), "access mode
  // checking").
  static std::unique_ptr<ProcessMemory> open(std::string folder);
  ~ProcessMemory() override;

  // Reads the bytes in memory, including breakpoints that a debugger wrote there. Cost: one system call, none
  // close to the last two reads.
  std::size_t read_some(Address address, std::span<std::byte> out) override;

  // The end of the readable memory from `address` on that cannot contain a breakpoint: data, shared
  // instructions that are not writable, and pages of instructions from a file that nobody wrote to. 0 when
  // `address` is not in such memory. Cost: /proc/PID/maps once after each ran(); for pages of instructions
  // one system call.
  Address plain_end(Address address);
  // Does `other` read this same process? Compares the random bytes that the kernel gave to the process at its
  // start. False when they are not available.
  bool is_read_by(MemoryReader& other);
  // The process ran: forgets everything about it.
  void ran();
  // Somebody wrote to its memory while it stands: forgets the bytes that were read.
  void written();

private:
  // Bytes that a small read fetches at once when it is close to the last one, because then more will follow.
  // Reads here and there, as of a hash table, fetch no more than they need.
  static constexpr std::size_t block_size = 16384;

  struct Mapping {
    Address begin = 0, end = 0;
    bool instructions = false; // of a file; a write to them copies the page
  };
  // Pages of instructions that are checked together.
  static constexpr std::size_t max_pages = 64;

  ProcessMemory(std::string folder, int file, int page_flags)
      : folder_(std::move(folder)), file_(file), page_flags_(page_flags) {}
  std::size_t read_now(Address address, std::span<std::byte> out) const;
  static std::vector<Mapping> plain_mappings(const std::string& folder);
  Address untouched_end(Address address, Address end) const;
  std::size_t read_page_flags(Address address, std::span<std::uint64_t> out) const;
  void check_page_flags();
  void forget_page_flags();

  std::string folder_;
  int file_, page_flags_;        // /proc/PID/mem, pagemap; the latter may be -1
  std::vector<std::byte> block_; // whole or empty
  Address block_begin_ = 0;
  Address last_asked_ = 0;                       // by the last small read that was not in the block
  std::optional<std::vector<Mapping>> mappings_; // ascending
};

// The memory of a debugged process without the debugger's breakpoints. Where no breakpoint can be, the kernel
// delivers the bytes; everywhere else the debugger does, which hides its breakpoints.
class DebuggedMemory final : public MemoryReader {
public:
  // `process` and `debugger` must outlive this. `process` may be null.
  DebuggedMemory(ProcessMemory* process, MemoryReader& debugger) : process_(process), debugger_(&debugger) {}

  std::size_t read_some(Address address, std::span<std::byte> out) override;

private:
  ProcessMemory* process_;
  MemoryReader* debugger_;
};

} // namespace clr
