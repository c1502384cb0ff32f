#include "core/heap/heap_graph.h"

#include "core/heap/loader_allocators.h"

#include <fmt/format.h>

#include <algorithm>

namespace clr {
namespace {

using Pair = std::pair<std::uint32_t, std::uint32_t>;

// What all threads that collect references share.
struct Shared {
  const HeapMap& map;
  ReferenceMaps& maps;
  const HeapIndex& index;
  std::vector<Pair> dependents; // of dependent handles: from, to; ascending
  LoaderAllocators& allocators;
  std::uint32_t free_type = HeapIndex::none;
};

struct RangeEdges {
  std::vector<std::uint32_t> counts; // of each object of the range
  std::vector<std::uint32_t> targets;
};

class Collector final : public HeapSink {
public:
  Collector(Shared& shared, std::vector<RangeEdges>& ranges)
      : shared_(shared), ranges_(ranges), reader_(shared.maps) {}

  void begin(std::size_t range) override {
    edges_ = &ranges_[range];
    number_ = shared_.index.first_of(range);
    edges_->counts.reserve(shared_.index.first_of(range + 1) - number_);
    dependent_ = std::ranges::lower_bound(shared_.dependents, Pair{number_, 0});
  }

  void add(std::span<const HeapObject> objects) override {
    std::vector<std::uint32_t>& targets = edges_->targets;
    for (const HeapObject& object : objects) {
      if (object.type == shared_.free_type) continue;
      const std::size_t before = targets.size();
      reader_.read(object, [&](std::uint64_t offset, Address value) {
        const std::uint32_t target = shared_.index.find(value);
        if (target == HeapIndex::none) {
          ++stray_count;
          if (strays.size() < HeapGraph::max_strays) strays.push_back({object.address, value, offset});
        } else {
          targets.push_back(target);
        }
      });
      for (; dependent_ != shared_.dependents.end() && dependent_->first == number_; ++dependent_)
        targets.push_back(dependent_->second);
      if (const std::uint32_t allocator = allocator_of(object.type); allocator != HeapIndex::none)
        targets.push_back(allocator);
      edges_->counts.push_back(static_cast<std::uint32_t>(targets.size() - before));
      ++number_;
    }
  }

  std::uint64_t stray_count = 0;
  std::vector<HeapGraph::Stray> strays;

private:
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
  std::uint32_t number_ = 0;
  std::vector<Pair>::const_iterator dependent_;
};

} // namespace

HeapGraph::HeapGraph(const HeapMap& map, ReferenceMaps& maps, const GcHandles& handles,
                     const HeapWalkOptions& options, unsigned threads)
    : index_(map, maps.types(), options, threads), interrupted_(index_.interrupted()) {
  if (interrupted_)
    out_.begins_.assign(std::size_t{index_.count()} + 1, 0);
  else
    read_references(map, maps, handles, options, threads);
}

void HeapGraph::read_references(const HeapMap& map, ReferenceMaps& maps, const GcHandles& handles,
                                const HeapWalkOptions& options, unsigned threads) {
  LoaderAllocators allocators(maps.types(), handles);
  Shared shared{.map = map, .maps = maps, .index = index_, .dependents = {}, .allocators = allocators};
  if (const auto known = maps.types().known(map.free_object)) shared.free_type = *known;
  for (const GcHandle& handle : handles.handles) {
    if (handle.kind != GcHandleKind::dependent || handle.dependent == 0) continue;
    const Pair edge{index_.find(handle.object), index_.find(handle.dependent)};
    if (edge.first != HeapIndex::none && edge.second != HeapIndex::none) shared.dependents.push_back(edge);
  }
  std::ranges::sort(shared.dependents);
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
  for (const RangeEdges& range : ranges) total += range.targets.size();
  if (total > max_references)
    throw Error(ErrorKind::corrupt, fmt::format("more than {} references", max_references));
  out_.begins_.reserve(std::size_t{index_.count()} + 1);
  out_.targets_.reserve(total);
  std::uint32_t begin = 0;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    for (const std::uint32_t count : ranges[i].counts) {
      out_.begins_.push_back(begin);
      begin += count;
    }
    // An interrupted walk has not seen all objects of its last ranges.
    out_.begins_.resize(index_.first_of(i + 1), begin);
    out_.targets_.insert(out_.targets_.end(), ranges[i].targets.begin(), ranges[i].targets.end());
    ranges[i] = {};
  }
  out_.begins_.push_back(begin);
}

const HeapEdges& HeapGraph::in() {
  if (in_) return *in_;
  HeapEdges& in = in_.emplace();
  const std::uint32_t count = index_.count();
  in.begins_.assign(std::size_t{count} + 1, 0);
  for (const std::uint32_t target : out_.targets_) ++in.begins_[target + 1];
  for (std::uint32_t i = 0; i < count; ++i) in.begins_[i + 1] += in.begins_[i];
  in.targets_.resize(out_.targets_.size());
  // Each begin moves on as its object's references are added, and ends where the next one's was.
  for (std::uint32_t from = 0; from < count; ++from)
    for (const std::uint32_t target : out_.of(from)) in.targets_[in.begins_[target]++] = from;
  std::copy_backward(in.begins_.begin(), in.begins_.end() - 1, in.begins_.end());
  in.begins_[0] = 0;
  return in;
}

HeapTree::HeapTree(const HeapGraph& graph, std::span<const std::uint32_t> roots,
                   const HeapWalkOptions& options)
    : parents_(graph.index().count(), unreached) {
  constexpr std::size_t stride = 1 << 20; // objects between two calls
  std::vector<std::uint32_t> queue;
  for (std::uint32_t i = 0; i < roots.size() && i < root_bit - 1; ++i) {
    if (roots[i] >= parents_.size() || parents_[roots[i]] != unreached) continue;
    parents_[roots[i]] = root_bit | i;
    queue.push_back(roots[i]);
  }
  for (std::size_t at = 0; at < queue.size(); ++at) {
    if (at % stride == 0 && options.progress && !options.progress(at, parents_.size())) {
      interrupted_ = true;
      break;
    }
    const std::uint32_t from = queue[at];
    for (const std::uint32_t target : graph.out().of(from)) {
      if (parents_[target] != unreached) continue;
      parents_[target] = from;
      queue.push_back(target);
    }
  }
  reached_ = static_cast<std::uint32_t>(queue.size());
}

std::vector<std::uint32_t> HeapTree::path(std::uint32_t object) const {
  std::vector<std::uint32_t> path;
  if (!reached(object)) return path;
  for (;; object = parents_[object]) {
    path.push_back(object);
    if (root_of(object)) break;
  }
  std::ranges::reverse(path);
  return path;
}

} // namespace clr
