// The memory of a core, completed from the files that were mapped: a core leaves out bytes that are also on
// disk.
//
// The core answers first. When it lacks a byte that lay in a mapping of a file (NT_FILE, or a list of
// modules), the file answers if both of these hold:
//  - The file is the same one. The proofs, best first: the ELF build id in the core; relocated words or a PE
//    header that the core holds; a file that was last changed before the core was written and whose size and
//    layout fit the mappings. (The last one is needed because cores of gdb's default kind hold nothing at all
//    of an IL-only assembly.) A file that the user named by sysroot, prefix or directory needs only the fit:
//    the user vouches for it.
//  - The byte is constant: see ModuleFile. Other writable memory that the core lacks stays missing.
// A file that is not proven is refused with the reason, and its bytes are missing.
#pragma once

#include "core/memory/byte_room.h"
#include "core/memory/loaded_module.h"
#include "core/memory/module_file.h"
#include "core/memory/module_list.h"
#include "core/memory/path_map.h"

#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

namespace clr {

struct FileOverlayOptions {
  PathMap paths;
  // Accept a file when nothing proves that it is the same one and nothing contradicts it.
  bool trust_files = false;
  std::shared_ptr<ByteRoom> whole = nullptr; // in which the bytes that are kept count, too
};

class FileOverlay final : public MemoryReader {
public:
  // Bytes of all files that are kept, of which a core may name every one of the host, and of what is known of
  // their PE images; ByteRoom::max_wasted times as many are read.
  static constexpr std::uint64_t max_kept_bytes = std::uint64_t{512} << 20;
  // Assemblies that stay open, so that they are read as far as they are needed; others are read whole.
  static constexpr std::size_t max_open_files = 256;
  // So are those of up to that many bytes.
  static constexpr std::uint64_t small_file = 4 * PartialFile::block_size;

  // `core` must outlive this. A file is opened when one of its bytes is first needed.
  explicit FileOverlay(ElfCore& core, FileOverlayOptions options = {});
  ~FileOverlay() override;

  // For cores without NT_FILE: adds the mappings that the modules' files describe. Modules without a known
  // path and modules that are mapped already add nothing. Opens the files.
  void add_modules(const std::vector<LoadedModule>& modules);

  // Additional cost over the core's own: none for a byte that the core holds; else a binary search of the
  // mappings, and for the first byte of a file the time to open and prove it (1 to 10 ms).
  std::size_t read_some(Address address, std::span<std::byte> out) override;
  // Nothing when the core lacks some of the bytes. They are not counted.
  std::optional<std::size_t> scan_together(Address address, std::span<std::byte> out) override {
    const auto got = core_.scan_together(address, out);
    return got == out.size() ? got : std::nullopt;
  }
  // Lends from the core, or from one file when it holds all of the bytes unchanged.
  std::span<const std::byte> view(Address address, std::size_t size) override;
  LentBytes view_in_parts(Address address, std::size_t size) override;

  // The path on this host of the ELF file that is mapped at `address` and is proven or accepted; empty when
  // there is none. Cost: as for the first byte of a file.
  std::string elf_file_at(Address address);

  // A file that memory came from.
  struct FileUse {
    std::string target_path;
    std::string host_path;              // empty when refused
    std::string proof;                  // why it is the same file
    std::string refusal;                // or why it is not accepted
    std::uint64_t bytes = 0, pages = 0; // answered by reads; pages: number of different pages
    std::uint64_t lent_bytes = 0;       // answered by view and view_in_parts
    // Reads behind the first page of the file that it could not answer. A refused file with 0 such reads was
    // opened only to see whether it is a module.
    std::uint64_t missed_reads = 0;
  };
  // The files of which at least one byte was needed, in the order of their first mappings.
  std::vector<FileUse> files() const;
  std::uint64_t bytes_from_core() const { return bytes_from_core_; }
  // The number of reads that ended at a byte that neither the core nor a file had.
  std::uint64_t missed_reads() const { return missed_reads_; }

private:
  static constexpr std::uint32_t no_file = ~std::uint32_t{0};
  struct File;
  struct Mapping {
    FileMapping mapping;
    bool by_guess = false; // a file on this host gave it
    std::uint32_t file = no_file;
    Address base = 0;
  };

  void index();
  const Mapping* mapping_at(Address address) const;
  File& resolved(std::uint32_t file);
  void resolve(std::uint32_t number);
  bool try_file(std::uint32_t number, const PathMap::Candidate& candidate, bool deleted, std::string& reason);
  // Numbers of the file's mappings, in the order of their addresses.
  std::span<const std::uint32_t> mappings_of(std::uint32_t file) const;
  FilePlace place_at(const Mapping& mapping, Address address) const;
  std::size_t read_file(Address address, std::span<std::byte> out);

  ElfCore& core_;
  FileOverlayOptions options_;
  std::vector<Mapping> mappings_;            // sorted by begin
  std::vector<std::uint32_t> by_file_;       // numbers of mappings_, sorted by file
  std::vector<std::unique_ptr<File>> files_; // null until a byte of the file is needed
  ByteRoom room_{max_kept_bytes, options_.whole};
  std::uint64_t bytes_from_core_ = 0, missed_reads_ = 0;
  std::size_t open_files_ = 0;
};

// The native modules of the core behind `overlay`. When the core has no NT_FILE, the modules that it shows by
// itself tell which files to open, and these files then complete the list. Never throws. Cost: that of
// list_modules, twice without NT_FILE.
ModuleList list_modules(const ElfCore& core, FileOverlay& overlay);

} // namespace clr
