#include "core/heap/gc_handle_contract.h"

#include <fmt/format.h>

#include <set>
#include <unordered_set>

namespace clr {
namespace {

constexpr std::uint64_t max_handle_blocks = 256, max_handles_in_block = 256, max_handle_kinds = 64;

class ContractTables {
public:
  ContractTables(const Target& target, const GcState& state, GcHandles& found)
      : target_(target), found_(found), word_(target.pointer_size()),
        buckets_(limited("InitialHandleTableArraySize", max_handle_buckets)),
        tables_(state.server ? checked("TotalCpuCount", target.read_u32(target.global("TotalCpuCount")),
                                       max_handle_tables)
                             : 1),
        blocks_(limited("HandleBlocksPerSegment", max_handle_blocks)),
        handles_(limited("HandlesPerBlock", max_handles_in_block)),
        kinds_(limited("HandleMaxInternalTypes", max_handle_kinds)), no_block_(target.global("BlockInvalid")),
        tails_(place("RgTail")), links_(place("RgAllocation")), values_(place("RgValue")),
        user_data_(place("RgUserData")) {}

  void read(Address map) {
    for (std::size_t i = 0; map != 0 && i < max_handle_maps; ++i) {
      const Address list = field(map, "HandleTableMap", "BucketsPtr");
      for (std::uint64_t bucket = 0; list != 0 && bucket < buckets_; ++bucket)
        attempt([&] { read_bucket(target_.read_pointer(list + bucket * word_)); });
      map = field(map, "HandleTableMap", "Next");
    }
  }

private:
  template<typename Act>
  void attempt(const Act& act) {
    try {
      act();
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::unsupported_contract) throw;
      add_problem(found_.problems, fmt::format("a table of handles: {}", error.what()));
    }
  }

  std::uint64_t limited(std::string_view global, std::uint64_t limit) const {
    return checked(global, target_.global(global), limit);
  }
  static std::uint64_t checked(std::string_view global, std::uint64_t value, std::uint64_t limit) {
    if (value == 0 || value > limit)
      throw Error(ErrorKind::unsupported_contract, fmt::format("{} = {}", global, value));
    return value;
  }
  Address place(std::string_view name) const {
    const std::int64_t offset = target_.offset("TableSegment", name);
    if (offset < 0)
      throw Error(ErrorKind::unsupported_contract, fmt::format("TableSegment.{} at offset {}", name, offset));
    return static_cast<Address>(offset);
  }
  Address field(Address at, std::string_view type, std::string_view name) const {
    return target_.read_pointer(target_.field_address(at, type, name));
  }

  void read_bucket(Address bucket) {
    if (bucket == 0) return;
    const Address list = field(bucket, "HandleTableBucket", "Table");
    for (std::uint64_t i = 0; list != 0 && i < tables_; ++i) {
      const Address table = target_.read_pointer(list + i * word_);
      // The runtime makes all tables of a bucket at once, and no two buckets share one.
      if (table == 0) throw_corrupt(bucket, fmt::format("a bucket lacks table {} of {}", i, tables_));
      if (!known_tables_.insert(table).second) throw_corrupt(bucket, "a bucket has a table that came before");
      // Each has a segment at least.
      if (known_tables_.size() > max_handle_segments) throw_corrupt(bucket, "tables of handles without end");
      attempt([&] { read_table(table); });
    }
  }

  void read_table(Address table) {
    for (Address segment = field(table, "HandleTable", "SegmentList"); segment != 0;
         segment = field(segment, "TableSegment", "NextSegment")) {
      if (found_.cut) return;
      add_segment(segment);
      read_.assign(blocks_, false);
      // The last kind is that of blocks with user data of handles.
      for (std::uint64_t kind = 0; kind + 1 < kinds_; ++kind)
        read_kind(segment, static_cast<std::uint8_t>(kind));
    }
  }

  // Segments that lay in each other would hold thousands of handles for each of their bytes.
  void add_segment(Address segment) {
    const std::uint64_t size = values_ + blocks_ * handles_ * word_;
    if (segment > ~Address{0} - size) throw_corrupt(segment, "a segment of handles that wraps");
    const auto after = segments_.lower_bound(segment);
    const bool before = after != segments_.begin() && segment - *std::prev(after) < size;
    if ((after != segments_.end() && *after == segment) || segments_.size() >= max_handle_segments)
      throw_corrupt(segment, "segments of handles without end");
    if (before || (after != segments_.end() && *after - segment < size))
      throw_corrupt(segment, "a segment of handles that lies in another one");
    segments_.insert(after, segment);
  }

  // The blocks of a kind are a ring; the tail leads to the first one.
  void read_kind(Address segment, std::uint8_t kind) {
    const std::uint64_t tail = target_.read_u8(segment + tails_ + kind);
    if (tail == no_block_) return;
    std::uint64_t block = tail;
    for (std::uint64_t i = 0; i < blocks_; ++i) {
      if (block >= blocks_) throw_corrupt(segment, fmt::format("block {} of handles of {}", block, blocks_));
      block = target_.read_u8(segment + links_ + block);
      if (block >= blocks_) throw_corrupt(segment, fmt::format("block {} of handles of {}", block, blocks_));
      // A block is of one kind, and has one place in its ring.
      if (read_[block]) throw_corrupt(segment, "blocks of handles without end");
      read_[block] = true;
      read_block(segment, kind, block);
      if (block == tail) return;
    }
    throw_corrupt(segment, "blocks of handles without end");
  }

  void read_block(Address segment, std::uint8_t kind, std::uint64_t block) {
    const auto slot = [&](std::uint64_t of, std::uint64_t i) {
      return segment + values_ + (of * handles_ + i) * word_;
    };
    // Of dependent handles, another block holds what they keep alive.
    const bool pairs = static_cast<GcHandleKind>(kind) == GcHandleKind::dependent;
    const std::uint64_t other = pairs ? target_.read_u8(segment + user_data_ + block) : block;
    if (other >= blocks_) throw_corrupt(segment, "dependent handles without a second block");
    for (std::uint64_t i = 0; i < handles_; ++i) {
      GcHandle handle{.slot = slot(block, i),
                      .kind = static_cast<GcHandleKind>(kind),
                      .object = target_.read_pointer(slot(block, i))};
      if (handle.object == 0) continue;
      if (pairs) handle.dependent = target_.read_pointer(slot(other, i));
      if (!found_.add(handle)) return;
    }
  }

  const Target& target_;
  GcHandles& found_;
  std::uint64_t word_, buckets_, tables_, blocks_, handles_, kinds_, no_block_;
  Address tails_, links_, values_, user_data_;
  std::unordered_set<Address> known_tables_;
  std::set<Address> segments_;
  std::vector<bool> read_; // by block of the segment at hand: its handles were read
};

} // namespace

GcHandles read_handles_by_contract(const Target& target, const GcState& state) {
  if (state.handle_table_map == 0)
    throw Error(ErrorKind::unsupported_contract, "the runtime's descriptor has no global HandleTableMap");
  GcHandles found;
  ContractTables(target, state, found).read(state.handle_table_map);
  return found;
}

} // namespace clr
