#include "core/symbols/symbol_table_builder.h"

#include "core/memory/platform.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <numeric>
#include <queue>

namespace clr {
namespace {

// Limit of the rows of one layer: 256 MB of them, ten times as many as services have methods that are
// compiled again and again. Overlaps cut n rows into at most 2 n pieces, and lines and functions cut each
// other, so the entries of a full builder fit into a table.
constexpr std::size_t max_rows = 1u << 23;
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

// The parts of the rows of one layer that no later row covers, one after the other by address. `open_` holds
// the rows that have begun, the one that was added last on top.
class SymbolTableBuilder::Sweep {
public:
  Sweep(const std::vector<Row>& rows, const std::vector<std::uint32_t>& order) : rows_(rows), order_(order) {
    next();
  }

  bool done() const { return row_ == nullptr; }
  std::uint64_t begin() const { return begin_; }
  std::uint64_t end() const { return end_; }
  const Row& row() const { return *row_; }

  void next() {
    row_ = nullptr;
    while (open_next()) {
      const Row& top = rows_[open_.top()];
      if (row_ != nullptr && (row_ != &top || at_ != end_)) return;
      if (row_ == nullptr) begin_ = at_;
      row_ = &top;
      end_ = top.address + top.size;
      if (next_ < order_.size()) end_ = std::min(end_, rows_[order_[next_]].address);
      at_ = end_;
    }
  }

private:
  // Opens the rows that begin where the sweep is, which goes on to the next one when none is open. False at
  // the end of all.
  bool open_next() {
    while (!open_.empty() && rows_[open_.top()].address + rows_[open_.top()].size <= at_) open_.pop();
    if (open_.empty()) {
      if (next_ == order_.size()) return false;
      at_ = rows_[order_[next_]].address;
    }
    for (; next_ < order_.size() && rows_[order_[next_]].address == at_; ++next_) open_.push(order_[next_]);
    return true;
  }

  const std::vector<Row>& rows_;
  const std::vector<std::uint32_t>& order_;
  std::priority_queue<std::uint32_t> open_; // rows are stored in the order in which they were added
  std::size_t next_ = 0;
  std::uint64_t at_ = 0, begin_ = 0, end_ = 0;
  const Row* row_ = nullptr;
};

// The entries of functions and lines together, one after the other by address. Made twice, once to count
// them, and never kept: there can be more of them than of rows.
class SymbolTableBuilder::Merge {
public:
  Merge(Sweep functions, Sweep lines) : functions_(std::move(functions)), lines_(std::move(lines)) {}

  // Calls `take` with each entry, and `show` with the row of each function that is in one.
  template<typename Take, typename Show>
  void each(Take take, Show show) {
    std::optional<BuiltEntry> last;
    while (const auto entry = next(show)) {
      if (last && last->continued_by(*entry)) {
        last->size += entry->size;
        continue;
      }
      if (last) take(*last);
      last = entry;
    }
    if (last) take(*last);
  }

private:
  template<typename Show>
  std::optional<BuiltEntry> next(Show& show) {
    while (!functions_.done() && functions_.end() <= at_) functions_.next();
    while (!lines_.done() && lines_.end() <= at_) lines_.next();
    constexpr std::uint64_t never = ~std::uint64_t{0};
    const bool more_functions = !functions_.done(), more_lines = !lines_.done();
    if (!more_functions && !more_lines) return std::nullopt;
    const std::uint64_t function_begin = more_functions ? std::max(at_, functions_.begin()) : never;
    const std::uint64_t line_begin = more_lines ? std::max(at_, lines_.begin()) : never;
    at_ = std::min(function_begin, line_begin);
    const bool in_function = function_begin == at_ && more_functions,
               in_line = line_begin == at_ && more_lines;
    std::uint64_t end = never;
    if (more_functions) end = std::min(end, in_function ? functions_.end() : functions_.begin());
    if (more_lines) end = std::min(end, in_line ? lines_.end() : lines_.begin());
    BuiltEntry entry{.address = at_, .size = static_cast<std::uint32_t>(end - at_)};
    if (in_function) {
      const Row& function = functions_.row();
      show(function);
      entry.into = static_cast<std::uint32_t>(at_ - function.address);
      entry.function = function.function;
    }
    const bool hidden = in_line && in_function && lines_.row().order < functions_.row().order;
    if (in_line || in_function) {
      const Row& source = in_line && !hidden ? lines_.row() : functions_.row();
      entry.file = source.file;
      entry.line = source.line;
    }
    at_ = end;
    return entry;
  }

  Sweep functions_, lines_;
  std::uint64_t at_ = 0;
};

std::vector<std::uint32_t> SymbolTableBuilder::by_address(const std::vector<Row>& rows) {
  std::vector<std::uint32_t> order(rows.size());
  std::iota(order.begin(), order.end(), 0u);
  std::ranges::sort(order, {}, [&](std::uint32_t row) { return rows[row].address; });
  return order;
}

std::shared_ptr<const SymbolTable> SymbolTableBuilder::build() {
  interned_ = decltype(interned_)(0, Hash{strings_.get()}, Equal{strings_.get()});
  const std::vector<std::uint32_t> functions = by_address(functions_), lines = by_address(lines_);
  const auto merge = [&] { return Merge(Sweep(functions_, functions), Sweep(lines_, lines)); };

  std::vector<bool> shown(functions_.size());
  std::size_t count = 0;
  std::uint64_t first = 0, last = 0;
  merge().each(
      [&](const BuiltEntry& entry) {
        if (count++ == 0) first = entry.address;
        last = entry.address;
      },
      [&](const Row& row) { shown[static_cast<std::size_t>(&row - functions_.data())] = true; });
  dropped_.covered += static_cast<std::size_t>(std::ranges::count(shown, false));

  SymbolFileHeader header{.space = space_, .made_from = made_from_, .identity = identity_};
  // Small addresses are stored unchanged, so a table of RVAs shows RVAs.
  header.base = last <= 0xffff'ffffu ? 0 : first;
  const std::uint64_t span = last - header.base;
  header.address_size = span <= 0xffff'ffffu ? 4 : 8;
  while ((span >> header.shift) >= std::max<std::size_t>(count, 1)) ++header.shift;
  header.entry_count = count;
  header.directory_count = (span >> header.shift) + 2;
  header.entries_start = symbol_file_header_size;
  header.directory_start = aligned(header.entries_start + header.entry_count * header.entry_size());
  header.strings_start = header.directory_start + header.directory_count * sizeof(std::uint32_t);
  header.strings_size = strings_->size();
  header.file_size = header.strings_start + header.strings_size;

  Output out(header.file_size);
  out.append(write_symbol_file_header(header));
  std::vector<std::uint32_t> directory(static_cast<std::size_t>(header.directory_count),
                                       static_cast<std::uint32_t>(count));
  std::size_t written = 0, bucket = 0;
  out.seek(header.entries_start);
  merge().each(
      [&](const BuiltEntry& entry) {
        const std::uint64_t offset = entry.address - header.base;
        while (bucket <= offset >> header.shift) directory[bucket++] = static_cast<std::uint32_t>(written);
        ++written;
        if (header.address_size == 8)
          out.integer(offset);
        else
          out.integer(static_cast<std::uint32_t>(offset));
        for (const std::uint32_t value : {entry.size, entry.into, entry.function, entry.file, entry.line})
          out.integer(value);
        for (const std::uint32_t name : {entry.function, entry.file})
          out.integer(static_cast<std::uint16_t>(std::strlen(strings_->data() + name)));
      },
      [](const Row&) {});
  out.seek(header.directory_start);
  for (const std::uint32_t below : directory) out.integer(below);
  out.append(std::as_bytes(std::span(*strings_)));

  functions_ = {};
  lines_ = {};
  return SymbolTable::of_bytes(out.take(), {});
}

} // namespace clr
