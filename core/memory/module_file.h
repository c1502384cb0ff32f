// A file on disk in the place of its pages that a core leaves out: the proof that it is the same file, and
// the bytes that are certain to equal those of the process.
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

// A place within a mapping of the file.
struct FilePlace {
  const FileMapping* mapping = nullptr;
  Address base = 0; // of the nearest mapping of file offset 0 at or below; 0 when there is none
  Address address = 0;
  bool mapped_writable = false; // the core says that the process could write there

  std::uint64_t file_offset() const { return mapping->file_offset + (address - mapping->begin); }
  FilePlace at(Address other) const { return {mapping, base, other, mapped_writable}; }
};

struct FileProof {
  enum class Verdict { proven, contradicted, unknown };
  Verdict verdict = Verdict::unknown;
  std::string text; // the reason for the verdict: "same build id"
};

// One kind of content of a mapped file: an ELF module, or PE images.
class ModuleFile {
public:
  static constexpr std::uint64_t page = 4096;

  ModuleFile() = default;
  ModuleFile(const ModuleFile&) = delete;
  ModuleFile& operator=(const ModuleFile&) = delete;
  virtual ~ModuleFile() = default;

  // Whether the place belongs to this content.
  virtual bool covers(const FilePlace& place) const = 0;
  // Compares the file with the parts of it that the core holds. `places` has one place for each mapping of
  // the file.
  virtual FileProof identify(ElfCore& core, const std::vector<FilePlace>& places) = 0;
  struct Layout {
    bool fits = false; // size and parts of the file fit the mappings
    // First addresses of mappings that are no part of the file as it was loaded, although the others are:
    // pages whose protection the process changed, or that it mapped for itself.
    std::vector<Address> strange;
  };
  // How the file fits its mappings. `places` as for identify.
  virtual Layout layout(const std::vector<FilePlace>& places) const = 0;
  // The bytes of the process at this place, provided that the file is the same one. Returns how many leading
  // bytes of `out` are certain; 0 when the first one is not (writable data, words that the loader wrote).
  virtual std::size_t read(const FilePlace& place, std::span<std::byte> out) = 0;
  // The same bytes without a copy, when the process had them unchanged from the file; else empty.
  virtual LentBytes lend(const FilePlace& place, std::uint64_t size) = 0;
};

// An ELF module. It answers for segments that are not writable. Of writable segments it answers for the bytes
// that are constant after relocation: PT_GNU_RELRO of modules that another module loads (the dynamic loader
// writes to its own), and the runtime's contract descriptor with its pointer slots. It does not answer for a
// part of a read-only segment whose protection the process once changed (the part has a mapping of its own):
// that is done in order to write to it, and libcoreclr does so to a page of .rodata. Proof: the build id;
// else the relocated words of RELRO that the core holds.
class ElfModuleFile final : public ModuleFile {
public:
  // `file` must outlive this.
  explicit ElfModuleFile(ElfFile& file) : file_(file) {}

  bool covers(const FilePlace& place) const override { return segment_at(place) != nullptr; }
  FileProof identify(ElfCore& core, const std::vector<FilePlace>& places) override;
  Layout layout(const std::vector<FilePlace>& places) const override;
  std::size_t read(const FilePlace& place, std::span<std::byte> out) override;
  LentBytes lend(const FilePlace& place, std::uint64_t size) override;

private:
  struct Raw {
    const ElfSegment* segment = nullptr;
    std::uint64_t size = 0; // bytes from the place to the last byte of the file in the pages of the segment
  };
  Address bias(const FilePlace& place) const;
  const ElfSegment* segment_at(const FilePlace& place) const;
  std::uint64_t raw_size(const FilePlace& place, const ElfSegment& segment) const;
  FileProof compare_build_id(ElfCore& core, Address load_bias) const;
  FileProof compare_relocated(ElfCore& core, const FilePlace& place);
  void find_split_mappings(const std::vector<FilePlace>& places);
  const std::vector<MemoryRange>& constant_ranges();

  ElfFile& file_;
  std::set<Address> split_off_; // first addresses of mappings
  std::optional<std::vector<MemoryRange>> constants_;
  std::optional<bool> text_relocations_;
};

// The PE images of a file: one for an assembly, many for a single-file bundle. For an image that is mapped
// flat, all bytes are certain. For an image that is laid out, words that depend on the base are corrected,
// and of its writable sections only the tables of a ReadyToRun image are certain.
// Proof: the page of its header, or the words of its writable sections that still have the values that
// relocation gave them.
class PeModuleFile final : public ModuleFile {
public:
  // The runtime overwrites the words that it has resolved, so that few equal ones contradict nothing unless
  // there are many. Proof are that many of which at least that part (1/8) is equal, or fewer of which most
  // (3/4) are.
  static constexpr std::size_t min_equal_words = 64, min_equal_part = 8, min_mostly_equal_words = 16;
  // Places at which one image is compared with the core, which may say that it was mapped a million times.
  static constexpr std::size_t max_compared = 16;
  // Parts of images (headers and sections, and each 64 bytes of a header that is compared) that are looked
  // at, for all mappings. Of a program of 500 images in 2,000 mappings these are some 10,000.
  static constexpr std::uint64_t max_looks = 2u << 20;

  // `file` must outlive this. `bundle` null: the whole file is one image. Throws Error{corrupt} as
  // PeLayout::parse does.
  PeModuleFile(PartialFile& file, const SingleFileBundle* bundle);

  // False: the file is no PE image, and the bundle has none that can be read.
  bool has_images() const { return !images_.empty(); }
  // Bytes that are kept of the images, beside those of the file.
  std::uint64_t kept_bytes() const;
  bool covers(const FilePlace& place) const override { return image_at(place.file_offset()) != nullptr; }
  // Both throw Error{corrupt} beyond max_looks.
  FileProof identify(ElfCore& core, const std::vector<FilePlace>& places) override;
  Layout layout(const std::vector<FilePlace>& places) const override;
  std::size_t read(const FilePlace& place, std::span<std::byte> out) override;
  LentBytes lend(const FilePlace& place, std::uint64_t size) override;

private:
  struct Image {
    std::uint64_t offset = 0, size = 0; // in the file
    PeLayout layout;
    std::size_t compared_headers = 0, compared_sections = 0; // places
  };
  // Whether the words of a run are those of the file, are moved by the base, or are unknown.
  enum class Base { irrelevant, moves_words, unknown };
  struct Run {
    std::uint64_t offset = 0, size = 0; // in the file, to the end of the bytes that one read can deliver
    const Image* image = nullptr;
    std::uint32_t image_address = 0; // of the place
    Base base = Base::irrelevant;
  };
  struct Words {
    std::size_t equal = 0, all = 0;
  };

  const Image* image_at(std::uint64_t file_offset) const;
  // The first and the end of those that begin in a part of the file, and of the one that reaches into it:
  // images of real files do not overlap.
  std::pair<std::size_t, std::size_t> images_in(std::uint64_t begin, std::uint64_t end) const;
  std::span<Image> images_of(const FileMapping& mapping);
  void look(std::uint64_t count) const;
  Run run_at(const FilePlace& place) const;
  enum class Mapped { flat, laid_out, unknown };
  Mapped how_mapped(const FilePlace& place, const Image& image) const;
  Words compare_words(ElfCore& core, const FilePlace& place);

  PartialFile& file_;
  std::vector<Image> images_; // sorted by offset
  mutable std::uint64_t looks_ = 0;
  // Where headers are mapped, by the offset of their image. A section is laid out when a header is mapped at
  // the section's base. Otherwise its page was mapped for something else that shares it.
  std::set<std::pair<std::uint64_t, Address>> header_places_;
};

} // namespace clr
