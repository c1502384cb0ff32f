#include "core/report/gcdump_file.h"

#include "core/memory/error.h"

#include <fmt/format.h>

#include <algorithm>

namespace clr {

namespace {

// Tags of FastSerialization.
constexpr std::uint8_t null_reference = 1, begin_private_object = 5, end_object = 6, tagged_byte = 8,
                       tagged_string = 13;
constexpr std::int64_t ticks_of_second = 10'000'000, ticks_until_1970 = 621'355'968'000'000'000;

// The number in groups of seven bits, the highest first; the top one carries the sign. Returns how many.
unsigned encode(std::int32_t value, std::uint8_t (&bytes)[5]) {
  unsigned count = 1;
  while (count < 5 && (value >> (7 * count - 1)) != 0 && (value >> (7 * count - 1)) != -1) ++count;
  for (unsigned i = 0; i < count; ++i) {
    const auto group = static_cast<std::uint8_t>(value >> (7 * (count - 1 - i)));
    bytes[i] = i + 1 < count ? group | 0x80 : group & 0x7f;
  }
  return count;
}

class Bytes {
public:
  explicit Bytes(const std::function<void(std::span<const std::byte>)>& put) : put_(&put) {}

  void u8(std::uint8_t value) { append({&value, 1}); }
  void i32(std::int64_t value) { integer(static_cast<std::uint32_t>(value)); }
  void i64(std::int64_t value) { integer(static_cast<std::uint64_t>(value)); }
  void one() { i32(0x3f80'0000); } // 1.0 as 32 bits
  void text(std::string_view value) {
    i32(static_cast<std::int64_t>(value.size()));
    append({reinterpret_cast<const std::uint8_t*>(value.data()), value.size()});
  }
  void text_or_null(std::string_view value) { value.empty() ? i32(-1) : text(value); }
  void begin(std::string_view type, std::int32_t version, std::int32_t oldest_reader) {
    for (const std::uint8_t tag : {begin_private_object, begin_private_object, null_reference}) u8(tag);
    i32(version);
    i32(oldest_reader);
    text(type);
    u8(end_object);
  }
  void compressed(std::int32_t value) {
    std::uint8_t bytes[5];
    append({bytes, encode(value, bytes)});
  }
  std::uint64_t written() const { return flushed_ + buffer_.size(); }
  void flush() {
    if (buffer_.empty()) return;
    (*put_)(std::as_bytes(std::span(buffer_)));
    flushed_ += buffer_.size();
    buffer_.clear();
  }

private:
  template<typename Unsigned>
  void integer(Unsigned value) {
    std::uint8_t bytes[sizeof value];
    for (std::uint8_t& byte : bytes) {
      byte = static_cast<std::uint8_t>(value);
      value = static_cast<Unsigned>(value >> 8);
    }
    append(bytes);
  }
  void append(std::span<const std::uint8_t> bytes) {
    constexpr std::size_t piece = 1 << 20;
    buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
    if (buffer_.size() >= piece) flush();
  }

  const std::function<void(std::span<const std::byte>)>* put_;
  std::vector<std::uint8_t> buffer_;
  std::uint64_t flushed_ = 0;
};

class Writer {
public:
  Writer(const GcdumpGraph& graph, std::uint64_t most) : graph_(graph), most_(most) {
    type_sizes_.assign(graph.types.size(), -1);
  }

  // The place of each node in the run of all nodes, and the sizes of types: those of their first nodes.
  void measure() {
    std::uint64_t place = 0;
    std::int64_t number = 0;
    graph_.for_each_node([&](const GcdumpNode& node) {
      if (place <= most_ && count_.nodes <= most_) places_.push_back(static_cast<std::uint32_t>(place));
      std::int32_t& type_size = type_sizes_.at(node.type);
      if (type_size < 0) type_size = size_of(node);
      visit_numbers(node, number++, [&](std::int32_t value) {
        std::uint8_t bytes[5];
        place += encode(value, bytes);
      });
      ++count_.nodes;
      count_.references += node.children.size();
      count_.bytes += node.size;
      if (node.size > max_gcdump_bytes) ++count_.cut_sizes;
    });
    if (place > most_ || count_.nodes > most_)
      throw Error(ErrorKind::unsupported_contract,
                  fmt::format("a .gcdump holds {} bytes of references at most, and the {} objects with {} "
                              "references take {}",
                              most_, count_.nodes, count_.references, place));
    blob_ = place;
  }

  GcdumpCount write(const GcdumpFacts& facts, Bytes& out) {
    out.text("!FastSerialization.1");
    out.begin("GCHeapDump", 10, 8);
    write_graph(out);
    out.u8(graph_.is_64_bit ? 1 : 0);
    out.one(); // nothing was sampled: each node stands for itself, by count and by size
    out.one();
    out.u8(null_reference); // of a JavaScript heap
    out.u8(null_reference); // of its segments
    out.text(facts.log);
    out.i64(ticks_until_1970 + facts.unix_seconds * ticks_of_second);
    out.text_or_null({}); // the machine: a core does not tell it
    out.text_or_null(facts.process);
    out.i32(facts.process_id);
    out.i64(0); // committed bytes of the process and its working set, which other writers leave out, too
    out.i64(0);
    out.i32(0); // no factors by type
    out.u8(tagged_string);
    out.text("lldb-clr");
    out.u8(end_object);
    const std::uint64_t end = out.written();
    out.i32(0); // no references to later parts of the file
    out.i32(static_cast<std::int64_t>(end));
    count_.file_bytes = out.written();
    out.flush();
    return count_;
  }

private:
  static std::int32_t size_of(const GcdumpNode& node) {
    return static_cast<std::int32_t>(std::min(node.size, max_gcdump_bytes));
  }

  // The numbers that stand for `node`.
  template<typename Visit>
  void visit_numbers(const GcdumpNode& node, std::int64_t number, const Visit& visit) const {
    const std::int32_t size = size_of(node);
    const bool own_size = size != type_sizes_[node.type];
    visit(static_cast<std::int32_t>(node.type << 1 | (own_size ? 1 : 0)));
    if (own_size) visit(size);
    visit(static_cast<std::int32_t>(node.children.size()));
    for (const std::uint32_t child : node.children)
      visit(static_cast<std::int32_t>(static_cast<std::int64_t>(child) - number));
  }

  void write_graph(Bytes& out) {
    out.begin("Graphs.MemoryGraph", 1, 0);
    out.i64(static_cast<std::int64_t>(count_.bytes));
    out.i32(0); // the root
    out.i32(static_cast<std::int64_t>(graph_.types.size()));
    for (std::size_t i = 0; i < graph_.types.size(); ++i) {
      out.text(graph_.types[i].name);
      out.i32(std::max(type_sizes_[i], 0));
      out.text_or_null(graph_.types[i].module);
    }
    out.i32(static_cast<std::int64_t>(count_.nodes));
    for (const std::uint32_t place : places_) out.i32(place);
    out.i32(static_cast<std::int64_t>(blob_));
    const std::uint64_t begin = out.written();
    std::int64_t number = 0;
    graph_.for_each_node([&](const GcdumpNode& node) {
      visit_numbers(node, number++, [&](std::int32_t value) { out.compressed(value); });
    });
    const bool same = out.written() - begin == blob_ && static_cast<std::uint64_t>(number) == count_.nodes;
    out.i32(number);
    graph_.for_each_node([&](const GcdumpNode& node) {
      out.i64(static_cast<std::int64_t>(node.address));
      --number;
    });
    if (!same || number != 0)
      throw Error(ErrorKind::corrupt, "the heap changed while it was written: run it again");
    out.u8(tagged_byte);
    out.u8(graph_.is_64_bit ? 1 : 0);
    out.u8(end_object);
  }

  const GcdumpGraph& graph_;
  std::uint64_t most_;
  GcdumpCount count_;
  std::uint64_t blob_ = 0;
  std::vector<std::uint32_t> places_;
  std::vector<std::int32_t> type_sizes_; // -1: no node has the type
};

} // namespace

GcdumpCount write_gcdump(const GcdumpGraph& graph, const GcdumpFacts& facts,
                         const std::function<void(std::span<const std::byte>)>& put, std::uint64_t most) {
  Writer writer(graph, most);
  writer.measure();
  Bytes out(put);
  return writer.write(facts, out);
}

} // namespace clr
