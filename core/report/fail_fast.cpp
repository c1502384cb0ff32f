#include "core/report/fail_fast.h"

#include "core/objects/object_reader.h"
#include "core/runtime/root_rows.h"

namespace clr {
namespace {

constexpr TextLimits limits{.string_units = 4'096, .text = 16'384};

// The string whose first character is at `characters`; 0 when there is none.
Address string_of(Runtime& runtime, Address characters) {
  const Target& target = *runtime.target();
  ObjectReader& objects = *runtime.objects();
  const Address object = characters - static_cast<Address>(target.offset("String", "m_FirstChar"));
  try {
    const TypeLayout& layout = objects.layouts().of(objects.method_table_of(object));
    return layout.kind == TypeLayout::Kind::string ? object : 0;
  } catch (const Error&) {
    return 0;
  }
}

} // namespace

std::optional<std::string> fail_fast_message(Runtime& runtime, StackReporter& stacks,
                                             const RegisterContext& start, std::uint64_t os_id) {
  std::optional<std::string> message;
  RootReporter(runtime, stacks).walk(start, os_id, [&](const RootRow& row) {
    if (row.frame >= max_fail_fast_frames) return false;
    if (row.answer->method.name != "System.Environment.FailFast") return true;
    if (!row.root.slot.interior || !row.root.slot.pinned) return true;
    if (const Address text = string_of(runtime, row.root.value); text != 0)
      message = runtime.objects()->describe_object(text, limits);
    return !message;
  });
  return message;
}

} // namespace clr
