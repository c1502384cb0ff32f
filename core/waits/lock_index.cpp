#include "core/waits/lock_index.h"

#include "core/waits/lock_words.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace clr {
namespace {

struct KnownType {
  std::string_view name;
  LockKind kind;
};
// A type is of the first kind that it is or is derived from.
constexpr std::array known_types = {
    KnownType{"System.Threading.Lock", LockKind::lock},
    KnownType{"System.Threading.ReaderWriterLockSlim", LockKind::rwlock},
    KnownType{"System.Threading.ReaderWriterLock", LockKind::rwlock},
    KnownType{"System.Threading.SemaphoreSlim", LockKind::semaphore},
    KnownType{"System.Threading.ManualResetEventSlim", LockKind::event},
    KnownType{"System.Threading.CountdownEvent", LockKind::countdown},
    KnownType{"System.Threading.Barrier", LockKind::barrier},
    KnownType{"System.Threading.Mutex", LockKind::mutex},
    KnownType{"System.Threading.Semaphore", LockKind::semaphore},
    KnownType{"System.Threading.EventWaitHandle", LockKind::event},
    KnownType{"System.Threading.WaitHandle", LockKind::wait_handle},
};

// Fields that hold parts of an object of a kind.
struct Part {
  LockKind kind;
  const char* field;
};
constexpr std::array parts = {
    Part{LockKind::semaphore, "m_lockObjAndDisposed"},
    Part{LockKind::event, "m_lock"},
    Part{LockKind::countdown, "_event"},
    Part{LockKind::barrier, "_oddEvent"},
    Part{LockKind::barrier, "_evenEvent"},
    Part{LockKind::rwlock, "_readEvent"},
    Part{LockKind::rwlock, "_writeEvent"},
    Part{LockKind::rwlock, "_readerEvent"},
    Part{LockKind::rwlock, "_writerEvent"},
    Part{LockKind::rwlock, "_upgradeEvent"},
    Part{LockKind::rwlock, "_waitUpgradeEvent"},
    Part{LockKind::lock, "_waitEvent"},
    Part{LockKind::lock, "_waitEventOrCondition"},
};

} // namespace

LockIndex::LockIndex(HeapPass& pass) {
  for (std::size_t i = 0; i < known_types.size(); ++i)
    wants_.push_back({known_types[i].kind, pass.want([i](const TypeLineage& lineage) {
                        for (std::size_t k = 0; k <= i; ++k)
                          if (lineage.derives_from(known_types[k].name)) return k == i;
                        return false;
                      })});
  want_safe_ = pass.want([](const TypeLineage& lineage) {
    return lineage.derives_from("Microsoft.Win32.SafeHandles.SafeWaitHandle");
  });
}

void LockIndex::want_headers(HeapPass& pass) {
  pass.want_headers([](std::uint32_t header) {
    const LockWord::Form form = LockWord::of(header).form;
    return form == LockWord::Form::thin || form == LockWord::Form::sync_block;
  });
}

void LockIndex::note(const Error& error) {
  whole_ = false;
  if (problems_.size() < max_problems) problems_.emplace_back(error.what());
}

void LockIndex::take(const HeapPassResult& result, const std::vector<FoundObject>& headed,
                     InstanceReader& reader) {
  if (result.interrupted || result.left_out) whole_ = false;
  headed_ = headed;
  for (const FoundObject& safe : result.found.at(want_safe_)) {
    handles_.insert(safe.address);
    try {
      const Instance instance{reader.objects().layouts().of(safe.method_table),
                              safe.address + reader.target().pointer_size()};
      by_value_.emplace_back(reader.integer(instance, "handle"), safe.address);
    } catch (const Error& error) {
      note(error);
    }
  }
  for (const Want& want : wants_)
    for (const FoundObject& found : result.found.at(want.index))
      entries_.push_back({want.kind, found.address, found.method_table});
  std::ranges::sort(entries_, {}, &Entry::object);
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    by_address_.emplace(entries_[i].object, static_cast<std::uint32_t>(i));
    try {
      add_parts(entries_[i], reader);
    } catch (const Error& error) {
      note(error);
    }
  }
  std::ranges::sort(by_value_);
  std::ranges::sort(handles_of_);
}

void LockIndex::add_parts(const Entry& entry, InstanceReader& reader) {
  const Instance instance{reader.objects().layouts().of(entry.method_table),
                          reader.target().platform().wrap(entry.object + reader.target().pointer_size())};
  for (const Part& part : parts) {
    if (part.kind != entry.kind) continue;
    const std::optional<FieldPlace> field = reader.find(instance, part.field);
    if (!field) continue;
    if (const Address inner = reader.target().read_pointer(field->at); inner != 0)
      owners_.try_emplace(inner, entry.object);
  }
  if (reader.find(instance, "_waitHandle")) add_handle(entry.object, instance, reader);
}

void LockIndex::add_handle(Address handle, const Instance& instance, InstanceReader& reader) {
  if (const Address safe = reader.reference(instance, "_waitHandle"); safe != 0)
    handles_of_.emplace_back(safe, handle);
}

const LockIndex::Entry* LockIndex::find(Address object) const {
  const auto found = by_address_.find(object);
  return found == by_address_.end() ? nullptr : &entries_[found->second];
}

Address LockIndex::owner_of(Address inner) const {
  Address owner = 0;
  for (unsigned i = 0; i < max_nesting; ++i) {
    const auto found = owners_.find(inner);
    if (found == owners_.end()) break;
    owner = inner = found->second;
  }
  return owner;
}

std::vector<Address> LockIndex::of(const Pairs& pairs, std::uint64_t key) {
  std::vector<Address> found;
  for (auto at = std::ranges::lower_bound(pairs, key, {}, &Pairs::value_type::first);
       at != pairs.end() && at->first == key && found.size() < max_sharing; ++at)
    found.push_back(at->second);
  return found;
}

std::vector<Address> LockIndex::handles_of(Address safe_handle) const {
  return of(handles_of_, safe_handle);
}

bool LockIndex::is_handle(std::uint64_t value) const {
  return std::ranges::binary_search(by_value_, value, {}, &Pairs::value_type::first);
}

std::vector<Address> LockIndex::safe_handles_of(std::uint64_t value) const {
  return of(by_value_, value);
}

} // namespace clr
