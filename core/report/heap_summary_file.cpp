#include "core/report/heap_summary_file.h"

#include "core/memory/host_file.h"
#include "core/report/json_writer.h"
#include "core/report/packed_core.h"
#include "core/runtime/core_session.h"
#include "core/runtime/presence.h"
#include "core/target/json_text.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <array>
#include <elf.h>
#include <unistd.h>

namespace clr {

namespace {

constexpr std::uint64_t form = 1;
constexpr const char* form_name = "lldb_clr_heap_summary";

std::uint64_t number(const Json& json, const char* name, const std::string& path) {
  const auto found = json.find(name);
  if (found == json.end() || !found->is_number_unsigned())
    throw Error(ErrorKind::corrupt, fmt::format("{} is damaged: {} is missing or no number", path, name));
  const auto value = found->get<std::uint64_t>();
  if (value > max_heap_summary_number)
    throw Error(ErrorKind::corrupt, fmt::format("{} is damaged: {} is {}", path, name, value));
  return value;
}

HeapCount count(const Json& json, const char* objects, const char* bytes, const std::string& path) {
  return {.objects = number(json, objects, path), .bytes = number(json, bytes, path)};
}

std::string text(const Json& json, const std::string& path) {
  if (!json.is_string())
    throw Error(ErrorKind::corrupt, fmt::format("{} is damaged: a name is no text", path));
  return json.get<std::string>();
}

const Json& list(const Json& json, const char* name, const std::string& path) {
  const auto found = json.find(name);
  if (found == json.end() || !found->is_array())
    throw Error(ErrorKind::corrupt, fmt::format("{} is damaged: it has no list of {}", path, name));
  return *found;
}

Json parsed(std::string_view content, const std::string& path) {
  try {
    return parse_json(content, max_heap_summary_values);
  } catch (const Error& error) {
    throw Error(ErrorKind::corrupt, fmt::format("{} is damaged: {}", path, error.what()));
  }
}

bool is_elf(const HostFile& file) {
  std::array<char, SELFMAG> head{};
  return ::pread(file.descriptor(), head.data(), head.size(), 0) == SELFMAG &&
         std::string_view(head.data(), head.size()) == ELFMAG;
}

} // namespace

std::string heap_summary_text(const HeapSummary& summary) {
  std::string out;
  JsonWriter json(out);
  json.begin_object();
  json.number(form_name, form);
  json.number("objects", summary.all.objects);
  json.number("bytes", summary.all.bytes);
  json.number("free_objects", summary.free.objects);
  json.number("free_bytes", summary.free.bytes);
  json.key("warnings");
  json.begin_array();
  for (const std::string& warning : summary.warnings) json.text(warning);
  json.end_array();
  json.key("types");
  json.begin_array();
  for (const HeapSummaryType& type : summary.types) {
    json.begin_object();
    json.text("name", type.name);
    json.text_or_null("module", type.module);
    json.number("count", type.count.objects);
    json.number("bytes", type.count.bytes);
    json.end_object();
    out += '\n';
  }
  json.end_array();
  json.end_object();
  return out + "\n";
}

HeapSummary parse_heap_summary(std::string_view content, const std::string& path) {
  const Json json = parsed(content, path);
  const auto found = json.is_object() ? json.find(form_name) : json.end();
  if (!json.is_object() || found == json.end() || !found->is_number_unsigned())
    throw Error(ErrorKind::invalid_argument,
                fmt::format("{} is neither a core nor a summary that clr heap --save wrote", path));
  if (found->get<std::uint64_t>() != form)
    throw Error(ErrorKind::unsupported_contract,
                fmt::format("{} has form {} of a later lldb-clr; this one reads form {}", path,
                            found->get<std::uint64_t>(), form));
  HeapSummary summary{.all = count(json, "objects", "bytes", path),
                      .free = count(json, "free_objects", "free_bytes", path)};
  for (const Json& warning : list(json, "warnings", path)) summary.warnings.push_back(text(warning, path));
  for (const Json& type : list(json, "types", path)) {
    if (!type.is_object() || !type.contains("name") || !type.contains("module"))
      throw Error(ErrorKind::corrupt, fmt::format("{} is damaged: a type has no name", path));
    summary.types.push_back({.name = text(type["name"], path),
                             .module = type["module"].is_null() ? "" : text(type["module"], path),
                             .count = count(type, "count", "bytes", path)});
  }
  put_in_order(summary.types);
  return summary;
}

HeapSummary open_heap_summary(const std::string& path, const PathMap& paths, const HeapWalkOptions& options) {
  if (const Packing packing = packing_of(path); packing != Packing::none)
    throw Error(ErrorKind::unsupported_contract,
                fmt::format("{} is compressed ({}): clr core unpacks it", path, to_string(packing)));
  {
    const HostFile file = HostFile::open(path);
    if (!is_elf(file)) return parse_heap_summary(file.read(max_heap_summary_bytes), path);
  }
  const std::unique_ptr<CoreSession> core = CoreSession::open(path, paths);
  try {
    require_runtime(core->runtime());
    HeapReporter heap(core->runtime());
    return summarize(heap, options);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::interrupted) throw;
    throw Error(error.kind(), fmt::format("{}: {}", path, error.what()));
  }
}

Json to_json(const HeapDifference& difference, const std::string& other) {
  const auto pair = [](std::uint64_t before, std::uint64_t after) { return Json::array({before, after}); };
  Json json{{"other", other},
            {"objects", pair(difference.before.objects, difference.after.objects)},
            {"bytes", pair(difference.before.bytes, difference.after.bytes)},
            {"free_bytes", pair(difference.free_before.bytes, difference.free_after.bytes)},
            {"changed", difference.types}};
  json["types"] = Json::array();
  for (const HeapChange& change : difference.rows)
    json["types"].push_back({{"name", change.name},
                             {"module", change.module.empty() ? Json() : Json(change.module)},
                             {"change", change.kind()},
                             {"count", pair(change.before.objects, change.after.objects)},
                             {"bytes", pair(change.before.bytes, change.after.bytes)}});
  return json;
}

} // namespace clr
