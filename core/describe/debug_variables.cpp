#include "core/describe/debug_variables.h"

#include "core/describe/captured_variables.h"
#include "core/describe/dead_places.h"
#include "core/describe/debug_types.h"
#include "core/describe/variable_places.h"
#include "core/objects/object_reader.h"
#include "core/objects/tuple_names.h"
#include "core/runtime/source_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace clr {
namespace {

// The object that holds captured variables. The user did not write it, but may want to look into it.
constexpr std::string_view closure_name = "$closure";

struct Local {
  std::string name;
  std::uint16_t slot = 0;
  IlRange scope;
  bool everywhere = false;
  std::uint32_t row = 0; // of the PDB's LocalVariable
};

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
    TypeScope scope;
    std::vector<Address> class_arguments, method_arguments;
    std::vector<debuginfo::Variable> variables;
    std::shared_ptr<const IlMap> map;
    const PortablePdb* pdb = nullptr;
    std::uint32_t size = 0; // of the whole method
    std::vector<NativeRange> code;
    std::int32_t arguments = 0; // `this` included
    TypeUsePtr this_type;
    std::vector<std::string> parameter_names;
    TypeFinder::Signature signature;
    std::vector<TypeUsePtr> locals;
    std::optional<DeadPlaces> dead;   // with the first reference
    std::vector<DebugVariable> found; // offsets from the method's start
    bool generic() const { return !class_arguments.empty() || !method_arguments.empty(); }
  };

  void describe(Body& body);
  void read_signature(Body& body);
  void read_code(Body& body);
  void add_parameters(Body& body);
  void add_locals(Body& body);
  void add_captured(Body& body, const TypeUse& type, std::int32_t number,
                    const std::vector<NativeRange>& where, bool of_this);
  void cut_dead(Body& body, const TypeUse& type, std::vector<DebugVariableRange>& ranges);
  void emit(Body& body, std::string name, const TypeUse& type, std::vector<DebugVariableRange> ranges,
            bool parameter, bool artificial, const std::vector<NativeRange>* scope);
  std::vector<Local> named_locals(const Body& body);
  void omit_limit(const Body& body, OmittedPart part, std::string text);

  Runtime& runtime;
  Omissions& omissions;
  DebugTypes types;
};

void DebugVariables::Impl::omit_limit(const Body& body, OmittedPart part, std::string text) {
  omissions.add({.part = part,
                 .cause = OmissionCause::limit,
                 .of = body.method.shown_name(),
                 .reading = {},
                 .text = std::move(text)});
}

void DebugVariables::Impl::read_signature(Body& body) {
  MethodNames& names = *runtime.names();
  TypeFinder& finder = runtime.objects()->finder();
  const Method& method = body.method;
  if (method.method_table != 0) {
    const RuntimeType& owner = names.types().type(method.method_table);
    body.class_arguments = names.types().tables().generic_arguments(owner.table);
    body.this_type = finder.of_handle(method.method_table);
  }
  if (method.method_desc != 0) body.method_arguments = names.method_arguments(method.method_desc);
  body.scope = {.module = method.runtime_module,
                .class_arguments = body.class_arguments,
                .method_arguments = body.method_arguments};
  body.signature = finder.method(rid_of(method.token), body.scope);
  const std::size_t count = body.signature.parameters.size();
  body.arguments = static_cast<std::int32_t>(count) + (body.signature.has_this ? 1 : 0);
  body.parameter_names.assign(count, {});
  std::vector<std::pair<TypeUsePtr*, std::uint32_t>> tuples; // with the Param token that may name elements
  names.named_modules().at(method.runtime_module).metadata.with([&](MetadataNames& metadata_names) {
    const Metadata& metadata = metadata_names.metadata();
    const auto [first, last] = metadata.param_range(rid_of(method.token));
    for (std::uint32_t i = first; i < last; ++i) {
      const ParamRow row = metadata.param(metadata.param_at(i));
      if (row.sequence > count) continue;
      if (row.sequence != 0) body.parameter_names[row.sequence - 1u] = metadata.string(row.name);
      // Row 0 is what the method returns.
      TypeUsePtr& type =
          row.sequence == 0 ? body.signature.return_type : body.signature.parameters[row.sequence - 1u];
      if (type && has_tuple(*type->name))
        tuples.emplace_back(&type, token_of(MetadataTable::param, metadata.param_at(i)));
    }
  });
  TypeLayouts& layouts = runtime.objects()->layouts();
  for (const auto& [type, token] : tuples) {
    try {
      *type = with_tuple_names(layouts, *type, layouts.tuple_names_of(method.runtime_module, token),
                               body.generic());
    } catch (const Error&) {
      // Its elements have numbers.
    }
  }
}

void DebugVariables::Impl::read_code(Body& body) {
  DebugInfoReader& reader = runtime.lines()->debug_info();
  body.variables = reader.variables(body.block);
  if (body.variables.size() > max_homes) {
    omit_limit(body, OmittedPart::locals,
               fmt::format("a method has {} places of variables at most", max_homes));
    body.variables.resize(max_homes);
  }
  body.map = reader.il_map(body.block);
  const MethodRegions regions = runtime.code()->regions(body.block);
  body.size =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(regions.hot_size + regions.cold_size, 0x7FFF'FFFF));
  const std::vector<std::uint32_t> entries = offsets_of(runtime.code()->functions(body.block), regions);
  body.code = code_after_prologues(*body.map, entries, body.size);
}

void DebugVariables::Impl::describe(Body& body) {
  body.pdb = runtime.lines()->pdb_of(body.method.runtime_module);
  read_signature(body);
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
                                    std::vector<DebugVariableRange>& ranges) {
  const bool reached = !ranges.empty() && !ranges.front().path.empty();
  if (ranges.empty() || (!reached && !type.is_reference() && type.kind != TypeUse::Kind::byref)) return;
  if (!body.dead) {
    try {
      body.dead.emplace(*runtime.target(), runtime.code()->gc_info(body.block));
    } catch (const Error&) {
      body.dead.emplace(); // without GC info the debug information is believed
    }
  }
  body.dead->cut(ranges);
}

// One variable for each stretch of its scope, so that those of one name do not overlap.
void DebugVariables::Impl::emit(Body& body, std::string name, const TypeUse& type,
                                std::vector<DebugVariableRange> ranges, bool parameter, bool artificial,
                                const std::vector<NativeRange>* scope) {
  const auto is_full = [&] {
    if (body.found.size() < max_variables) return false;
    omit_limit(body, OmittedPart::variable, fmt::format("a method has {} variables at most", max_variables));
    return true;
  };
  if (is_full()) return;
  cut_dead(body, type, ranges);
  DebugVariable variable{.name = std::move(name), .parameter = parameter, .artificial = artificial};
  variable.type = types.of(type);
  if (variable.type == no_debug_type) return;
  if (scope == nullptr) {
    variable.ranges = std::move(ranges);
    body.found.push_back(std::move(variable));
    return;
  }
  for (const NativeRange& part : *scope) {
    if (is_full()) return;
    DebugVariable& made = body.found.emplace_back(variable);
    made.scope_begin = part.begin;
    made.scope_end = part.end;
    made.ranges = within(ranges, part, body.code);
  }
}

void DebugVariables::Impl::add_parameters(Body& body) {
  std::int32_t number = 0;
  if (body.signature.has_this) {
    TypeUsePtr type = body.this_type ? body.this_type : unknown_use();
    const bool compilers = is_closure(*type->name) || is_state_machine(*type->name);
    TypeUse pointer{.kind = TypeUse::Kind::byref, .element = type, .name = type->name};
    const bool by_reference = type->kind == TypeUse::Kind::value || type->kind == TypeUse::Kind::number;
    emit(body, std::string(compilers ? closure_name : "this"), by_reference ? pointer : *type,
         homes_of(body.variables, number, body.code, body.code), true, !compilers, nullptr);
    if (compilers) add_captured(body, *type, number, body.code, true);
    ++number;
  }
  for (std::size_t i = 0; i < body.signature.parameters.size(); ++i, ++number) {
    const TypeUse& type = *body.signature.parameters[i];
    const TypeUse& target = type.kind == TypeUse::Kind::byref && type.element ? *type.element : type;
    // A local function takes its closure by reference and without a name.
    if (is_closure(*target.name) && target.method_table != 0 && (&target != &type || target.is_reference())) {
      add_captured(body, target, number, body.code, true);
      continue;
    }
    std::string name = body.parameter_names[i];
    if (name.empty()) name = fmt::format("arg{}", i + 1);
    emit(body, std::move(name), type, homes_of(body.variables, number, body.code, body.code), true, false,
         nullptr);
  }
}

std::vector<Local> DebugVariables::Impl::named_locals(const Body& body) {
  std::vector<Local> locals;
  const std::vector<LocalScope> scopes = body.pdb->local_scopes(body.method.token);
  for (const LocalScope& scope : scopes) {
    // The method's own scope: every other one is in it.
    const bool everywhere = &scope == &scopes.front() && scope.range.start == 0 &&
                            std::all_of(scopes.begin(), scopes.end(), [&](const LocalScope& other) {
                              return other.range.end <= scope.range.end;
                            });
    for (LocalVariable& variable : body.pdb->variables(scope)) {
      if (locals.size() >= max_variables) {
        omit_limit(body, OmittedPart::locals, fmt::format("a method has {} locals at most", max_variables));
        return locals;
      }
      if (variable.name.empty() || (variable.debugger_hidden && !is_closure_local(variable.name))) continue;
      locals.push_back({.name = std::move(variable.name),
                        .slot = variable.slot,
                        .scope = scope.range,
                        .everywhere = everywhere,
                        .row = variable.row});
    }
  }
  return locals;
}

void DebugVariables::Impl::add_locals(Body& body) {
  if (body.pdb == nullptr) return;
  const std::uint32_t signature = body.pdb->local_signature(body.method.token);
  if (signature == 0) return;
  body.locals = runtime.objects()->finder().locals(signature, body.scope);
  const std::vector<Local> locals = named_locals(body);
  // Compilers that optimise do not name the local that holds a closure.
  for (std::size_t slot = 0; slot < body.locals.size(); ++slot) {
    const TypeUse& type = *body.locals[slot];
    const bool named =
        std::any_of(locals.begin(), locals.end(), [&](const Local& local) { return local.slot == slot; });
    if (!named && is_closure(*type.name))
      add_captured(body, type, body.arguments + static_cast<std::int32_t>(slot), body.code, false);
  }
  // Optimising compilers let variables share a slot. Code that the JIT moved could then show the one's value
  // under the other's name.
  std::map<std::uint16_t, std::set<std::string>> names;
  for (const Local& local : locals) names[local.slot].insert(local.name);
  for (const Local& local : locals) {
    if (local.slot >= body.locals.size() || names[local.slot].size() > 1) continue;
    const TypeUse& type = *body.locals[local.slot];
    const std::int32_t number = body.arguments + local.slot;
    std::vector<NativeRange> scope = body.code;
    if (!local.everywhere) scope = intersect(body.code, code_of_scope(*body.map, local.scope, body.size));
    if (is_closure_local(local.name) || is_closure(*type.name)) {
      add_captured(body, type, number, scope, false);
      continue;
    }
    if (local.name.front() == '<' || local.name.find('$') != std::string::npos) continue;
    TypeUsePtr named = body.locals[local.slot];
    if (has_tuple(*type.name)) {
      try {
        named = with_tuple_names(runtime.objects()->layouts(), named, body.pdb->tuple_names(local.row),
                                 body.generic());
      } catch (const Error&) { // its elements have numbers
      }
    }
    emit(body, local.name, *named, homes_of(body.variables, number, scope, body.code), false, false,
         local.everywhere ? nullptr : &scope);
  }
}

void DebugVariables::Impl::add_captured(Body& body, const TypeUse& type, std::int32_t number,
                                        const std::vector<NativeRange>& where, bool of_this) {
  std::vector<IlRange> hoisted;
  if (of_this && body.pdb != nullptr && is_state_machine(*type.name))
    hoisted = body.pdb->hoisted_scopes(body.method.token);
  // A closure that is a value is its own home; one behind a reference, and what `this` or a byref points to,
  // is reached through a pointer.
  const bool by_pointer = of_this || type.is_reference();
  for (const CapturedVariable& captured : captured_variables(runtime.objects()->layouts(), type, omissions)) {
    if (!of_this && captured.name == "this") continue; // the method has its own
    std::vector<DebugVariableRange> ranges;
    for (const DebugVariableRange& home : homes_of(body.variables, number, where, body.code)) {
      DebugVariableRange range = home;
      range.path = captured.path;
      if (!by_pointer) {
        if (!move_by(range.location, captured.path.front())) continue;
        range.path.erase(range.path.begin());
      }
      ranges.push_back(std::move(range));
    }
    std::vector<NativeRange> scope = where;
    bool everywhere = of_this;
    if (captured.hoisted_scope && *captured.hoisted_scope < hoisted.size()) {
      const IlRange il = hoisted[*captured.hoisted_scope];
      if (il.end > il.start) {
        scope = intersect(body.code, code_of_scope(*body.map, il, body.size));
        everywhere = false;
      }
    }
    const bool is_this = captured.name == "this";
    emit(body, captured.name, *captured.type, std::move(ranges), is_this, is_this,
         everywhere ? nullptr : &scope);
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
    if (body.signature.return_type) code.return_type = impl_->types.of(*body.signature.return_type);
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
