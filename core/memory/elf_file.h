// An ELF module's file on disk, and its bytes as they are after a loader mapped and relocated them.
#pragma once

#include "core/memory/elf_dynamic.h"
#include "core/memory/loaded_file.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace clr {

class ElfFile {
public:
  // Of all kinds together; no more than the file has words either, since each stands for a word of its own.
  static constexpr std::size_t max_relocations = 1u << 22;

  // Reads the file. Throws Error{io} as LoadedFile::open does; Error{corrupt} when it is no ELF module.
  static std::unique_ptr<ElfFile> open(const std::string& path, NamedBy named_by = NamedBy::user);
  // The same over a file that was read, and over bytes that outlive it.
  explicit ElfFile(LoadedFile file);
  explicit ElfFile(std::span<const std::byte> bytes);
  ~ElfFile();

  const std::string& path() const { return file_.path(); }
  std::span<const std::byte> bytes() const { return bytes_; }
  const Platform& platform() const { return platform_; }
  const std::vector<ElfSegment>& segments() const { return segments_; }
  // Empty when the file has none.
  const std::vector<std::uint8_t>& build_id() const { return build_id_; }
  // The PT_LOAD whose pages in memory hold the byte at this file offset; null for bytes that no segment maps.
  // `page` is the size to which the loader rounds.
  const ElfSegment* segment_of_offset(std::uint64_t file_offset, std::uint64_t page = 4096) const;
  // The PT_LOAD that holds this linked address (before the load bias is added); null if none.
  const ElfSegment* segment_at(Address address) const;
  // The range that becomes read-only after relocation (PT_GNU_RELRO), at its linked address; empty when there
  // is none.
  MemoryRange relro() const;

  // The bytes of the file at the linked address `address`; empty unless the file part of one segment holds
  // all of them.
  std::span<const std::byte> file_bytes(Address address, std::uint64_t size) const;

  // The bytes at the linked address `address` as they are after loading at `bias`, with relative relocations
  // applied. Returns how many leading bytes are certain. They end before a word that depends on other modules
  // (symbols, TLS), before words that the loader itself writes (PT_DYNAMIC, the reserved words of the GOT),
  // and at the end of the file part. Throws Error{corrupt} when the relocation tables make no sense.
  std::size_t read_loaded(Address address, Address bias, std::span<std::byte> out);

  // A dynamic symbol, with its linked address.
  std::optional<ElfSymbol> find_symbol(std::string_view name);
  std::string soname();
  // The module has DT_NEEDED entries, so another module (the loader) loads it.
  bool needs_libraries();
  // Relocations write into segments that are not writable.
  bool has_text_relocations();

  // A word that the loader makes from the bias and the addend: it writes addend + bias to `address`.
  struct RelativeWord {
    Address address; // as linked
    std::uint64_t addend;
  };
  // All such words, sorted by address. The first call decodes the relocation tables. Throws Error{corrupt}.
  const std::vector<RelativeWord>& relative_words();

private:
  class LinkedMemory;
  struct Relocations;

  void parse();
  const ElfDynamic& dynamic();
  Relocations& relocations();

  LoadedFile file_;
  std::span<const std::byte> bytes_;
  Platform platform_;
  std::vector<ElfSegment> segments_;
  std::vector<const ElfSegment*> loads_; // PT_LOADs that have memory, sorted by address
  std::vector<std::uint8_t> build_id_;
  std::unique_ptr<LinkedMemory> linked_;
  std::optional<ElfDynamic> dynamic_;
  std::unique_ptr<Relocations> relocations_;
  std::optional<Error> wrong_relocations_; // why there are none
};

} // namespace clr
