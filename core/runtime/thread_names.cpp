#include "core/runtime/thread_names.h"

#include "core/objects/object_reader.h"

namespace clr {
namespace {

std::optional<ManagedThreadFields> fields_of(Runtime& runtime, Address object) {
  ObjectReader& objects = *runtime.objects();
  const TypeLayout& layout = objects.layouts().of(objects.method_table_of(object));
  const FieldLayout *const name = layout.field("_name"), *const back =
                                                             layout.field("_DONT_USE_InternalThread");
  if (name == nullptr || back == nullptr) return std::nullopt;
  const std::int64_t first_field = runtime.target()->pointer_size();
  return ManagedThreadFields{.name = first_field + name->offset,
                             .runtime_thread = first_field + back->offset};
}

} // namespace

void add_thread_names(Runtime& runtime, std::vector<RuntimeThread>& threads) {
  if (runtime.target() == nullptr || runtime.objects() == nullptr) return;
  std::optional<ManagedThreadFields> fields;
  for (RuntimeThread& thread : threads) {
    if (thread.name || thread.managed_object == 0) continue;
    try {
      if (!fields) fields = fields_of(runtime, thread.managed_object);
      if (fields) thread.name = managed_thread_name(*runtime.target(), thread, *fields);
    } catch (const std::exception&) {
      // A name that cannot be read is no fault of the thread: most have none.
    }
  }
}

} // namespace clr
