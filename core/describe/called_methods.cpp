#include "core/describe/called_methods.h"

#include "core/memory/error.h"
#include "core/metadata/il_code.h"
#include "core/runtime/source_lines.h"
#include "core/types/last_name.h"
#include "core/types/type_names.h"

#include <algorithm>
#include <array>

namespace clr {

namespace {
// call, callvirt, newobj, ldftn, ldvirtftn.
constexpr std::array<std::uint16_t, 5> naming_opcodes{0x28, 0x6f, 0x73, 0xfe06, 0xfe07};
constexpr std::uint16_t call_by_pointer = 0x29;
// ldftn, ldvirtftn.
constexpr std::array<std::uint16_t, 2> pointing_opcodes{0xfe06, 0xfe07};
constexpr std::uint16_t virtual_method = 0x40;
constexpr std::string_view invoke = "Invoke", move_next_async = "MoveNextAsync", lambda_mark = ">b__",
                           local_function_mark = ">g__";
// Stands among the names for a call that may call back.
constexpr std::string_view call_back = "<calls back>";
// What calls back, and waits for no other thread. With those that wait (Thread.Join, an await) the process
// would stop at each call of such methods by other threads, for as long as the step takes.
constexpr std::string_view linq = "Enumerable";
constexpr std::array<std::string_view, 6> calling_back{"AppendFormatted", "BinarySearch", "Format",
                                                       "MoveNext",        "Sort",         "ToString"};

// What a MethodSpec is an instantiation of.
std::uint32_t generic_method(const Metadata& metadata, std::uint32_t token) {
  return table_of(token) == MetadataTable::method_spec ? metadata.method_spec(rid_of(token)).method : token;
}

std::string name_of_token(const Metadata& metadata, std::uint32_t token) {
  token = generic_method(metadata, token);
  if (table_of(token) == MetadataTable::member_ref)
    return metadata.string(metadata.member_ref(rid_of(token)).name);
  if (table_of(token) == MetadataTable::method_def)
    return metadata.string(metadata.method_def(rid_of(token)).name);
  return {};
}

// Ascending: the IL offsets at which native code begins.
std::vector<std::uint32_t> offsets_with_code(const IlMap& map) {
  std::vector<std::uint32_t> offsets;
  for (const IlBoundary& boundary : map.boundaries())
    if (boundary.il >= 0 && (boundary.source & IlBoundary::call_instruction) == 0)
      offsets.push_back(static_cast<std::uint32_t>(boundary.il));
  std::ranges::sort(offsets);
  return offsets;
}

// The method by which users know what `method` holds.
std::string called_name(Runtime& runtime, const PortablePdb& pdb, const Method& method) {
  const auto kickoff = pdb.kickoff_method(method.token);
  if (!kickoff) return std::string(last_name(method.name));
  NamedModule& module = runtime.names()->named_modules().at(method.runtime_module);
  return module.metadata.with(
      [&](MetadataNames& names) { return name_of_token(names.metadata(), *kickoff); });
}

// A call of another assembly's method that calls back.
bool may_call_back(const Metadata& metadata, std::uint32_t token) {
  token = generic_method(metadata, token);
  if (table_of(token) != MetadataTable::member_ref) return false;
  const MemberRefRow row = metadata.member_ref(rid_of(token));
  if (table_of(row.parent) == MetadataTable::type_ref &&
      metadata.string(metadata.type_ref(rid_of(row.parent)).name) == linq)
    return true;
  return std::ranges::find(calling_back, metadata.string(row.name)) != calling_back.end();
}

// What a delegate most often calls.
bool is_in_method(std::string_view name) {
  return name.find(lambda_mark) != name.npos || name.find(local_function_mark) != name.npos;
}

// The MoveNext of an async method, which is called when what it awaits is done. That of an async iterator is
// called for the next value, too.
bool only_goes_on(const PortablePdb& pdb, const Metadata& metadata, std::uint32_t token) {
  if (!pdb.async_method(token).has_value()) return false;
  const std::uint32_t machine = metadata.owner_of_method(rid_of(token));
  if (machine == 0) return true;
  const auto [first, last] = metadata.method_range(machine);
  for (std::uint32_t i = first; i < std::min(last, first + max_machine_methods); ++i)
    if (metadata.string(metadata.method_def(metadata.method_at(i)).name).ends_with(move_next_async))
      return false;
  return true;
}

// What code of other assemblies calls without a name that the line has: an override of ToString, the
// comparison of a sort, an iterator that somebody else has made.
bool is_called_back(Runtime& runtime, const PortablePdb& pdb, const Method& method, bool by_any) {
  if (!by_any && !pdb.async_method(method.token).has_value()) return false; // `await foreach`
  NamedModule& module = runtime.names()->named_modules().at(method.runtime_module);
  return module.metadata.with([&](MetadataNames& names) {
    const Metadata& metadata = names.metadata();
    return (metadata.method_def(rid_of(method.token)).flags & virtual_method) != 0 &&
           !only_goes_on(pdb, metadata, method.token);
  });
}

enum class Called : std::uint8_t { no, by_name, by_delegate, back };

Called called_by(Runtime& runtime, const std::set<std::string>& names, const Method& method) {
  try {
    const PortablePdb* const pdb = runtime.lines()->pdb_of(method.runtime_module);
    if (pdb == nullptr || method.token == 0) return Called::no;
    const bool named = names.contains(called_name(runtime, *pdb, method));
    const bool calls_back = names.contains(std::string(call_back));
    const bool moves_async = names.contains(std::string(move_next_async));
    const bool invoked = (calls_back || names.contains(std::string(invoke))) && is_in_method(method.name);
    const bool back = !named && !invoked && (calls_back || moves_async) &&
                      is_called_back(runtime, *pdb, method, calls_back);
    if (!named && !invoked && !back) return Called::no;
    if (!has_written_lines(runtime, method)) return Called::no;
    return named ? Called::by_name : invoked ? Called::by_delegate : Called::back;
  } catch (const Error&) {
    return Called::no; // another body may be the one
  }
}
} // namespace

std::vector<IlRange> ranges_of_line(const std::vector<SequencePoint>& points, std::uint32_t il,
                                    std::span<const std::uint32_t> with_code) {
  const SequencePoint* at = nullptr;
  for (const SequencePoint& point : points)
    if (!point.hidden && point.il_offset <= il) at = &point;
  const auto end_of = [&](std::vector<SequencePoint>::const_iterator point) {
    const auto next =
        std::find_if(point + 1, points.end(), [](const SequencePoint& other) { return !other.hidden; });
    return next != points.end() ? next->il_offset : UINT32_MAX;
  };
  const auto has_code = [&](std::vector<SequencePoint>::const_iterator point) {
    const auto first = std::ranges::lower_bound(with_code, point->il_offset);
    return with_code.empty() || (first != with_code.end() && *first < end_of(point));
  };
  std::vector<IlRange> ranges;
  for (std::size_t i = 0; at != nullptr && i < points.size(); ++i) {
    if (points[i].hidden || points[i].document != at->document || points[i].start_line != at->start_line)
      continue;
    auto last = points.begin() + static_cast<std::ptrdiff_t>(i);
    for (auto next = last + 1; next != points.end() && (next->hidden || !has_code(next)); ++next)
      if (!next->hidden) last = next;
    ranges.push_back({points[i].il_offset, end_of(last)});
  }
  return ranges;
}

std::set<std::string> called_names(Runtime& runtime, const CodeBlock& block) {
  std::set<std::string> called;
  const Method method = runtime.describe(block).method;
  const PortablePdb* const pdb = runtime.lines()->pdb_of(method.runtime_module);
  if (pdb == nullptr || method.token == 0) return called;
  const IlPosition position = runtime.lines()->debug_info().il_position(block, NativeOffsetKind::exact);
  const std::vector<std::uint32_t> with_code =
      offsets_with_code(*runtime.lines()->debug_info().il_map(block));
  const std::vector<IlRange> ranges =
      ranges_of_line(pdb->sequence_points(method.token), position.il, with_code);
  if (ranges.empty()) return called;
  NamedModule& module = runtime.names()->named_modules().at(method.runtime_module);
  const ImageMapping mapping = image_mapping(*runtime.target(), module.module);
  if (mapping.base == 0) return called;
  module.metadata.with([&](MetadataNames& names) {
    const Metadata& metadata = names.metadata();
    MemoryReader& memory = runtime.target()->memory();
    const PeImage image = mapping.mapped ? PeImage(memory, mapping.base, *mapping.mapped)
                                         : PeImage::detect(memory, mapping.base);
    std::set<std::string> pointed_to;
    bool by_pointer = false;
    for (const IlInstruction& one :
         il_instructions(il_code(image, metadata.method_def(rid_of(method.token)).rva))) {
      const bool on_line =
          std::ranges::any_of(ranges, [&](const IlRange& range) { return range.contains(one.offset); });
      by_pointer = by_pointer || (on_line && one.opcode == call_by_pointer);
      const auto& naming = on_line ? std::span<const std::uint16_t>(naming_opcodes) : pointing_opcodes;
      if (std::ranges::find(naming, one.opcode) == naming.end()) continue;
      std::string name = name_of_token(metadata, one.token());
      if (on_line && may_call_back(metadata, one.token())) called.emplace(call_back);
      std::set<std::string>& names_of = on_line ? called : pointed_to;
      if (!name.empty() && names_of.size() < max_called_names) names_of.insert(std::move(name));
    }
    if (!by_pointer) return;
    // What it points to is a method like that of a delegate, most often one that this method has the address
    // of.
    called.emplace(invoke);
    for (const std::string& name : pointed_to)
      if (called.size() < max_called_names) called.insert(name);
  });
  return called;
}

std::vector<Address> called_bodies(Runtime& runtime, const std::set<std::string>& names) {
  std::vector<Address> bodies, lambdas, back;
  runtime.for_each_method({.glob = {}, .r2r = false}, [&](const MethodRow& row) {
    const Called called = called_by(runtime, names, row.method);
    if (called == Called::by_name) bodies.push_back(row.code.start);
    if (called == Called::by_delegate && lambdas.size() < max_called_lambdas)
      lambdas.push_back(row.code.start);
    if (called == Called::back && back.size() < max_called_lambdas) back.push_back(row.code.start);
    return bodies.size() < max_called_bodies;
  });
  lambdas.insert(lambdas.end(), back.begin(), back.end());
  lambdas.resize(std::min(lambdas.size(), max_called_lambdas));
  bodies.insert(bodies.end(), lambdas.begin(), lambdas.end());
  return bodies;
}

bool may_be_called(Runtime& runtime, const std::set<std::string>& names, const Method& method) {
  return called_by(runtime, names, method) != Called::no;
}

bool has_written_lines(Runtime& runtime, const Method& method) {
  try {
    const PortablePdb* const pdb = runtime.lines()->pdb_of(method.runtime_module);
    if (pdb == nullptr || method.token == 0 || last_name(method.name) == ".cctor") return false;
    return std::ranges::any_of(pdb->sequence_points(method.token),
                               [](const SequencePoint& point) { return !point.hidden; });
  } catch (const Error&) {
    return false;
  }
}

bool is_part_of_iterator(std::string_view name) {
  return last_name(name).starts_with("<>m__Finally");
}

namespace {
template<typename Ask>
bool symbols_say(Runtime& runtime, const Method& method, const Ask& ask) {
  try {
    const PortablePdb* const pdb = runtime.lines()->pdb_of(method.runtime_module);
    return pdb != nullptr && method.token != 0 && ask(*pdb);
  } catch (const Error&) {
    return false;
  }
}
} // namespace

bool is_state_machine(Runtime& runtime, const Method& method) {
  return symbols_say(runtime, method,
                     [&](const PortablePdb& pdb) { return pdb.kickoff_method(method.token).has_value(); });
}

bool is_async_method(Runtime& runtime, const Method& method) {
  return symbols_say(runtime, method,
                     [&](const PortablePdb& pdb) { return pdb.async_method(method.token).has_value(); });
}

} // namespace clr
