#include "core/waits/async_stacks.h"

#include "core/waits/async_graph.h"

#include <array>

namespace clr {
namespace {

class Search {
public:
  Search(const Target& target, const std::unordered_set<Address>& wanted)
      : target_(target), wanted_(wanted) {}

  void thread(const ThreadTop& top) {
    seen_.clear();
    for (unsigned number = 0; number < RegisterContext::max_registers; ++number)
      if (const auto value = top.registers.find(number)) look(*value, {top.os_id, 0});
    const auto sp = top.registers.sp();
    if (!sp) return;
    std::array<std::byte, 4096> page;
    const unsigned width = target_.pointer_size();
    Address at = *sp / width * width;
    // To the end of a page each: the next one may be missing.
    for (std::size_t size = 0, done = 0; done < max_stack_bytes; done += size, at += size) {
      size = page.size() - at % page.size();
      const std::size_t read = target_.memory().read_some(at, std::span(page).first(size));
      for (std::size_t i = 0; i + width <= read; i += width) {
        const auto bytes = std::span<const std::byte>(page).subspan(i, width);
        look(width == 8 ? load<std::uint64_t>(bytes, target_.platform().byte_order)
                        : load<std::uint32_t>(bytes, target_.platform().byte_order),
             {top.os_id, at + i});
      }
      if (read < size) return;
    }
  }

  std::unordered_multimap<Address, StackPlace> found;

private:
  void look(Address value, StackPlace place) {
    if (found.size() < max_stack_places && wanted_.contains(value) && seen_.insert(value).second)
      found.emplace(value, place);
  }

  const Target& target_;
  const std::unordered_set<Address>& wanted_;
  std::unordered_set<Address> seen_; // on this stack
};

} // namespace

std::unordered_multimap<Address, StackPlace> find_on_stacks(const Target& target,
                                                            std::span<const ThreadTop> threads,
                                                            const std::unordered_set<Address>& wanted) {
  Search search(target, wanted);
  if (!wanted.empty())
    for (const ThreadTop& thread : threads) search.thread(thread);
  return std::move(search.found);
}

std::unordered_map<Address, std::vector<std::uint64_t>>
find_task_holders(AsyncGraph& graph, std::span<const ThreadTop> threads) {
  std::vector<AsyncEdge> ends; // from a task to the continuation that it is done with
  std::unordered_set<Address> tasks;
  for (const AsyncBox& box : graph.boxes()) {
    if (box.resume == nullptr) continue;
    for (const AsyncEdge& edge : graph.waiters(box.object)) {
      if (graph.box(edge.to) != nullptr || graph.is_blocker(edge.to)) continue;
      ends.push_back({edge.to, box.object});
      tasks.insert(edge.to);
    }
  }
  std::unordered_map<Address, std::vector<std::uint64_t>> holders;
  const auto places = find_on_stacks(graph.kinds().target(), threads, tasks);
  std::size_t count = 0;
  for (const AsyncEdge& end : ends) {
    const auto [first, last] = places.equal_range(end.from);
    for (auto at = first; at != last && count < max_stack_places; ++at, ++count)
      holders[end.to].push_back(at->second.os_id);
  }
  return holders;
}

} // namespace clr
