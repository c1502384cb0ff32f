#include "core/symbols/symbol_table.h"

#include "core/memory/error.h"
#include "core/memory/memory_reader.h"
#include "core/memory/output_file.h"

#include <algorithm>
#include <fmt/format.h>

namespace clr {
namespace {

std::uint32_t word_at(std::span<const std::byte> bytes, std::size_t at) {
  return load<std::uint32_t>(bytes.subspan(at), ByteOrder::little);
}

// An entry in the form of the file. The address type is a template parameter, because a search would
// otherwise spend half of its time on finding the fields.
template<typename AddressType>
class StoredEntry {
public:
  StoredEntry(std::span<const std::byte> entries, std::size_t index)
      : raw_(entries.subspan(index * entry_size, entry_size)) {}

  std::uint64_t offset() const { return load<AddressType>(raw_, ByteOrder::little); }
  // A field behind the address, by number.
  std::uint32_t field(std::size_t number) const {
    return word_at(raw_, sizeof(AddressType) + number * sizeof(std::uint32_t));
  }

private:
  static constexpr std::size_t entry_size = sizeof(AddressType) == 4 ? 28 : 32;
  std::span<const std::byte> raw_;
};

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

std::string_view SymbolTable::header_text(std::uint32_t offset) const {
  const std::string_view rest = strings_.substr(offset, max_symbol_name + 1);
  return rest.substr(0, rest.find('\0'));
}

void SymbolTable::throw_damaged_entry(std::size_t index) const {
  throw_damaged(
      fmt::format("entry {} makes no sense: its bytes lie outside all addresses, or a name outside the "
                  "strings",
                  index));
}

template<typename AddressType>
symbols::Symbol SymbolTable::symbol_form(std::size_t index) const {
  const StoredEntry<AddressType> entry(entries_, index);
  const std::uint64_t offset = entry.offset(), address = header_.base + offset;
  const std::uint32_t size = entry.field(0), into = entry.field(1), function = entry.field(2),
                      file = entry.field(3), line = entry.field(4), lengths = entry.field(5);
  const std::uint32_t function_length = lengths & 0xffff, file_length = lengths >> 16;
  const std::uint64_t strings = strings_.size();
  if (offset > ~header_.base || size > ~address || into > address ||
      std::uint64_t{function} + function_length >= strings || std::uint64_t{file} + file_length >= strings)
    throw_damaged_entry(index);
  return {address,
          size,
          address - into,
          {strings_.data() + function, function_length},
          {strings_.data() + file, file_length},
          line};
}

symbols::Symbol SymbolTable::operator[](std::size_t index) const {
  return header_.address_size == 4 ? symbol_form<std::uint32_t>(index) : symbol_form<std::uint64_t>(index);
}

std::optional<symbols::Symbol> SymbolTable::find(std::uint64_t address) const {
  const auto index = index_of(address);
  return index ? std::optional((*this)[*index]) : std::nullopt;
}

std::size_t SymbolTable::bucket_number(std::uint64_t key) const {
  // The last row stands for everything behind the last bucket.
  return static_cast<std::size_t>(std::min(key >> header_.shift, header_.directory_count - 1));
}

SymbolTable::Bucket SymbolTable::bucket_at(std::size_t number) const {
  const std::size_t begin = word_at(directory_, number * sizeof(std::uint32_t));
  const std::size_t end = number == header_.directory_count - 1
                              ? begin
                              : word_at(directory_, (number + 1) * sizeof(std::uint32_t));
  if (begin > end || end > size())
    throw_damaged(fmt::format("row {} of its directory makes no sense", number));
  return {begin, end};
}

template<typename AddressType>
std::optional<std::size_t> SymbolTable::search_form(Bucket bucket, std::uint64_t key) const {
  std::size_t begin = bucket.begin;
  for (std::size_t count = bucket.end - bucket.begin; count != 0;) {
    // Without a branch, because a CPU cannot predict which half it will be.
    const std::size_t half = count / 2;
    const bool upper = StoredEntry<AddressType>(entries_, begin + half).offset() <= key;
    begin = upper ? begin + half + 1 : begin;
    count = upper ? count - half - 1 : half;
  }
  if (begin == 0) return std::nullopt;
  const StoredEntry<AddressType> entry(entries_, begin - 1);
  // In a damaged file the entry may begin behind the key; the unsigned difference is huge then.
  if (key - entry.offset() >= entry.field(0)) return std::nullopt;
  return begin - 1;
}

std::optional<std::size_t> SymbolTable::search(Bucket bucket, std::uint64_t key) const {
  return header_.address_size == 4 ? search_form<std::uint32_t>(bucket, key)
                                   : search_form<std::uint64_t>(bucket, key);
}

std::optional<std::size_t> SymbolTable::index_of(std::uint64_t address) const {
  if (address < header_.base) return std::nullopt;
  const std::uint64_t key = address - header_.base;
  return search(bucket_at(bucket_number(key)), key);
}

void SymbolTable::index_all(std::span<const std::uint64_t> addresses,
                            std::span<std::uint32_t> entries) const {
  if (addresses.size() != entries.size())
    throw Error(ErrorKind::internal, "as many entries as addresses are needed");
  constexpr std::size_t group = 32; // the number of reads that a CPU can have in progress
  for (std::size_t first = 0; first < addresses.size(); first += group) {
    const auto part = addresses.subspan(first, std::min(group, addresses.size() - first));
    std::size_t numbers[group];
    Bucket buckets[group];
    for (std::size_t i = 0; i < part.size(); ++i) {
      numbers[i] = bucket_number(part[i] < header_.base ? 0 : part[i] - header_.base);
      __builtin_prefetch(directory_.data() + numbers[i] * sizeof(std::uint32_t));
    }
    for (std::size_t i = 0; i < part.size(); ++i) {
      buckets[i] = bucket_at(numbers[i]);
      // The entry that holds the address may lie before the bucket.
      const std::size_t likely = buckets[i].begin == 0 ? 0 : buckets[i].begin - 1;
      __builtin_prefetch(entries_.data() + likely * header_.entry_size());
      __builtin_prefetch(entries_.data() + (buckets[i].begin + buckets[i].end) / 2 * header_.entry_size());
    }
    for (std::size_t i = 0; i < part.size(); ++i) {
      const auto found = part[i] < header_.base ? std::nullopt : search(buckets[i], part[i] - header_.base);
      entries[first + i] = found ? static_cast<std::uint32_t>(*found) : no_entry;
    }
  }
}

void SymbolTable::save(const std::string& path) const {
  OutputFile out(path, Readers::everyone);
  out.write(bytes_);
  out.commit();
}

} // namespace clr
