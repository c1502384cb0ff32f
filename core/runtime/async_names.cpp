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
  std::unordered_map<std::int64_t, std::size_t> numbers; // of the first call of an IL offset
  for (std::size_t i = 0; i < calls.size(); ++i) {
    numbers.try_emplace(calls[i].before, i);
    numbers.try_emplace(calls[i].offset, i);
  }
  std::size_t next = 0;
  for (const IlBoundary& boundary : map.boundaries()) {
    if ((boundary.source & IlBoundary::call_instruction) == 0) continue;
    const auto call = numbers.find(boundary.il);
    if (call == numbers.end() || call->second + 1 == next) continue; // the latter for what it awaits
    if (call->second != next) return false;
    ++next;
  }
  return next == calls.size();
}

// Whether two awaits are told alike. Both have a line.
bool share_line(const AwaitPosition& a, const AwaitPosition& b) {
  return a.dispose == b.dispose && a.source->line == b.source->line && a.source->file == b.source->file;
}

constexpr const char* too_much_code = "too much code is searched for the lines of awaits";
constexpr std::size_t decoded_size = 8; // bytes that are kept for one of IL
constexpr std::size_t line_steps = 64;  // comparisons that take the time of a line

constexpr Address max_state_offset = 4'096; // within a continuation
constexpr std::int32_t no_state = -1;       // of a method that runs

} // namespace

std::string text_of(const AwaitPosition& position) {
  return position.method->shown_name() + source_position(position.source) +
         (position.dispose ? " (its implicit DisposeAsync)" : "") +
         (position.no_line.empty() ? "" : fmt::format(" (no line: {})", position.no_line));
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
      if (pdb == nullptr) return position;
      std::optional<std::optional<AsyncMethod>>& async = lines_of(method).async;
      if (!async) {
        charge(0);
        async = pdb->async_method(method.token);
        if (*async) charge((*async)->awaits.size() * sizeof(AwaitPoint));
      }
      if (*async && static_cast<std::size_t>(state) < (*async)->awaits.size())
        position.source = lines.of_il(method, (*async)->awaits[static_cast<std::size_t>(state)].yield_offset);
      return position;
    }
    const AwaitSite& site = await->second.site;
    std::uint32_t place = site.yield_offset;
    if (pdb != nullptr) {
      AwaitArms& arms = arms_of(method, *pdb);
      position.dispose = site.dispose_call && site.dispose_store && arms.is_hidden(*site.dispose_call);
      place = position.dispose ? *site.dispose_store : arms.of(place, compared_left_).value_or(place);
      compare(0);
    }
    position.source = lines.of_il(method, place);
  } catch (const Error& error) {
    // A damaged PDB costs the line.
    if (read_left_ == 0 || compared_left_ == 0) position.no_line = error.what();
  }
  return position;
}

void AsyncNames::charge(std::size_t bytes) {
  read_left_ -= std::min(bytes, read_left_);
  if (read_left_ == 0) throw Error(ErrorKind::corrupt, too_much_code);
  kept_ += bytes;
}

void AsyncNames::compare(std::size_t steps) {
  compared_left_ -= std::min(steps, compared_left_);
  if (compared_left_ == 0) throw Error(ErrorKind::corrupt, too_much_code);
}

void AsyncNames::make_room() {
  if (kept_ <= max_kept_code) return;
  kept_ = 0;
  lines_.clear();
  bodies_.clear();
  orders_.clear();
}

AwaitArms& AsyncNames::arms_of(const Method& method, const PortablePdb& pdb) {
  std::optional<AwaitArms>& arms = lines_of(method).arms;
  if (arms) return *arms;
  charge(0);
  std::vector<SequencePoint> points = pdb.sequence_points(method.token);
  charge(points.size() * sizeof(SequencePoint));
  with_method_il(*runtime_->objects(), method.runtime_module, method.token,
                 [&](const Metadata&, std::span<const std::byte> il) {
                   charge(il.size() * decoded_size);
                   arms.emplace(points, il);
                 });
  if (!arms) arms.emplace(std::move(points), std::span<const std::byte>());
  return *arms;
}

const std::vector<AwaitCall>& AsyncNames::calls_of(const Method& method) {
  std::optional<std::vector<AwaitCall>>& calls = lines_of(method).calls;
  if (calls) return *calls;
  charge(0);
  std::vector<AwaitCall> found;
  with_method_il(*runtime_->objects(), method.runtime_module, method.token,
                 [&](const Metadata& metadata, std::span<const std::byte> il) {
                   charge(il.size() * decoded_size);
                   found = await_calls(metadata, il);
                 });
  calls = std::move(found);
  return *calls;
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
      call.dispose_store && arms_of(method, *lines.pdb_of(method.runtime_module)).is_hidden(call.before);
  position.source = lines.of_il(method, position.dispose ? *call.dispose_store : call.offset);
}

AsyncNames::BodyStates& AsyncNames::states_of(const AsyncBox& box, const CodeBlock& block,
                                              const std::vector<AwaitCall>& calls) {
  InstanceReader reader(*runtime_->objects());
  const auto field = reader.find(reader.of_object(box.object), "State");
  const Address place = field && field->at >= box.object ? field->at - box.object : max_state_offset + 1;
  const std::pair key(block.start, place);
  if (const auto known = bodies_.find(key); known != bodies_.end()) return known->second;
  BodyStates states;
  if (place <= max_state_offset) states.stretches = state_stretches(block, place);
  for (std::size_t i = 0; i < states.stretches.size(); ++i)
    states.by_state[states.stretches[i].state].push_back(i);
  states.counted = states.by_state.size() == calls.size() &&
                   std::ranges::all_of(states.stretches, [&](const StateStretch& stretch) {
                     return stretch.state >= 0 && static_cast<std::size_t>(stretch.state) < calls.size() &&
                            stretch.has(calls[static_cast<std::size_t>(stretch.state)].offset);
                   });
  return bodies_.emplace(key, std::move(states)).first->second;
}

AsyncNames::StretchLine AsyncNames::read_stretch(const StateStretch& stretch, const AwaitPosition& position,
                                                 const std::vector<AwaitCall>& calls) {
  StretchLine line;
  for (auto call = std::ranges::lower_bound(calls, stretch.begin, {}, &AwaitCall::offset);
       call != calls.end() && call->offset < stretch.end; ++call) {
    compare(line_steps);
    AwaitPosition one{.method = position.method};
    take_line(one, *call);
    if (!one.source || (line.position && !share_line(*line.position, one))) return line;
    if (!line.position) line.position = std::move(one);
  }
  line.known = true;
  return line;
}

// The code gives each continuation its number behind the call that suspends. Where each of these calls lies
// in the stretch of IL that the await of the same number lies in, the numbers count the awaits. Otherwise the
// await is one of the stretch, and its line is known when they share one.
bool AsyncNames::line_by_code(AwaitPosition& position, const AsyncBox& box, const CodeBlock& block,
                              const std::vector<AwaitCall>& calls) {
  BodyStates& states = states_of(box, block, calls);
  if (states.counted) {
    take_line(position, calls[static_cast<std::size_t>(box.state)]);
    return true;
  }
  const auto own = states.by_state.find(box.state);
  if (own == states.by_state.end()) return false;
  const AwaitPosition* found = nullptr;
  for (const std::size_t index : own->second) {
    compare(1);
    const StateStretch& stretch = states.stretches[index];
    if (!stretch.certain) return false;
    const std::pair place(stretch.begin, stretch.end);
    auto kept = states.lines.find(place);
    if (kept == states.lines.end())
      kept = states.lines.emplace(place, read_stretch(stretch, position, calls)).first;
    const StretchLine& line = kept->second;
    if (!line.known) return false;
    if (!line.position) continue;
    if (found != nullptr && !share_line(*found, *line.position)) return false;
    if (found == nullptr) found = &*line.position;
  }
  if (found == nullptr) return false;
  position.source = found->source;
  position.dispose = found->dispose;
  return true;
}

std::vector<AsyncNames::StateStretch> AsyncNames::state_stretches(const CodeBlock& block, Address place) {
  Runtime& runtime = *runtime_;
  const Target& target = *runtime.target();
  charge(0);
  const auto size = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(runtime.code()->regions(block).hot_size, CodeInstructions::max_bytes));
  charge(size);
  const std::array<std::uint32_t, 1> begin{0};
  const CodeInstructions code(target.memory(), target.platform().cpu, block.start, size, begin);
  const auto map = runtime.lines()->debug_info().il_map(block);
  charge(map->boundaries().size() * sizeof(IlBoundary));
  // Code that the JIT adds around an await has no IL; the call belongs to the IL before it.
  std::vector<IlBoundary> places; // those with IL, as the map has them
  std::vector<std::uint32_t> offsets;
  for (const IlBoundary& boundary : map->boundaries()) {
    if (boundary.il < 0 || (boundary.source & IlBoundary::call_instruction) != 0) continue;
    places.push_back(boundary);
    offsets.push_back(static_cast<std::uint32_t>(boundary.il));
  }
  std::ranges::sort(offsets);
  std::vector<StateStretch> stretches;
  for (const SuspensionPlace& one : suspension_places(
           target.platform().cpu, code.from(0), code.between(0, size), static_cast<std::uint32_t>(place))) {
    StateStretch stretch{.state = one.state};
    stretch.certain = map->at(one.branch, NativeOffsetKind::exact).mark == IlMark::mapped;
    const auto behind = std::ranges::upper_bound(places, one.branch, {}, &IlBoundary::native);
    if (behind != places.begin()) stretch.begin = static_cast<std::uint32_t>(std::prev(behind)->il);
    const auto end = std::ranges::upper_bound(offsets, stretch.begin);
    if (end != offsets.end()) stretch.end = *end;
    stretches.push_back(stretch);
  }
  charge(stretches.size() * sizeof(StateStretch));
  return stretches;
}

// Where the runtime says it: the place belongs to the IL of the await.
void AsyncNames::line_by_place(AwaitPosition& position, const CodeBlock& block) {
  SourceLines& lines = *runtime_->lines();
  const Method& method = *position.method;
  position.source = lines.at(block, method, NativeOffsetKind::exact);
  const IlPosition place = lines.debug_info().il_position(block, NativeOffsetKind::exact);
  if (place.mark != IlMark::mapped) return;
  // Both offsets of the calls ascend.
  const std::vector<AwaitCall>& calls = calls_of(method);
  const auto behind = std::ranges::upper_bound(calls, place.il, {}, &AwaitCall::before);
  if (behind != calls.begin() && place.il <= std::prev(behind)->offset)
    take_line(position, *std::prev(behind));
}

bool AsyncNames::has_order(const std::vector<AwaitCall>& calls, const CodeBlock& block) {
  const auto known = orders_.find(block.start);
  if (known != orders_.end()) return known->second;
  charge(0);
  const auto map = runtime_->lines()->debug_info().il_map(block);
  charge(map->boundaries().size() * sizeof(IlBoundary));
  return orders_.emplace(block.start, has_order_of(calls, *map)).first->second;
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
  const std::vector<AwaitCall>& calls = calls_of(method);
  if (box.state < 0 || static_cast<std::size_t>(box.state) >= calls.size()) return;
  const CodeLookup found = code.find(point.body);
  const auto* const block = std::get_if<CodeBlock>(&found);
  if (calls.size() > 1 && block != nullptr && line_by_code(position, box, *block, calls)) return;
  if (calls.size() > 1 && (block == nullptr || !has_order(calls, *block))) {
    position.no_line = "the order of the awaits in its optimised code is not known";
    return;
  }
  take_line(position, calls[static_cast<std::size_t>(box.state)]);
}

std::shared_ptr<const AwaitPosition> AsyncNames::position(const AsyncBox& box) {
  auto& kept = box.resume != nullptr ? resumed_[{box.resume, box.state}]
                                     : positions_[{box.shape->method_table, box.state}];
  if (!kept) {
    make_room();
    kept = std::make_shared<const AwaitPosition>(
        box.resume != nullptr ? read_resumed(box) : read_position(*box.shape, box.state));
  }
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

} // namespace clr
