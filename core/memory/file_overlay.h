// Memory of a core, completed from the files that were mapped: what a core leaves out because "it is on
// disk".
//
// The core answers first. A byte that it lacks and that lay in a mapping of a file (NT_FILE, or a list of
// modules) is answered from the file when
//  - the file is the same one. Proof, best first: the ELF build id in the core; relocated words or a PE
//  header that
//    the core holds; and, because cores of gdb's default kind hold nothing at all of an IL-only assembly, a
//    file that has not been touched since before the core was written and whose size and layout fit the
//    mappings (a file that the user named by sysroot, prefix or directory needs only the fit: the user
//    vouches for it);
//  - the byte is constant: see ModuleFile. Other writable memory that is missing is missing.
// A file that is not proven is refused, with the reason, and its bytes are missing.
#pragma once

#include "core/memory/loaded_module.h"
#include "core/memory/module_file.h"
#include "core/memory/module_list.h"
#include "core/memory/path_map.h"

#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace clr {

struct FileOverlayOptions {
  PathMap paths;
  // Take a file that nothing proves and nothing contradicts.
  bool trust_files = false;
};

class FileOverlay final : public MemoryReader {
public:
  // `core` must outlive this. No file is opened before a byte of it is asked for.
  explicit FileOverlay(ElfCore& core, FileOverlayOptions options = {});
  ~FileOverlay() override;

  // For cores without NT_FILE: mappings as the modules' files describe them. Modules whose path is not known
  // or that are mapped already add nothing. Opens the files.
  void add_modules(const std::vector<LoadedModule>& modules);

  // Cost over the core's own: for a byte that the core holds nothing; else a binary search of the mappings,
  // and the first time of a file opening and proving it (1 to 10 ms).
  std::size_t read_some(Address address, std::span<std::byte> out) override;
  // Lends from the core, or from one file when it holds all of it as it is.
  std::span<const std::byte> view(Address address, std::size_t size) override;

  // Where memory came from.
  struct FileUse {
    std::string target_path;
    std::string host_path;              // empty when refused
    std::string proof;                  // why it is the same file
    std::string refusal;                // or why it is not taken
    std::uint64_t bytes = 0, pages = 0; // answered by reads; pages: different ones
    std::uint64_t lent_bytes = 0;       // answered by view
    // Reads behind the file's first page that it could not answer. A file that was refused and has none was
    // only looked at to see whether it is a module.
    std::uint64_t missed_reads = 0;
  };
  // Files of which a byte was asked for, in the order of their first mappings.
  std::vector<FileUse> files() const;
  std::uint64_t bytes_from_core() const { return bytes_from_core_; }
  // Bytes that neither the core nor a file had: the number of reads that ended at one.
  std::uint64_t missed_reads() const { return missed_reads_; }

private:
  struct File;
  struct Mapping {
    FileMapping mapping;
    std::uint32_t file = 0;
    Address base = 0;
  };

  void index();
  const Mapping* mapping_at(Address address) const;
  File& resolved(std::uint32_t file);
  void resolve(std::uint32_t number);
  bool try_file(std::uint32_t number, const PathMap::Candidate& candidate, bool deleted, std::string& reason);
  std::vector<FilePlace> places_of(std::uint32_t file) const;
  FilePlace place_at(const Mapping& mapping, Address address) const;
  std::size_t read_file(Address address, std::span<std::byte> out);

  ElfCore& core_;
  FileOverlayOptions options_;
  std::vector<Mapping> mappings_; // sorted by begin
  std::vector<std::unique_ptr<File>> files_;
  std::unordered_map<std::string, std::uint32_t> file_by_path_;
  std::uint64_t bytes_from_core_ = 0, missed_reads_ = 0;
};

// The native modules of the core behind `overlay`. Where the core has no NT_FILE, those that it shows by
// itself tell which files to ask, and these then complete the list. Throws nothing; cost as list_modules,
// twice without NT_FILE.
ModuleList list_modules(const ElfCore& core, FileOverlay& overlay);

} // namespace clr
