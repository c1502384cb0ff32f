#include "core/heap/heap_graph.h"

#include "core/heap/loader_allocators.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>

namespace clr {
namespace {

using Pair = std::pair<std::uint32_t, std::uint32_t>;

// How many steps before its use an element is asked for that lies far from the others.
constexpr std::size_t look_ahead = 16;
constexpr std::size_t most_hints = 8; // for the references of one object

// What all threads that collect references share.
struct Shared {
  const HeapMap& map;
  ReferenceMaps& maps;
  const HeapIndex& index;
  std::vector<Pair> dependents; // of dependent handles: from, to; ascending
  LoaderAllocators& allocators;
  std::span<std::uint32_t> counts; // of the references of each object; of those whose range was begun
  std::uint32_t free_type = HeapIndex::none;
};

struct RangeEdges {
  bool begun = false;
  std::vector<std::uint32_t> targets;
};

class Collector final : public HeapSink {
public:
  Collector(Shared& shared, std::vector<RangeEdges>& ranges)
      : shared_(shared), ranges_(ranges), reader_(shared.maps) {}

  void begin(std::size_t range) override {
    edges_ = &ranges_[range];
    edges_->begun = true;
    // About one for each object. Room that is not used takes addresses and no memory.
    edges_->targets.reserve(shared_.index.first_of(range + 1) - shared_.index.first_of(range));
    number_ = shared_.index.first_of(range);
    end_ = shared_.index.first_of(range + 1);
    std::ranges::fill(shared_.counts.subspan(number_, end_ - number_), 0);
    dependent_ = std::ranges::lower_bound(shared_.dependents, Pair{number_, 0});
  }

  void add(std::span<const HeapObject> objects) override {
    std::vector<std::uint32_t>& targets = edges_->targets;
    for (const HeapObject& object : objects) {
      if (object.type == shared_.free_type) continue;
      if (number_ == end_) break; // a live heap would have grown; a stopped one has not
      reader_.read(object, [&](std::uint64_t offset, Address value) {
        shared_.index.will_find(value);
        waiting_[waiting_count_] = {object.address, value, offset, number_};
        if (++waiting_count_ == waiting_.size()) find_waiting();
      });
      const std::uint32_t allocator = allocator_of(object.type);
      if (allocator != HeapIndex::none ||
          (dependent_ != shared_.dependents.end() && dependent_->first == number_)) {
        find_waiting(); // the references of an object lie together
        const std::size_t before = targets.size();
        for (; dependent_ != shared_.dependents.end() && dependent_->first == number_; ++dependent_)
          targets.push_back(dependent_->second);
        if (allocator != HeapIndex::none) targets.push_back(allocator);
        shared_.counts[number_] += static_cast<std::uint32_t>(targets.size() - before);
      }
      ++number_;
    }
    find_waiting();
  }

  std::uint64_t stray_count = 0;
  std::vector<HeapGraph::Stray> strays;

private:
  // A reference whose target was not looked for yet: what says where it is comes from far away.
  struct Waiting {
    Address object, value;
    std::uint64_t offset;
    std::uint32_t number; // of the object
  };

  void find_waiting() {
    for (const Waiting& one : std::span(waiting_).first(waiting_count_)) {
      const std::uint32_t target = shared_.index.find(one.value);
      if (target != HeapIndex::none) {
        edges_->targets.push_back(target);
        ++shared_.counts[one.number];
        continue;
      }
      ++stray_count;
      if (strays.size() < HeapGraph::max_strays) strays.push_back({one.object, one.value, one.offset});
    }
    waiting_count_ = 0;
  }

  std::uint32_t allocator_of(std::uint32_t type) {
    while (allocators_.size() <= type) {
      const Address allocator = shared_.allocators.of(static_cast<std::uint32_t>(allocators_.size()));
      allocators_.push_back(allocator == 0 ? HeapIndex::none : shared_.index.find(allocator));
    }
    return allocators_[type];
  }

  Shared& shared_;
  std::vector<RangeEdges>& ranges_;
  ReferenceReader reader_;
  std::vector<std::uint32_t> allocators_; // by the number of the type
  RangeEdges* edges_ = nullptr;
  std::array<Waiting, 256> waiting_;
  std::size_t waiting_count_ = 0;
  std::uint32_t number_ = 0, end_ = 0; // of the range
  std::vector<Pair>::const_iterator dependent_;
};

} // namespace

HeapGraph::HeapGraph(const HeapMap& map, ReferenceMaps& maps, const GcHandles& handles,
                     const HeapWalkOptions& options, unsigned threads)
    : HeapGraph(HeapIndex(map, maps.types(), options, threads), map, maps, handles, options, threads) {}

HeapGraph::HeapGraph(HeapIndex index, const HeapMap& map, ReferenceMaps& maps, const GcHandles& handles,
                     const HeapWalkOptions& options, unsigned threads)
    : index_(std::move(index)), interrupted_(index_.interrupted()) {
  if (interrupted_)
    out_.begins_.assign(std::size_t{index_.count()} + 1, 0);
  else
    read_references(map, maps, handles, options, threads);
}

void HeapGraph::read_references(const HeapMap& map, ReferenceMaps& maps, const GcHandles& handles,
                                const HeapWalkOptions& options, unsigned threads) {
  LoaderAllocators allocators(maps.types(), handles);
  Shared shared{
      .map = map, .maps = maps, .index = index_, .dependents = {}, .allocators = allocators, .counts = {}};
  if (const auto known = maps.types().known(map.free_object)) shared.free_type = *known;
  for (const GcHandle& handle : handles.handles) {
    if (handle.kind != GcHandleKind::dependent || handle.dependent == 0) continue;
    const Pair edge{index_.find(handle.object), index_.find(handle.dependent)};
    if (edge.first != HeapIndex::none && edge.second != HeapIndex::none) shared.dependents.push_back(edge);
  }
  std::ranges::sort(shared.dependents);
  out_.begins_.resize(std::size_t{index_.count()} + 1);
  shared.counts = out_.begins_; // each becomes the place where its object's references begin
  std::vector<RangeEdges> ranges(map.ranges.size());
  std::vector<std::unique_ptr<HeapSink>> sinks;
  for (unsigned i = 0; i < std::max(threads, 1u); ++i)
    sinks.push_back(std::make_unique<Collector>(shared, ranges));
  interrupted_ = walk_heap(map, maps.types(), map.ranges, sinks, options).interrupted;
  for (const auto& sink : sinks) {
    auto& collector = static_cast<Collector&>(*sink);
    stray_count_ += collector.stray_count;
    strays_.insert(strays_.end(), collector.strays.begin(), collector.strays.end());
  }
  std::ranges::sort(strays_, {}, &Stray::object);
  if (strays_.size() > max_strays) strays_.resize(max_strays);

  std::uint64_t total = 0;
  std::vector<std::uint64_t> firsts; // by range, the place of its first reference
  for (const RangeEdges& range : ranges) {
    firsts.push_back(total);
    total += range.targets.size();
  }
  if (total > max_references)
    throw Error(ErrorKind::corrupt, fmt::format("more than {} references", max_references));
  out_.targets_.resize(total);
  share_out(ranges.size(), threads, [&](std::size_t i) {
    auto begin = static_cast<std::uint32_t>(firsts[i]);
    for (std::uint32_t object = index_.first_of(i); object < index_.first_of(i + 1); ++object) {
      // An interrupted walk has not begun its last ranges.
      const std::uint32_t count = ranges[i].begun ? out_.begins_[object] : 0;
      out_.begins_[object] = begin;
      begin += count;
    }
    std::ranges::copy(ranges[i].targets, out_.targets_.begin() + static_cast<std::ptrdiff_t>(firsts[i]));
    ranges[i] = {};
  });
  out_.begins_.back() = static_cast<std::uint32_t>(total);
}

namespace {

// References whose targets lie in [begin, end), in their order, some at a time: so that what lies far apart
// is asked for before it is used.
class References {
public:
  References(const HeapEdges& out, std::uint32_t begin, std::uint32_t end)
      : out_(out), begin_(begin), size_(end - begin) {}

  // Calls `soon(target)` for each as early as it can, and `use(references)` for some together.
  void each(std::uint32_t count, const auto& soon, const auto& use) {
    std::array<Pair, 64> some;
    std::size_t held = 0;
    for (std::uint32_t from = 0; from < count; ++from)
      for (const std::uint32_t target : out_.of(from)) {
        if (target - begin_ >= size_) continue;
        soon(target);
        some[held++] = {from, target};
        if (held < some.size()) continue;
        use(std::span<const Pair>(some));
        held = 0;
      }
    use(std::span<const Pair>(some).first(held));
  }

private:
  const HeapEdges& out_;
  std::uint32_t begin_, size_;
};

} // namespace

// Each thread has a part of the objects, goes through all references, and takes those that lead there.
const HeapEdges& HeapGraph::in(unsigned threads) {
  if (in_) return *in_;
  HeapEdges& in = in_.emplace();
  const std::uint32_t count = index_.count();
  const std::size_t parts = std::max(threads, 1u);
  const auto begin_of = [&](std::size_t part) {
    return static_cast<std::uint32_t>(std::uint64_t{count} * part / parts);
  };
  in.begins_.resize(std::size_t{count} + 1);
  in.begins_[0] = 0;
  share_out(parts, threads, [&](std::size_t part) {
    const std::uint32_t begin = begin_of(part), end = begin_of(part + 1);
    std::fill(in.begins_.begin() + begin + 1, in.begins_.begin() + end + 1, 0);
    References(out_, begin, end)
        .each(
            count, [&](std::uint32_t target) { will_need(&in.begins_[target + 1]); },
            [&](std::span<const Pair> some) {
              for (const auto& [from, target] : some) ++in.begins_[target + 1];
            });
  });
  for (std::uint32_t i = 0; i < count; ++i) in.begins_[i + 1] += in.begins_[i];
  in.targets_.resize(out_.targets_.size());
  // Each begin moves on as its object's references are added, and ends where the next one's was.
  share_out(parts, threads, [&](std::size_t part) {
    References(out_, begin_of(part), begin_of(part + 1))
        .each(
            count, [&](std::uint32_t target) { in.will_ask(target); },
            [&](std::span<const Pair> some) {
              for (const auto& [from, target] : some) in.will_read(target);
              for (const auto& [from, target] : some) in.targets_[in.begins_[target]++] = from;
            });
  });
  std::copy_backward(in.begins_.begin(), in.begins_.end() - 1, in.begins_.end());
  in.begins_[0] = 0;
  return in;
}

namespace {

// Objects that wait for their turn. Those that had it go, so that not all are kept at once.
class Queue {
public:
  std::size_t size() const { return size_; } // of all that were ever added
  std::uint32_t at(std::size_t place) const { return blocks_[place / block][place % block]; }
  void add(std::uint32_t object) {
    if (size_ % block == 0) blocks_.push_back(std::make_unique_for_overwrite<std::uint32_t[]>(block));
    blocks_.back()[size_++ % block] = object;
  }
  void drop_before(std::size_t place) {
    if (place % block == 0 && place != 0) blocks_[place / block - 1].reset();
  }

private:
  static constexpr std::size_t block = 1 << 18;
  std::vector<std::unique_ptr<std::uint32_t[]>> blocks_;
  std::size_t size_ = 0;
};

} // namespace

HeapTree::HeapTree(const HeapGraph& graph, std::span<const std::uint32_t> roots,
                   const HeapWalkOptions& options)
    : parents_(graph.index().count(), unreached) {
  constexpr std::size_t stride = 1 << 20; // objects between two calls
  const HeapEdges& out = graph.out();
  Queue queue;
  for (std::uint32_t i = 0; i < roots.size() && i < root_bit - 1; ++i) {
    if (roots[i] >= parents_.size() || parents_[roots[i]] != unreached) continue;
    parents_[roots[i]] = root_bit | i;
    queue.add(roots[i]);
  }
  for (std::size_t at = 0; at < queue.size(); ++at) {
    if (at % stride == 0 && options.progress && !options.progress(at, parents_.size())) {
      interrupted_ = true;
      break;
    }
    queue.drop_before(at);
    if (at + 3 * look_ahead < queue.size()) {
      out.will_ask(queue.at(at + 3 * look_ahead));
      out.will_read(queue.at(at + 2 * look_ahead));
      const auto soon = out.of(queue.at(at + look_ahead));
      for (std::size_t i = 0; i < std::min(soon.size(), most_hints); ++i) will_need(&parents_[soon[i]]);
    }
    const std::uint32_t from = queue.at(at);
    for (const std::uint32_t target : out.of(from)) {
      if (parents_[target] != unreached) continue;
      parents_[target] = from;
      queue.add(target);
    }
  }
  reached_ = static_cast<std::uint32_t>(queue.size());
}

void HeapTree::Path::cut(std::size_t most) {
  if (last.size() <= 2 * most) return;
  const auto end = static_cast<std::ptrdiff_t>(most);
  left_out = last.size() - 2 * most;
  first.assign(last.begin(), last.begin() + end);
  last.erase(last.begin(), last.end() - end);
}

HeapTree::Path HeapTree::path(std::uint32_t object, std::size_t most) const {
  Path path;
  if (!reached(object)) return path;
  std::vector<std::uint32_t>& near_root = path.first; // those that were met last, the oldest is overwritten
  std::size_t met = 0;                                // beyond those of `last`
  for (std::uint32_t at = object;; at = parents_[at]) {
    if (path.last.size() < most) {
      path.last.push_back(at);
    } else {
      if (near_root.size() < most)
        near_root.push_back(at);
      else
        near_root[met % most] = at;
      ++met;
    }
    if (root_of(at)) break;
  }
  if (met > most) {
    path.left_out = met - most;
    std::ranges::rotate(near_root, near_root.begin() + static_cast<std::ptrdiff_t>(met % most));
  }
  std::ranges::reverse(near_root);
  std::ranges::reverse(path.last);
  return path;
}

} // namespace clr
