#include "core/stack/frame_references.h"

#include "core/stack/argument_map.h"

#include <fmt/format.h>

namespace clr {
namespace {

// DynamicHelperFrame: whether the first and the second argument are objects.
constexpr std::uint32_t first_is_object = 1, second_is_object = 2;

[[noreturn]] void not_known(std::string text) {
  throw Error(ErrorKind::unsupported_contract, std::move(text));
}

} // namespace

bool holds_references(FrameKind kind) {
  switch (kind) {
  case FrameKind::func_eval:
  case FrameKind::pinvoke_calli:
  case FrameKind::prestub_method:
  case FrameKind::call_counting_helper:
  case FrameKind::stub_dispatch:
  case FrameKind::external_method:
  case FrameKind::dynamic_helper:
  case FrameKind::protect_value_class:
    return true;
  default:
    return false;
  }
}

FrameReferences::FrameReferences(ExecutionManager& code, CallShapes* shapes)
    : code_(&code), target_(&code.target()), shapes_(shapes), chain_(code.target()) {}

std::vector<FrameReference> FrameReferences::by_signature(const ExplicitFrame& frame, Address block) {
  if (shapes_ == nullptr) not_known("signatures are not read");
  const auto method = chain_.method_desc(frame);
  if (!method) not_known("it names no method");
  const Target& target = *target_;
  const Architecture& architecture = architecture_of(target.platform().cpu);
  if (architecture.arguments.integer_registers == 0) not_known("how this CPU passes arguments is not known");
  const auto stack = static_cast<std::int64_t>(stack_size_of(target, "TransitionBlock"));
  std::vector<FrameReference> found;
  for (const ArgumentReference& reference :
       place_references(architecture, shapes_->of(*method, frame.kind == FrameKind::stub_dispatch),
                        target.offset("TransitionBlock", "ArgumentRegisters"), stack))
    found.push_back({.slot = target.platform().wrap(block + static_cast<Address>(reference.offset)),
                     .interior = reference.interior});
  return found;
}

std::vector<FrameReference> FrameReferences::by_cell(Address map, Address block) const {
  const Target& target = *target_;
  const Address first = block + static_cast<Address>(target.offset("TransitionBlock", "FirstGCRefMapSlot"));
  std::vector<FrameReference> found;
  for (const MappedArgument& argument : read_argument_map(target, map))
    found.push_back({.slot = target.platform().wrap(first + Address{argument.slot} * target.pointer_size()),
                     .interior = argument.interior});
  return found;
}

std::vector<FrameReference> FrameReferences::of_helper(const ExplicitFrame& frame, Address block) const {
  const Target& target = *target_;
  const std::uint32_t flags =
      target.read_u32(target.field_address(frame.address, "DynamicHelperFrame", "DynamicHelperFrameFlags"));
  const Address first = target.field_address(block, "TransitionBlock", "ArgumentRegisters");
  std::vector<FrameReference> found;
  if ((flags & first_is_object) != 0) found.push_back({.slot = first});
  if ((flags & second_is_object) != 0) found.push_back({.slot = first + target.pointer_size()});
  return found;
}

std::vector<FrameReference> FrameReferences::of(const ExplicitFrame& frame) {
  const Target& target = *target_;
  const auto map_of = [&](std::string_view type) {
    const Address cell = target.read_pointer(target.field_address(frame.address, type, "Indirection"));
    return cell != 0 ? argument_map_of(*code_, cell) : std::nullopt;
  };
  switch (frame.kind) {
  case FrameKind::prestub_method:
  case FrameKind::call_counting_helper:
  case FrameKind::stub_dispatch:
  case FrameKind::external_method:
  case FrameKind::dynamic_helper:
    break;
  default:
    not_known("Frames of this kind are not read");
  }
  const Address block =
      target.read_pointer(target.field_address(frame.address, "FramedMethodFrame", "TransitionBlockPtr"));
  if (block == 0) return {};
  if (frame.kind == FrameKind::dynamic_helper) return of_helper(frame, block);
  // Calls of ReadyToRun code have a map; the method may not be known yet.
  if (frame.kind == FrameKind::external_method || frame.kind == FrameKind::stub_dispatch)
    if (const auto map = map_of(to_string(frame.kind))) return by_cell(*map, block);
  return by_signature(frame, block);
}

} // namespace clr
