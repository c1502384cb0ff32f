// Who holds what: references of objects, roots, and the ways from roots to objects.
#pragma once

#include "core/heap/finalizer_queue.h"
#include "core/heap/heap_graph.h"
#include "core/heap/loader_allocators.h"
#include "core/runtime/heap_report.h"
#include "core/runtime/reference_names.h"
#include "core/runtime/root_rows.h"
#include "core/runtime/static_fields.h"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace clr {

// A place outside of the heap that keeps an object alive.
struct HeapRoot {
  enum class Kind : std::uint8_t { handle, finalizer, static_field, thread_static, stack };
  Kind kind = Kind::handle;
  Address object = 0;          // that it keeps alive; of an interior root the one that it points into
  std::optional<Address> slot; // nothing: a register
  GcHandleKind handle_kind = GcHandleKind::strong; // of a handle
  std::uint64_t os_id = 0;                         // of the thread of a stack or a thread static
  std::shared_ptr<const RootRow> stack;            // of a stack; else null
  std::string name;                                // of a static field: "Ns.Type.Field"
};
// "handle", "finalizer", "static", "thread_static", "stack".
std::string_view to_string(HeapRoot::Kind kind);

// One reference of an object.
struct HeapReference {
  Address from = 0, to = 0;
  std::optional<std::uint64_t> offset; // in `from`; nothing: no field of it holds the reference
  // "_next", "[3]"; empty when it is not known. Without an offset "(dependent handle)" or "(the loader of its
  // type)".
  std::string field;
};

struct HeapStep {
  Address object = 0;
  std::string type;
  std::string field;        // of the step before it; empty for the first
  std::size_t left_out = 0; // steps between the one before and this, of which nothing is told
};

struct HeapPath {
  HeapRoot root;
  std::vector<HeapStep> steps; // from what the root holds to the object that was asked for
  static constexpr std::size_t max_steps_of_an_end = 1'000; // of a way that is longer than two of these
};

struct HeapPaths {
  std::vector<HeapPath> paths;
  std::string left_out; // why there may be more; empty when max_steps cut nothing
  static constexpr std::size_t max_steps = 1'000'000;
};

// What contradicts itself in the heap.
struct HeapVerification {
  std::uint64_t objects = 0, references = 0;
  std::vector<HeapGap> gaps;
  std::uint64_t stray_references = 0; // that lead to no object; the first ones:
  std::vector<HeapGraph::Stray> strays;
  // Handles that refer to no object, and entries of the finalizer queue without object or finalizer: the
  // first HeapGraph::max_strays of each, and how many there are.
  std::vector<GcHandle> stray_handles;
  std::vector<Address> stray_finalizable;
  std::uint64_t stray_handle_count = 0, stray_finalizable_count = 0;

  bool sound() const {
    return gaps.empty() && stray_references == 0 && stray_handles.empty() && stray_finalizable.empty();
  }
};

class HeapHolders {
public:
  struct ThreadStart {
    std::uint64_t os_id = 0;
    RegisterContext registers;
  };
  using Threads = std::function<std::vector<ThreadStart>()>;

  // All must outlive this. No reads. `threads` is called when the roots of stacks are needed.
  HeapHolders(Runtime& runtime, HeapReporter& heap, StackReporter& stacks, Threads threads);

  // Read at the first call.
  const GcHandles& handles();
  const FinalizerQueue& finalizers();

  // The object that begins at `address`. Throws Error{invalid_argument} when none can begin there: no type,
  // or no range of the heap.
  HeapObject object_at(Address address);
  using VisitReference = std::function<bool(const HeapReference&)>;
  // Visits its references, by their offsets; then those that keep an object alive without a field: of
  // dependent handles, and to the loader of a type that can be unloaded. Stops when `visit` returns false: an
  // array has millions, which are not kept. Throws as object_at does. Cost: that of ReferenceReader::read,
  // and of handles() the first time.
  // `to`: only those to this object.
  void for_each_reference(Address object, const VisitReference& visit, std::optional<Address> to = {});
  // The same for the references to it. Throws Error{interrupted}. Cost: all references of the heap the first
  // time.
  void for_each_referrer(Address object, const VisitReference& visit, const HeapWalkOptions& options = {});

  // At most `most` ways from different roots, the shortest first; empty when none leads there. `reachable`:
  // the object is alive. Throws Error{invalid_argument} when no object begins at `object`,
  // Error{interrupted}. Cost: all references of the heap the first time, then none for one way; for several,
  // those of each object on them once.
  HeapPaths paths(Address object, std::size_t most, const HeapWalkOptions& options = {});

  // Counts the objects that roots reach, or those that none does. Throws and costs as paths() does, and a
  // walk.
  HeapStatistics count_reached(bool live, const HeapWalkOptions& options = {});
  // Looks for contradictions. Throws and costs as referrers() does.
  HeapVerification verify(const HeapWalkOptions& options = {});
  StaticFields& statics() { return statics_; }

  // All roots, of those of stacks max_stack_roots. Cost: that of paths.
  const std::vector<HeapRoot>& roots(const HeapWalkOptions& options = {});

  // The roots of one kind, without the cost of roots(): none for those of stacks, which RootReporter has.
  // Static fields are elements of arrays that handles hold, so they are no roots() of their own; those that
  // are null are left out. `go_on` is asked while static fields are looked for: false leaves out the rest.
  // Cost: that of handles(), of finalizers(), of 3 reads for each thread, of StaticFields::all and 1 read for
  // each field.
  std::vector<HeapRoot> roots_of(HeapRoot::Kind kind, const std::function<bool()>& go_on = {});

  // The name of an object's type; empty when no object can be there. 1 read.
  std::string type_of(Address object);

  // What is not known of roots and references: sentences.
  const std::vector<std::string>& notes() const { return notes_; }

  // What graph() needs first, to be done by a walk for something else, and then taken; null: nothing.
  std::unique_ptr<HeapIndexing> indexing();
  void take(HeapIndexing& indexed);

  // All references. Throws Error{interrupted}. Cost: that of HeapGraph the first time.
  HeapGraph& graph(const HeapWalkOptions& options = {});
  // The numbers in graph() of what roots() hold; HeapIndex::none where no object begins. Cost: that of paths.
  const std::vector<std::uint32_t>& root_objects(const HeapWalkOptions& options = {});

  // From where each object is reached on a shortest way. Throws Error{interrupted}. Cost: that of paths.
  const HeapTree& tree(const HeapWalkOptions& options = {});

private:
  void collect_roots();
  void add_stack_roots();
  void add_thread_statics(std::vector<HeapRoot>& roots);
  void add_static_fields(std::vector<HeapRoot>& roots, const std::function<bool()>& go_on);
  std::uint32_t number_of(Address object, const HeapWalkOptions& options);
  // What ways share is looked at once.
  struct KnownSteps {
    std::map<std::pair<Address, Address>, std::string> fields;                  // from, to
    std::map<std::pair<Address, Address>, std::optional<Address>> static_slots; // array, what it holds there
  };
  HeapPath make_path(std::uint32_t root, const HeapTree::Path& objects, KnownSteps& known);
  std::string field_between(Address from, Address to);
  void name_static(HeapPath& path, KnownSteps& known);
  std::optional<Address> static_slot(Address array, Address held);
  void note(std::string text);

  static constexpr std::size_t max_notes = 100;
  // Roots of stacks: each is kept with its row, which takes half a kilobyte.
  static constexpr std::size_t max_stack_roots = 1'500'000;

  Runtime* runtime_;
  HeapReporter* heap_;
  StackReporter* stacks_;
  Threads threads_;
  ReferenceMaps maps_;
  ReferenceNames names_;
  StaticFields statics_;
  std::optional<GcHandles> handles_;
  std::unordered_multimap<Address, Address> dependents_; // of handles_: the object that each object keeps
  std::optional<LoaderAllocators> loaders_;              // made with handles_
  std::optional<FinalizerQueue> finalizers_;
  std::optional<HeapIndex> index_; // for graph_
  std::unique_ptr<HeapGraph> graph_;
  std::vector<HeapRoot> roots_;
  std::vector<std::uint32_t> root_objects_; // as roots_: the numbers of their objects
  std::unique_ptr<HeapTree> tree_;
  std::vector<std::string> notes_;
};

} // namespace clr
