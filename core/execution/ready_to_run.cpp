#include "core/execution/ready_to_run.h"

#include "core/execution/gc_info.h"
#include "core/memory/pe_layout.h"

#include <fmt/format.h>

#include <algorithm>

namespace clr {
namespace {

constexpr std::uint32_t debug_info_section = 105;
constexpr std::uint32_t max_sections = 256;
// READYTORUN_HEADER: magic, versions and flags, then the count of sections and the sections.
constexpr Address section_count_offset = 12, sections_offset = 16, section_bytes = 12;
// UNW_FLAG_CHAININFO in the flags, which are the high 5 bits of the first byte. [PE/COFF x64 unwind info]
constexpr unsigned unwind_flags_shift = 3, unwind_flag_chained = 4;
// Number of entries of the function table that are read at once.
constexpr std::uint32_t functions_per_read = 8;

constexpr std::string_view info_type = "ReadyToRunInfo";

// The fields of a ReadyToRunInfo, which are read at once where they lie near each other.
class InfoFields {
public:
  InfoFields(const Target& target, Address info, const std::optional<RecordSpan>& span)
      : target_(target), info_(info) {
    if (span) record_.emplace(target, info, *span);
  }
  std::uint32_t u32(std::int64_t offset) const {
    return record_ ? record_->u32(offset) : target_.read_u32(info_ + static_cast<Address>(offset));
  }
  Address pointer(std::int64_t offset) const {
    return record_ ? record_->pointer(offset) : target_.read_pointer(info_ + static_cast<Address>(offset));
  }

private:
  const Target& target_;
  Address info_;
  std::optional<target::Record> record_;
};

Address info_of(const Target& target, Address module, std::int64_t field) {
  const Address info = target.read_pointer(module + static_cast<Address>(field));
  if (info == 0) throw_corrupt(module, "a module without ReadyToRunInfo");
  return info;
}

} // namespace

unsigned read_r2r_major_version(const Target& target, Address header) {
  if (target.read_u32(header) != ready_to_run_signature) throw_corrupt(header, "no ReadyToRun header");
  return target.read_u16(target.field_address(header, "ReadyToRunHeader", "MajorVersion"));
}

std::optional<R2RDirectory> find_r2r_section(const Target& target, Address header, std::uint32_t type) {
  const std::uint32_t count = target.read_u32(header + section_count_offset);
  if (count > max_sections) throw_corrupt(header, fmt::format("ReadyToRun header with {} sections", count));
  std::vector<std::byte> raw(count * section_bytes);
  target.read_bytes(header + sections_offset, raw);
  for (std::size_t at = 0; at < raw.size(); at += section_bytes) {
    const auto word = [&](std::size_t i) {
      return load<std::uint32_t>(std::span(raw).subspan(at + 4 * i), target.platform().byte_order);
    };
    if (word(0) == type) return R2RDirectory{.rva = word(1), .size = word(2)};
  }
  return std::nullopt;
}

ReadyToRunLayout::ReadyToRunLayout(const Target& target) {
  struct Field {
    std::string_view name;
    std::size_t width;
    std::int64_t offset;
  };
  std::vector<Field> fields;
  const auto optional = [&](std::string_view name, std::size_t width) {
    const auto offset = target.find_offset(info_type, name);
    if (offset) fields.push_back({name, width, *offset});
    return offset;
  };
  const auto require = [&](std::string_view name, std::size_t width) {
    fields.push_back({name, width, target.offset(info_type, name)});
    return fields.back().offset;
  };
  const std::size_t word = target.pointer_size();
  header_ = require("ReadyToRunHeader", word);
  composite_info_ = require("CompositeInfo", word);
  function_count_ = require("NumRuntimeFunctions", sizeof(std::uint32_t));
  functions_ = require("RuntimeFunctions", word);
  thunks_ = optional("DelayLoadMethodCallThunks", word);
  hot_cold_count_ = optional("NumHotColdMap", sizeof(std::uint32_t));
  hot_cold_map_ = optional("HotColdMap", word);
  debug_info_section_ = optional("DebugInfoSection", word);
  module_info_ = target.offset("Module", "ReadyToRunInfo");
  const auto [first, last] = std::ranges::minmax(fields, {}, &Field::offset);
  const auto spread = static_cast<std::uint64_t>(last.offset) - static_cast<std::uint64_t>(first.offset);
  if (spread > target::Record::max_size - word) return;
  span_.emplace(info_type);
  for (const Field& field : fields) span_->require(target, field.name, field.width);
}

ReadyToRunImage::ReadyToRunImage(const Target& target, const RuntimeFunctions& functions,
                                 const ReadyToRunLayout& layout, const RangeSection& section)
    : target_(&target), table_(&functions), layout_(&layout), module_(section.r2r_module),
      info_(info_of(target, module_, layout.module_info_)), base_(section.begin),
      image_size_(section.end - section.begin), entry_points_(target, 0), hot_cold_(target, 0, 0, 0) {
  const InfoFields info(target, info_, layout.span_);
  const auto count = [&](std::int64_t field, std::string_view name) {
    const std::uint32_t value = info.u32(field);
    if (value > max_functions) throw_corrupt(info_, fmt::format("ReadyToRunInfo.{} = {}", name, value));
    return value;
  };
  composite_info_ = info.pointer(layout.composite_info_);
  if (composite_info_ == 0) composite_info_ = info_;
  // A component's own header lacks the tables that the composite image has as a whole.
  header_ = composite_info_ == info_
                ? info.pointer(layout.header_)
                : target.read_pointer(composite_info_ + static_cast<Address>(layout.header_));
  // Without entries the pointer is not valid.
  function_count_ = count(layout.function_count_, "NumRuntimeFunctions");
  if (function_count_ != 0) functions_ = info.pointer(layout.functions_);
  if (layout.hot_cold_count_ && layout.hot_cold_map_)
    if (const std::uint32_t values = count(*layout.hot_cold_count_, "NumHotColdMap"); values != 0)
      hot_cold_ = {target, info.pointer(*layout.hot_cold_map_), values, function_count_};
  if (layout.thunks_)
    if (const Address thunks = info.pointer(*layout.thunks_); thunks != 0) thunks_ = read_directory(thunks);
  if (layout.debug_info_section_) debug_info_section_ = info.pointer(*layout.debug_info_section_);
  // Components share the map of their composite image.
  entry_points_ = EntryPointMap(
      target, target.field_address(composite_info_, "ReadyToRunInfo", "EntryPointToMethodDescMap"));
}

ReadyToRunImage::Directory ReadyToRunImage::read_directory(Address address) const {
  return {.rva = target_->read_u32(target_->field_address(address, "ImageDataDirectory", "VirtualAddress")),
          .size = target_->read_u32(target_->field_address(address, "ImageDataDirectory", "Size"))};
}

std::optional<std::uint32_t> ReadyToRunImage::function_at(std::uint64_t rva) const {
  if (rva >= image_size_ || rva > 0xFFFF'FFFFu) return std::nullopt;
  return table_->find(functions_, function_count_, static_cast<std::uint32_t>(rva));
}

std::optional<std::uint32_t> ReadyToRunImage::first_inner(std::uint32_t index) const {
  const auto after = inner_.upper_bound(index);
  if (after == inner_.begin()) return std::nullopt;
  const auto& [first, last] = *std::prev(after);
  return index <= last ? std::optional(first) : std::nullopt;
}

void ReadyToRunImage::keep_inner(std::uint32_t first, std::uint32_t last) const {
  if (first > last) return;
  if (inner_.size() >= max_kept_runs) inner_.clear();
  auto after = inner_.upper_bound(last + 1);
  while (after != inner_.begin()) {
    const auto run = std::prev(after);
    if (run->second + 1 < first) break;
    first = std::min(first, run->first);
    last = std::max(last, run->second);
    after = inner_.erase(run);
  }
  inner_.emplace_hint(after, first, last);
}

std::optional<ReadyToRunImage::Method> ReadyToRunImage::method_before(std::uint32_t index,
                                                                      const EntryPoints& entry_points,
                                                                      std::uint32_t& probes) const {
  const std::vector<std::uint32_t>* entries = nullptr;
  bool asked = false;
  const auto method_of = [&](std::uint32_t at) -> std::optional<Method> {
    if (const auto method = method_at(at, probes)) return Method{.index = at, .method_desc = *method};
    if (const auto begins = has_debug_info(at))
      return *begins ? std::optional(Method{.index = at, .method_desc = 0}) : std::nullopt;
    if (!asked && entry_points) entries = entry_points();
    asked = true;
    if (entries && std::ranges::binary_search(*entries, at)) return Method{.index = at, .method_desc = 0};
    return std::nullopt;
  };
  const std::uint32_t lowest = index - std::min(index, max_functions_of_method - 1);
  std::uint32_t first = index + 1; // the functions [first, index] begin no method
  try {
    while (first > lowest) {
      if (const auto inner = first_inner(first - 1)) {
        first = *inner;
        continue;
      }
      if (const auto method = method_of(first - 1)) {
        keep_inner(first, index);
        return method;
      }
      --first;
    }
  } catch (const Error&) {
    keep_inner(first, index);
    throw;
  }
  keep_inner(first, index);
  return std::nullopt;
}

MethodRegions ReadyToRunImage::regions_of(std::uint32_t method_index, Address& gc_info,
                                          std::uint32_t& probes) const {
  MethodRegions regions{.hot_start = start_of(method_index)};
  if (const auto cold = hot_cold_.cold_range(method_index)) {
    regions.cold_start = start_of(cold->first);
    const Address end = start_of(cold->last) + length_of(cold->last);
    if (regions.cold_start < regions.hot_start)
      throw_corrupt(regions.cold_start, "a cold part before its method,");
    if (end <= regions.cold_start)
      throw_corrupt(regions.cold_start, "a cold part that ends before it begins,");
    regions.cold_size = end - regions.cold_start;
  }
  try {
    gc_info = gc_info_of(method_index);
    // The length of all parts: hot and cold, including funclets.
    const std::uint64_t length = read_code_length(*target_, gc_info, gc_info_version());
    if (length <= regions.cold_size) throw_corrupt(gc_info, "a cold part as large as its method");
    regions.hot_size = length - regions.cold_size;
  } catch (const Error&) {
    // The GC info cannot be read, or the format of this CPU is not known.
    gc_info = 0;
    const std::optional<Address> end = code_end_by_table(method_index, probes);
    if (!end || *end <= regions.hot_start) throw; // the table of a damaged image may not ascend
    regions.hot_size = *end - regions.hot_start;
  }
  return regions;
}

std::optional<Address> ReadyToRunImage::code_end_by_table(std::uint32_t method_index,
                                                          std::uint32_t& probes) const {
  if (const auto known = code_ends_.find(method_index); known != code_ends_.end()) return known->second;
  std::optional<Address> end;
  try {
    end = read_code_end(method_index, probes);
  } catch (const Error&) {
    // The fault of the GC info, for which the table is asked, says more than the fault here.
  }
  if (code_ends_.size() >= max_kept_runs) code_ends_.clear();
  return code_ends_[method_index] = end;
}

std::optional<Address> ReadyToRunImage::read_code_end(std::uint32_t method_index,
                                                      std::uint32_t& probes) const {
  const std::uint32_t count = hot_count();
  std::uint32_t last = method_index;
  while (last + 1 < count && last - method_index < max_functions_of_method) {
    const auto begins_method = has_debug_info(last + 1);
    if (!begins_method) return std::nullopt;
    if (*begins_method || method_at(last + 1, probes)) break;
    ++last;
  }
  return start_of(last) + length_of(last);
}

void ReadyToRunImage::add_functions(KnownBody& body) const {
  const MethodRegions& regions = body.regions;
  const Address hot_end = regions.hot_start + regions.hot_size;
  body.functions.push_back({.begin = regions.hot_start, .index = body.method_index});
  for (bool more = true; more;) {
    const std::uint32_t next = body.functions.back().index + 1;
    const std::uint32_t count = std::min(functions_per_read, function_count_ - next);
    if (count == 0) break;
    for (const std::uint32_t begin : table_->begins(functions_, next, count)) {
      more = base_ + begin < hot_end && body.functions.size() < max_functions_of_method;
      if (!more) break;
      body.functions.push_back({.begin = base_ + begin, .index = body.functions.back().index + 1});
    }
  }
  if (const auto cold = hot_cold_.cold_range(body.method_index)) {
    const std::uint32_t count = std::min(cold->last - cold->first + 1, max_functions_of_method);
    const auto begins = table_->begins(functions_, cold->first, count);
    for (std::uint32_t i = 0; i < count; ++i)
      body.functions.push_back({.begin = base_ + begins[i], .index = cold->first + i});
  }
  body.functions_read = true;
}

KnownBody ReadyToRunImage::body_of(std::uint32_t index, const EntryPoints& entry_points) const {
  const std::uint32_t hot = hot_cold_.hot_index(index);
  if (hot >= function_count_) throw_corrupt(functions_, "hot/cold map beyond its table");
  KnownBody body{.kind = CodeKind::ready_to_run};
  std::uint32_t probes = max_entry_probes;
  const auto fill = [&](std::uint32_t method_index, Address method_desc) {
    body.method_index = method_index;
    body.method_desc = method_desc;
    body.regions = regions_of(method_index, body.gc_info, probes);
    body.start = body.regions.hot_start;
  };
  const auto method = method_before(hot, entry_points, probes);
  if (method) fill(method->index, method->method_desc);
  // This function is no funclet: the method before it ends before it.
  if (!method || (method->index != hot && body.regions.hot_start + body.regions.hot_size <= start_of(hot))) {
    body.method_index = hot;
    body.method_desc = 0;
    body.start = start_of(hot);
    body.gc_info = 0;
    body.regions = {.hot_start = body.start, .hot_size = length_of(hot)};
  }
  add_functions(body);
  return body;
}

bool ReadyToRunImage::is_chained(std::uint32_t index) const {
  const Address data = base_ + table_->unwind_data(functions_, index);
  return (target_->read_u8(data) >> unwind_flags_shift & unwind_flag_chained) != 0;
}

Address ReadyToRunImage::gc_info_of(std::uint32_t index) const {
  const Address data = base_ + table_->unwind_data(functions_, index);
  return data + table_->unwind_data_size(data);
}

unsigned ReadyToRunImage::gc_info_version() const {
  if (!gc_info_version_) {
    target_->require_contract("GCInfo");
    gc_info_version_ = gc_info_version_of(read_r2r_major_version(*target_, header_));
  }
  return *gc_info_version_;
}

std::optional<ReadyToRunImage::Directory> ReadyToRunImage::debug_info_directory() const {
  if (layout_->debug_info_section_)
    return debug_info_section_ == 0 ? std::nullopt : std::optional(read_directory(debug_info_section_));
  // .NET 10 does not publish the section, so find it in the header.
  return find_r2r_section(*target_, header_, debug_info_section);
}

std::optional<Address> ReadyToRunImage::debug_info_of(std::uint32_t index) const {
  if (!debug_info_) {
    std::optional<NativeArray> array;
    if (const auto directory = debug_info_directory(); directory && directory->size != 0) {
      debug_info_bytes_ = ByteRange(target_->memory(), base_ + directory->rva, directory->size);
      array.emplace(debug_info_bytes_);
    }
    debug_info_ = array;
  }
  if (!*debug_info_) return std::nullopt;
  const auto offset = (*debug_info_)->find(index);
  if (!offset) return std::nullopt;
  // Equal debug info is stored once; a later user stores the distance back to it.
  const NativeUnsigned back = decode_native_unsigned(debug_info_bytes_, *offset);
  if (back.value > *offset)
    throw_corrupt(debug_info_bytes_.begin() + *offset, "debug info before its section");
  return debug_info_bytes_.begin() + (back.value != 0 ? *offset - back.value : back.next);
}

std::optional<bool> ReadyToRunImage::has_debug_info(std::uint32_t index) const {
  try {
    const bool has = debug_info_of(index).has_value();
    return *debug_info_ ? std::optional(has) : std::nullopt;
  } catch (const Error&) {
    return std::nullopt;
  }
}

} // namespace clr
