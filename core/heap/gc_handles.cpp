#include "core/heap/gc_handles.h"

#include "core/heap/gc_handle_contract.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <unordered_set>

namespace clr {
namespace {

constexpr std::size_t segment_bytes = 64 * 1024, values_begin = 4096, blocks = 120, handles_in_block = 64;
constexpr std::size_t block_types = 1560, user_data_blocks = 1680, behind_blocks = 1920;
constexpr std::uint8_t free_block = 255;
// How many kinds of handles generations of the runtime have, one for user data among them.
constexpr std::array<std::size_t, 4> counts_of_kinds{13, 12, 14, 11};

class TableReader {
public:
  TableReader(const Target& target, GcHandles& found) : target_(target), found_(found) {}

  void read_maps(Address map) {
    for (std::size_t i = 0; map != 0 && i < max_handle_maps; ++i) {
      const Address buckets = target_.read_pointer(map);
      const std::uint32_t count = target_.read_u32(map + 16);
      if (count > max_handle_buckets) throw_corrupt(map, fmt::format("{} buckets of handles", count));
      for (std::uint32_t bucket = 0; bucket < count; ++bucket)
        attempt([&] {
          const Address at = target_.read_pointer(buckets + Address{bucket} * 8);
          if (at != 0) read_bucket(at);
        });
      map = target_.read_pointer(map + 8);
    }
  }

private:
  template<typename Act>
  void attempt(const Act& act) {
    try {
      act();
    } catch (const Error& error) {
      add_problem(found_.problems, fmt::format("a table of handles: {}", error.what()));
    }
  }

  // There is a table for each CPU that there was at the start; their number is not told.
  void read_bucket(Address bucket) {
    const Address tables = target_.read_pointer(bucket);
    for (std::size_t i = 0; i < max_handle_tables; ++i) {
      Address table = 0;
      try {
        table = target_.read_pointer(tables + i * 8);
      } catch (const Error&) {
        return;
      }
      if (table == 0 || !tables_.insert(table).second) return;
      const auto kinds = kinds_of(table);
      if (!kinds) return;
      attempt([&] { read_table(table, *kinds); });
    }
  }

  static std::size_t list_of(std::size_t kinds) { return (4 * kinds + 7) / 8 * 8; }
  static std::size_t next_of(std::size_t kinds) { return behind_blocks + 6 * kinds; }

  // The number of kinds by which the first segment of `table` knows its table; nothing when it is none.
  std::optional<std::size_t> kinds_of(Address table) const {
    for (const std::size_t kinds : counts_of_kinds) {
      try {
        const Address segment = target_.read_pointer(table + list_of(kinds));
        if (segment != 0 && segment % segment_bytes == 0 &&
            target_.read_pointer(segment + next_of(kinds) + 8) == table)
          return kinds;
      } catch (const Error&) {
        // Not with this number.
      }
    }
    return std::nullopt;
  }

  void read_table(Address table, std::size_t kinds) {
    std::vector<std::byte> bytes(segment_bytes);
    for (Address segment = target_.read_pointer(table + list_of(kinds)); segment != 0;) {
      if (found_.cut) return;
      if (segments_.size() >= max_handle_segments || !segments_.insert(segment).second)
        throw_corrupt(segment, "segments of handles without end");
      // Else segments could lie in each other, and hold thousands of handles for each of their bytes.
      if (segment % segment_bytes != 0) throw_corrupt(segment, "a segment of handles at no whole 64 KB");
      // Blocks that were never used have no memory.
      const std::size_t there = target_.memory().read_some(segment, bytes);
      if (there < values_begin) throw_missing(segment + there);
      if (word(bytes, next_of(kinds) + 8) != table)
        throw_corrupt(segment, "a segment of handles that belongs to another table");
      read_segment(segment, std::span(bytes).first(there), kinds);
      segment = word(bytes, next_of(kinds));
    }
  }

  Address word(std::span<const std::byte> bytes, std::size_t at) const {
    return load<std::uint64_t>(bytes.subspan(at), target_.platform().byte_order);
  }

  void read_segment(Address segment, std::span<const std::byte> bytes, std::size_t kinds) {
    for (std::size_t block = 0; block < blocks; ++block) {
      const auto kind = std::to_integer<std::uint8_t>(bytes[block_types + block]);
      if (kind == free_block || kind >= kinds - 1) continue;
      // Of dependent handles, another block holds what they keep alive.
      const bool pairs = static_cast<GcHandleKind>(kind) == GcHandleKind::dependent;
      const auto other = pairs ? std::to_integer<std::size_t>(bytes[user_data_blocks + block]) : block;
      if (other >= blocks) throw_corrupt(segment, "dependent handles without a second block");
      const std::size_t end = values_begin + (std::max(block, other) + 1) * handles_in_block * 8;
      if (end > bytes.size()) throw_missing(segment + bytes.size());
      for (std::size_t i = 0; i < handles_in_block; ++i) {
        const std::size_t at = values_begin + (block * handles_in_block + i) * 8;
        GcHandle handle{
            .slot = segment + at, .kind = static_cast<GcHandleKind>(kind), .object = word(bytes, at)};
        if (handle.object == 0) continue;
        if (pairs) handle.dependent = word(bytes, values_begin + (other * handles_in_block + i) * 8);
        if (!found_.add(handle)) return;
      }
    }
  }

  const Target& target_;
  GcHandles& found_;
  std::unordered_set<Address> tables_, segments_;
};

} // namespace

std::string to_string(GcHandleKind kind) {
  switch (kind) {
  case GcHandleKind::weak_short:
    return "weak_short";
  case GcHandleKind::weak_long:
    return "weak_long";
  case GcHandleKind::strong:
    return "strong";
  case GcHandleKind::pinned:
    return "pinned";
  case GcHandleKind::ref_counted:
    return "ref_counted";
  case GcHandleKind::dependent:
    return "dependent";
  case GcHandleKind::async_pinned:
    return "async_pinned";
  case GcHandleKind::sized_ref:
    return "sized_ref";
  case GcHandleKind::weak_interior:
    return "weak_interior";
  }
  return fmt::format("kind_{}", static_cast<unsigned>(kind));
}

bool is_root(GcHandleKind kind) {
  return kind == GcHandleKind::strong || kind == GcHandleKind::pinned || kind == GcHandleKind::async_pinned ||
         kind == GcHandleKind::sized_ref;
}

bool GcHandles::add(const GcHandle& handle) {
  if (cut) return false;
  if (handles.size() >= max_handles) {
    cut = true;
    add_problem(problems,
                fmt::format("there are more than {} handles; the others are left out", max_handles));
    return false;
  }
  handles.push_back(handle);
  return true;
}

GcHandles read_handles(const Target& target, const GcState& state) {
  if (target.descriptor().version != descriptor_format_integers)
    return read_handles_by_contract(target, state);
  if (target.pointer_size() != 8)
    throw Error(ErrorKind::unsupported_contract, "handles of 32-bit processes cannot be read");
  GcHandles found;
  TableReader(target, found).read_maps(state.handle_table_map);
  return found;
}

} // namespace clr
