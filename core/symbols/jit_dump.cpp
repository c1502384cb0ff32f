#include "core/symbols/jit_dump.h"

#include "core/memory/error.h"
#include "core/memory/memory_reader.h"
#include "core/memory/seeded_hash.h"
#include "core/symbols/map_lines.h"

#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <unordered_map>
#include <vector>

namespace clr {
namespace {

constexpr std::uint32_t jit_dump_magic = 0x4A69'5444; // "JiTD"
constexpr std::uint32_t jit_dump_version = 1;
constexpr std::size_t header_size = 40, record_header_size = 16;
enum Kind : std::uint32_t { load_kind, move_kind, debug_info_kind, close_kind, unwinding_info_kind };
// Sizes of the fixed parts behind the record's header.
constexpr std::size_t load_size = 40, move_size = 48, debug_info_size = 16, line_size = 16;
constexpr std::string_view same_file = "\xff"; // the same file as in the line before
// Limit of the lines that are moved in one file, because one small record moves all lines of a function.
constexpr std::size_t max_moved_lines = 1u << 22;

// Bytes in the byte order of the file.
class Bytes {
public:
  Bytes(std::span<const std::byte> bytes, ByteOrder order) : bytes_(bytes), order_(order) {}

  std::size_t size() const { return bytes_.size(); }
  std::uint32_t u32(std::size_t at) const { return load<std::uint32_t>(bytes_.subspan(at), order_); }
  std::uint64_t u64(std::size_t at) const { return load<std::uint64_t>(bytes_.subspan(at), order_); }
  Bytes part(std::size_t at, std::size_t size) const { return {bytes_.subspan(at, size), order_}; }
  // The text up to a NUL; nothing when there is none.
  std::optional<std::string_view> text(std::size_t at) const {
    const std::string_view rest = as_text(bytes_.subspan(at));
    const std::size_t end = rest.find('\0');
    return end == std::string_view::npos ? std::nullopt : std::optional(rest.substr(0, end));
  }

private:
  std::span<const std::byte> bytes_;
  ByteOrder order_;
};

// The source line of a run of code that begins `offset` bytes behind the start of its function.
struct Line {
  std::uint64_t offset = 0;
  std::uint32_t line = 0;
  SymbolTableBuilder::Name file;
};

struct Code {
  std::uint64_t size = 0;
  SymbolTableBuilder::Name name;
  std::vector<Line> lines; // sorted
};

class JitDumpReader {
public:
  JitDumpReader(Bytes file, ByteOrder order, const std::string& name) : file_(file), name_(name) {
    dump_.byte_order = order;
  }

  JitDump read() {
    if (file_.size() < header_size) fail("it ends in its header");
    const std::uint32_t version = file_.u32(4);
    if (version != jit_dump_version)
      throw Error(ErrorKind::unsupported_contract,
                  fmt::format("{}: version {} of the jitdump format is not known", name_, version));
    const std::uint32_t first = file_.u32(8);
    if (first < header_size || first > file_.size())
      fail(fmt::format("its header of {} bytes does not fit", first));
    dump_.elf_machine = file_.u32(12);
    dump_.process = file_.u32(20);
    builder_.emplace(SymbolSpace::process, fmt::format("jitdump {}", name_),
                     fmt::format("{}", dump_.process));
    records(first);
    for (std::size_t i = 0; i < pending_.size(); ++i) malformed(JitDump::lost_lines);
    dump_.symbols = builder_->build();
    dump_.dropped = builder_->dropped();
    return std::move(dump_);
  }

private:
  [[noreturn]] void fail(std::string_view why) const {
    throw Error(ErrorKind::corrupt, fmt::format("{}: {}", name_, why));
  }
  void malformed(JitDumpFault what) { dump_.malformed.count(what, dump_.records); }

  void records(std::size_t at) {
    while (at < file_.size() && !dump_.closed) {
      const std::size_t left = file_.size() - at;
      const std::uint32_t size = left < record_header_size ? 0 : file_.u32(at + 4);
      if (left < record_header_size || size > left) {
        dump_.stopped = fmt::format("the file ends within record {}, at byte {}", dump_.records + 1, at);
        return;
      }
      // Without a size there is no way to the next record. A file that was allocated larger than its content
      // has zeros here.
      if (size < record_header_size) {
        dump_.stopped =
            fmt::format("record {}, at byte {}, claims to have {} bytes: what follows cannot be read",
                        dump_.records + 1, at, size);
        return;
      }
      ++dump_.records;
      record(file_.u32(at), file_.part(at + record_header_size, size - record_header_size));
      at += size;
    }
  }

  void record(std::uint32_t kind, const Bytes& body) {
    switch (kind) {
    case load_kind:
      return load_record(body);
    case move_kind:
      return move_record(body);
    case debug_info_kind:
      return debug_info_record(body);
    case close_kind:
      dump_.closed = true;
      return;
    case unwinding_info_kind:
      return; // belongs to the next load record; gives no names
    default:
      return malformed(JitDump::unknown_kind);
    }
  }

  bool check_code(std::uint64_t address, std::uint64_t size) {
    if (size == 0) return malformed(JitDump::no_code), false;
    if (size > SymbolTableBuilder::max_size) return malformed(JitDump::large_size), false;
    if (size > std::numeric_limits<std::uint64_t>::max() - address)
      return malformed(JitDump::past_end), false;
    return true;
  }

  // It does not matter whether the record holds the bytes of the code: records of stub blocks do not.
  void load_record(const Bytes& body) {
    if (body.size() < load_size) return malformed(JitDump::short_record);
    const std::uint64_t address = body.u64(16), size = body.u64(24), index = body.u64(32);
    const auto name = body.text(load_size);
    if (!name) return malformed(JitDump::endless_name);
    if (!check_code(address, size)) return;
    Code code{.size = size, .name = builder_->name(*name)};
    if (const auto known = pending_.find(address); known != pending_.end()) {
      code.lines = std::move(known->second);
      pending_.erase(known);
    }
    add(address, code);
    loaded_.insert_or_assign(index, std::move(code));
  }

  void move_record(const Bytes& body) {
    if (body.size() < move_size) return malformed(JitDump::short_record);
    const std::uint64_t address = body.u64(24), size = body.u64(32), index = body.u64(40);
    const auto known = loaded_.find(index);
    if (known == loaded_.end()) return malformed(JitDump::unknown_code);
    if (!check_code(address, size)) return;
    moved_lines_ += known->second.lines.size();
    if (moved_lines_ > max_moved_lines) return malformed(JitDump::many_moves);
    known->second.size = size;
    add(address, known->second);
  }

  void debug_info_record(const Bytes& body) {
    if (body.size() < debug_info_size) return malformed(JitDump::short_record);
    const std::uint64_t code = body.u64(0), count = body.u64(8);
    if (count > (body.size() - debug_info_size) / (line_size + 1)) return malformed(JitDump::lying_count);
    std::vector<Line> lines;
    lines.reserve(static_cast<std::size_t>(count));
    SymbolTableBuilder::Name file;
    std::size_t at = debug_info_size;
    for (std::uint64_t i = 0; i < count; ++i) {
      if (body.size() - at < line_size) return malformed(JitDump::short_record);
      const std::uint64_t address = body.u64(at);
      const std::uint32_t line = body.u32(at + 8);
      const auto text = body.text(at + line_size);
      if (!text) return malformed(JitDump::endless_name);
      if (*text != same_file) file = builder_->name(*text);
      // Lines for bytes in front of the code do not belong to it.
      if (address >= code) lines.push_back({address - code, line, file});
      at += line_size + text->size() + 1;
    }
    std::ranges::stable_sort(lines, {}, &Line::offset);
    // This record comes before the load record of its code; of two for the same code the later one counts.
    pending_.insert_or_assign(code, std::move(lines));
  }

  void add(std::uint64_t address, const Code& code) {
    const auto& lines = code.lines;
    // The code in front of the first line is the prologue; it gets the first line.
    if (lines.empty())
      builder_->add(address, code.size, code.name);
    else
      builder_->add(address, code.size, code.name, lines.front().file, lines.front().line);
    for (std::size_t i = 0; i < lines.size() && lines[i].offset < code.size; ++i) {
      const std::uint64_t end = i + 1 < lines.size() ? std::min(lines[i + 1].offset, code.size) : code.size;
      if (end > lines[i].offset)
        builder_->add_line(address + lines[i].offset, end - lines[i].offset, lines[i].file, lines[i].line);
    }
  }

  Bytes file_;
  const std::string& name_;
  JitDump dump_;
  std::optional<SymbolTableBuilder> builder_;
  std::size_t moved_lines_ = 0;
  std::unordered_map<std::uint64_t, Code, SeededHash> loaded_;               // by code index
  std::unordered_map<std::uint64_t, std::vector<Line>, SeededHash> pending_; // by address of the code to come
};

} // namespace

JitDump read_jit_dump(std::span<const std::byte> bytes, const std::string& name) {
  if (bytes.size() >= sizeof jit_dump_magic)
    for (const ByteOrder order : {ByteOrder::little, ByteOrder::big})
      if (load<std::uint32_t>(bytes, order) == jit_dump_magic)
        return JitDumpReader(Bytes(bytes, order), order, name).read();
  throw Error(ErrorKind::corrupt, fmt::format("{}: it is no jitdump", name));
}

std::string_view to_string(JitDumpFault kind) {
  switch (kind) {
  case JitDumpFault::short_record:
    return "the record is shorter than its kind needs";
  case JitDumpFault::endless_name:
    return "the name does not end within the record";
  case JitDumpFault::no_code:
    return "the code's size is 0";
  case JitDumpFault::large_size:
    return "the code's size is larger than any code";
  case JitDumpFault::past_end:
    return "the code ends past all addresses";
  case JitDumpFault::lying_count:
    return "more lines than the record can hold";
  case JitDumpFault::unknown_code:
    return "code is moved that was not loaded";
  case JitDumpFault::many_moves:
    return "more lines are moved than any runtime moves";
  case JitDumpFault::lost_lines:
    return "lines of code that is not loaded";
  case JitDumpFault::unknown_kind:
    return "the kind of record is not known";
  }
  return "";
}

} // namespace clr
