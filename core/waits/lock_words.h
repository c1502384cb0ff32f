// The locks that every object has (C#'s `lock`): in the word before the object as long as nobody waits, else
// in a sync block of the runtime. Source: dotnet/runtime src/coreclr/vm/syncblk.h, syncblk.inl;
// docs/design/datacontracts/SyncBlock.md.
#pragma once

#include "core/target/target.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace clr {

// The 32 bits before an object.
struct LockWord {
  enum class Form : std::uint8_t { free, thin, sync_block, hash_code };
  Form form = Form::free;
  std::uint32_t owner_managed_id = 0; // of a thin lock
  std::uint32_t entries = 0;          // of a thin lock: how often its owner entered it
  std::uint32_t index = 0;            // of the sync block

  static LockWord of(std::uint32_t bits);
};

// Throws Error{memory_missing}. 1 read.
LockWord read_lock_word(const Target& target, Address object);

// What a sync block says of the lock of its object.
struct MonitorState {
  Address sync_block = 0;
  Address object = 0; // 0: it cannot be read
  std::uint32_t index = 0;
  bool held = false;
  std::uint32_t owner_managed_id = 0;
  std::uint64_t owner_os_id = 0;
  std::uint32_t entries = 0;
  std::uint32_t waiters = 0; // threads that wait to enter; those in Monitor.Wait are not among them
};

class SyncBlocks {
public:
  // `target` must outlive this. No reads.
  explicit SyncBlocks(const Target& target) : target_(&target) {}

  // The sync block of this index. Throws Error{corrupt} when its place in the table or its own number says
  // that it is none, Error{memory_missing}, Error{unsupported_contract} where the layout is not known. 2
  // reads.
  MonitorState at(std::uint32_t index) const;
  // The one that begins at `sync_block`, by the number in it. Throws and costs as at().
  MonitorState of_block(Address sync_block) const;

  // The sync blocks that are in use, by the table alone. Its length is told nowhere: it is read until memory
  // is missing or as many entries as max_unused in a row are none. `problem` says why it may not be whole.
  // Never throws. Cost: 1 read for each 1,024 entries, and 2 for each sync block.
  std::vector<MonitorState> all(std::string& problem) const;

  static constexpr std::uint32_t max_index = 0x03ff'ffff; // the runtime's own limit
  static constexpr std::uint32_t max_unused = 16'384;

private:
  MonitorState read(std::uint32_t index, Address block, Address object) const;
  Address table() const;

  const Target* target_;
};

} // namespace clr
