// Names by address, from any kind of file: entries sorted by address, each address once. One search gives
// function, file and line together. A table has the same bytes in memory and in a file (.sym), so a mapped
// file can be searched at once, however large it is. Form of the file: symbol_file.h. Source of the idea: the
// proposal for sorted .sym files, ros-dev mailing list, January 2005.
#pragma once

#include "core/memory/mapped_file.h"
#include "core/symbols/symbol_file.h"

#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace clr {

namespace symbols {

struct Symbol {
  std::uint64_t address = 0, size = 0; // the range of bytes that the other members describe
  std::uint64_t function_start = 0;    // at most `address`: a function with lines has several entries
  std::string_view function;           // empty: unknown
  std::string_view file;               // empty: unknown
  std::uint32_t line = 0;              // 0: unknown
};

} // namespace symbols

// Immutable, so any number of threads may use it. Views of its text are valid as long as the table. Addresses
// are those of the source: of the process, or relative to the image (space()).
class SymbolTable {
public:
  // Maps the file and checks only its header, which takes microseconds for a file of any size. Throws
  // Error{io}; Error{corrupt} with the reason; Error{unsupported_contract} for another version of the format.
  static std::shared_ptr<const SymbolTable> open(const std::string& path);
  // The same for the bytes of a file; `name` is for messages.
  static std::shared_ptr<const SymbolTable> of_bytes(std::vector<std::byte> bytes, std::string name);

  SymbolTable(const SymbolTable&) = delete;
  SymbolTable& operator=(const SymbolTable&) = delete;

  // The entry that holds the address; nothing in gaps. Allocates nothing. Cost: one look into the directory
  // of addresses, then a binary search among the entries of its bucket. Throws Error{corrupt} when the entry
  // or the way to it is damaged, which can happen only with a file.
  std::optional<symbols::Symbol> find(std::uint64_t address) const;
  // The number of that entry, for (*this)[n]. A caller that only counts samples need not touch the texts.
  std::optional<std::size_t> index_of(std::uint64_t address) const;
  // index_of for many addresses, in any order: entries[i] belongs to addresses[i], no_entry in a gap. The
  // waiting times for memory overlap, which makes it several times faster than single calls. Both spans must
  // have the same size.
  static constexpr std::uint32_t no_entry = 0xffff'ffff;
  void index_all(std::span<const std::uint64_t> addresses, std::span<std::uint32_t> entries) const;

  std::size_t size() const { return static_cast<std::size_t>(header_.entry_count); }
  bool empty() const { return size() == 0; }
  // Entry number `index` < size(), by address. Throws Error{corrupt} as find does.
  symbols::Symbol operator[](std::size_t index) const;

  class Iterator;
  Iterator begin() const;
  Iterator end() const;

  // The value that the addresses inside the table are relative to. Callers never add it: all functions take
  // and return full addresses.
  std::uint64_t base() const { return header_.base; }
  SymbolSpace space() const { return header_.space; }
  // Bytes of an address in an entry: 4 or 8.
  unsigned address_size() const { return header_.address_size; }
  // The kind and name of the source, to show to people.
  std::string_view made_from() const { return header_text(header_.made_from); }
  // The identity of the image or process that the names are for: hexadecimal digits of a signature or build
  // id, or a process id in decimal; empty when the source has none.
  std::string_view identity() const { return header_text(header_.identity); }

  // Writes the .sym file to `path` and replaces an older one; programs that have the old one mapped keep its
  // content. Throws Error{io}.
  void save(const std::string& path) const;
  // The bytes that save() writes.
  std::span<const std::byte> bytes() const { return bytes_; }

private:
  SymbolTable(MappedFile file, std::vector<std::byte> owned, std::string name);

  // Number of entries that begin before the bucket of an address, and before the next bucket.
  struct Bucket {
    std::size_t begin = 0, end = 0;
  };
  std::size_t bucket_number(std::uint64_t key) const;
  Bucket bucket_at(std::size_t number) const;
  std::optional<std::size_t> search(Bucket bucket, std::uint64_t key) const;
  template<typename AddressType>
  std::optional<std::size_t> search_form(Bucket bucket, std::uint64_t key) const;
  template<typename AddressType>
  symbols::Symbol symbol_form(std::size_t index) const;
  std::string_view header_text(std::uint32_t offset) const;
  [[noreturn]] void throw_damaged(std::string_view what) const;
  [[noreturn]] void throw_damaged_entry(std::size_t index) const;

  MappedFile file_;
  std::vector<std::byte> owned_;
  std::string name_;
  std::span<const std::byte> bytes_, entries_, directory_;
  std::string_view strings_;
  SymbolFileHeader header_;
};

class SymbolTable::Iterator {
public:
  using iterator_category = std::input_iterator_tag;
  using value_type = symbols::Symbol;
  using difference_type = std::ptrdiff_t;
  using pointer = const symbols::Symbol*;
  using reference = symbols::Symbol;

  Iterator() = default;
  Iterator(const SymbolTable& table, std::size_t index) : table_(&table), index_(index) {}
  symbols::Symbol operator*() const { return (*table_)[index_]; }
  Iterator& operator++() {
    ++index_;
    return *this;
  }
  Iterator operator++(int) {
    Iterator before = *this;
    ++index_;
    return before;
  }
  friend bool operator==(const Iterator&, const Iterator&) = default;

private:
  const SymbolTable* table_ = nullptr;
  std::size_t index_ = 0;
};

inline SymbolTable::Iterator SymbolTable::begin() const {
  return {*this, 0};
}
inline SymbolTable::Iterator SymbolTable::end() const {
  return {*this, size()};
}

} // namespace clr
