// The places outside of the heap that keep objects alive.
#include "core/runtime/heap_holders.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace clr {

std::string_view to_string(HeapRoot::Kind kind) {
  switch (kind) {
  case HeapRoot::Kind::handle:
    return "handle";
  case HeapRoot::Kind::finalizer:
    return "finalizer";
  case HeapRoot::Kind::static_field:
    return "static";
  case HeapRoot::Kind::thread_static:
    return "thread_static";
  case HeapRoot::Kind::stack:
    return "stack";
  }
  return "";
}

void HeapHolders::add_stack_roots() {
  RootReporter reporter(*runtime_, *stacks_);
  std::size_t kept = 0;
  bool more = false;
  for (const ThreadStart& thread : threads_()) {
    const StackReporter::End end = reporter.walk(thread.registers, thread.os_id, [&](const RootRow& row) {
      HeapRoot root{.kind = HeapRoot::Kind::stack, .slot = row.root.address, .os_id = thread.os_id};
      root.object = row.root.value;
      if (row.root.slot.interior) {
        const std::uint32_t before = graph_->index().last_before(row.root.value);
        if (before == HeapIndex::none) return true;
        root.object = graph_->index().address(before);
        try {
          // Behind the last object of its range, or in memory of a thread, there is none.
          if (row.root.value - root.object >= object_at(root.object).size) return true;
        } catch (const Error&) {
          return true;
        }
      }
      more = kept == max_stack_roots;
      if (more) return false;
      ++kept;
      root.stack = std::make_shared<const RootRow>(row);
      roots_.push_back(std::move(root));
      return true;
    });
    for (const std::string& text : end.notes) note(fmt::format("thread {}: {}", thread.os_id, text));
    if (more)
      return note(fmt::format("stacks hold more than {} references: those of thread {} and of the threads "
                              "behind it are not all known",
                              max_stack_roots, thread.os_id));
  }
}

// The array of a thread's static references; those of types that can be unloaded are not known.
void HeapHolders::add_thread_statics(std::vector<HeapRoot>& roots) {
  const Target& target = *runtime_->target();
  if (!target.find_offset("Thread", "ThreadLocalDataPtr") ||
      !target.find_offset("ThreadLocalData", "NonCollectibleTlsArrayData")) {
    note("thread statics are not known: this runtime does not say where they are");
    return;
  }
  for (const RuntimeThread& thread : stacks_->threads().threads) {
    try {
      const Address data =
          target.read_pointer(target.field_address(thread.address, "Thread", "ThreadLocalDataPtr"));
      if (data == 0) continue;
      const Address slot = target.field_address(data, "ThreadLocalData", "NonCollectibleTlsArrayData");
      const Address array = target.read_pointer(slot);
      if (array != 0)
        roots.push_back({.kind = HeapRoot::Kind::thread_static,
                         .object = array,
                         .slot = slot,
                         .os_id = thread.os_id.value_or(0),
                         .stack = nullptr});
    } catch (const Error& error) {
      note(fmt::format("statics of thread {:#x}: {}", thread.address, error.what()));
    }
  }
}

void HeapHolders::add_static_fields(std::vector<HeapRoot>& roots, const std::function<bool()>& go_on) {
  const Target& target = *runtime_->target();
  for (const StaticField& field : statics_.all(go_on)) {
    try {
      const Address object = target.read_pointer(field.slot);
      if (object == 0) continue;
      HeapRoot& root = roots.emplace_back();
      root.kind = HeapRoot::Kind::static_field;
      root.object = object;
      root.slot = field.slot;
      root.name = field.name;
    } catch (const Error& error) {
      note(fmt::format("{}: {}", field.name, error.what()));
    }
  }
}

std::vector<HeapRoot> HeapHolders::roots_of(HeapRoot::Kind kind, const std::function<bool()>& go_on) {
  std::vector<HeapRoot> roots;
  switch (kind) {
  case HeapRoot::Kind::handle:
    roots.reserve(static_cast<std::size_t>(std::ranges::count_if(
        handles().handles, [](const GcHandle& handle) { return is_root(handle.kind); })));
    for (const GcHandle& handle : handles().handles)
      if (is_root(handle.kind))
        roots.push_back({.kind = kind,
                         .object = handle.object,
                         .slot = handle.slot,
                         .handle_kind = handle.kind,
                         .stack = nullptr});
    break;
  case HeapRoot::Kind::finalizer:
    roots.reserve(finalizers().ready.size());
    for (const FinalizerQueue::Ready& ready : finalizers().ready)
      roots.push_back({.kind = kind, .object = ready.object, .slot = ready.slot, .stack = nullptr});
    break;
  case HeapRoot::Kind::thread_static:
    add_thread_statics(roots);
    break;
  case HeapRoot::Kind::static_field:
    add_static_fields(roots, go_on);
    break;
  case HeapRoot::Kind::stack:
    break; // RootReporter has them
  }
  return roots;
}

void HeapHolders::collect_roots() {
  roots_.clear();
  for (const auto kind : {HeapRoot::Kind::handle, HeapRoot::Kind::finalizer, HeapRoot::Kind::thread_static}) {
    std::vector<HeapRoot> some = roots_of(kind);
    if (roots_.empty())
      roots_ = std::move(some);
    else
      std::ranges::move(some, std::back_inserter(roots_));
  }
  add_stack_roots();
}

} // namespace clr
