#include "core/runtime/wait_objects.h"

#include "core/objects/object_reader.h"

namespace clr {

WaitObjects::WaitObjects(Runtime& runtime, HeapReporter& heap)
    : runtime_(&runtime), heap_(&heap), lineages_(runtime.names()->types()),
      pass_(heap.map(), heap.types(), lineages_) {
  async_classes_ = AsyncGraph::want(pass_);
}

const HeapPassResult& WaitObjects::found(const HeapWalkOptions& options) {
  if (!found_ || found_->interrupted) {
    async_.reset();
    found_ = pass_.run(options);
  }
  return *found_;
}

AsyncGraph& WaitObjects::async(const HeapWalkOptions& options) {
  const HeapPassResult& objects = found(options);
  if (!async_)
    async_ = std::make_unique<AsyncGraph>(*runtime_->objects(), lineages_, objects, async_classes_);
  return *async_;
}

} // namespace clr
