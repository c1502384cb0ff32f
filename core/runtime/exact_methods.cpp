#include "core/runtime/exact_methods.h"

#include "core/execution/gc_decoder.h"
#include "core/isa/registers.h"
#include "core/objects/object_reader.h"
#include "core/runtime/source_lines.h"
#include "core/stack/gc_place.h"
#include "core/types/type_names.h"

namespace clr {
namespace {

// The type argument that stands for every reference type in shared code.
constexpr std::string_view shared_argument = "__Canon";
// Its number in debug information.
constexpr std::int32_t this_variable = 0;

} // namespace

bool is_shared(const Method& method) {
  return method.full_name.find(shared_argument) != std::string::npos;
}

std::string_view origin_of(const Instantiation& instantiation) {
  switch (instantiation.from) {
  case GcContextKind::method_desc:
    return instantiation.argument ? "argument_method_desc" : "context_method_desc";
  case GcContextKind::method_table:
    return instantiation.argument ? "argument_method_table" : "context_method_table";
  case GcContextKind::this_object:
    return "this";
  }
  return "";
}

ExactMethods::ExactMethods(Runtime& runtime) : runtime_(&runtime) {
  try {
    unwinder_.emplace(*runtime.code());
    live_.emplace(*runtime.code());
    filters_.emplace(*runtime.code());
  } catch (const Error&) {
    // Names stay shared.
  }
}

void ExactMethods::begin_walk() {
  left_.begin();
  lost_ = false;
}

// Whether a running handler has left the frame, or may have.
bool ExactMethods::follow(const StackFrame& frame) {
  const CodeBlock& block = *frame.code;
  try {
    const bool funclet = runtime_->code()->is_funclet(block);
    const auto stand = left_.next(
        block.start, funclet, funclet && !filters_->is_filter(block), [&]() -> std::optional<Address> {
          const std::shared_ptr<const GcHeader> header = header_of(block);
          if (!header) throw_corrupt(block.start, "a method without GC info");
          return header->frame_register ? frame.registers.find(*header->frame_register) : std::nullopt;
        });
    return lost_ || stand == LeftFrames::Stand::left;
  } catch (const Error&) {
    lost_ = true;
    return true;
  }
}

std::shared_ptr<const Instantiation> ExactMethods::of(const StackFrame& frame, const Method& method) {
  if (!unwinder_ || !frame.code) return nullptr;
  const bool left = follow(frame);
  if (method.method_desc == 0 || !is_shared(method)) return nullptr;
  try {
    return read(frame, method, left);
  } catch (const Error&) {
    return nullptr; // the shared name is true, too
  }
}

std::shared_ptr<const GcHeader> ExactMethods::header_of(const CodeBlock& block) {
  if (const auto known = headers_.find(block.start); known != headers_.end()) return known->second;
  if (headers_.size() >= max_known) headers_.clear();
  auto& header = headers_[block.start];
  ExecutionManager& code = *runtime_->code();
  const GcInfoLocation at = code.gc_info(block);
  header = std::make_shared<const GcHeader>(GcDecoder(code.target(), at.address, at.version).header());
  return header;
}

std::uint64_t ExactMethods::offset_in_body(const StackFrame& frame) {
  return runtime_->code()->relative_offset(*frame.code) + (frame.pc() - frame.code->ip);
}

// Whether the frame is made and has not begun to leave: there a leaf is unwound as its caller would be.
bool ExactMethods::stands(const StackFrame& frame) {
  if (!frame.leaf) return true;
  const RegisterOffset leaving = unwinder_->layout(*frame.code, true).cfa;
  const RegisterOffset standing = unwinder_->layout(*frame.code, false).cfa;
  return leaving.reg == standing.reg && leaving.offset == standing.offset;
}

// Whether the frame has stored its context.
bool ExactMethods::is_filled(const StackFrame& frame, const GcHeader& header) {
  if (!header.prolog_end || offset_in_body(frame) < *header.prolog_end) return false;
  // A funclet has a frame of its own; only the frame register leads to that of its method.
  if (runtime_->code()->is_funclet(*frame.code) && header.context->place.base != GcBase::frame) return false;
  return stands(frame);
}

// The class of the method among the type of the object and its base types.
Address ExactMethods::owner_among_bases(const Method& method, Address object) {
  TypeNames& types = runtime_->names()->types();
  const Address canonical = types.type(method.method_table).table.canonical;
  Address table = runtime_->objects()->method_table_of(object);
  for (unsigned i = 0; i < max_base_types && table != 0; ++i) {
    const MethodTable& type = types.type(table).table;
    if (type.canonical == canonical) return table;
    table = type.parent;
  }
  throw_corrupt(object, "an object that has no such method");
}

Method ExactMethods::exact(const Method& method, GcContextKind kind, Address context) {
  MethodNames& names = *runtime_->names();
  switch (kind) {
  case GcContextKind::method_table:
    return names.describe_in(method.method_desc, context);
  case GcContextKind::this_object:
    return names.describe_in(method.method_desc, owner_among_bases(method, context));
  case GcContextKind::method_desc:
    break;
  }
  const MethodDesc exact = names.method_desc(context), shared = names.method_desc(method.method_desc);
  TypeNames& types = names.types();
  if (exact.classification() != MethodClassification::instantiated || exact.rid != shared.rid ||
      types.type(exact.method_table).table.canonical != types.type(shared.method_table).table.canonical)
    throw_corrupt(context, "a generic context of another method");
  return names.describe(context);
}

const std::vector<debuginfo::Variable>& ExactMethods::homes_of(const CodeBlock& block) {
  if (const auto known = homes_.find(block.start); known != homes_.end()) return known->second;
  std::vector<debuginfo::Variable> homes;
  for (debuginfo::Variable& variable : runtime_->lines()->debug_info().variables(block))
    if (variable.number == this_variable || variable.number == debuginfo::Variable::type_context)
      homes.push_back(std::move(variable));
  if (homes_.size() >= max_known || kept_homes_ + homes.size() > max_kept_homes) {
    homes_.clear();
    kept_homes_ = 0;
  }
  kept_homes_ += homes.size();
  return homes_[block.start] = std::move(homes);
}

std::vector<ExactMethods::Home> ExactMethods::homes_at(const StackFrame& frame, std::int32_t number) {
  std::vector<Home> homes;
  const std::uint64_t offset = offset_in_body(frame);
  // A caller still stands at its call.
  const std::uint64_t at = frame.leaf || offset == 0 ? offset : offset - 1;
  for (const debuginfo::Variable& variable : homes_of(*frame.code)) {
    if (variable.number != number || at < variable.begin || at >= variable.end) continue;
    const VariableLocation& location = variable.location;
    const bool in_register = location.home == VariableHome::reg;
    if (!in_register && location.home != VariableHome::stack) continue;
    const auto reg = dwarf_of_jit_register(frame.registers.cpu(), in_register ? location.reg : location.base);
    const auto value = reg ? frame.registers.find(*reg) : std::nullopt;
    if (!value) continue;
    Home home{.reg = {}, .base = *reg, .place = *value, .from_entry = variable.begin == 0};
    if (in_register)
      home.reg = *reg;
    else
      home.place += static_cast<Address>(std::int64_t{location.offset});
    homes.push_back(home);
  }
  return homes;
}

Address ExactMethods::context_of(const StackFrame& frame, const GcHeader& header) {
  if (!header.context || !is_filled(frame, header)) return 0;
  const auto at =
      gc_place(*unwinder_, frame, header, header.context->place.base, header.context->place.offset);
  return at ? runtime_->target()->read_pointer(*at) : 0;
}

// Code that does not look at its context has no place for the collector, but in code that is not optimised,
// and in some other, the argument stays where it was put: a slot of its own, which nothing else is put into.
Address ExactMethods::hidden_argument(const StackFrame& frame, const GcHeader& header) {
  const bool funclet = runtime_->code()->is_funclet(*frame.code);
  // A leaf in the prolog of a funclet may not have its method's frame register yet.
  if (!stands(frame) || (funclet && frame.leaf)) return 0;
  for (const Home& home : homes_at(frame, debuginfo::Variable::type_context)) {
    // Before the prolog has put the argument away, its place is the register that brought it.
    if (home.reg || home.from_entry || (funclet && home.base != header.frame_register)) continue;
    return runtime_->target()->read_pointer(home.place);
  }
  return 0;
}

// The object that the method runs on.
Address ExactMethods::live_this(const StackFrame& frame) {
  const LiveSlots& live =
      live_->at(*frame.code, frame.pc(), frame.leaf ? FrameStand::leaf : FrameStand::caller, false);
  if (!live.why_uncertain.empty()) return 0;
  for (const Home& home : homes_at(frame, this_variable))
    for (const GcSlot& slot : live.slots) {
      if (slot.interior || slot.reg != home.reg) continue;
      if (home.reg) return home.place;
      if (gc_place(*unwinder_, frame, *live.header, slot.base, slot.offset) == home.place)
        return runtime_->target()->read_pointer(home.place);
    }
  return 0;
}

std::shared_ptr<const Instantiation> ExactMethods::read(const StackFrame& frame, const Method& method,
                                                        bool left) {
  const std::shared_ptr<const GcHeader> header = header_of(*frame.code);
  if (!header) return nullptr;
  const bool object = header->context && header->context->kind == GcContextKind::this_object;
  if (object && left) return nullptr;
  if (const Address word = context_of(frame, *header); word != 0)
    return named(method, header->context->kind, false, word);
  if (object) return nullptr;
  const MethodDesc desc = runtime_->names()->method_desc(method.method_desc);
  const bool generic = desc.classification() == MethodClassification::instantiated;
  if (const Address word = hidden_argument(frame, *header); word != 0)
    return named(method, generic ? GcContextKind::method_desc : GcContextKind::method_table, true, word);
  // The arguments of a generic method are not those of its object.
  if (header->context || left || generic || desc.is_static() ||
      runtime_->names()->types().type(desc.method_table).table.is_value_type())
    return nullptr;
  const Address word = live_this(frame);
  return word != 0 ? named(method, GcContextKind::this_object, false, word) : nullptr;
}

std::shared_ptr<const Instantiation> ExactMethods::named(const Method& method, GcContextKind kind,
                                                         bool argument, Address word) {
  // Objects move, so what was found by one holds for its type alone.
  const Address key = kind == GcContextKind::this_object ? runtime_->objects()->method_table_of(word) : word;
  const std::tuple all(method.method_desc, key, argument);
  if (const auto known = known_.find(all); known != known_.end()) return known->second;
  auto found = std::make_shared<Instantiation>();
  found->method = exact(method, kind, word);
  found->from = kind;
  found->argument = argument;
  runtime_->names()->add_user_method(found->method);
  if (known_.size() >= max_known) known_.clear();
  const bool whole = !is_shared(found->method) && found->method.degraded.empty();
  std::shared_ptr<const Instantiation> result = whole ? std::move(found) : nullptr;
  known_.emplace(all, result);
  return result;
}

} // namespace clr
