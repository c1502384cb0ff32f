#include "core/runtime/async_names.h"

#include "core/objects/object_reader.h"
#include "core/runtime/source_lines.h"

#include <fmt/format.h>

namespace clr {
namespace {

bool of_framework(const TypeName& type) {
  if (!framework_type_name(type).empty()) return true;
  const TypeName* definition = &type;
  if (type.shape == TypeShape::instance && type.element) definition = type.element.get();
  return definition->assembly.starts_with("Microsoft.AspNetCore.") ||
         definition->assembly.starts_with("Microsoft.Extensions.");
}

} // namespace

std::string text_of(const AwaitPosition& position) {
  return position.method->shown_name() + source_position(position.source) +
         (position.dispose ? " (its implicit DisposeAsync)" : "");
}

std::shared_ptr<const Method> AsyncNames::method_of(const MachineShape& shape) {
  auto& kept = methods_[shape.method_table];
  if (kept) return kept;
  Runtime& runtime = *runtime_;
  Method method;
  try {
    const Target& target = *runtime.target();
    MethodNames& names = *runtime.names();
    const RuntimeType& type = names.types().type(shape.method_table);
    const MethodDescs descs(target);
    Address found = 0;
    descs.for_each(names.types().tables().method_chunks(type.table), [&](const MethodDesc& candidate) {
      if (candidate.token() == shape.move_next && (found == 0 || !candidate.is_unboxing_stub()))
        found = candidate.address;
      return true;
    });
    if (found == 0) throw Error(ErrorKind::corrupt, "the method of the state machine is not there");
    method = type.table.canonical != shape.method_table ? names.describe_in(found, shape.method_table)
                                                        : names.describe(found);
    names.add_user_method(method);
  } catch (const Error& error) {
    method = Method();
    method.degraded = error.what();
    method.name = method.full_name = fmt::format("<state machine of type {:#x}>", shape.method_table);
  }
  return kept = std::make_shared<const Method>(std::move(method));
}

AwaitPosition AsyncNames::read_position(const MachineShape& shape, std::int32_t state) {
  Runtime& runtime = *runtime_;
  AwaitPosition position{.method = method_of(shape)};
  try {
    position.framework = of_framework(*runtime.objects()->layouts().of(shape.method_table).name);
  } catch (const Error&) {
    // A method that has no name is the user's, who wants to see it.
  }
  const Method& method = *position.method;
  if (method.token == 0 || state < 0) return position;
  SourceLines& lines = *runtime.lines();
  const PortablePdb* const pdb = lines.pdb_of(method.runtime_module);
  try {
    const auto await = shape.awaits.find(state);
    if (await == shape.awaits.end()) {
      const auto async = pdb != nullptr ? pdb->async_method(method.token) : std::nullopt;
      if (async && static_cast<std::size_t>(state) < async->awaits.size())
        position.source = lines.of_il(method, async->awaits[static_cast<std::size_t>(state)].yield_offset);
      return position;
    }
    const AwaitSite& site = await->second.site;
    if (pdb != nullptr && site.dispose_call && site.dispose_store) {
      // The call that the compiler added has no source text of its own.
      const SequencePoint* last = nullptr;
      const auto points = pdb->sequence_points(method.token);
      for (const SequencePoint& point : points)
        if (point.il_offset <= *site.dispose_call) last = &point;
      position.dispose = last != nullptr && last->hidden;
    }
    position.source = lines.of_il(method, position.dispose ? *site.dispose_store : site.yield_offset);
  } catch (const Error&) {
    // A damaged PDB costs the line.
  }
  return position;
}

std::shared_ptr<const AwaitPosition> AsyncNames::position(const MachineShape& shape, std::int32_t state) {
  auto& kept = positions_[{shape.method_table, state}];
  if (!kept) kept = std::make_shared<const AwaitPosition>(read_position(shape, state));
  return kept;
}

const MachineShape* AsyncNames::machine_in(AsyncObjects& kinds, Address object) const {
  const BoxShape* const box = kinds.shapes().box(kinds.table_of(object));
  if (box == nullptr) return nullptr;
  Address table = box->machine_table;
  if (table == 0)
    if (const Address machine = kinds.target().read_pointer(object + box->machine))
      table = kinds.table_of(machine);
  return table != 0 ? &kinds.shapes().machine(table) : nullptr;
}

} // namespace clr
