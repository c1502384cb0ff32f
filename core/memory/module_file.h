// A file on disk as stand-in for the pages of it that a core leaves out: what proves that it is the same
// file, and which of its bytes are certain to be what the process had.
#pragma once

#include "core/memory/elf_core.h"
#include "core/memory/elf_file.h"
#include "core/memory/pe_layout.h"
#include "core/memory/single_file_bundle.h"

#include <memory>
#include <set>
#include <string>
#include <vector>

namespace clr {

// A place in a mapping of the file.
struct FilePlace {
  const FileMapping* mapping = nullptr;
  Address base = 0; // of the mapping of file offset 0 that begins closest below; 0 when there is none
  Address address = 0;
  bool mapped_writable = false; // the core says that the process could write there

  std::uint64_t file_offset() const { return mapping->file_offset + (address - mapping->begin); }
  FilePlace at(Address other) const { return {mapping, base, other, mapped_writable}; }
};

struct FileProof {
  enum class Verdict { proven, contradicted, unknown };
  Verdict verdict = Verdict::unknown;
  std::string text; // what proves or contradicts it: "same build id"
};

// One thing in a file that gets mapped: an ELF module, or PE images.
class ModuleFile {
public:
  static constexpr std::uint64_t page = 4096;

  ModuleFile() = default;
  ModuleFile(const ModuleFile&) = delete;
  ModuleFile& operator=(const ModuleFile&) = delete;
  virtual ~ModuleFile() = default;

  // Whether the place is part of it.
  virtual bool covers(const FilePlace& place) const = 0;
  // What the core itself tells about the identity of the file. `places` has one for each mapping of it.
  virtual FileProof identify(ElfCore& core, const std::vector<FilePlace>& places) = 0;
  // Size and parts of the file fit the mappings.
  virtual bool layout_fits(const std::vector<FilePlace>& places) const = 0;
  // The bytes that stood at the place, given that it is the same file: how many leading bytes of `out` are
  // certain, 0 when those of the place are not (writable data, what the loader wrote).
  virtual std::size_t read(const FilePlace& place, std::span<std::byte> out) = 0;
  // The same bytes without a copy, when they are as in the file; else empty.
  virtual std::span<const std::byte> lend(const FilePlace& place, std::uint64_t size) = 0;
};

// An ELF module. Served are segments that are not writable; of writable ones what is constant after
// relocation: PT_GNU_RELRO of modules that another module loads (the dynamic loader writes to its own), and
// the runtime's contract descriptor with its pointer slots. A part of a read-only segment whose protection
// the process once changed (its mapping is split off) is not served: that is done to write to it, and
// libcoreclr does so to a page of .rodata. Proof: the build id; else the relocated words of RELRO that the
// core holds.
class ElfModuleFile final : public ModuleFile {
public:
  // `file` must outlive this.
  explicit ElfModuleFile(ElfFile& file) : file_(file) {}

  bool covers(const FilePlace& place) const override { return segment_at(place) != nullptr; }
  FileProof identify(ElfCore& core, const std::vector<FilePlace>& places) override;
  bool layout_fits(const std::vector<FilePlace>& places) const override;
  std::size_t read(const FilePlace& place, std::span<std::byte> out) override;
  std::span<const std::byte> lend(const FilePlace& place, std::uint64_t size) override;

private:
  struct Raw {
    const ElfSegment* segment = nullptr;
    std::uint64_t size = 0; // bytes from the place to the end of what the segment's pages hold of the file
  };
  Address bias(const FilePlace& place) const;
  const ElfSegment* segment_at(const FilePlace& place) const;
  std::uint64_t raw_size(const FilePlace& place, const ElfSegment& segment) const;
  FileProof compare_build_id(ElfCore& core, Address load_bias) const;
  FileProof compare_relocated(ElfCore& core, const FilePlace& place);
  void find_split_mappings(const std::vector<FilePlace>& places);
  const std::vector<MemoryRange>& constant_ranges();

  ElfFile& file_;
  std::set<Address> split_off_; // begins of mappings
  std::optional<std::vector<MemoryRange>> constants_;
  std::optional<bool> text_relocations_;
};

// The PE images of a file: of an assembly one, of a single-file bundle many. An image that is mapped flat is
// served whole; one that is laid out, with the words that the base changes, and of its writable sections only
// the tables of a ReadyToRun image.
// Proof: its header page, or the words of its writable sections that still are what relocation made of them.
class PeModuleFile final : public ModuleFile {
public:
  // Such words that must be equal, and the part of all that they must be (the runtime overwrites those that
  // it has resolved).
  static constexpr std::size_t min_equal_words = 64, min_equal_part = 8;

  // `file` must outlive this. `bundle` null: the whole file is one image.
  PeModuleFile(std::span<const std::byte> file, const SingleFileBundle* bundle);

  bool covers(const FilePlace& place) const override { return image_at(place.file_offset()) != nullptr; }
  FileProof identify(ElfCore& core, const std::vector<FilePlace>& places) override;
  bool layout_fits(const std::vector<FilePlace>& places) const override;
  std::size_t read(const FilePlace& place, std::span<std::byte> out) override;
  std::span<const std::byte> lend(const FilePlace& place, std::uint64_t size) override;

private:
  struct Image {
    std::uint64_t offset = 0, size = 0; // in the file
    PeLayout layout;
  };
  // Whether words of a run are the file's, or moved by the base, or nobody knows.
  enum class Base { irrelevant, moves_words, unknown };
  struct Run {
    std::span<const std::byte> bytes; // from the place to the end of what is served in one piece
    const Image* image = nullptr;
    std::uint32_t image_address = 0; // of the place
    Base base = Base::irrelevant;
  };
  struct Words {
    std::size_t equal = 0, all = 0;
  };

  const Image* image_at(std::uint64_t file_offset) const;
  Run run_at(const FilePlace& place) const;
  enum class Mapped { flat, laid_out, unknown };
  Mapped how_mapped(const FilePlace& place, const Image& image) const;
  Words compare_words(ElfCore& core, const FilePlace& place) const;

  std::span<const std::byte> file_;
  std::vector<Image> images_; // sorted by offset
  // Where headers are mapped, by the offset of their image. A section is laid out when one is at its base;
  // else the page that it shares with something else was mapped for that.
  std::set<std::pair<std::uint64_t, Address>> header_places_;
};

} // namespace clr
