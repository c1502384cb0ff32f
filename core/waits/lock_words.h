// The locks that every object has (C#'s `lock`): in the word before the object as long as nobody waits, else
// in a sync block of the runtime. From .NET 11 on the block has the word, or an object of the framework that
// keeps the rest. Source: dotnet/runtime src/coreclr/vm/syncblk.h, syncblk.inl;
// docs/design/datacontracts/SyncBlock.md; looked at in 11.0.0.
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
  // .NET 11: the System.Threading.Lock that keeps what follows, which is not filled in then. 0: there is
  // none.
  Address lock = 0;
  bool held = false;
  std::uint32_t owner_managed_id = 0;
  std::uint64_t owner_os_id = 0;
  std::uint32_t entries = 0;
  std::uint32_t waiters = 0; // threads that wait to enter; those in Monitor.Wait are not among them
};

class SyncBlocks {
public:
  // `target` must outlive this. No reads.
  explicit SyncBlocks(const Target& target);

  // Whether the blocks of this runtime have locks of the framework (.NET 11).
  bool with_locks() const { return with_locks_; }

  // The sync block of this index. Throws Error{corrupt} when its place in the table or its own number says
  // that it is none, Error{memory_missing}, Error{unsupported_contract} where the layout is not known. 2
  // reads.
  MonitorState at(std::uint32_t index) const;
  // The one that begins at `sync_block`, by the number in it, which .NET 11's have not. Throws and costs as
  // at().
  MonitorState of_block(Address sync_block) const;

  // The sync blocks that are in use, by the table alone. Before .NET 11 its length is told nowhere: it is
  // read until memory is missing or as many entries as max_unused in a row are none. `problem` says why it
  // may not be whole. Never throws. Cost: 1 read for each 1,024 entries, and 2 for each sync block.
  std::vector<MonitorState> all(std::string& problem) const;

  static constexpr std::uint32_t max_index = 0x03ff'ffff; // the runtime's own limit
  static constexpr std::uint32_t max_unused = 16'384;

private:
  MonitorState read(std::uint32_t index, Address block, Address object) const;
  void read_block(MonitorState& state) const;
  void read_aware_lock(MonitorState& state) const;
  Address table() const;
  std::uint32_t first_free() const;

  const Target* target_;
  bool with_locks_;
};

} // namespace clr
