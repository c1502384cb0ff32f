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

bool is_shared(const std::string& full_name) {
  return full_name.find(shared_argument) != std::string::npos;
}

} // namespace

std::string_view origin_of(const Instantiation& instantiation) {
  switch (instantiation.from) {
  case GcContextKind::method_desc:
    return "context_method_desc";
  case GcContextKind::method_table:
    return "context_method_table";
  case GcContextKind::this_object:
    return "this";
  }
  return "";
}

ExactMethods::ExactMethods(Runtime& runtime) : runtime_(&runtime) {
  try {
    unwinder_.emplace(*runtime.code());
    live_.emplace(*runtime.code());
  } catch (const Error&) {
    // Names stay shared.
  }
}

std::shared_ptr<const Instantiation> ExactMethods::of(const StackFrame& frame, const Method& method) {
  if (!unwinder_ || !frame.code || method.method_desc == 0 || !is_shared(method.full_name)) return nullptr;
  try {
    return read(frame, method);
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

// Whether the frame has stored its context and has not begun to leave: where a leaf is unwound as its caller
// would be, its frame stands.
bool ExactMethods::is_filled(const StackFrame& frame, const GcHeader& header) {
  const CodeBlock& block = *frame.code;
  const std::uint64_t offset = runtime_->code()->relative_offset(block) + (frame.pc() - block.ip);
  if (!header.prolog_end || offset < *header.prolog_end) return false;
  // A funclet has a frame of its own; only the frame register leads to that of its method.
  if (runtime_->code()->is_funclet(block) && header.context->place.base != GcBase::frame) return false;
  if (!frame.leaf) return true;
  const RegisterOffset leaving = unwinder_->layout(block, true).cfa;
  const RegisterOffset standing = unwinder_->layout(block, false).cfa;
  return leaving.reg == standing.reg && leaving.offset == standing.offset;
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

const std::vector<debuginfo::Variable>& ExactMethods::homes_of_this(const CodeBlock& block) {
  if (const auto known = homes_.find(block.start); known != homes_.end()) return known->second;
  if (homes_.size() >= max_known) homes_.clear();
  auto& homes = homes_[block.start];
  for (debuginfo::Variable& variable : runtime_->lines()->debug_info().variables(block))
    if (variable.number == 0) homes.push_back(std::move(variable));
  return homes;
}

Address ExactMethods::live_this(const StackFrame& frame) {
  const CodeBlock& block = *frame.code;
  const std::uint64_t offset = runtime_->code()->relative_offset(block) + (frame.pc() - block.ip);
  const Cpu cpu = frame.registers.cpu();
  const LiveSlots& live =
      live_->at(block, frame.pc(), frame.leaf ? FrameStand::leaf : FrameStand::caller, false);
  if (!live.why_uncertain.empty()) return 0;
  for (const debuginfo::Variable& home : homes_of_this(block)) {
    // A caller still stands at its call.
    const std::uint64_t at = frame.leaf || offset == 0 ? offset : offset - 1;
    if (at < home.begin || at >= home.end) continue;
    const bool in_register = home.location.home == VariableHome::reg;
    if (!in_register && home.location.home != VariableHome::stack) return 0;
    const auto reg = dwarf_of_jit_register(cpu, in_register ? home.location.reg : home.location.base);
    if (!reg) return 0;
    const auto value = frame.registers.find(*reg);
    if (!value) return 0;
    const Address place = *value + static_cast<Address>(std::int64_t{home.location.offset});
    for (const GcSlot& slot : live.slots) {
      if (slot.interior || slot.reg.has_value() != in_register) continue;
      if (in_register ? slot.reg == reg
                      : gc_place(*unwinder_, frame, *live.header, slot.base, slot.offset) == place)
        return in_register ? *value : runtime_->target()->read_pointer(place);
    }
  }
  return 0;
}

std::shared_ptr<const Instantiation> ExactMethods::read(const StackFrame& frame, const Method& method) {
  const std::shared_ptr<const GcHeader> header = header_of(*frame.code);
  if (!header) return nullptr;
  if (!header->context) {
    // The arguments of a generic method are not those of its object.
    TypeNames& types = runtime_->names()->types();
    const MethodDesc desc = runtime_->names()->method_desc(method.method_desc);
    if (desc.is_static() || desc.classification() == MethodClassification::instantiated ||
        types.type(desc.method_table).table.is_value_type())
      return nullptr;
    const Address object = live_this(frame);
    return object != 0 ? named(method, GcContextKind::this_object, object) : nullptr;
  }
  if (!is_filled(frame, *header)) return nullptr;
  const GcHeader::Context& context = *header->context;
  const auto at = gc_place(*unwinder_, frame, *header, context.place.base, context.place.offset);
  if (!at) return nullptr;
  const Address word = runtime_->target()->read_pointer(*at);
  return word != 0 ? named(method, context.kind, word) : nullptr;
}

std::shared_ptr<const Instantiation> ExactMethods::named(const Method& method, GcContextKind kind,
                                                         Address word) {
  // Objects move, so what was found by one holds for its type alone.
  const Address key = kind == GcContextKind::this_object ? runtime_->objects()->method_table_of(word) : word;
  if (const auto known = known_.find({method.method_desc, key}); known != known_.end()) return known->second;
  auto found = std::make_shared<Instantiation>();
  found->method = exact(method, kind, word);
  found->from = kind;
  runtime_->names()->add_user_method(found->method);
  if (known_.size() >= max_known) known_.clear();
  const bool whole = !is_shared(found->method.full_name) && found->method.degraded.empty();
  std::shared_ptr<const Instantiation> result = whole ? std::move(found) : nullptr;
  known_.emplace(std::pair(method.method_desc, key), result);
  return result;
}

} // namespace clr
