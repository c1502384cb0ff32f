// Memory of a live process on this host as the kernel gives it: a page for a microsecond, where a debug
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
// Ascending; empty when it cannot be read. Lines of another form are left out.
std::vector<ProcessMapping> process_mappings(const std::string& folder);

class ProcessMemory final : public MemoryReader {
public:
  // `folder` is "/proc/PID". Null when this user may not read the process (ptrace(2), "access mode
  // checking").
  static std::unique_ptr<ProcessMemory> open(std::string folder);
  ~ProcessMemory() override;

  // What stands in memory: also the breakpoints that a debugger put there. Cost: a system call, none near
  // what was read last.
  std::size_t read_some(Address address, std::span<std::byte> out) override;

  // Where the readable memory from `address` on ends in which no breakpoint can stand: data, shared
  // instructions that are not writable, and pages of instructions that are a file's and that nobody wrote to.
  // 0 when it is none such. Cost: /proc/PID/maps once after each ran(), for pages of instructions a system
  // call.
  Address plain_end(Address address);
  // Does `other` read this very process? Compares the random bytes that the kernel gave it at its start.
  // False when they cannot be had.
  bool is_read_by(MemoryReader& other);
  // The process ran: what is known of it is forgotten.
  void ran();

private:
  // Read at once for small reads, which often follow each other.
  static constexpr std::size_t block_size = 16384;

  struct Mapping {
    Address begin = 0, end = 0;
    bool instructions = false; // of a file, written to by copying a page
  };
  // Pages of instructions that are looked at together.
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
  std::optional<std::vector<Mapping>> mappings_; // ascending
};

// The memory of a debugged process without the debugger's breakpoints: by the kernel where there can be none,
// all else by the debugger, which hides them.
class DebuggedMemory final : public MemoryReader {
public:
  // Both must outlive this. `process` may be null.
  DebuggedMemory(ProcessMemory* process, MemoryReader& debugger) : process_(process), debugger_(&debugger) {}

  std::size_t read_some(Address address, std::span<std::byte> out) override;

private:
  ProcessMemory* process_;
  MemoryReader* debugger_;
};

} // namespace clr
