#include "core/runtime/wait_objects.h"

#include "core/memory/count_text.h"
#include "core/objects/object_reader.h"
#include "core/target/contracts.h"
#include "core/types/method_desc.h"

#include <fmt/format.h>

namespace clr {
namespace {

// What types of objects and of fields are found by. Without one of these they are simply not there: who reads
// an object then takes it for one of another kind. Before .NET 11 descriptors lack some of them.
std::string missing_member(const Target& target) {
  constexpr std::pair<std::string_view, std::string_view> fields[] = {
      {"Module", "TypeDefToMethodTableMap"},
      {"Module", "TypeRefToMethodTableMap"},
      {"Module", "AvailableTypeParams"},
      {"ModuleLookupMap", "TableData"},
      {"ModuleLookupMap", "Count"},
      {"ModuleLookupMap", "Next"},
      {"ModuleLookupMap", "SupportedFlagsMask"},
      {"EETypeHashTable", "Buckets"},
      {"EETypeHashTable", "VolatileEntryValue"},
      {"EETypeHashTable", "VolatileEntryNextEntry"},
      {"EEClass", "InternalCorElementType"},
      {"EEClass", "FieldDescList"},
      {"EEClass", "NumInstanceFields"},
      {"EEClass", "NumStaticFields"},
      {"FieldDesc", "DWord1"},
      {"FieldDesc", "DWord2"},
      {"MethodTable", "AuxiliaryData"},
      {"AsyncResumeInfo", "DiagnosticIP"}};
  if (target.descriptor().version < descriptor_format_names) return {};
  try {
    for (const auto& [type, field] : fields) target.offset(type, field);
    target.size_of("FieldDesc");
    for (const char* global :
         {"ObjectMethodTable", "ContinuationMethodTable", "ContinuationSingletonEEClass"})
      target.global(global);
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

// Why methods have no names, by which the framework's own are told from the user's; empty: they have.
std::string missing_names(const Target& target) {
  if (target.descriptor().version < descriptor_format_names) return {};
  try {
    MethodDescs{target};
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

} // namespace

WaitObjects::WaitObjects(Runtime& runtime, HeapReporter& heap)
    : runtime_(&runtime), heap_(&heap), lineages_(runtime.names()->types()),
      pass_(heap.map(), heap.types(), lineages_), lock_index_(pass_) {
  async_classes_ = AsyncGraph::want(pass_);
}

std::string WaitObjects::unknown_types() const {
  const std::string missing = missing_member(*runtime_->target());
  if (const std::string unnamed = missing_names(*runtime_->target()); !unnamed.empty() && missing.empty())
    return fmt::format("which async methods are the framework's is not known: {}", unnamed);
  if (lineages_.unreadable() == 0)
    return missing.empty() ? "" : fmt::format("types of fields may not be found: {}", missing);
  const bool one = lineages_.unreadable() == 1;
  return fmt::format("{} of the heap {} not known, and what {} objects tell is missing{}: {}",
                     count_text(lineages_.unreadable(), "type"), one ? "is" : "are", one ? "its" : "their",
                     one || !missing.empty() ? "" : "; the first because",
                     missing.empty() ? lineages_.first_fault() : missing);
}

const HeapPassResult& WaitObjects::found(const HeapWalkOptions& options) {
  if (!found_ || found_->interrupted) {
    async_.reset();
    const auto counting = holders_ == nullptr ? nullptr : heap_->counting();
    const auto indexing = holders_ == nullptr ? nullptr : holders_->indexing();
    std::vector<HeapWork*> others;
    if (counting) others.push_back(counting.get());
    if (indexing) others.push_back(indexing.get());
    found_ = pass_.run(options, heap_threads(), others);
    if (counting) heap_->take(*counting);
    if (indexing) holders_->take(*indexing);
  }
  return *found_;
}

AsyncGraph& WaitObjects::async(const HeapWalkOptions& options) {
  const HeapPassResult& objects = found(options);
  if (!async_)
    async_ = std::make_unique<AsyncGraph>(*runtime_->objects(), lineages_, objects, async_classes_);
  return *async_;
}

LockIndex& WaitObjects::locks(const HeapWalkOptions& options) {
  if (locks_read_) return lock_index_;
  const auto require_whole = [](const HeapPassResult& result) {
    if (result.interrupted)
      throw Error(ErrorKind::interrupted, "interrupted while the heap was searched for locks");
  };
  InstanceReader reader(*runtime_->objects());
  // The words before objects are many bytes: only who asks for locks pays for them.
  if (!found_ || found_->interrupted) {
    LockIndex::want_headers(pass_);
    require_whole(found(options));
    lock_index_.take(*found_, found_->by_header, reader);
  } else {
    HeapPass headers(heap_->map(), heap_->types(), lineages_);
    LockIndex::want_headers(headers);
    const HeapPassResult headed = headers.run(options);
    require_whole(headed);
    lock_index_.take(*found_, headed.by_header, reader);
  }
  locks_read_ = true;
  return lock_index_;
}

} // namespace clr
