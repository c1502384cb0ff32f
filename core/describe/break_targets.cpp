#include "core/describe/break_targets.h"

#include "core/memory/path_map.h"
#include "core/memory/utf8.h"
#include "core/runtime/source_lines.h"
#include "core/types/last_name.h"
#include "core/types/type_names.h"

#include <algorithm>
#include <set>

namespace clr {

namespace {
constexpr std::uint32_t method_def_tag = 0x0600'0000;
constexpr std::size_t rows_between_questions = 4096;
constexpr std::size_t points_between_questions = 65'536;

// The end of a path, by whole parts.
bool is_file(std::string_view path, std::string_view wanted) {
  if (!path.ends_with(wanted)) return false;
  const std::size_t before = path.size() - wanted.size();
  return before == 0 || path[before - 1] == '/' || path[before - 1] == '\\' || wanted.starts_with('/');
}

bool is_document(const std::string& path, std::string_view wanted) {
  return is_file(path, wanted) || (!is_printable(path) && is_file(printable(path), wanted));
}

BreakTarget target_of(Runtime& runtime, NamedModule& module, Address address, std::uint32_t token) {
  BreakTarget target{
      .module = module.name, .module_address = address, .token = token, .name = {}, .user_name = {}};
  const auto name_of = [&](std::uint32_t method) {
    return module.metadata.with(
        [&](MetadataNames& names) { return format_full_name(names.method(method & 0x00FF'FFFF)); });
  };
  target.name = name_of(token);
  if (const PortablePdb* pdb = runtime.lines()->pdb_of(address))
    if (const auto kickoff = pdb->kickoff_method(token)) target.user_name = name_of(*kickoff);
  return target;
}

// Calls `ask` for every module; a module that cannot answer is silent.
template<typename Found, typename Ask>
void each_module(Runtime& runtime, Found& found, const std::function<bool()>& stop, Ask&& ask) {
  if (runtime.names() == nullptr) return;
  for (const Address address : runtime.names()->module_addresses()) {
    if (stop && stop()) return;
    std::string name;
    try {
      NamedModule& module = runtime.names()->named_modules().at(address);
      name = module.name;
      ++found.modules;
      ask(module, address);
    } catch (const Error&) {
      found.silent.push_back(std::move(name));
    }
  }
}
} // namespace

BreakTargets methods_called(Runtime& runtime, std::string_view name, const std::function<bool()>& stop) {
  BreakTargets found;
  const std::string method(last_name(name));
  const std::string type = plain_type_name(qualifier_of(name));
  each_module(runtime, found, stop, [&](NamedModule& module, Address address) {
    const std::vector<std::uint32_t> rids = module.metadata.with([&](MetadataNames& names) {
      std::vector<std::uint32_t> matching;
      const Metadata& metadata = names.metadata();
      const std::uint32_t rows = metadata.rows(MetadataTable::method_def);
      for (std::uint32_t rid = 1; rid <= rows && matching.size() < BreakTargets::max_methods; ++rid) {
        if (rid % rows_between_questions == 0 && stop && stop()) break;
        if (!is_shown_as(metadata.string(metadata.method_def(rid).name), method)) continue;
        const QualifiedMethodName whole = names.method(rid);
        if (!type.empty() && (whole.declaring_type == nullptr ||
                              !is_type_called(plain_type_name(format_type(*whole.declaring_type)), type)))
          continue;
        matching.push_back(rid);
      }
      return matching;
    });
    for (const std::uint32_t rid : rids)
      if (found.methods.size() < BreakTargets::max_methods)
        found.methods.push_back(target_of(runtime, module, address, method_def_tag | rid));
  });
  return found;
}

TypesCalled types_called(Runtime& runtime, std::string_view name, const std::function<bool()>& stop) {
  TypesCalled found;
  const std::string wanted = plain_type_name(name);
  each_module(runtime, found, stop, [&](NamedModule& module, Address) {
    found.any = found.any || module.metadata.with([&](MetadataNames& names) {
      const std::uint32_t rows = names.metadata().rows(MetadataTable::type_def);
      for (std::uint32_t rid = 1; rid <= rows; ++rid) {
        if (rid % rows_between_questions == 0 && stop && stop()) break;
        if (is_type_called(plain_type_name(format_type(*names.type_def(rid))), wanted)) return true;
      }
      return false;
    });
  });
  return found;
}

MethodsAtLine nearest_methods(const PortablePdb& pdb, const std::set<std::uint32_t>& documents,
                              std::uint32_t line, const std::function<bool()>& stop) {
  MethodsAtLine found;
  if (documents.empty()) return found;
  std::uint32_t nearest = UINT32_MAX;
  const std::uint32_t methods = pdb.metadata().rows(MetadataTable::method_debug_information);
  std::size_t unasked = 0; // points since `stop` was asked
  for (std::uint32_t rid = 1; rid <= methods; ++rid) {
    if (rid % rows_between_questions == 0 || unasked >= points_between_questions) {
      if (stop && stop()) break;
      unasked = 0;
    }
    std::uint32_t best = UINT32_MAX;
    const std::vector<SequencePoint> points = pdb.sequence_points(method_def_tag | rid);
    unasked += points.size();
    for (const SequencePoint& point : points)
      if (!point.hidden && documents.contains(point.document) && point.start_line >= line)
        best = std::min(best, point.start_line);
    if (best == UINT32_MAX || best > nearest) continue;
    if (best < nearest) found.tokens.clear();
    found.line = nearest = best;
    found.tokens.push_back(method_def_tag | rid);
  }
  return found;
}

BreakTargets methods_at_line(Runtime& runtime, std::string_view file, std::uint32_t line,
                             const std::function<bool()>& stop) {
  struct Place {
    NamedModule* module;
    Address address;
    MethodsAtLine methods;
  };
  BreakTargets found;
  std::vector<Place> places;
  each_module(runtime, found, stop, [&](NamedModule& module, Address address) {
    const PortablePdb* pdb = runtime.lines()->pdb_of(address);
    if (pdb == nullptr) {
      found.silent.push_back(module.name);
      return;
    }
    std::set<std::uint32_t> documents;
    for (std::uint32_t row = 1; row <= pdb->documents(); ++row) {
      if (row % rows_between_questions == 0 && stop && stop()) break;
      if (is_document(pdb->document_name(row), file)) documents.insert(row);
    }
    found.file_known = found.file_known || !documents.empty();
    MethodsAtLine methods = nearest_methods(*pdb, documents, line, stop);
    if (methods.line == 0) return;
    if (found.line == 0 || methods.line < found.line) found.line = methods.line;
    places.push_back({&module, address, std::move(methods)});
  });
  for (const Place& place : places) {
    if (place.methods.line != found.line) continue;
    for (const std::uint32_t token : place.methods.tokens) {
      if (found.methods.size() >= BreakTargets::max_methods) return found;
      try {
        found.methods.push_back(target_of(runtime, *place.module, place.address, token));
      } catch (const Error&) {
        found.methods.push_back({place.module->name, place.address, token, {}, {}});
      }
    }
  }
  return found;
}

} // namespace clr
