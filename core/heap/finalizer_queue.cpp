#include "core/heap/finalizer_queue.h"

#include "core/memory/count_text.h"
#include "core/memory/memory_range.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace clr {
namespace {

constexpr std::size_t words_at_once = 8192;
constexpr std::array parts{HeapPart::poh, HeapPart::loh, HeapPart::gen2, HeapPart::gen1, HeapPart::gen0};

class QueueReader {
public:
  // `known`: where the queues of the heaps before it lie.
  QueueReader(const Target& target, FinalizerQueue& queue, std::vector<MemoryRange>& known)
      : target_(target), queue_(queue), known_(known), width_(target.pointer_size()) {}

  void read(Address at, std::uint32_t generations) {
    if (generations != parts.size())
      throw Error(ErrorKind::unsupported_contract,
                  fmt::format("a finalizer queue of {} generations", generations));
    // The end of each part: of the generations, of critical objects that are ready, of others that are.
    const std::size_t count = parts.size() + 2;
    std::vector<Address> ends = words(at, count + 2);
    const Address begin = ends[count], end = ends[count + 1];
    Address last = begin;
    for (std::size_t part = 0; part < count; ++part) {
      if (ends[part] < last || ends[part] > end || (ends[part] - begin) % width_ != 0)
        throw_corrupt(at, "a finalizer queue whose parts do not follow each other");
      last = ends[part];
    }
    // Else many heaps could have one and the same queue.
    const MemoryRange whole{begin, last - begin};
    for (const MemoryRange& known : known_)
      if (whole.begin < known.end() && known.begin < whole.end())
        throw_corrupt(at, "a finalizer queue that lies in that of another heap");
    if (whole.size != 0) known_.push_back(whole);
    last = begin;
    for (std::size_t part = 0; part < count; ++part) {
      read_part(part, last, ends[part]);
      last = ends[part];
    }
  }

private:
  std::vector<Address> words(Address at, std::size_t count) const {
    std::vector<std::byte> raw(count * width_);
    target_.read_bytes(at, raw);
    std::vector<Address> result(count);
    for (std::size_t i = 0; i < count; ++i) {
      const auto rest = std::span(raw).subspan(i * width_);
      result[i] = width_ == 8 ? load<std::uint64_t>(rest, target_.platform().byte_order)
                              : load<std::uint32_t>(rest, target_.platform().byte_order);
    }
    return result;
  }

  void read_part(std::size_t part, Address at, Address end) {
    while (at < end) {
      const std::size_t room =
          part < parts.size() ? max_finalizable - queue_.registered.size() : max_ready - queue_.ready.size();
      if (room == 0) {
        const std::uint64_t left = (end - at) / width_;
        add_problem(queue_.problems, fmt::format("{} of a part of a finalizer queue {} left out",
                                                 count_text(left, "object"), left == 1 ? "is" : "are"));
        return;
      }
      const std::uint64_t left = (end - at) / width_;
      const auto some = words(at, std::min<std::uint64_t>({words_at_once, left, room}));
      for (const Address object : some) {
        if (part < parts.size())
          queue_.registered.push_back({object, parts[part]});
        else
          queue_.ready.push_back({at, object, part == parts.size()});
        at += width_;
      }
    }
  }

  const Target& target_;
  FinalizerQueue& queue_;
  std::vector<MemoryRange>& known_;
  unsigned width_;
};

} // namespace

FinalizerQueue read_finalizer_queue(const Target& target, const GcState& state) {
  FinalizerQueue queue;
  std::vector<MemoryRange> known;
  for (std::size_t i = 0; i < state.heaps.size(); ++i) {
    if (state.heaps[i].finalize_queue == 0) continue;
    try {
      QueueReader(target, queue, known).read(state.heaps[i].finalize_queue, state.generation_count);
    } catch (const Error& error) {
      add_problem(queue.problems, fmt::format("heap {}, the finalizer queue: {}", i, error.what()));
    }
  }
  return queue;
}

} // namespace clr
