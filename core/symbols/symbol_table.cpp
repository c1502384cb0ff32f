#include "core/symbols/symbol_table.h"

#include "core/memory/error.h"
#include "core/memory/memory_reader.h"
#include "core/memory/output_file.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>

namespace clr {

struct SymbolTable::Entry {
  std::uint64_t offset = 0; // address less the base
  std::uint32_t size = 0, into = 0, function = 0, file = 0, line = 0;
};

namespace {

std::uint32_t word_at(std::span<const std::byte> bytes, std::size_t at) {
  return load<std::uint32_t>(bytes.subspan(at), ByteOrder::little);
}

} // namespace

std::shared_ptr<const SymbolTable> SymbolTable::open(const std::string& path) {
  return std::shared_ptr<const SymbolTable>(new SymbolTable(MappedFile::open(path), {}, path));
}

std::shared_ptr<const SymbolTable> SymbolTable::of_bytes(std::vector<std::byte> bytes, std::string name) {
  return std::shared_ptr<const SymbolTable>(new SymbolTable({}, std::move(bytes), std::move(name)));
}

SymbolTable::SymbolTable(MappedFile file, std::vector<std::byte> owned, std::string name)
    : file_(std::move(file)), owned_(std::move(owned)), name_(std::move(name)),
      bytes_(owned_.empty() ? file_.bytes() : std::span<const std::byte>(owned_)),
      header_(read_symbol_file_header(bytes_, name_)) {
  entries_ = bytes_.subspan(header_.entries_start, size() * header_.entry_size());
  directory_ = bytes_.subspan(header_.directory_start, header_.directory_count * sizeof(std::uint32_t));
  strings_ = {reinterpret_cast<const char*>(bytes_.data()) + header_.strings_start,
              static_cast<std::size_t>(header_.strings_size)};
}

void SymbolTable::throw_damaged(std::string_view what) const {
  throw Error(ErrorKind::corrupt, fmt::format("{}: {}", name_.empty() ? "symbol table" : name_, what));
}

std::uint64_t SymbolTable::offset_at(std::size_t index) const {
  const auto raw = entries_.subspan(index * header_.entry_size());
  return header_.address_size == 4 ? word_at(raw, 0) : load<std::uint64_t>(raw, ByteOrder::little);
}

SymbolTable::Entry SymbolTable::entry_at(std::size_t index) const {
  const auto raw = entries_.subspan(index * header_.entry_size()).subspan(header_.address_size);
  return {offset_at(index), word_at(raw, 0),  word_at(raw, 4),
          word_at(raw, 8),  word_at(raw, 12), word_at(raw, 16)};
}

std::string_view SymbolTable::text(std::uint32_t offset) const {
  if (offset == 0) return {};
  if (offset >= strings_.size())
    throw_damaged(fmt::format("a name at {:#x} lies outside its strings", offset));
  const std::string_view rest = strings_.substr(offset, max_symbol_name + 1);
  const void* end = std::memchr(rest.data(), 0, rest.size());
  if (end == nullptr) throw_damaged(fmt::format("the name at {:#x} has no end", offset));
  return rest.substr(0, static_cast<std::size_t>(static_cast<const char*>(end) - rest.data()));
}

Symbol SymbolTable::symbol_at(std::size_t index) const {
  const Entry entry = entry_at(index);
  const std::uint64_t address = header_.base + entry.offset;
  if (entry.offset > ~header_.base || entry.size > ~address || entry.into > address)
    throw_damaged(fmt::format("entry {} lies outside all addresses", index));
  return {address, entry.size, address - entry.into, text(entry.function), text(entry.file), entry.line};
}

Symbol SymbolTable::operator[](std::size_t index) const {
  return symbol_at(index);
}

std::optional<Symbol> SymbolTable::find(std::uint64_t address) const {
  const auto index = index_of(address);
  return index ? std::optional(symbol_at(*index)) : std::nullopt;
}

std::optional<std::size_t> SymbolTable::index_of(std::uint64_t address) const {
  if (address < header_.base) return std::nullopt;
  const std::uint64_t key = address - header_.base;
  // The last row stands for all that lies behind the last bucket.
  const std::uint64_t buckets = header_.directory_count - 1;
  const std::uint64_t bucket = std::min(key >> header_.shift, buckets);
  std::size_t begin = word_at(directory_, bucket * sizeof(std::uint32_t));
  const std::size_t end =
      bucket == buckets ? begin : word_at(directory_, (bucket + 1) * sizeof(std::uint32_t));
  if (begin > end || end > size())
    throw_damaged(fmt::format("row {} of its directory makes no sense", bucket));
  for (std::size_t count = end - begin; count != 0;) {
    const std::size_t half = count / 2;
    if (offset_at(begin + half) <= key) {
      begin += half + 1;
      count -= half + 1;
    } else {
      count = half;
    }
  }
  if (begin == 0) return std::nullopt;
  const Entry entry = entry_at(begin - 1);
  // Of a damaged file the entry may begin behind the key; then the distance is huge.
  if (key - entry.offset >= entry.size) return std::nullopt;
  return begin - 1;
}

void SymbolTable::save(const std::string& path) const {
  OutputFile out(path);
  out.write(bytes_);
  out.commit();
}

} // namespace clr
