#include "core/waits/lock_words.h"

#include "core/stack/threads.h"
#include "core/target/record.h"

#include <algorithm>

namespace clr {
namespace {

constexpr std::uint32_t is_index_or_hash = 0x0800'0000, is_hash = 0x0400'0000;
constexpr std::uint32_t thin_owner = 0xffff, thin_recursion = 0x3f'0000;
constexpr unsigned thin_recursion_shift = 16;
constexpr std::uint32_t aware_held = 1;
constexpr unsigned aware_waiters_shift = 6;

} // namespace

LockWord LockWord::of(std::uint32_t bits) {
  LockWord word;
  if ((bits & is_index_or_hash) == 0) {
    word.owner_managed_id = bits & thin_owner;
    if (word.owner_managed_id == 0) return word;
    word.form = Form::thin;
    word.entries = ((bits & thin_recursion) >> thin_recursion_shift) + 1;
  } else if ((bits & is_hash) != 0) {
    word.form = Form::hash_code;
  } else {
    word.index = bits & SyncBlocks::max_index;
    if (word.index != 0) word.form = Form::sync_block;
  }
  return word;
}

LockWord read_lock_word(const Target& target, Address object) {
  return LockWord::of(
      target.read_u32(object - target.find_global("SyncBlockValueToObjectOffset").value_or(4)));
}

SyncBlocks::SyncBlocks(const Target& target)
    : target_(&target), with_locks_(target.find_offset("SyncBlock", "Lock").has_value() ||
                                    target.descriptor().version >= descriptor_format_names) {}

Address SyncBlocks::table() const {
  const Address table = target_->read_pointer(target_->global("SyncTableEntries"));
  if (table == 0) throw_corrupt(target_->global("SyncTableEntries"), "no table of sync blocks");
  return table;
}

MonitorState SyncBlocks::read(std::uint32_t index, Address block, Address object) const {
  MonitorState state{.sync_block = block, .object = object, .index = index};
  if (block == 0 || (block & (target_->pointer_size() - 1)) != 0 || (object & 1) != 0)
    throw_corrupt(block, "no sync block");
  with_locks_ ? read_block(state) : read_aware_lock(state);
  return state;
}

void SyncBlocks::read_block(MonitorState& state) const {
  RecordSpan span("SyncBlock");
  const std::int64_t lock = span.require(*target_, "Lock", target_->pointer_size());
  const std::int64_t thin = span.require(*target_, "ThinLock", 4);
  const target::Record record(*target_, state.sync_block, span);
  state.lock = object_of_handle(*target_, record.pointer(lock));
  if (state.lock != 0) return;
  const LockWord word = LockWord::of(record.u32(thin) & (thin_owner | thin_recursion));
  state.held = word.form == LockWord::Form::thin;
  state.owner_managed_id = word.owner_managed_id;
  state.entries = word.entries;
}

void SyncBlocks::read_aware_lock(MonitorState& state) const {
  RecordSpan span("AwareLock");
  const std::int64_t word = span.require(*target_, "State", 4);
  const std::int64_t recursion = span.require(*target_, "Recursion", 4);
  const std::int64_t managed = span.require(*target_, "OwnerManagedId", 4);
  const std::int64_t os = span.require(*target_, "OwnerOsId", 8);
  const std::int64_t number = span.require(*target_, "SyncIndex", 4);
  const target::Record record(*target_, state.sync_block, span);
  // The block knows its own place in the table: so memory that is no sync block is told apart.
  if ((record.u32(number) & max_index) != state.index)
    throw_corrupt(state.sync_block, "a sync block of another number");
  state.held = (record.u32(word) & aware_held) != 0;
  state.waiters = record.u32(word) >> aware_waiters_shift;
  if (!state.held) return;
  state.entries = record.u32(recursion);
  state.owner_managed_id = record.u32(managed);
  state.owner_os_id = record.pointer(os);
}

// The number behind the last one that was given out; more than all where it is not told.
std::uint32_t SyncBlocks::first_free() const {
  const auto at = target_->find_offset("SyncBlockCache", "FreeSyncTableIndex");
  const auto variable = target_->find_global("SyncBlockCache");
  if (!at || !variable) return max_index + 1;
  const Address cache = target_->read_pointer(*variable);
  return std::min(target_->read_u32(target_->field_address(cache, "SyncBlockCache", "FreeSyncTableIndex")),
                  max_index + 1);
}

MonitorState SyncBlocks::at(std::uint32_t index) const {
  if (index == 0 || index > max_index) throw_corrupt(index, "no number of a sync block");
  const Address entry = table() + Address{index} * target_->size_of("SyncTableEntry");
  return read(index, target_->read_pointer(target_->field_address(entry, "SyncTableEntry", "SyncBlock")),
              target_->read_pointer(target_->field_address(entry, "SyncTableEntry", "Object")));
}

MonitorState SyncBlocks::of_block(Address sync_block) const {
  const std::uint32_t index =
      target_->read_u32(target_->field_address(sync_block, "AwareLock", "SyncIndex")) & max_index;
  MonitorState state = at(index);
  if (state.sync_block != sync_block) throw_corrupt(sync_block, "a sync block that its table does not have");
  return state;
}

std::vector<MonitorState> SyncBlocks::all(std::string& problem) const {
  constexpr std::uint32_t piece = 1'024; // entries
  std::vector<MonitorState> found;
  try {
    const Address first = table();
    const std::uint64_t size = target_->size_of("SyncTableEntry");
    const auto block_at = static_cast<std::size_t>(target_->offset("SyncTableEntry", "SyncBlock"));
    const auto object_at = static_cast<std::size_t>(target_->offset("SyncTableEntry", "Object"));
    if (std::max(block_at, object_at) + target_->pointer_size() > size || size > 256)
      throw Error(ErrorKind::unsupported_contract, "entries of the table of sync blocks of no known form");
    std::vector<std::byte> bytes(piece * size);
    const std::uint32_t end = first_free();
    std::uint32_t unused = 0;
    for (std::uint32_t from = 0; from < end && unused < max_unused; from += piece) {
      const std::size_t got =
          target_->memory().read_some(target_->platform().wrap(first + from * size), bytes);
      for (std::uint32_t i = 0; (i + 1) * size <= got && from + i < end && unused < max_unused; ++i) {
        const auto pointer = [&](std::size_t at) {
          const auto word = std::span(bytes).subspan(i * size + at);
          return target_->pointer_size() == 8 ? load<std::uint64_t>(word, target_->platform().byte_order)
                                              : load<std::uint32_t>(word, target_->platform().byte_order);
        };
        const Address block = pointer(block_at), object = pointer(object_at);
        ++unused;
        if (block == 0 || object == 0 || (object & 1) != 0) continue;
        try {
          MonitorState state = read(from + i, block, object);
          // A block of .NET 11 does not know its number; the word before its object does.
          if (with_locks_ && read_lock_word(*target_, object).index != from + i) continue;
          found.push_back(std::move(state));
          unused = 0;
        } catch (const Error& error) {
          // An entry that was never used holds anything.
          if (error.kind() == ErrorKind::unsupported_contract) throw;
        }
      }
      if (got < bytes.size()) break;
    }
  } catch (const Error& error) {
    problem = error.what();
  }
  return found;
}

} // namespace clr
