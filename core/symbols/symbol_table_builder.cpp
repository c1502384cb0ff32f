#include "core/symbols/symbol_table_builder.h"

#include "core/memory/platform.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <queue>

namespace clr {
namespace {

// Limit of the rows of one layer. Overlaps cut n rows into at most 2 n pieces, and lines and functions cut
// each other, so the entries of a full builder fit into a table.
constexpr std::size_t max_rows = max_symbol_entries / 4;
constexpr std::size_t entries_alignment = 64; // two or more entries lie in one cache line

struct BuiltEntry {
  std::uint64_t address = 0;
  std::uint32_t size = 0, into = 0, function = 0, file = 0, line = 0;

  // Whether the next entry says the same about the bytes behind this one.
  bool continued_by(const BuiltEntry& next) const {
    return address + size == next.address && into + std::uint64_t{size} == next.into &&
           function == next.function && file == next.file && line == next.line;
  }
};

// The bytes of the file, which are zeros at first.
class Output {
public:
  explicit Output(std::size_t size) : bytes_(size) {}

  void seek(std::uint64_t at) { at_ = static_cast<std::size_t>(at); }
  void append(std::span<const std::byte> bytes) {
    std::memcpy(bytes_.data() + at_, bytes.data(), bytes.size());
    at_ += bytes.size();
  }
  template<typename T>
  void integer(T value) {
    if constexpr (std::endian::native == std::endian::big) value = std::byteswap(value);
    append(std::as_bytes(std::span(&value, 1)));
  }
  std::vector<std::byte> take() { return std::move(bytes_); }

private:
  std::vector<std::byte> bytes_;
  std::size_t at_ = 0;
};

std::size_t aligned(std::size_t size) {
  return (size + entries_alignment - 1) / entries_alignment * entries_alignment;
}

} // namespace

struct SymbolTableBuilder::Piece {
  std::uint64_t begin = 0, end = 0;
  const Row* row = nullptr;
};

SymbolTableBuilder::SymbolTableBuilder(SymbolSpace space, std::string_view made_from,
                                       std::string_view identity)
    : space_(space), strings_(std::make_unique<std::string>(1, '\0')),
      interned_(0, Hash{strings_.get()}, Equal{strings_.get()}) {
  made_from_ = intern(made_from).value_or(0);
  identity_ = intern(identity).value_or(0);
}

std::optional<std::uint32_t> SymbolTableBuilder::intern(std::string_view text) {
  text = text.substr(0, max_symbol_name + 1); // the rest of a longer one is not looked at
  const std::size_t length = std::min(text.find('\0'), max_symbol_name);
  if (length < text.size()) {
    ++dropped_.cut;
    text = text.substr(0, length);
  }
  if (text.empty()) return 0;
  if (const auto known = interned_.find(text); known != interned_.end()) return *known;
  const std::size_t offset = strings_->size();
  if (text.size() + 1 > max_symbol_strings - offset) return std::nullopt;
  strings_->append(text).push_back('\0');
  interned_.insert(static_cast<std::uint32_t>(offset));
  return static_cast<std::uint32_t>(offset);
}

bool SymbolTableBuilder::check(std::uint64_t address, std::uint64_t size) {
  if (size == 0) return ++dropped_.empty, false;
  if (size > max_size || size > std::numeric_limits<std::uint64_t>::max() - address)
    return ++dropped_.oversize, false;
  return true;
}

bool SymbolTableBuilder::add(std::uint64_t address, std::uint64_t size, std::string_view function,
                             std::string_view file, std::uint32_t line) {
  if (!check(address, size)) return false;
  const Name function_name = name(function), file_name = name(file);
  return add(address, size, function_name, file_name, line);
}

bool SymbolTableBuilder::add(std::uint64_t address, std::uint64_t size, Name function, Name file,
                             std::uint32_t line) {
  if (!check(address, size)) return false;
  // Nothing is left of a name that begins with a NUL.
  if (function.at_ == 0u && file.at_ == 0u) return ++dropped_.nameless, false;
  if (!function.at_ || !file.at_ || functions_.size() >= max_rows) return ++dropped_.no_room, false;
  functions_.push_back(
      {address, static_cast<std::uint32_t>(size), *function.at_, *file.at_, line, next_order()});
  return true;
}

bool SymbolTableBuilder::add_line(std::uint64_t address, std::uint64_t size, std::string_view file,
                                  std::uint32_t line) {
  return check(address, size) && add_line(address, size, name(file), line);
}

bool SymbolTableBuilder::add_line(std::uint64_t address, std::uint64_t size, Name file, std::uint32_t line) {
  if (!check(address, size)) return false;
  if (file.at_ == 0u) return ++dropped_.nameless, false;
  if (!file.at_ || lines_.size() >= max_rows) return ++dropped_.no_room, false;
  lines_.push_back({address, static_cast<std::uint32_t>(size), 0, *file.at_, line, next_order()});
  return true;
}

// Sweeps over the addresses; `open` holds the rows that have begun, the one that was added last on top.
std::vector<SymbolTableBuilder::Piece> SymbolTableBuilder::flatten(const std::vector<Row>& rows) {
  std::vector<const Row*> order;
  order.reserve(rows.size());
  for (const Row& row : rows) order.push_back(&row);
  std::ranges::stable_sort(order, {}, [](const Row* row) { return row->address; });

  std::vector<Piece> pieces;
  pieces.reserve(rows.size());
  std::priority_queue<const Row*> open; // rows are stored in the order in which they were added
  std::uint64_t at = 0;
  for (std::size_t next = 0;;) {
    while (!open.empty() && open.top()->address + open.top()->size <= at) open.pop();
    if (open.empty()) {
      if (next == order.size()) return pieces;
      at = order[next]->address;
    }
    for (; next < order.size() && order[next]->address == at; ++next) open.push(order[next]);
    const Row* top = open.top();
    std::uint64_t end = top->address + top->size;
    if (next < order.size()) end = std::min(end, order[next]->address);
    if (!pieces.empty() && pieces.back().row == top && pieces.back().end == at)
      pieces.back().end = end;
    else
      pieces.push_back({at, end, top});
    at = end;
  }
}

std::shared_ptr<const SymbolTable> SymbolTableBuilder::build() {
  const std::vector<Piece> functions = flatten(functions_), lines = flatten(lines_);

  std::vector<bool> shown(functions_.size());
  for (const Piece& piece : functions) shown[static_cast<std::size_t>(piece.row - functions_.data())] = true;
  dropped_.covered += static_cast<std::size_t>(std::ranges::count(shown, false));

  std::vector<BuiltEntry> entries;
  entries.reserve(functions.size() + lines.size());
  std::uint64_t at = 0;
  for (auto function = functions.begin(), line = lines.begin();;) {
    if (function != functions.end() && function->end <= at) {
      ++function;
      continue;
    }
    if (line != lines.end() && line->end <= at) {
      ++line;
      continue;
    }
    const bool more_functions = function != functions.end(), more_lines = line != lines.end();
    if (!more_functions && !more_lines) break;
    const std::uint64_t function_begin = more_functions ? std::max(at, function->begin) : ~std::uint64_t{0};
    const std::uint64_t line_begin = more_lines ? std::max(at, line->begin) : ~std::uint64_t{0};
    at = std::min(function_begin, line_begin);
    const bool in_function = function_begin == at && more_functions, in_line = line_begin == at && more_lines;
    std::uint64_t end = ~std::uint64_t{0};
    if (more_functions) end = std::min(end, in_function ? function->end : function->begin);
    if (more_lines) end = std::min(end, in_line ? line->end : line->begin);
    BuiltEntry entry{.address = at, .size = static_cast<std::uint32_t>(end - at)};
    if (in_function) {
      entry.into = static_cast<std::uint32_t>(at - function->row->address);
      entry.function = function->row->function;
    }
    const bool hidden = in_line && in_function && line->row->order < function->row->order;
    if (in_line || in_function) {
      const Row& source = in_line && !hidden ? *line->row : *function->row;
      entry.file = source.file;
      entry.line = source.line;
    }
    if (!entries.empty() && entries.back().continued_by(entry))
      entries.back().size += entry.size;
    else
      entries.push_back(entry);
    at = end;
  }

  SymbolFileHeader header{.space = space_, .made_from = made_from_, .identity = identity_};
  const std::uint64_t first = entries.empty() ? 0 : entries.front().address;
  const std::uint64_t last = entries.empty() ? 0 : entries.back().address;
  // Small addresses are stored unchanged, so a table of RVAs shows RVAs.
  header.base = last <= 0xffff'ffffu ? 0 : first;
  const std::uint64_t span = last - header.base;
  header.address_size = span <= 0xffff'ffffu ? 4 : 8;
  while ((span >> header.shift) >= std::max<std::size_t>(entries.size(), 1)) ++header.shift;
  header.entry_count = entries.size();
  header.directory_count = (span >> header.shift) + 2;
  header.entries_start = symbol_file_header_size;
  header.directory_start = aligned(header.entries_start + header.entry_count * header.entry_size());
  header.strings_start = header.directory_start + header.directory_count * sizeof(std::uint32_t);
  header.strings_size = strings_->size();
  header.file_size = header.strings_start + header.strings_size;

  Output out(header.file_size);
  out.append(write_symbol_file_header(header));
  out.seek(header.entries_start);
  for (const BuiltEntry& entry : entries) {
    const std::uint64_t offset = entry.address - header.base;
    if (header.address_size == 8)
      out.integer(offset);
    else
      out.integer(static_cast<std::uint32_t>(offset));
    for (const std::uint32_t value : {entry.size, entry.into, entry.function, entry.file, entry.line})
      out.integer(value);
    for (const std::uint32_t name : {entry.function, entry.file})
      out.integer(static_cast<std::uint16_t>(std::strlen(strings_->data() + name)));
  }
  out.seek(header.directory_start);
  std::uint32_t below = 0;
  for (std::uint64_t bucket = 0; bucket + 1 < header.directory_count; ++bucket) {
    while (below < entries.size() && (entries[below].address - header.base) >> header.shift < bucket) ++below;
    out.integer(below);
  }
  out.integer(static_cast<std::uint32_t>(entries.size()));
  out.append(std::as_bytes(std::span(*strings_)));

  functions_.clear();
  lines_.clear();
  return SymbolTable::of_bytes(out.take(), {});
}

} // namespace clr
