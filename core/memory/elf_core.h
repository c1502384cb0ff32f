// An ELF core file of any class, byte order and CPU: its bytes as target memory, and the contents of its
// notes.
#pragma once

#include "core/memory/core_notes.h"
#include "core/memory/file_bytes.h"
#include "core/memory/memory_range.h"
#include "core/memory/memory_reader.h"

#include <array>
#include <memory>
#include <string>
#include <vector>

namespace clr {

// A PT_LOAD program header. The bytes between file_size and memory_size were not dumped: they are missing,
// not zero.
struct CoreSegment {
  Address begin = 0;
  std::uint64_t memory_size = 0;
  std::uint64_t file_size = 0; // bytes that the file really holds
  std::uint64_t file_offset = 0;
  bool readable = false, writable = false, executable = false;
};

class ElfCore final : public MemoryReader {
public:
  static constexpr std::uint64_t max_segments = 1u << 20;
  // Bytes of all notes: 3 KB for each thread, 100 bytes for each mapped file.
  static constexpr std::uint64_t max_note_bytes = 256u << 20;
  static constexpr std::size_t max_note_segments = 64u << 10; // writers of cores make one
  // Bytes of memory beyond the size of the file. Whoever writes cores gives each segment bytes of its own, so
  // that real ones have none; program headers that share theirs could show terabytes out of a small file.
  static constexpr std::uint64_t max_shared_bytes = 64u << 20;

  // Opens the file; reads only its headers and notes. Takes some 10 ms for 100,000 segments. Throws
  // Error{io}, and Error{corrupt} when the file is not an ELF core; the message says which format it has
  // instead.
  static std::unique_ptr<ElfCore> open(const std::string& path);
  // The same over bytes that outlive it.
  explicit ElfCore(std::span<const std::byte> bytes);

  // Delivers the bytes that the file holds: 1 system call. Where segments overlap, the one that begins first
  // wins.
  std::size_t read_some(Address address, std::span<std::byte> out) override;
  // The same without the memory of where the last reads were: a binary search for each segment.
  std::optional<std::size_t> scan_together(Address address, std::span<std::byte> out) override;
  // Lends the bytes of a core in memory when one segment holds all of them; those of a file are not lent.
  std::span<const std::byte> view(Address address, std::size_t size) override;

  // The CPU is Cpu::unknown when e_machine is one that we do not know.
  const Platform& platform() const { return platform_; }
  // PT_LOADs, sorted by begin.
  const std::vector<CoreSegment>& segments() const { return segments_; }
  // The PT_LOAD that maps `address`, whether dumped or not; null if none.
  const CoreSegment* segment_at(Address address) const;
  // The first address at or after `address` that the core holds; the highest address when there is none.
  Address next_readable(Address address) const;
  // Runs of bytes that can be read, sorted, disjoint; neighbours may touch.
  std::vector<MemoryRange> readable_ranges() const;

  const CoreNotes& notes() const { return notes_; }
  const std::vector<ThreadRegisters>& threads() const { return notes_.threads; }
  const std::vector<FileMapping>& file_mappings() const { return notes_.files; }
  std::uint64_t file_size() const { return bytes_.size(); }
  // Number of bytes that the program headers promise beyond the end of the file.
  std::uint64_t cut_bytes() const { return cut_bytes_; }
  // Seconds since 1970 of the core's last change; 0 for a core in memory.
  std::int64_t modified() const { return modified_; }
  const std::string& path() const { return path_; }
  // Everything that is incomplete in the core, as sentences for a user.
  const std::vector<std::string>& problems() const { return problems_; }

private:
  // A run of readable bytes; extents are disjoint and sorted.
  struct Extent {
    Address begin;
    std::uint64_t size;
    std::uint64_t file_offset;
  };

  explicit ElfCore(HostFile file);
  void parse();
  std::uint64_t count_segments(const GElf_Ehdr& header);
  void add_segment(const GElf_Phdr& segment);
  void build_extents();
  void describe_problems(bool has_notes);
  const Extent* extent_at(Address address);
  const Extent* search_extent(Address address) const;
  template<typename Find>
  std::size_t read_with(const Find& find, Address address, std::span<std::byte> out) const;

  void add_notes(const GElf_Phdr& segment, std::vector<NoteSegment>& notes);

  std::string path_;
  std::int64_t modified_ = 0;
  FileBytes bytes_;
  std::vector<std::vector<std::byte>> note_bytes_;     // by note segment
  std::uint64_t note_size_ = 0, wanted_note_size_ = 0; // bytes of all of them; that there are in the file
  std::uint64_t left_out_notes_ = 0;                   // note segments
  ElfFormat format_;
  Platform platform_;
  std::vector<CoreSegment> segments_;
  std::vector<Extent> extents_;
  // The extents that were found last, by the address: the runtime's heaps lie far from each other.
  static constexpr unsigned recent_bits = 16;
  std::array<std::uint32_t, 256> recent_extents_{};
  CoreNotes notes_;
  std::uint64_t cut_bytes_ = 0;
  std::uint64_t promised_size_ = 0; // length of the file if nothing were cut off
  std::vector<std::string> problems_;
};

} // namespace clr
