#include "core/runtime/async_names.h"

#include "core/isa/code_instructions.h"
#include "core/isa/suspension_place.h"
#include "core/objects/instance_reader.h"
#include "core/objects/object_reader.h"
#include "core/runtime/source_lines.h"
#include "core/waits/await_lines.h"
#include "core/waits/method_il.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

namespace clr {
namespace {

bool of_framework(const TypeName& type) {
  if (!framework_type_name(type).empty()) return true;
  const TypeName* definition = &type;
  if (type.shape == TypeShape::instance && type.element) definition = type.element.get();
  return definition->assembly.str().starts_with("Microsoft.AspNetCore.") ||
         definition->assembly.str().starts_with("Microsoft.Extensions.");
}

// The JIT numbers the awaits in the order of its blocks before it lays them out. Where the calls stand in the
// order of the IL in the end, each once, no step has moved them.
bool has_order_of(const std::vector<AwaitCall>& calls, const IlMap& map) {
  std::size_t next = 0;
  for (const IlBoundary& boundary : map.boundaries()) {
    if ((boundary.source & IlBoundary::call_instruction) == 0) continue;
    for (std::size_t i = 0; i < calls.size(); ++i) {
      const auto il = static_cast<std::int64_t>(boundary.il);
      if (il != calls[i].before && il != calls[i].offset) continue;
      if (i + 1 == next) break; // the call again, for what it awaits
      if (i != next) return false;
      ++next;
      break;
    }
  }
  return next == calls.size();
}

// Whether the instruction has no source text of its own, as those that the compiler adds.
bool is_hidden(const PortablePdb& pdb, std::uint32_t method, std::uint32_t il) {
  const SequencePoint* last = nullptr;
  const auto points = pdb.sequence_points(method);
  for (const SequencePoint& point : points)
    if (point.il_offset <= il) last = &point;
  return last != nullptr && last->hidden;
}

constexpr Address max_state_offset = 4'096; // within a continuation
constexpr std::int32_t no_state = -1;       // of a method that runs

} // namespace

std::string text_of(const AwaitPosition& position) {
  return position.method->shown_name() + source_position(position.source) +
         (position.dispose ? " (its implicit DisposeAsync)" : "") +
         (position.no_line.empty() ? "" : fmt::format(" (no line: {})", position.no_line));
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
      position.dispose = is_hidden(*pdb, method.token, *site.dispose_call);
    }
    std::uint32_t place = position.dispose ? *site.dispose_store : site.yield_offset;
    if (pdb != nullptr && !position.dispose)
      with_method_il(*runtime.objects(), shape.module, shape.move_next,
                     [&](const Metadata&, std::span<const std::byte> il) {
                       place = arm_of_await(pdb->sequence_points(method.token), il, place).value_or(place);
                     });
    position.source = lines.of_il(method, place);
  } catch (const Error&) {
    // A damaged PDB costs the line.
  }
  return position;
}

AwaitPosition AsyncNames::read_resumed(const AsyncBox& box) {
  const ResumePoint& point = *box.resume;
  AwaitPosition position;
  Method method;
  try {
    if (point.method_desc == 0) throw Error(ErrorKind::corrupt, point.problem);
    method = runtime_->names()->describe(point.method_desc);
    runtime_->names()->add_user_method(method);
    if (method.qualified && method.qualified->declaring_type)
      position.framework = of_framework(*method.qualified->declaring_type);
  } catch (const Error& error) {
    method = Method();
    method.degraded = error.what();
    method.name = method.full_name = point.name.empty() ? "<method that the runtime suspended>" : point.name;
  }
  position.method = std::make_shared<const Method>(std::move(method));
  if (position.method->token == 0) return position;
  try {
    find_line(position, box);
  } catch (const Error& error) {
    position.no_line = error.what();
  }
  return position;
}

void AsyncNames::take_line(AwaitPosition& position, const AwaitCall& call) {
  SourceLines& lines = *runtime_->lines();
  const Method& method = *position.method;
  position.dispose =
      call.dispose_store && is_hidden(*lines.pdb_of(method.runtime_module), method.token, call.before);
  position.source = lines.of_il(method, position.dispose ? *call.dispose_store : call.offset);
}

// The code gives each continuation its number behind the call that suspends. Where each of these calls lies
// in the stretch of IL that the await of the same number lies in, the numbers count the awaits. Otherwise the
// await is one of the stretch, and its line is known when they share one.
bool AsyncNames::line_by_code(AwaitPosition& position, const AsyncBox& box, const CodeBlock& block,
                              const std::vector<AwaitCall>& calls) {
  const std::vector<StateStretch> stretches = state_stretches(box, block);
  std::set<std::int32_t> states;
  const bool counted = std::ranges::all_of(stretches, [&](const StateStretch& stretch) {
    states.insert(stretch.state);
    return stretch.state >= 0 && static_cast<std::size_t>(stretch.state) < calls.size() &&
           stretch.has(calls[static_cast<std::size_t>(stretch.state)].offset);
  });
  if (counted && states.size() == calls.size()) {
    take_line(position, calls[static_cast<std::size_t>(box.state)]);
    return true;
  }
  std::optional<AwaitPosition> found;
  for (const StateStretch& stretch : stretches) {
    if (stretch.state != box.state) continue;
    if (!stretch.certain) return false;
    for (const AwaitCall& call : calls) {
      if (!stretch.has(call.offset)) continue;
      AwaitPosition one{.method = position.method};
      take_line(one, call);
      if (!one.source ||
          (found && (found->dispose != one.dispose || found->source->line != one.source->line ||
                     found->source->file != one.source->file)))
        return false;
      if (!found) found = std::move(one);
    }
  }
  if (!found) return false;
  position.source = found->source;
  position.dispose = found->dispose;
  return true;
}

std::vector<AsyncNames::StateStretch> AsyncNames::state_stretches(const AsyncBox& box,
                                                                  const CodeBlock& block) {
  Runtime& runtime = *runtime_;
  const Target& target = *runtime.target();
  InstanceReader reader(*runtime.objects());
  const auto field = reader.find(reader.of_object(box.object), "State");
  if (!field || field->at < box.object || field->at - box.object > max_state_offset) return {};
  const auto size = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(runtime.code()->regions(block).hot_size, CodeInstructions::max_bytes));
  const std::array<std::uint32_t, 1> begin{0};
  const CodeInstructions code(target.memory(), target.platform().cpu, block.start, size, begin);
  const auto map = runtime.lines()->debug_info().il_map(block);
  std::vector<StateStretch> stretches;
  for (const SuspensionPlace& place :
       suspension_places(target.platform().cpu, code.from(0), code.between(0, size),
                         static_cast<std::uint32_t>(field->at - box.object))) {
    StateStretch stretch{.state = place.state};
    stretch.certain = map->at(place.branch, NativeOffsetKind::exact).mark == IlMark::mapped;
    // Code that the JIT adds around an await has no IL; the call belongs to the IL before it.
    for (const IlBoundary& boundary : map->boundaries()) {
      if (boundary.native > place.branch) break;
      if (boundary.il >= 0 && (boundary.source & IlBoundary::call_instruction) == 0)
        stretch.begin = static_cast<std::uint32_t>(boundary.il);
    }
    for (const IlBoundary& boundary : map->boundaries())
      if ((boundary.source & IlBoundary::call_instruction) == 0 &&
          boundary.il > static_cast<std::int64_t>(stretch.begin))
        stretch.end = std::min(stretch.end, static_cast<std::uint32_t>(boundary.il));
    stretches.push_back(stretch);
  }
  return stretches;
}

// Where the runtime says it: the place belongs to the IL of the await.
void AsyncNames::line_by_place(AwaitPosition& position, const CodeBlock& block) {
  SourceLines& lines = *runtime_->lines();
  const Method& method = *position.method;
  position.source = lines.at(block, method, NativeOffsetKind::exact);
  const IlPosition place = lines.debug_info().il_position(block, NativeOffsetKind::exact);
  if (place.mark != IlMark::mapped) return;
  with_method_il(*runtime_->objects(), method.runtime_module, method.token,
                 [&](const Metadata& metadata, std::span<const std::byte> il) {
                   for (const AwaitCall& call : await_calls(metadata, il))
                     if (call.before <= place.il && place.il <= call.offset) take_line(position, call);
                 });
}

void AsyncNames::find_line(AwaitPosition& position, const AsyncBox& box) {
  const ResumePoint& point = *box.resume;
  SourceLines& lines = *runtime_->lines();
  const Method& method = *position.method;
  if (lines.pdb_of(method.runtime_module) == nullptr) return;
  ExecutionManager& code = *runtime_->code();
  if (point.place) {
    const CodeLookup found = code.find(*point.place);
    if (const auto* const block = std::get_if<CodeBlock>(&found)) line_by_place(position, *block);
    return;
  }
  std::vector<AwaitCall> calls;
  with_method_il(
      *runtime_->objects(), method.runtime_module, method.token,
      [&](const Metadata& metadata, std::span<const std::byte> il) { calls = await_calls(metadata, il); });
  if (box.state < 0 || static_cast<std::size_t>(box.state) >= calls.size()) return;
  const CodeLookup found = code.find(point.body);
  const auto* const block = std::get_if<CodeBlock>(&found);
  if (calls.size() > 1 && block != nullptr && line_by_code(position, box, *block, calls)) return;
  if (calls.size() > 1 && (block == nullptr || !has_order_of(calls, *lines.debug_info().il_map(*block)))) {
    position.no_line = "the order of the awaits in its optimised code is not known";
    return;
  }
  take_line(position, calls[static_cast<std::size_t>(box.state)]);
}

std::shared_ptr<const AwaitPosition> AsyncNames::position(const AsyncBox& box) {
  auto& kept = box.resume != nullptr ? resumed_[{box.resume, box.state}]
                                     : positions_[{box.shape->method_table, box.state}];
  if (!kept)
    kept = std::make_shared<const AwaitPosition>(
        box.resume != nullptr ? read_resumed(box) : read_position(*box.shape, box.state));
  return kept;
}

std::shared_ptr<const AwaitPosition> AsyncNames::running(const AsyncBox& box) {
  auto& kept = resumed_[{box.resume, no_state}];
  if (!kept) {
    const std::shared_ptr<const AwaitPosition> waiting = position(box);
    kept = std::make_shared<const AwaitPosition>(
        AwaitPosition{.method = waiting->method, .framework = waiting->framework});
  }
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
