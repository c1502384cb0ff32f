// What single objects say about who waits for whom: tasks, continuations, boxes.
#pragma once

#include "core/objects/instance_reader.h"
#include "core/waits/heap_pass.h"
#include "core/waits/state_machine_shapes.h"

#include <functional>
#include <optional>
#include <unordered_map>
#include <vector>

namespace clr {

enum class AsyncKind : std::uint8_t {
  other,
  box,        // of an async method; most are tasks, too
  task,       // a task that is no box
  list,       // several continuations
  await_task, // a continuation that runs a delegate, in a context or scheduler
  continue_with,
  callback, // a delegate
  closure,  // the variables of a delegate, among them what goes on
  wrapper,  // of a delegate, for a debugger
  blocker,  // a thread waits with it for tasks
};

// Task.m_stateFlags.
struct TaskFlags {
  std::uint32_t bits = 0;
  bool ran() const { return (bits & 0x100'0000) != 0; }
  bool canceled() const { return (bits & 0x40'0000) != 0; }
  bool faulted() const { return (bits & 0x20'0000) != 0; }
  bool done() const { return ran() || canceled() || faulted(); }
  bool started() const { return (bits & 0x1'0000) != 0; } // given to its scheduler
  bool running() const { return (bits & 0x2'0000) != 0; } // a thread has begun it
  bool has_parent() const { return (bits & 0x4) != 0; }   // it was begun as a child, attached to its parent
  bool waits_for_children() const { return (bits & 0x80'0000) != 0; }
};

// Why a task failed.
struct TaskFailure {
  Address exception = 0; // the first; 0: not known
  bool observed = false; // somebody asked for it
};

class AsyncObjects {
public:
  // All must outlive this. No reads.
  AsyncObjects(ObjectReader& objects, TypeLineages& lineages)
      : objects_(&objects), lineages_(&lineages), shapes_(objects) {}

  // The kind of an object. Throws Error when its type cannot be read. Cost: 1 read, and those of its type.
  AsyncKind kind(Address object);
  const TypeLineage& lineage(Address object);
  Address table_of(Address object) { return objects_->method_table_of(object); }

  // Of a task. Throws Error. 1 read each.
  TaskFlags flags(Address task);
  Address action(Address task);       // the delegate that it runs; 0: it runs none
  Address continuation(Address task); // the object that says who goes on
  // Its method is one that the runtime itself suspends, and waits in continuation objects. Throws Error.
  // Cost: that of the type.
  bool suspends(Address method_table) { return type(method_table).suspends; }

  // Whether somebody may wait for an object because the builder of an async method holds it: it is a task, or
  // of a type that is not the framework's. Throws Error. Cost: that of the type.
  bool is_promise(Address object);
  // The objects that an object of a type other than the framework's refers to, those of its base types too.
  // Throws Error. Cost: that of the type, and 1 read for each, max_references at most.
  std::vector<Address> references(Address object);

  // Whether an object that is no task can be awaited as a ValueTask, by its fields. Throws Error. Cost: that
  // of the type.
  bool is_source(Address object);

  // The task that is not done before `task` is, where that was begun as its child; 0: none. Throws Error.
  Address parent(Address task);

  // Of a task that failed. Throws Error. Cost: some 10 reads.
  TaskFailure failure(Address task);

  // Calls `visit` for each box, task and blocker that goes on by a continuation. Lists, delegates and what
  // wraps them are looked into, max_depth deep and max_links objects wide. Throws Error.
  using VisitTarget = std::function<void(Address target, AsyncKind kind)>;
  void targets(Address continuation, const VisitTarget& visit);

  // Calls `visit` for each object that a task of the framework waits for, as its fields say. Throws Error.
  void inner(Address task, const std::function<void(Address)>& visit);

  // The method that a delegate calls, for people: "Ns.Type.Run(object)". Never throws. Cost: some 10 reads.
  std::string callback(Address delegate);

  // The reference in a field of an object; 0 when it has no such field. Throws Error.
  Address reference(Address object, std::string_view name);
  // An integer field, sign-extended; nothing when there is no such field. Throws Error.
  std::optional<std::uint64_t> integer(Address object, std::string_view name);
  // The ticks of a TimeSpan field; nothing when there is no such field. Throws Error.
  std::optional<std::int64_t> span(Address object, std::string_view name);

  MachineShapes& shapes() { return shapes_; }
  ObjectReader& objects() { return *objects_; }
  const Target& target() { return objects_->finder().target(); }

  // Of what targets() and inner() look at, all calls together, at most `most` objects are left. Without this
  // call there is no limit but that of each call.
  void bound_links(std::size_t most) { links_left_ = most; }
  bool out_of_links() const { return links_left_ == 0; }

  static constexpr unsigned max_depth = 8;
  static constexpr std::size_t max_references = 64;
  static constexpr std::size_t max_links = 1'000'000; // continuations of one task

private:
  struct Type {
    AsyncKind kind = AsyncKind::other;
    bool suspends = false;
    std::optional<bool> source; // nothing: not looked at yet
    // From the object's address. Of a continuation: what it leads to.
    std::optional<std::uint32_t> next, list;
    std::vector<std::uint32_t> inner, inner_lists; // of a task; of a closure its references
    bool user = false;                             // it is not of the framework
  };
  Type& type(Address table);
  Type read_type(Address table);
  void read_own(Type& type, Address table);
  std::optional<std::uint32_t> offset(Address table, std::string_view name);
  void need_task_fields();
  void follow(Address object, unsigned depth, std::size_t& links, const VisitTarget& visit);
  // The references of an array of references.
  void each_element(Address array, std::uint64_t most, const std::function<void(Address)>& visit);

  ObjectReader* objects_;
  TypeLineages* lineages_;
  MachineShapes shapes_;
  std::unordered_map<Address, Type> types_;
  struct TaskFields {
    std::uint32_t flags = 0, action = 0, continuation = 0;
  };
  std::optional<TaskFields> task_fields_;
  Address task_table_ = 0; // Task, once one was met
  std::size_t links_left_ = ~std::size_t{0};
};

} // namespace clr
