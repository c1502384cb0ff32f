#include "core/waits/thread_pool.h"

#include "core/objects/collections.h"
#include "core/waits/core_library.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace clr {
namespace {

class PoolReader {
public:
  PoolReader(ObjectReader& objects, std::size_t slots) : reader_(objects), most_slots_(slots) {}

  ThreadPoolState read(const ThreadPoolPlaces& places) {
    if (places.pool != 0) guarded("numbers", [&] { read_numbers(places.pool); });
    if (const Address queue = places.queue) {
      read_queue(queue, "highPriorityWorkItems", PoolQueue::high_priority);
      guarded("shared queues", [&] { read_shared(queue); });
      read_queue(queue, "workItems", PoolQueue::global);
      read_queue(queue, "lowPriorityWorkItems", PoolQueue::low_priority);
    }
    if (places.local != 0) guarded("local queues", [&] { read_local(places.local); });
    return std::move(state_);
  }

private:
  template<typename Act>
  void guarded(std::string_view what, const Act& act) {
    try {
      act();
    } catch (const Error& error) {
      if (state_.problems.size() < max_pool_problems)
        state_.problems.push_back(fmt::format("{}: {}", what, error.what()));
    }
  }

  void read_numbers(Address pool) {
    const Instance instance = reader_.of_object(pool);
    const auto number = [&](std::string_view name) -> std::optional<unsigned> {
      if (!reader_.find(instance, name)) return std::nullopt;
      return static_cast<unsigned>(reader_.integer(instance, name));
    };
    state_.minimum = number("_minThreads");
    state_.maximum = number("_maxThreads");
    state_.blocked = number("_numBlockedThreads");
    const Instance counts = reader_.inner(reader_.inner(instance, "_separated"), "counts");
    const std::uint64_t data = reader_.integer(counts, "_data");
    state_.processing = data & 0xffff;
    state_.existing = data >> 16 & 0xffff;
    state_.goal = data >> 32 & 0xffff;
  }

  void add(PoolQueue queue, Address object) {
    if (object == 0) return;
    if (state_.items.size() >= max_pool_items)
      state_.left_out = true;
    else
      state_.items.push_back({queue, object});
  }

  // Whether one more slot may be looked at.
  bool has_slot() {
    if (slots_ >= most_slots_) state_.left_out = true;
    return !state_.left_out;
  }

  void read_items(Address items, PoolQueue queue) {
    if (!has_slot()) return;
    visit_collection(reader_, reader_.of_object(items),
                     {.count = [](std::uint64_t) {},
                      .item =
                          [&](const CollectionItem& item) {
                            add(queue, reader_.target().read_pointer(item.at));
                            return !state_.left_out;
                          },
                      .steps = most_slots_ - slots_,
                      .looked_at = &slots_});
  }

  void read_queue(Address queue, std::string_view field, PoolQueue kind) {
    guarded(field, [&] {
      const Instance instance = reader_.of_object(queue);
      if (!reader_.find(instance, field)) return; // another version
      if (const Address items = reader_.reference(instance, field)) read_items(items, kind);
    });
  }

  // With many processors some threads share a queue of their own.
  void read_shared(Address queue) {
    const Instance instance = reader_.of_object(queue);
    if (!reader_.find(instance, "_assignableWorkItemQueues")) return;
    const Address queues = reader_.reference(instance, "_assignableWorkItemQueues");
    if (queues == 0) return;
    const InstanceReader::Vector array = reader_.vector(queues);
    for (std::uint32_t i = 0; i < std::min(array.count, max_pool_queues) && !state_.left_out; ++i)
      if (const Address items = reader_.target().read_pointer(array.at(i)))
        guarded("shared queue", [&] { read_items(items, PoolQueue::global); });
  }

  void read_local(Address queues) {
    const InstanceReader::Vector array = reader_.vector(queues);
    for (std::uint32_t i = 0; i < std::min(array.count, max_pool_queues) && !state_.left_out; ++i)
      if (const Address queue = reader_.target().read_pointer(array.at(i)))
        guarded("local queue", [&] { read_stealing(queue); });
  }

  // A ring: the thread that owns it takes the last one, others take the first one.
  void read_stealing(Address queue) {
    const Instance instance = reader_.of_object(queue);
    const auto index = [&](std::string_view name) {
      return static_cast<std::uint32_t>(reader_.integer(instance, name));
    };
    const std::uint32_t head = index("m_headIndex"), count = index("m_tailIndex") - head;
    const InstanceReader::Vector ring = reader_.vector(reader_.reference(instance, "m_array"));
    const std::uint32_t mask = index("m_mask");
    // A ring that is just being made larger has its old mask for a moment, and no more items than that leads
    // to.
    if (count > ring.count || count > std::uint64_t{mask} + 1 || (count != 0 && mask >= ring.count))
      throw_corrupt(queue, "a queue of the pool has more items than places");
    for (std::uint32_t i = 0; i < count && has_slot(); ++i) {
      ++slots_;
      add(PoolQueue::local, reader_.target().read_pointer(ring.at((head + i) & mask)));
    }
  }

  InstanceReader reader_;
  std::size_t most_slots_ = 0;
  std::uint64_t slots_ = 0; // that were looked at
  ThreadPoolState state_;
};

} // namespace

std::string_view to_string(PoolQueue queue) {
  constexpr std::array<std::string_view, 4> names{"global", "local", "high_priority", "low_priority"};
  return names[static_cast<std::size_t>(queue)];
}

std::optional<ThreadPoolState> read_thread_pool(ObjectReader& objects) {
  CoreLibrary library(objects);
  const auto reference = [&](std::string_view type, std::string_view field) {
    return library.static_reference(type, field);
  };
  const ThreadPoolPlaces places{
      .pool = reference("System.Threading.PortableThreadPool", "ThreadPoolInstance"),
      .queue = reference("System.Threading.ThreadPool", "s_workQueue"),
      .local = reference("System.Threading.ThreadPoolWorkQueue+WorkStealingQueueList", "s_queues")};
  if (places.pool == 0 && places.queue == 0) return std::nullopt;
  return read_thread_pool(objects, places);
}

std::uint64_t pool_clock(ObjectReader& objects, std::uint64_t near) {
  constexpr std::uint64_t lower = 0xffff'ffff, half = 0x8000'0000;
  try {
    CoreLibrary library(objects);
    const Address pool =
        library.static_reference("System.Threading.PortableThreadPool", "ThreadPoolInstance");
    if (pool == 0) return 0;
    InstanceReader reader(objects);
    const Instance noting = reader.inner(reader.of_object(pool), "_separated");
    // .NET 11 renamed it.
    const char* const field =
        reader.find(noting, "lastDispatchTime") ? "lastDispatchTime" : "lastDequeueTime";
    const std::uint64_t noted = reader.integer(noting, field) & lower;
    if (noted == 0) return 0;
    const std::uint64_t time = (near & ~lower) | noted;
    // The time that is nearest to `near`.
    if (time > near + half && time > lower) return time - lower - 1;
    return time + half < near ? time + lower + 1 : time;
  } catch (const Error&) {
    return 0;
  }
}

ThreadPoolState read_thread_pool(ObjectReader& objects, const ThreadPoolPlaces& places, std::size_t slots) {
  return PoolReader(objects, slots).read(places);
}

} // namespace clr
