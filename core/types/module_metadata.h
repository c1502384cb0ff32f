// Finds the metadata of a module: in target memory, in the layout that it has there, else in the assembly on
// disk if that is provably the same. Source: dotnet/runtime docs/design/datacontracts/EcmaMetadata.md.
#pragma once

#include "core/memory/byte_room.h"
#include "core/types/metadata_names.h"
#include "core/types/method.h"
#include "core/types/module.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace clr {

// Opens assemblies on disk, for modules whose metadata is not in target memory. The caller checks the
// identity of the file.
class AssemblyFiles {
public:
  // What is kept of the files counts in `whole`, too.
  explicit AssemblyFiles(std::shared_ptr<ByteRoom> whole = nullptr)
      : room_(max_all_metadata, std::move(whole)) {}
  virtual ~AssemblyFiles() = default;
  // The content of the file: its first byte is at address 0. Null when the file is not available. `path` is
  // the path that the target uses (may be empty), `file_name` is its last part.
  virtual std::unique_ptr<MemoryReader> open(const std::string& path, const std::string& file_name) = 0;

  // Bytes of the metadata of all files that is kept. That of a large program's assemblies has some 50 MB.
  static constexpr std::uint64_t max_all_metadata = 256u << 20;
  ByteRoom& room() { return room_; }

private:
  ByteRoom room_;
};

class ModuleMetadata {
public:
  // No reads. `files` may be null; all must outlive this. What is kept of names counts in `room`, which
  // modules share; null: each counts for itself.
  ModuleMetadata(const Target& target, const Module& module, AssemblyFiles* files,
                 std::shared_ptr<NameRoom> room = nullptr);

  // Calls `use` with the names of the metadata (MetadataNames&) and returns its result. When a page of the
  // metadata turns out to be missing from memory, calls `use` once more with the assembly on disk, and keeps
  // to the assembly from then on. Throws Error with the reason when there is no metadata. Cost: about 12
  // reads in the first call, for headers and root.
  template<typename Use>
  auto with(Use use) {
    try {
      return use(current());
    } catch (const Error& fault) {
      if (fault.kind() != ErrorKind::memory_missing || !fall_back(fault)) throw;
    }
    return use(current());
  }

  // Why there is no metadata, which with() would throw; null when there is some. Cost: that of with().
  const std::string* absence();

  // Source of the metadata that with() uses. NameSource::token before the first use.
  NameSource source() const { return source_; }
  // Why the metadata is not fully trusted: the identity of the file could not be checked by its MVID. Empty
  // otherwise.
  const std::string& reservation() const { return reservation_; }

private:
  struct Source {
    Source(Metadata of, std::shared_ptr<NameRoom> room)
        : metadata(std::move(of)), names(metadata, std::move(room)) {}
    Metadata metadata;
    MetadataNames names;
  };

  // Null when there is no metadata, and absence_ says why.
  MetadataNames* find();
  MetadataNames& current();
  void open_memory();
  void name_assembly(MetadataNames& names) const;
  bool fall_back(const Error& why);
  void open_file();
  std::optional<std::string> mismatch(const Metadata& of_file);
  std::optional<std::uint32_t> rows_of_map(std::string_view field) const;

  const Target* target_;
  const Module* module_;
  AssemblyFiles* files_;
  std::shared_ptr<NameRoom> room_;
  bool opened_ = false, file_tried_ = false;
  NameSource source_ = NameSource::token;
  std::unique_ptr<Source> memory_, file_;
  std::string memory_fault_, file_fault_, absence_, reservation_;
  std::vector<std::byte> file_bytes_; // the metadata of the file that is taken
  std::unique_ptr<HostMemory> file_memory_;
};

// Limit of a metadata blob that the runtime serialised for a module made at run time.
constexpr std::uint32_t max_dynamic_metadata = 256u << 20; // bytes

} // namespace clr
