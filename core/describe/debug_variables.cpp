#include "core/describe/debug_variables.h"

#include "core/describe/captured_variables.h"
#include "core/describe/dead_places.h"
#include "core/describe/debug_types.h"
#include "core/describe/declared_variables.h"
#include "core/describe/variable_places.h"
#include "core/objects/object_reader.h"
#include "core/objects/tuple_names.h"
#include "core/runtime/source_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>

namespace clr {
namespace {

// The object that holds captured variables. The user did not write it, but may want to look into it.
constexpr std::string_view closure_name = "$closure";
// What a range with a path costs.
constexpr std::size_t steps_of_copy = 50;

// By max_all_ranges: a long name takes the room of ranges.
std::size_t weight_of(const DebugVariable& variable) {
  return 1 + variable.ranges.size() + variable.name.size() / sizeof(DebugVariableRange);
}

// A home within a value that lies at `location`.
bool move_by(VariableLocation& location, std::uint32_t offset) {
  if (location.home != VariableHome::stack) return false;
  location.offset += static_cast<std::int32_t>(offset);
  return true;
}

} // namespace

struct DebugVariables::Impl {
  Impl(Runtime& of, std::vector<DebugType>& into, Omissions& missing)
      : runtime(of), omissions(missing), types(of.objects()->layouts(), into, missing, [this](Address owner) {
          return runtime.lines()->pdb_of(owner) != nullptr;
        }) {}

  // One body at work.
  struct Body {
    const CodeBlock& block;
    const Method& method;
    std::vector<debuginfo::Variable> variables;
    std::vector<IlStretch> stretches; // of its map
    const PortablePdb* pdb = nullptr;
    std::uint32_t size = 0; // of the whole method
    std::vector<NativeRange> code;
    DeclaredSignature signature;
    std::vector<TypeUsePtr> locals;
    std::optional<std::vector<IlRange>> hoisted;                      // with the first state machine
    std::optional<std::pair<IlRange, std::vector<NativeRange>>> last; // code of the last scope
    std::optional<DeadPlaces> dead;                                   // with the first reference
    std::vector<DebugVariable> found;                                 // offsets from the method's start
    bool full = false; // a limit was told; nothing more is found
  };

  void describe(Body& body);
  void read_code(Body& body);
  void add_parameters(Body& body);
  void add_locals(Body& body);
  void add_captured(Body& body, const TypeUse& type, std::int32_t number,
                    const std::vector<NativeRange>& where, bool of_this);
  void cut_dead(Body& body, const TypeUse& type, std::vector<DebugVariableRange>& places);
  void emit(Body& body, std::string name, const TypeUse& type, std::vector<DebugVariableRange> places,
            bool parameter, bool artificial, const std::vector<NativeRange>* scope);
  void omit_limit(const Body& body, OmittedPart part, std::string text);
  bool is_full(Body& body);
  std::vector<DebugVariableRange> homes(Body& body, std::int32_t number,
                                        const std::vector<NativeRange>& where);
  // Valid until the next call.
  const std::vector<NativeRange>& code_of(Body& body, const IlRange& scope);

  Runtime& runtime;
  Omissions& omissions;
  DebugTypes types;
  std::size_t ranges = 0, steps = 0; // see the limits
  std::size_t closure_fields = max_closure_fields;
};

void DebugVariables::Impl::omit_limit(const Body& body, OmittedPart part, std::string text) {
  omissions.add({.part = part,
                 .cause = OmissionCause::limit,
                 .of = body.method.shown_name(),
                 .reading = {},
                 .text = std::move(text)});
}

// Tells it once of the locals of a body, and once of its parameters: loops over them end with it.
bool DebugVariables::Impl::is_full(Body& body) {
  if (body.full) return true;
  std::string text;
  if (body.found.size() >= max_variables)
    text = fmt::format("a method has {} variables at most", max_variables);
  else if (ranges >= max_all_ranges)
    text = fmt::format("the variables of a module have {} places at most", max_all_ranges);
  else if (steps >= max_all_steps)
    text = "the places of the module's variables are too many to look through";
  else
    return false;
  omit_limit(body, OmittedPart::variable, std::move(text));
  return body.full = true;
}

std::vector<DebugVariableRange> DebugVariables::Impl::homes(Body& body, std::int32_t number,
                                                            const std::vector<NativeRange>& where) {
  const std::span<const debuginfo::Variable> entries = entries_of(body.variables, number);
  if (entries.empty()) return {};
  steps += entries.size() + where.size();
  return homes_of(entries, where, body.code);
}

const std::vector<NativeRange>& DebugVariables::Impl::code_of(Body& body, const IlRange& scope) {
  if (!body.last || body.last->first != scope) {
    steps += body.stretches.size() + body.code.size();
    body.last.emplace(scope, intersect(body.code, code_of_scope(body.stretches, scope, body.size)));
  }
  return body.last->second;
}

void DebugVariables::Impl::read_code(Body& body) {
  DebugInfoReader& reader = runtime.lines()->debug_info();
  body.variables = reader.variables(body.block);
  if (body.variables.size() > max_homes) {
    omit_limit(body, OmittedPart::locals,
               fmt::format("a method has {} places of variables at most", max_homes));
    body.variables.resize(max_homes);
  }
  std::ranges::stable_sort(body.variables, {}, &debuginfo::Variable::number);
  body.stretches = reader.il_map(body.block)->stretches();
  const MethodRegions regions = runtime.code()->regions(body.block);
  body.size =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(regions.hot_size + regions.cold_size, 0x7FFF'FFFF));
  const std::vector<std::uint32_t> entries = offsets_of(runtime.code()->functions(body.block), regions);
  body.code = code_after_prologues(body.stretches, entries, body.size);
}

void DebugVariables::Impl::describe(Body& body) {
  body.pdb = runtime.lines()->pdb_of(body.method.runtime_module);
  body.signature = declared_signature(runtime, body.method);
  try {
    read_code(body);
  } catch (const Error& error) {
    // No variable has a home; the type that the method returns is known.
    body.variables.clear();
    omissions.add(OmittedPart::variables, body.method.shown_name(), "the debug information", error);
  }
  if (body.code.empty()) return;
  // Locals first: a parameter that was captured is where its copy in the closure is.
  std::vector<DebugVariable> locals;
  try {
    add_locals(body);
  } catch (const Error& error) {
    // Those that were found stay.
    omissions.add(OmittedPart::locals, body.method.shown_name(), "the locals", error);
  }
  locals.swap(body.found);
  body.full = false;
  add_parameters(body);
  for (DebugVariable& local : locals) body.found.push_back(std::move(local));
  std::set<std::string> captured;
  for (const DebugVariable& variable : body.found)
    if (!variable.parameter && !variable.ranges.empty() && !variable.ranges.front().path.empty())
      captured.insert(variable.name);
  std::erase_if(body.found, [&](const DebugVariable& variable) {
    return variable.parameter && variable.name != "this" && captured.contains(variable.name);
  });
}

// A reference is gone where the collector no longer looks for it, whatever the debug information says.
void DebugVariables::Impl::cut_dead(Body& body, const TypeUse& type,
                                    std::vector<DebugVariableRange>& places) {
  const bool reached = !places.empty() && !places.front().path.empty();
  if (places.empty() || (!reached && !type.is_reference() && type.kind != TypeUse::Kind::byref)) return;
  if (!body.dead) {
    try {
      body.dead.emplace(*runtime.target(), runtime.code()->gc_info(body.block));
      steps += body.dead->steps();
    } catch (const Error&) {
      body.dead.emplace(); // without GC info the debug information is believed
    }
  }
  body.dead->cut(places);
}

// One variable for each stretch of its scope, so that those of one name do not overlap.
void DebugVariables::Impl::emit(Body& body, std::string name, const TypeUse& type,
                                std::vector<DebugVariableRange> places, bool parameter, bool artificial,
                                const std::vector<NativeRange>* scope) {
  if (is_full(body)) return;
  steps += places.size();
  cut_dead(body, type, places);
  steps += places.size();
  DebugVariable variable{.name = std::move(name), .parameter = parameter, .artificial = artificial};
  variable.type = types.of(type);
  if (variable.type == no_debug_type) return;
  if (scope == nullptr) {
    variable.ranges = std::move(places);
    ranges += weight_of(variable);
    body.found.push_back(std::move(variable));
    return;
  }
  for (const NativeRange& part : *scope) {
    if (is_full(body)) return;
    DebugVariable& made = body.found.emplace_back(variable);
    made.scope_begin = part.begin;
    made.scope_end = part.end;
    made.ranges = within(places, part, body.code);
    ranges += weight_of(made);
  }
}

void DebugVariables::Impl::add_parameters(Body& body) {
  std::int32_t number = 0;
  if (body.signature.types.has_this) {
    TypeUsePtr type = body.signature.this_type ? body.signature.this_type : unknown_use();
    const bool compilers = is_closure(*type->name) || is_state_machine(*type->name);
    TypeUse pointer{.kind = TypeUse::Kind::byref, .element = type, .name = type->name};
    const bool by_reference = type->kind == TypeUse::Kind::value || type->kind == TypeUse::Kind::number;
    emit(body, std::string(compilers ? closure_name : "this"), by_reference ? pointer : *type,
         homes(body, number, body.code), true, !compilers, nullptr);
    if (compilers) add_captured(body, *type, number, body.code, true);
    ++number;
  }
  for (std::size_t i = 0; i < body.signature.types.parameters.size() && !is_full(body); ++i, ++number) {
    const TypeUse& type = *body.signature.types.parameters[i];
    const TypeUse& target = type.kind == TypeUse::Kind::byref && type.element ? *type.element : type;
    // A local function takes its closure by reference and without a name.
    if (is_closure(*target.name) && target.method_table != 0 && (&target != &type || target.is_reference())) {
      add_captured(body, target, number, body.code, true);
      continue;
    }
    std::string name = body.signature.parameter_names[i];
    if (name.empty()) name = fmt::format("arg{}", i + 1);
    emit(body, std::move(name), type, homes(body, number, body.code), true, false, nullptr);
  }
}

void DebugVariables::Impl::add_locals(Body& body) {
  if (body.pdb == nullptr || is_full(body)) return;
  const std::uint32_t signature = body.pdb->local_signature(body.method.token);
  if (signature == 0) return;
  body.locals = runtime.objects()->finder().locals(signature, body.signature.scope());
  const std::vector<DeclaredLocal> locals =
      declared_locals(*body.pdb, body.method, max_variables, omissions, steps);
  const std::int32_t arguments = body.signature.arguments();
  // Compilers that optimise do not name the local that holds a closure.
  std::vector<bool> named_slots(std::max<std::size_t>(body.locals.size(), 0x1'0000));
  for (const DeclaredLocal& local : locals) named_slots[local.slot] = true;
  for (std::size_t slot = 0; slot < body.locals.size(); ++slot) {
    const TypeUse& type = *body.locals[slot];
    if (named_slots[slot] || !is_closure(*type.name)) continue;
    if (is_full(body)) return;
    add_captured(body, type, arguments + static_cast<std::int32_t>(slot), body.code, false);
  }
  // Optimising compilers let variables share a slot. Code that the JIT moved could then show the one's value
  // under the other's name.
  std::map<std::uint16_t, std::set<std::string>> names;
  for (const DeclaredLocal& local : locals) names[local.slot].insert(local.name);
  for (const DeclaredLocal& local : locals) {
    if (local.slot >= body.locals.size() || names[local.slot].size() > 1) continue;
    const TypeUse& type = *body.locals[local.slot];
    const std::int32_t number = arguments + local.slot;
    if (is_full(body)) return;
    const std::vector<NativeRange>& scope = local.everywhere ? body.code : code_of(body, local.scope);
    if (is_closure_local(local.name) || is_closure(*type.name)) {
      add_captured(body, type, number, scope, false);
      continue;
    }
    if (local.name.front() == '<' || local.name.find('$') != std::string::npos) continue;
    TypeUsePtr named = body.locals[local.slot];
    if (has_tuple(*type.name)) {
      try {
        named = with_tuple_names(runtime.objects()->layouts(), named, body.pdb->tuple_names(local.row),
                                 body.signature.generic());
      } catch (const Error&) { // its elements have numbers
      }
    }
    emit(body, local.name, *named, homes(body, number, scope), false, false,
         local.everywhere ? nullptr : &scope);
  }
}

void DebugVariables::Impl::add_captured(Body& body, const TypeUse& type, std::int32_t number,
                                        const std::vector<NativeRange>& where, bool of_this) {
  if (!body.hoisted && of_this && body.pdb != nullptr && is_state_machine(*type.name))
    body.hoisted = body.pdb->hoisted_scopes(body.method.token);
  // A closure that is a value is its own home; one behind a reference, and what `this` or a byref points to,
  // is reached through a pointer.
  const bool by_pointer = of_this || type.is_reference();
  const std::vector<DebugVariableRange> homes_of_closure = homes(body, number, where);
  for (const CapturedVariable& captured :
       captured_variables(runtime.objects()->layouts(), type, omissions, closure_fields)) {
    if (!of_this && captured.name == "this") continue; // the method has its own
    if (is_full(body)) return;
    steps += homes_of_closure.size() * steps_of_copy;
    std::vector<DebugVariableRange> places;
    for (const DebugVariableRange& home : homes_of_closure) {
      DebugVariableRange range = home;
      range.path = captured.path;
      if (!by_pointer) {
        if (!move_by(range.location, captured.path.front())) continue;
        range.path.erase(range.path.begin());
      }
      places.push_back(std::move(range));
    }
    const std::vector<NativeRange>* scope = of_this ? nullptr : &where;
    if (of_this && is_state_machine(*type.name) && captured.hoisted_scope && body.hoisted &&
        *captured.hoisted_scope < body.hoisted->size()) {
      const IlRange il = (*body.hoisted)[*captured.hoisted_scope];
      if (il.end > il.start) scope = &code_of(body, il);
    }
    const bool is_this = captured.name == "this";
    emit(body, captured.name, *captured.type, std::move(places), is_this, is_this, scope);
  }
}

DebugVariables::DebugVariables(Runtime& runtime, std::vector<DebugType>& types, Omissions& omissions) {
  if (runtime.objects() != nullptr) impl_ = std::make_unique<Impl>(runtime, types, omissions);
}
DebugVariables::~DebugVariables() = default;

void DebugVariables::add(DebugBody& code, const CodeBlock& block, const Method& method) {
  if (!impl_ || table_of(method.token) != MetadataTable::method_def || rid_of(method.token) == 0 ||
      method.runtime_module == 0)
    return;
  try {
    Impl::Body body{.block = block, .method = method};
    impl_->describe(body);
    if (body.signature.types.return_type)
      code.return_type = impl_->types.of(*body.signature.types.return_type);
    const MethodRegions regions = impl_->runtime.code()->regions(block);
    // The part of the method that `code` is.
    const std::uint32_t before =
        code.start == regions.hot_start ? 0 : static_cast<std::uint32_t>(regions.hot_size);
    const NativeRange part{before, before + static_cast<std::uint32_t>(code.size)};
    for (DebugVariable& variable : body.found) {
      const bool scoped = variable.scope_end != 0;
      if (scoped) {
        variable.scope_begin = std::max(variable.scope_begin, part.begin);
        variable.scope_end = std::min(variable.scope_end, part.end);
        if (variable.scope_begin >= variable.scope_end) continue;
        variable.scope_begin -= before;
        variable.scope_end -= before;
      }
      std::vector<DebugVariableRange> ranges;
      for (DebugVariableRange& range : variable.ranges) {
        range.begin = std::max(range.begin, part.begin);
        range.end = std::min(range.end, part.end);
        if (range.begin >= range.end) continue;
        range.begin -= before;
        range.end -= before;
        ranges.push_back(std::move(range));
      }
      variable.ranges = std::move(ranges);
      code.variables.push_back(std::move(variable));
    }
    impl_->types.complete();
  } catch (const Error& error) {
    impl_->omissions.add(OmittedPart::variables, method.shown_name(), "the signature", error);
  }
}

} // namespace clr
