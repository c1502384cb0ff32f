// How many bytes of names the modules of a process keep, all together. Metadata of some megabytes can stand
// for names of gigabytes: many rows may have one long text, and many modules the same metadata.
#pragma once

#include <cstddef>
#include <unordered_set>

namespace clr {

// Who keeps names and can make them again.
class NameKeeper {
public:
  virtual ~NameKeeper() = default;
  virtual void drop_names() = 0;
};

class NameRoom {
public:
  // Beyond it the names that are kept are dropped, and made again when somebody asks. The framework and a
  // large program have some 40 MB.
  static constexpr std::size_t max_kept_names = 128u << 20; // bytes
  static constexpr std::size_t map_node = 64;               // bytes of an entry of a map, beside its value

  void add(NameKeeper& keeper) { keepers_.insert(&keeper); }
  void remove(NameKeeper& keeper) { keepers_.erase(&keeper); }
  void keep(std::size_t bytes) { kept_ += bytes; }
  std::size_t kept() const { return kept_; }
  // Drops all names where they are too many. Not while somebody holds references to what is kept.
  void settle() {
    if (kept_ <= max_kept_names) return;
    kept_ = 0;
    for (NameKeeper* const keeper : keepers_) keeper->drop_names();
  }

private:
  std::unordered_set<NameKeeper*> keepers_;
  std::size_t kept_ = 0;
};

} // namespace clr
