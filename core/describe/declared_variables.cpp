#include "core/describe/declared_variables.h"

#include "core/describe/captured_variables.h"
#include "core/objects/object_reader.h"
#include "core/objects/tuple_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace clr {
namespace {

// What a row and its name cost, beside the bytes of the name.
constexpr std::size_t steps_of_row = 50;

void omit_locals(const Method& method, Omissions& omissions, std::string text) {
  omissions.add({.part = OmittedPart::locals,
                 .cause = OmissionCause::limit,
                 .of = method.shown_name(),
                 .reading = {},
                 .text = std::move(text)});
}

} // namespace

DeclaredSignature declared_signature(Runtime& runtime, const Method& method) {
  MethodNames& names = *runtime.names();
  TypeFinder& finder = runtime.objects()->finder();
  DeclaredSignature signature{.module = method.runtime_module};
  if (method.method_table != 0) {
    const RuntimeType& owner = names.types().type(method.method_table);
    signature.class_arguments = names.types().tables().generic_arguments(owner.table);
    signature.this_type = finder.of_handle(method.method_table);
  }
  if (method.method_desc != 0) signature.method_arguments = names.method_arguments(method.method_desc);
  signature.types = finder.method(rid_of(method.token), signature.scope());
  const std::size_t count = signature.types.parameters.size();
  signature.parameter_names.assign(count, {});
  std::vector<std::pair<TypeUsePtr*, std::uint32_t>> tuples; // with the Param token that may name elements
  names.named_modules().at(method.runtime_module).metadata.with([&](MetadataNames& metadata_names) {
    const Metadata& metadata = metadata_names.metadata();
    const auto [first, last] = metadata.param_range(rid_of(method.token));
    for (std::uint32_t i = first; i < last; ++i) {
      const ParamRow row = metadata.param(metadata.param_at(i));
      if (row.sequence > count) continue;
      if (row.sequence != 0) signature.parameter_names[row.sequence - 1u] = metadata.string(row.name);
      // Row 0 is what the method returns.
      TypeUsePtr& type =
          row.sequence == 0 ? signature.types.return_type : signature.types.parameters[row.sequence - 1u];
      if (type && has_tuple(*type->name))
        tuples.emplace_back(&type, token_of(MetadataTable::param, metadata.param_at(i)));
    }
  });
  TypeLayouts& layouts = runtime.objects()->layouts();
  for (const auto& [type, token] : tuples) {
    try {
      *type = with_tuple_names(layouts, *type, layouts.tuple_names_of(method.runtime_module, token),
                               signature.generic());
    } catch (const Error&) {
      // Its elements have numbers.
    }
  }
  return signature;
}

std::vector<DeclaredLocal> declared_locals(const PortablePdb& pdb, const Method& method, std::size_t most,
                                           Omissions& omissions, std::size_t& steps) {
  std::vector<DeclaredLocal> locals;
  std::size_t rows = 0; // those of the compiler's variables, too
  const std::vector<LocalScope> scopes = pdb.local_scopes(method.token);
  for (const LocalScope& scope : scopes) {
    // The method's own scope: every other one is in it.
    const bool everywhere = &scope == &scopes.front() && scope.range.start == 0 &&
                            std::all_of(scopes.begin(), scopes.end(), [&](const LocalScope& other) {
                              return other.range.end <= scope.range.end;
                            });
    std::vector<LocalVariable> variables = pdb.variables(scope, PortablePdb::max_locals - rows);
    rows += variables.size();
    for (LocalVariable& variable : variables) {
      steps += steps_of_row + variable.name.size();
      if (locals.size() >= most) {
        omit_locals(method, omissions, fmt::format("a method has {} locals at most", most));
        return locals;
      }
      if (variable.name.empty() || (variable.debugger_hidden && !is_closure_local(variable.name))) continue;
      locals.push_back({.name = std::move(variable.name),
                        .slot = variable.slot,
                        .scope = scope.range,
                        .everywhere = everywhere,
                        .row = variable.row});
    }
    if (variables.size() < scope.last_variable - scope.first_variable) {
      omit_locals(method, omissions,
                  fmt::format("a method has {} locals and variables of the compiler at most",
                              PortablePdb::max_locals));
      return locals;
    }
  }
  return locals;
}

} // namespace clr
