#include "core/waits/state_machine_shapes.h"

#include "core/objects/instance_reader.h"
#include "core/types/module.h"
#include "core/waits/heap_pass.h"
#include "core/waits/method_il.h"

#include <algorithm>
#include <array>

namespace clr {
namespace {

// C#, Visual Basic and F#.
constexpr std::array state_names{"<>1__state", "$State", "ResumptionPoint"};
constexpr std::array builder_names{"<>t__builder", "$Builder"};
constexpr const char* too_many_awaits = "state machines have too many awaits";
constexpr const char* iterator_promise = "<>v__promiseOfValueOrEnd";
// The fields through which the framework's awaiters lead to what is awaited.
constexpr std::array awaited_names{"m_task", "_value", "_obj", "_task"};

} // namespace

std::optional<MachineShapes::Place> MachineShapes::find(Address table, std::string_view name) {
  for (unsigned depth = 0; table != 0 && depth < TypeLayouts::max_base_types; ++depth) {
    const TypeLayout& layout = objects_->layouts().of(table);
    if (const FieldLayout* const found = layout.field(name)) return Place{found, found->offset};
    table = layout.table.parent;
  }
  return std::nullopt;
}

std::optional<std::uint32_t> MachineShapes::reference_in(const FieldLayout& field, unsigned depth,
                                                         unsigned& left) {
  if (field.type->is_reference()) return field.offset;
  // Structures of many structures of many structures are more than time allows.
  if (field.type->kind != TypeUse::Kind::value || field.type->method_table == 0 ||
      depth > max_awaiter_depth || left == 0)
    return std::nullopt;
  --left;
  const TypeLayout& layout = objects_->layouts().of(field.type->method_table);
  const auto inside = [&](const FieldLayout& inner) -> std::optional<std::uint32_t> {
    if (inner.is_static) return std::nullopt;
    const auto offset = reference_in(inner, depth + 1, left);
    return offset ? std::optional(field.offset + *offset) : std::nullopt;
  };
  for (const char* const name : awaited_names)
    if (const FieldLayout* const inner = layout.field(name))
      if (const auto offset = inside(*inner)) return offset;
  for (const FieldLayout& inner : layout.fields)
    if (const auto offset = inside(inner)) return offset;
  return std::nullopt;
}

void MachineShapes::read_consumer(Address table, std::string_view name, std::uint32_t base,
                                  std::optional<std::uint32_t>& state, std::optional<std::uint32_t>& action) {
  const auto core = find(table, name);
  if (!core || core->field->type->kind != TypeUse::Kind::value) return;
  const Address inner = core->field->type->method_table;
  if (const auto place = find(inner, "_continuationState")) state = base + core->offset + place->offset;
  if (const auto place = find(inner, "_continuation")) action = base + core->offset + place->offset;
}

const MachineShape& MachineShapes::machine(Address table) {
  auto& kept = machines_[table];
  if (!kept) {
    kept = std::make_unique<MachineShape>();
    kept->method_table = table;
    try {
      *kept = read_machine(table);
    } catch (const Error& error) {
      kept->problem = error.what();
    }
  }
  return *kept;
}

MachineShape MachineShapes::read_machine(Address table) {
  MachineShape shape{.method_table = table};
  const TypeLayout& layout = objects_->layouts().of(table);
  shape.module = layout.module;
  shape.value_type = layout.table.is_value_type();
  for (const char* const name : state_names)
    if (const auto place = find(table, name)) {
      shape.state = place->offset;
      shape.fsharp = std::string_view(name) == state_names.back();
    }
  if (shape.fsharp)
    if (const auto place = find(table, "ResumptionDynamicInfo")) shape.interpreter = place->offset;
  for (const char* const name : builder_names)
    if (const auto place = find(table, name)) read_builder(shape, *place);
  if (layout.text.starts_with("System.Threading.Tasks.Parallel."))
    for (const FieldLayout& field : layout.fields)
      if (!field.is_static && field.type->is_reference() && field.type->name &&
          format_type(*field.type->name).find("AsyncState<") != std::string::npos)
        shape.work = field.offset;
  read_consumer(table, iterator_promise, 0, shape.consumer_state, shape.consumer);
  try {
    read_code(shape, layout);
  } catch (const Error& error) {
    shape.problem = error.what();
  }
  return shape;
}

void MachineShapes::read_builder(MachineShape& shape, const Place& place) {
  const TypeUse& type = *place.field->type;
  if (type.is_reference()) {
    shape.builder_is_object = true;
    shape.builder_parts = {place.offset};
    return;
  }
  const TypeLayout& builder = objects_->layouts().of(type.method_table);
  shape.is_void = builder.text == "System.Runtime.CompilerServices.AsyncVoidMethodBuilder";
  const FieldLayout* const box = builder.field("m_task");
  if (box != nullptr && box->type->is_reference()) shape.builder_box = place.offset + box->offset;
  if (!framework_type_name(*builder.name).empty()) return;
  unsigned left = max_awaiter_structures;
  add_builder_parts(shape, type.method_table, place.offset, 0, left);
}

void MachineShapes::add_builder_parts(MachineShape& shape, Address structure, std::uint32_t base,
                                      unsigned depth, unsigned& left) {
  if (depth > max_awaiter_depth || left == 0) return;
  --left;
  for (const FieldLayout& field : objects_->layouts().of(structure).fields) {
    if (field.is_static || shape.builder_parts.size() >= max_builder_parts) continue;
    if (field.type->is_reference())
      shape.builder_parts.push_back(base + field.offset);
    else if (field.type->kind == TypeUse::Kind::value && field.type->method_table != 0)
      add_builder_parts(shape, field.type->method_table, base + field.offset, depth + 1, left);
  }
}

std::uint32_t MachineShapes::find_move_next(Address module_address, std::uint32_t type_def) {
  const auto key = std::pair(module_address, type_def);
  if (const auto known = move_nexts_.find(key); known != move_nexts_.end()) return known->second;
  std::uint32_t move_next = 0;
  NamedModule& module = objects_->finder().names().named_modules().at(module_address);
  module.metadata.with([&](MetadataNames& named) {
    const Metadata& metadata = named.metadata();
    const auto [first, last] = metadata.method_range(type_def & 0xff'ffff);
    for (std::uint32_t i = first; i < last && move_next == 0; ++i) {
      if (methods_left_ == 0)
        throw Error(ErrorKind::corrupt, "the types of state machines have too many methods");
      --methods_left_;
      const std::uint32_t rid = metadata.method_at(i);
      if (metadata.string(metadata.method_def(rid).name) == "MoveNext") move_next = 0x0600'0000 | rid;
    }
  });
  return move_nexts_.emplace(key, move_next).first->second;
}

const MachineShapes::Sites& MachineShapes::sites_of(Address module, std::uint32_t move_next) {
  const auto key = std::pair(module, move_next);
  if (const auto known = sites_.find(key); known != sites_.end()) return known->second;
  constexpr const char* too_much = "the methods of state machines have too much code";
  if (il_left_ == 0) throw Error(ErrorKind::corrupt, too_much);
  Sites sites;
  with_method_il(*objects_, module, move_next, [&](const Metadata& metadata, std::span<const std::byte> il) {
    const bool fits = il.size() <= il_left_;
    il_left_ -= std::min(il.size(), il_left_);
    if (!fits) throw Error(ErrorKind::corrupt, too_much);
    sites = await_sites(metadata, il);
  });
  if (sites.size() > awaits_left_) throw Error(ErrorKind::corrupt, too_many_awaits);
  return sites_.emplace(key, std::move(sites)).first->second;
}

std::optional<std::uint32_t> MachineShapes::reference_of(const TypeUsePtr& structure) {
  if (const auto known = structures_.find(structure->method_table); known != structures_.end())
    return known->second;
  unsigned left = max_awaiter_structures;
  FieldLayout whole;
  whole.type = structure;
  return structures_.emplace(structure->method_table, reference_in(whole, 0, left)).first->second;
}

MachineAwait MachineShapes::awaiter_in(const FieldLayout& field) {
  MachineAwait await;
  if (field.type->is_reference()) {
    await.awaited = field.offset;
  } else if (field.type->kind == TypeUse::Kind::value && field.type->method_table != 0) {
    if (const auto inside = reference_of(field.type)) await.awaited = field.offset + *inside;
  }
  if (field.type->name) {
    SharedText& text = type_texts_[field.type->name];
    if (text.empty()) text = format_type(*field.type->name);
    await.awaiter_type = text;
  }
  await.boxed = field.type->is_reference() && await.awaiter_type == "object";
  return await;
}

void MachineShapes::read_code(MachineShape& shape, const TypeLayout& layout) {
  if (shape.module == 0 || layout.type_def == 0) return;
  shape.move_next = find_move_next(shape.module, layout.type_def);
  if (shape.move_next == 0) return;
  const Sites& sites = sites_of(shape.module, shape.move_next);
  if (sites.size() > awaits_left_) throw Error(ErrorKind::corrupt, too_many_awaits);
  awaits_left_ -= sites.size();
  std::unordered_map<std::string_view, const FieldLayout*> fields; // the first of each name
  for (const FieldLayout& field : layout.fields)
    if (!field.is_static) fields.try_emplace(field.name, &field);
  std::unordered_map<const FieldLayout*, MachineAwait> awaiters; // many awaits keep theirs in one field
  for (const auto& [state, site] : sites) {
    MachineAwait await;
    if (const auto field = fields.find(site.awaiter); field != fields.end()) {
      const auto [known, added] = awaiters.try_emplace(field->second);
      if (added) known->second = awaiter_in(*field->second);
      await = known->second;
    }
    await.site = site;
    shape.awaits.emplace(state, std::move(await));
  }
}

const BoxShape* MachineShapes::box(Address table) {
  const auto known = boxes_.find(table);
  if (known != boxes_.end()) return known->second ? &*known->second : nullptr;
  std::optional<BoxShape> shape;
  try {
    shape = read_box(table);
  } catch (const Error&) {
    // What cannot be read is no box that anything is known of.
  }
  const auto& kept = boxes_.emplace(table, shape).first->second;
  return kept ? &*kept : nullptr;
}

std::optional<BoxShape> MachineShapes::read_box(Address table) {
  const auto held = find(table, "StateMachine");
  if (!held) return read_own_box(table);
  const std::uint32_t header = objects_->finder().target().pointer_size();
  BoxShape shape{.machine = header + held->offset};
  if (held->field->type->kind == TypeUse::Kind::value)
    shape.machine_table = held->field->type->method_table;
  else if (!held->field->type->is_reference())
    return std::nullopt;
  read_consumer(table, "_valueTaskSource", header, shape.consumer_state, shape.consumer);
  return shape;
}

bool MachineShapes::is_machine(Address table) {
  const TypeLayout& layout = objects_->layouts().of(table);
  const auto has = [&](const char* name) { return layout.field(name) != nullptr; };
  return is_machine_name(*layout.name) && std::ranges::any_of(state_names, has) &&
         std::ranges::any_of(builder_names, has);
}

std::optional<BoxShape> MachineShapes::read_own_box(Address table) {
  const std::uint32_t header = objects_->finder().target().pointer_size();
  if (is_machine(table)) return BoxShape{.machine = header, .machine_table = table, .is_machine = true};
  for (unsigned depth = 0; table != 0 && depth < TypeLayouts::max_base_types; ++depth) {
    const TypeLayout& layout = objects_->layouts().of(table);
    for (const FieldLayout& field : layout.fields) {
      if (field.is_static) continue;
      const TypeUse& type = *field.type;
      if (type.kind == TypeUse::Kind::value && type.method_table != 0 && is_machine_name(*type.name) &&
          is_machine(type.method_table))
        return BoxShape{.machine = header + field.offset, .machine_table = type.method_table};
      // In shared code all that is known of the field may be that it is a reference.
      if (type.is_reference() && (type.canonical || is_machine_name(*type.name)))
        return BoxShape{.machine = header + field.offset};
    }
    table = layout.table.parent;
  }
  return std::nullopt;
}

std::optional<std::uint32_t> MachineShapes::awaited_by(Address table) {
  const auto [kept, added] = awaiters_.try_emplace(table);
  if (!added) return kept->second;
  try {
    const TypeLayout& layout = objects_->layouts().of(table);
    if (!layout.table.is_value_type()) return std::nullopt;
    const std::uint32_t header = objects_->finder().target().pointer_size();
    const auto structure = std::make_shared<const TypeUse>(
        TypeUse{.kind = TypeUse::Kind::value, .method_table = table, .name = layout.name});
    if (const auto offset = reference_of(structure)) kept->second = header + *offset;
  } catch (const Error&) {
    // What cannot be read leads nowhere.
  }
  return kept->second;
}

} // namespace clr
