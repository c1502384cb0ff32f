// What would go if something went: retained sizes of objects, types and static fields, with names.
#pragma once

#include "core/heap/heap_retained.h"
#include "core/runtime/heap_holders.h"

#include <optional>
#include <string>
#include <vector>

namespace clr {

struct RetainedRow {
  Address object = 0;   // 0: a type, an assembly, or a root that holds several objects
  std::string type;     // empty: an assembly
  std::string assembly; // the name of its module; else empty
  std::string field;    // "Ns.Type.Field" of a static field; else empty
  // Of a row by root: a static field (all those whose names are not known have none, together), a handle, the
  // finalizer queue, or a thread (kind `stack`) with all that its stack and its statics hold.
  std::optional<HeapRoot> root = std::nullopt;
  std::uint64_t count = 0; // of an object: those that go with it, itself included; of a type: its objects
  std::uint64_t bytes = 0; // of these objects of the type, or of the object alone
  std::uint64_t retained = 0;
};

// Of one object.
struct RetainedObject {
  RetainedRow row;
  bool alive = false;          // a root reaches it; else nothing of it is retained by anything
  std::uint64_t reachable = 0; // bytes of everything that it leads to, its own included
  std::uint64_t leads_to = 0;  // the number of these objects
  Address holder = 0;          // the nearest object that everything which leads to it leads over; 0: none
  std::string holder_type;
};

enum class RetainedBy : std::uint8_t { object, type, assembly, static_field, root };

class HeapRetainers {
public:
  // Both must outlive this. No reads.
  HeapRetainers(HeapReporter& heap, HeapHolders& holders) : heap_(&heap), holders_(&holders) {}

  // All throw Error{interrupted}, and as HeapHolders::paths. Cost: that of HeapRetained the first time.

  // Throws Error{invalid_argument} when no object begins at `object`. Cost besides: a look at each object
  // that it leads to.
  RetainedObject object(Address object, const HeapWalkOptions& options = {});
  // At most `most` objects, those first that retain most. `glob`: of types with such names; empty: of all.
  std::vector<RetainedRow> objects(const std::string& glob, std::size_t most,
                                   const HeapWalkOptions& options = {});
  // At most `most` types, those first that retain most: what goes with several objects of a type counts once.
  std::vector<RetainedRow> types(const std::string& glob, std::size_t most,
                                 const HeapWalkOptions& options = {});
  // At most `most` modules with the objects of the types that they define, those first that retain most.
  // `glob`: of modules with such names.
  std::vector<RetainedRow> modules(const std::string& glob, std::size_t most,
                                   const HeapWalkOptions& options = {});
  // At most `most` static fields that are the only way to the object that they hold, those first that retain
  // most. Cost besides: that of StaticFields::all.
  std::vector<RetainedRow> statics(const std::string& glob, std::size_t most,
                                   const HeapWalkOptions& options = {});

  // At most `most` roots, those first that retain most: what would go if this static field were null, this
  // handle freed, this thread ended. `glob`: of roots whose texts match. Cost: that of HeapRetained each
  // time, and of StaticFields::all.
  std::vector<RetainedRow> roots(const std::string& glob, std::size_t most,
                                 const HeapWalkOptions& options = {});
  // The rows of one of these.
  std::vector<RetainedRow> rows(RetainedBy by, const std::string& glob, std::size_t most,
                                const HeapWalkOptions& options = {});

private:
  struct RootGroups;
  RootGroups group_roots(const HeapWalkOptions& options);
  void add_statics(RootGroups& made, const HeapWalkOptions& options);
  HeapRetained& retained(const HeapWalkOptions& options);
  std::vector<bool> types_like(const std::string& glob);
  RetainedRow row_of(std::uint32_t object);

  HeapReporter* heap_;
  HeapHolders* holders_;
  std::unique_ptr<HeapRetained> retained_;
};

// "static Ns.Type.Field", "thread 4711", "strong handle 0x7f00", "finalizer queue".
std::string text_of(const HeapRoot& root);

} // namespace clr
