#include "core/report/heap_gcdump.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <array>

namespace clr {

namespace {

// A node that is no object: the root, a group of roots, or a static field.
struct Group {
  std::string name;
  std::vector<std::uint32_t> groups;  // numbers of nodes
  std::vector<std::uint32_t> objects; // numbers of HeapIndex
};

// The first groups, by their numbers. The names are those that other readers look for.
enum : std::uint32_t {
  all_roots,
  statics,
  thread_statics,
  locals,
  other_roots,
  finalizer_handles,
  strong_handles,
  pinning_handles,
  other_handles,
};
constexpr std::array group_names = {"[.NET Roots]",     "[static vars]",     "[thread static vars]",
                                    "[local vars]",     "[other roots]",     "[finalizer Handles]",
                                    "[strong Handles]", "[pinning Handles]", "[other Handles]"};

std::uint32_t group_of(const HeapRoot& root) {
  switch (root.kind) {
  case HeapRoot::Kind::stack:
    return locals;
  case HeapRoot::Kind::finalizer:
    return finalizer_handles;
  case HeapRoot::Kind::thread_static:
    return thread_statics;
  case HeapRoot::Kind::static_field:
    return statics;
  case HeapRoot::Kind::handle:
    break;
  }
  if (root.handle_kind == GcHandleKind::strong) return strong_handles;
  if (root.handle_kind == GcHandleKind::pinned || root.handle_kind == GcHandleKind::async_pinned)
    return pinning_handles;
  return other_handles;
}

class Nodes {
public:
  Nodes(HeapReporter& heap, HeapHolders& holders, bool live, const HeapWalkOptions& options)
      : heap_(heap), graph_(holders.graph(options)), options_(options) {
    const HeapTree& tree = holders.tree(options);
    if (live) {
      live_numbers_.assign(graph_.index().count(), HeapIndex::none);
      for (std::uint32_t i = 0, next = 0; i < live_numbers_.size(); ++i)
        if (tree.reached(i)) live_numbers_[i] = next++;
    }
    live_ = live;
    add_groups(holders);
    free_type_ = heap.types().known(heap.map().free_object).value_or(HeapIndex::none);
    for (const HeapRange& range : heap.map().ranges) heap_bytes_ += range.size();
  }

  GcdumpGraph graph() {
    GcdumpGraph graph{.is_64_bit = heap_.types().target().pointer_size() == 8};
    for (const Group& group : groups_) graph.types.push_back({.name = group.name, .module = {}});
    for (std::uint32_t i = 0; i < heap_.types().count(); ++i) {
      const HeapTypeRow& type = heap_.type(heap_.types().at(i).method_table);
      graph.types.push_back({.name = type.name, .module = type.module});
    }
    graph.for_each_node = [this](const auto& visit) {
      visit_groups(visit);
      visit_objects(visit);
      ++visits_;
    };
    return graph;
  }

  // Of the nodes that are no objects.
  std::uint64_t group_count() const { return groups_.size(); }
  std::uint64_t group_references() const {
    std::uint64_t count = 0;
    for (const Group& group : groups_) count += group.groups.size() + group.objects.size();
    return count;
  }
  std::uint64_t roots() const {
    std::uint64_t count = 0;
    for (const Group& group : groups_) count += group.objects.size();
    return count;
  }

private:
  using Visit = std::function<void(const GcdumpNode&)>;

  bool has_node(std::uint32_t object) const {
    return object != HeapIndex::none && (!live_ || live_numbers_[object] != HeapIndex::none);
  }
  std::uint32_t node_of(std::uint32_t object) const {
    return static_cast<std::uint32_t>(groups_.size()) + (live_ ? live_numbers_[object] : object);
  }

  void add_groups(HeapHolders& holders) {
    for (const char* const name : group_names) groups_.push_back({.name = name, .groups = {}, .objects = {}});
    groups_[all_roots].groups = {statics, thread_statics, locals, other_roots};
    groups_[other_roots].groups = {finalizer_handles, strong_handles, pinning_handles, other_handles};
    const std::vector<HeapRoot>& roots = holders.roots(options_);
    const std::vector<std::uint32_t>& objects = holders.root_objects(options_);
    for (std::size_t i = 0; i < roots.size(); ++i)
      if (has_node(objects[i])) groups_[group_of(roots[i])].objects.push_back(objects[i]);
    for (const StaticField& field : holders.statics().all()) {
      std::uint32_t object = HeapIndex::none;
      try {
        object = graph_.index().find(heap_.types().target().read_pointer(field.slot));
      } catch (const Error&) {
        // A field whose memory is missing holds nothing that is known.
      }
      if (!has_node(object)) continue;
      groups_[statics].groups.push_back(static_cast<std::uint32_t>(groups_.size()));
      groups_.push_back({.name = "[static var " + field.name + "]", .groups = {}, .objects = {object}});
    }
  }

  void visit_groups(const Visit& visit) const {
    std::vector<std::uint32_t> children;
    for (std::uint32_t i = 0; i < groups_.size(); ++i) {
      children = groups_[i].groups;
      for (const std::uint32_t object : groups_[i].objects) children.push_back(node_of(object));
      visit({.type = i, .children = children});
    }
  }

  void visit_objects(const Visit& visit) {
    std::vector<std::uint32_t> children;
    std::vector<HeapGap> gaps; // those that the index has told already
    const HeapIndex& index = graph_.index();
    HeapWalker walker(heap_.map(), heap_.types());
    std::uint64_t done = visits_ * heap_bytes_;
    for (std::size_t i = 0; i < heap_.map().ranges.size(); ++i) {
      std::uint32_t number = index.first_of(i);
      const HeapRange& range = heap_.map().ranges[i];
      const auto take = [&](std::span<const HeapObject> objects) {
        if (options_.progress &&
            !options_.progress(done + objects.front().address - range.begin, 3 * heap_bytes_))
          throw Error(ErrorKind::interrupted, "interrupted while the heap was written");
        for (const HeapObject& object : objects) {
          if (object.type == free_type_ || number >= index.first_of(i + 1)) continue;
          const std::uint32_t here = number++;
          if (!has_node(here)) continue;
          children.clear();
          for (const std::uint32_t target : graph_.out().of(here)) children.push_back(node_of(target));
          visit({.type = static_cast<std::uint32_t>(groups_.size()) + object.type,
                 .size = object.size,
                 .address = object.address,
                 .children = children});
        }
        return true;
      };
      walker.walk(range, take, gaps);
      done += range.size();
    }
  }

  HeapReporter& heap_;
  const HeapGraph& graph_;
  const HeapWalkOptions& options_;
  bool live_ = false;
  std::vector<std::uint32_t> live_numbers_; // with live_, by object: its number among those that are reached
  std::vector<Group> groups_;
  std::uint32_t free_type_ = HeapIndex::none;
  std::uint64_t heap_bytes_ = 0, visits_ = 0;
};

} // namespace

WrittenGcdump write_heap_gcdump(HeapReporter& heap, HeapHolders& holders, GcdumpFacts facts, bool live,
                                const std::function<void(std::span<const std::byte>)>& put,
                                const HeapWalkOptions& options) {
  Nodes nodes(heap, holders, live, options);
  facts.log = fmt::format("Made by lldb-clr from {}.\n",
                          live ? "the objects that roots reach" : "all objects of the heap, dead ones too");
  for (const std::string& text : heap.warnings()) facts.log += text + "\n";
  for (const std::string& text : gap_texts(holders.graph(options).index().gaps(), heap.map().bytes()))
    facts.log += text + "\n";
  for (const std::string& text : holders.notes()) facts.log += text + "\n";
  const GcdumpCount count = write_gcdump(nodes.graph(), facts, put);
  return {.objects = count.nodes - nodes.group_count(),
          .references = count.references - nodes.group_references(),
          .bytes = count.bytes,
          .roots = nodes.roots(),
          .cut_sizes = count.cut_sizes,
          .file_bytes = count.file_bytes};
}

Json to_json(const WrittenGcdump& written, const std::string& path) {
  return {{"path", path},           {"size", written.file_bytes},       {"objects", written.objects},
          {"bytes", written.bytes}, {"references", written.references}, {"roots", written.roots}};
}

} // namespace clr
