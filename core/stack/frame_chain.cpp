#include "core/stack/frame_chain.h"

#include "core/types/slot_method.h"

#include <fmt/format.h>

#include <array>
#include <unordered_map>

namespace clr {
namespace {

constexpr std::array<std::pair<FrameKind, std::string_view>, 19> kind_names{{
    {FrameKind::inlined_call, "InlinedCallFrame"},
    {FrameKind::resumable, "ResumableFrame"},
    {FrameKind::redirected_thread, "RedirectedThreadFrame"},
    {FrameKind::faulting_exception, "FaultingExceptionFrame"},
    {FrameKind::software_exception, "SoftwareExceptionFrame"},
    {FrameKind::func_eval, "FuncEvalFrame"},
    {FrameKind::pinvoke_calli, "PInvokeCalliFrame"},
    {FrameKind::hijack, "HijackFrame"},
    {FrameKind::prestub_method, "PrestubMethodFrame"},
    {FrameKind::call_counting_helper, "CallCountingHelperFrame"},
    {FrameKind::stub_dispatch, "StubDispatchFrame"},
    {FrameKind::external_method, "ExternalMethodFrame"},
    {FrameKind::dynamic_helper, "DynamicHelperFrame"},
    {FrameKind::protect_value_class, "ProtectValueClassFrame"},
    {FrameKind::debugger_class_init_mark, "DebuggerClassInitMarkFrame"},
    {FrameKind::debugger_exit, "DebuggerExitFrame"},
    {FrameKind::debugger_u2m_catch_handler, "DebuggerU2MCatchHandlerFrame"},
    {FrameKind::exception_filter, "ExceptionFilterFrame"},
    {FrameKind::interpreter, "InterpreterFrame"},
}};

// InlinedCallFrame.Datum: what its low bits say instead of holding a MethodDesc. [rt] vm/frames.h
constexpr Address datum_is_calli = 1, datum_is_eh_helper = 2, datum_flags = 7;
// .NET 11: whether an exception-handling helper pushed the Frame; the rest is the MethodDesc all the same.
constexpr Address net11_datum_flags = 1;

// The field of the runtime's type HijackArgs that holds the register `name`: "Rax" for "rax".
std::string hijack_field(std::string_view name) {
  std::string field(name);
  if (!field.empty() && field.front() >= 'a' && field.front() <= 'z')
    field.front() = static_cast<char>(field.front() - 'a' + 'A');
  return field;
}

} // namespace

std::uint64_t stack_size_of(const Target& target, std::string_view type) {
  const std::uint64_t unit = architecture_of(target.platform().cpu).stack_unit;
  return (target.size_of(type) + unit - 1) / unit * unit;
}

std::string_view to_string(FrameKind kind) {
  for (auto [value, name] : kind_names)
    if (value == kind) return name;
  return "Frame";
}

struct FrameChain::Layout {
  explicit Layout(const Target& target);

  const Architecture& architecture;
  std::unordered_map<Address, FrameKind> kinds;
  std::vector<SavedSlot> callee_saved; // inside the type CalleeSavedRegisters
  std::vector<SavedSlot> hijacked;     // the same registers, where HijackArgs has them one by one
  std::vector<SavedSlot> returned;     // registers of returned values, inside the type HijackArgs
  bool net11 = false;                  // the form of the contract StackWalk
};

FrameChain::Layout::Layout(const Target& target) : architecture(architecture_of(target.platform().cpu)) {
  for (auto [kind, name] : kind_names)
    if (const auto identifier = target.find_global(fmt::format("{}Identifier", name)))
      kinds.emplace(*identifier, kind);
  for (const auto& [reg, field] : architecture.callee_saved_fields) {
    if (const auto offset = target.find_offset("CalleeSavedRegisters", field))
      callee_saved.push_back({reg, static_cast<Address>(*offset)});
    if (const auto offset = target.find_offset("HijackArgs", field))
      hijacked.push_back({reg, static_cast<Address>(*offset)});
  }
  net11 = contract_use(target.descriptor(), "StackWalk").form == contract_form::net11;
  for (unsigned reg = 0; reg < architecture.roles.count; ++reg)
    if (!is_callee_saved(architecture.cpu, reg))
      if (const auto offset =
              target.find_offset("HijackArgs", hijack_field(register_name(architecture.cpu, reg))))
        returned.push_back({reg, static_cast<Address>(*offset)});
}

FrameChain::FrameChain(const Target& target)
    : target_(&target), layout_(std::make_shared<const Layout>(target)) {}

FrameChain::Result FrameChain::read(Address head, std::optional<Address> low,
                                    std::optional<Address> high) const {
  const Target& target = *target_;
  const Address end = target.platform().wrap(~Address{0});
  Result result;
  Address previous = 0;
  for (Address address = head; address != end;) {
    if (address <= previous || address % target.pointer_size() != 0) {
      result.problem = fmt::format("the Frame chain is corrupt: {:#x} follows {:#x}", address, previous);
      break;
    }
    if ((low && address < *low) || (high && address >= *high)) {
      result.problem = fmt::format("the Frame chain leaves the stack of its thread: {:#x}", address);
      break;
    }
    if (result.frames.size() >= max_frames) {
      result.problem = fmt::format("the Frame chain has more than {} entries", max_frames);
      break;
    }
    try {
      ExplicitFrame frame{.address = address, .identifier = target.read_pointer(address)};
      if (const auto kind = layout_->kinds.find(frame.identifier); kind != layout_->kinds.end())
        frame.kind = kind->second;
      const Address next = target.read_pointer(target.field_address(address, "Frame", "Next"));
      result.frames.push_back(frame);
      previous = address;
      address = next;
    } catch (const Error& error) {
      result.problem = fmt::format("the Frame chain is torn: {}", error.what());
      break;
    }
  }
  return result;
}

bool FrameChain::active(const ExplicitFrame& frame) const {
  return frame.kind == FrameKind::inlined_call &&
         target_->read_pointer(
             target_->field_address(frame.address, "InlinedCallFrame", "CallerReturnAddress")) != 0;
}

void FrameChain::restore(Address block, const std::vector<SavedSlot>& slots,
                         RegisterContext& registers) const {
  for (const SavedSlot& slot : slots)
    registers.set(slot.reg, target_->read_pointer(target_->platform().wrap(block + slot.offset)));
}

// Whether the evaluation of a function for a debugger began at a stop, whose registers it kept.
bool FrameChain::saves_context(Address eval) const {
  const auto flag = [&](std::string_view field) {
    return target_->read_u8(target_->field_address(eval, "DebuggerEval", field)) != 0;
  };
  return target_->find_offset("DebuggerEval", "EvalUsesHijack") ? flag("EvalUsesHijack")
                                                                : !flag("EvalDuringException");
}

std::optional<FrameContext> FrameChain::context(const ExplicitFrame& frame) const {
  const Target& target = *target_;
  const Architecture& architecture = layout_->architecture;
  if (!architecture.walks_stacks()) return std::nullopt;
  const Cpu cpu = architecture.cpu;
  const auto field = [&](std::string_view type, std::string_view name) {
    return target.read_pointer(target.field_address(frame.address, type, name));
  };
  FrameContext result{.registers = RegisterContext(cpu)};
  RegisterContext& registers = result.registers;
  const auto from_record = [&](Address record) {
    registers = read_context_record(target.memory(), cpu, record).registers;
  };
  switch (frame.kind) {
  case FrameKind::inlined_call: {
    const Address return_address = field("InlinedCallFrame", "CallerReturnAddress");
    if (return_address == 0) return std::nullopt;
    registers.set_pc(return_address);
    registers.set_sp(field("InlinedCallFrame", "CallSiteSP"));
    registers.set_fp(field("InlinedCallFrame", "CalleeSavedFP"));
    break;
  }
  case FrameKind::software_exception:
    from_record(target.field_address(frame.address, "SoftwareExceptionFrame", "TargetContext"));
    registers.set_pc(field("SoftwareExceptionFrame", "ReturnAddress"));
    break;
  case FrameKind::faulting_exception:
    from_record(target.field_address(frame.address, "FaultingExceptionFrame", "TargetContext"));
    result.leaf = true;
    break;
  case FrameKind::resumable:
  case FrameKind::redirected_thread:
    from_record(field("ResumableFrame", "TargetContextPtr"));
    result.leaf = true;
    break;
  case FrameKind::func_eval: {
    const Address eval = field("FuncEvalFrame", "DebuggerEvalPtr");
    if (!saves_context(eval)) return std::nullopt;
    from_record(target.field_address(eval, "DebuggerEval", "TargetContext"));
    break;
  }
  case FrameKind::hijack: {
    const Address args = field("HijackFrame", "HijackArgsPtr");
    if (layout_->hijacked.empty())
      restore(target.field_address(args, "HijackArgs", "CalleeSavedRegisters"), layout_->callee_saved,
              registers);
    else
      restore(args, layout_->hijacked, registers);
    // The method has just returned: its value is as live as what its caller keeps.
    for (const SavedSlot& slot : layout_->returned) {
      try {
        registers.set(slot.reg, target.read_pointer(target.platform().wrap(args + slot.offset)));
      } catch (const Error&) {
        // The register is not known then; the frame is, all the same.
      }
    }
    result.block = args;
    registers.set_pc(field("HijackFrame", "ReturnAddress"));
    registers.set_sp(target.platform().wrap(args + stack_size_of(target, "HijackArgs")));
    result.leaf = true;
    break;
  }
  case FrameKind::pinvoke_calli:
  case FrameKind::prestub_method:
  case FrameKind::call_counting_helper:
  case FrameKind::stub_dispatch:
  case FrameKind::external_method:
  case FrameKind::dynamic_helper:
  case FrameKind::interpreter: {
    const Address block = field("FramedMethodFrame", "TransitionBlockPtr");
    if (block == 0) return std::nullopt;
    restore(target.field_address(block, "TransitionBlock", "CalleeSavedRegisters"), layout_->callee_saved,
            registers);
    registers.set_pc(target.read_pointer(target.field_address(block, "TransitionBlock", "ReturnAddress")));
    registers.set_sp(target.platform().wrap(block + stack_size_of(target, "TransitionBlock")));
    break;
  }
  default:
    return std::nullopt;
  }
  const Address pc = strip_return_address(cpu, registers.pc().value_or(0));
  if (pc == 0 || !registers.sp()) return std::nullopt;
  registers.set_pc(pc);
  return result;
}

// The method of a StubDispatchFrame that names it by a type and a slot only.
Address FrameChain::dispatched_method(Address frame) const {
  const Target& target = *target_;
  if (!target.find_offset("StubDispatchFrame", "RepresentativeMTPtr")) return 0;
  const Address table =
      target.read_pointer(target.field_address(frame, "StubDispatchFrame", "RepresentativeMTPtr"));
  if (table == 0) return 0;
  return method_in_slot(
      target, table, target.read_u32(target.field_address(frame, "StubDispatchFrame", "RepresentativeSlot")));
}

std::optional<Address> FrameChain::method_desc(const ExplicitFrame& frame) const {
  const Target& target = *target_;
  switch (frame.kind) {
  case FrameKind::inlined_call: {
    if (!active(frame) || !target.find_offset("InlinedCallFrame", "Datum")) return std::nullopt;
    const Address datum =
        target.read_pointer(target.field_address(frame.address, "InlinedCallFrame", "Datum"));
    if (datum < layout_->architecture.least_called_method) return std::nullopt;
    if (!layout_->net11 && (datum & (datum_is_calli | datum_is_eh_helper)) != 0) return std::nullopt;
    // ReadyToRun code stores no method.
    const Address method = datum & ~(layout_->net11 ? net11_datum_flags : datum_flags);
    return method != 0 && method % target.pointer_size() == 0 ? std::optional(method) : std::nullopt;
  }
  case FrameKind::prestub_method:
  case FrameKind::call_counting_helper:
  case FrameKind::stub_dispatch:
  case FrameKind::external_method:
  case FrameKind::dynamic_helper: {
    const std::string_view field =
        target.find_offset("FramedMethodFrame", "MethodDescPtr") ? "MethodDescPtr" : "MethodDesc";
    if (!target.find_offset("FramedMethodFrame", field)) return std::nullopt;
    Address method = target.read_pointer(target.field_address(frame.address, "FramedMethodFrame", field));
    if (method == 0 && frame.kind == FrameKind::stub_dispatch) method = dispatched_method(frame.address);
    return method != 0 ? std::optional(method) : std::nullopt;
  }
  default:
    return std::nullopt;
  }
}

} // namespace clr
