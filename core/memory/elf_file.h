// An ELF module's file on disk, and what its bytes become when a loader maps and relocates them.
#pragma once

#include "core/memory/elf_dynamic.h"
#include "core/memory/mapped_file.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace clr {

class ElfFile {
public:
  static constexpr std::size_t max_relocations = 1u << 22;

  // Maps the file. Throws Error{io} as HostFile::open does; Error{corrupt} when it is no ELF module.
  static std::unique_ptr<ElfFile> open(const std::string& path, NamedBy named_by = NamedBy::user);
  // The same over bytes that outlive it.
  explicit ElfFile(std::span<const std::byte> bytes);
  ~ElfFile();

  const std::string& path() const { return file_.path(); }
  std::span<const std::byte> bytes() const { return bytes_; }
  const Platform& platform() const { return platform_; }
  const std::vector<ElfSegment>& segments() const { return segments_; }
  // Empty when the file has none.
  const std::vector<std::uint8_t>& build_id() const { return build_id_; }
  // The PT_LOAD whose pages in memory hold the byte at this file offset (page: what the loader rounds to);
  // null for bytes that no segment maps.
  const ElfSegment* segment_of_offset(std::uint64_t file_offset, std::uint64_t page = 4096) const;
  // The PT_LOAD that holds this address as linked; null if none.
  const ElfSegment* segment_at(Address address) const;
  // What is read-only after relocation (PT_GNU_RELRO), as linked; empty when there is none.
  MemoryRange relro() const;

  // The bytes at `address` (as linked) as they are in the file; empty unless one segment's file part holds
  // all.
  std::span<const std::byte> file_bytes(Address address, std::uint64_t size) const;

  // The bytes at `address` (as linked) as they are after loading at `bias`, relative relocations applied.
  // Returns how many leading bytes are certain: it ends before a word that depends on other modules (symbols,
  // TLS), before what the loader itself writes (PT_DYNAMIC, the reserved words of the GOT) and at the end of
  // the file part. Throws Error{corrupt} when the relocation tables make no sense.
  std::size_t read_loaded(Address address, Address bias, std::span<std::byte> out);

  // A dynamic symbol; its address is as linked.
  std::optional<ElfSymbol> find_symbol(std::string_view name);
  std::string soname();
  // It has DT_NEEDED: another module, the loader, loads it.
  bool needs_libraries();
  // Relocations write into segments that are not writable.
  bool has_text_relocations();

  // A word that the loader makes from the bias and the addend: at `address` stands addend + bias.
  struct RelativeWord {
    Address address; // as linked
    std::uint64_t addend;
  };
  // All of them, sorted by address. The first call decodes the relocation tables. Throws Error{corrupt}.
  const std::vector<RelativeWord>& relative_words();

private:
  class LinkedMemory;
  struct Relocations;

  explicit ElfFile(MappedFile file);
  void parse();
  const ElfDynamic& dynamic();
  Relocations& relocations();

  MappedFile file_;
  std::span<const std::byte> bytes_;
  Platform platform_;
  std::vector<ElfSegment> segments_;
  std::vector<std::uint8_t> build_id_;
  std::unique_ptr<LinkedMemory> linked_;
  std::optional<ElfDynamic> dynamic_;
  std::unique_ptr<Relocations> relocations_;
};

} // namespace clr
