#include "core/execution/ready_to_run.h"

#include "core/execution/native_format.h"

#include <fmt/format.h>

namespace clr {
namespace {

constexpr std::uint32_t debug_info_section = 105;
constexpr std::uint32_t max_sections = 256;
// READYTORUN_HEADER: magic, versions, then flags and the count of sections; a READYTORUN_CORE_HEADER begins
// with the flags.
constexpr Address core_header_offset = 8;
constexpr Address section_count_offset = 4, sections_offset = 8, section_bytes = 12;
// Images older than this have GC info of version 3. [rt] src/coreclr/inc/gcinfotypes.h,
// GCInfoToken::ReadyToRunVersionToGcInfoVersion
constexpr unsigned first_major_with_gc_info_4 = 11;
constexpr unsigned max_fragments = 65536;

Address info_of(const Target& target, const RangeSection& section) {
  const Address info =
      target.read_pointer(target.field_address(section.r2r_module, "Module", "ReadyToRunInfo"));
  if (info == 0) throw_corrupt(section.r2r_module, "a module without ReadyToRunInfo");
  return info;
}

std::uint32_t read_count(const Target& target, Address info, std::string_view field) {
  const std::uint32_t count = target.read_u32(target.field_address(info, "ReadyToRunInfo", field));
  if (count > ReadyToRunImage::max_functions)
    throw_corrupt(info, fmt::format("ReadyToRunInfo.{} = {}", field, count));
  return count;
}

Address read_field(const Target& target, Address info, std::string_view field) {
  return target.read_pointer(target.field_address(info, "ReadyToRunInfo", field));
}

// Where the entry point map is: components of a composite image share the composite's.
Address composite_of(const Target& target, Address info) {
  const Address composite = read_field(target, info, "CompositeInfo");
  return composite != 0 ? composite : info;
}

HotColdMap hot_cold_of(const Target& target, Address info, std::uint32_t function_count) {
  if (!target.find_offset("ReadyToRunInfo", "NumHotColdMap")) return {target, 0, 0, function_count};
  const std::uint32_t count = read_count(target, info, "NumHotColdMap");
  return {target, count == 0 ? 0 : read_field(target, info, "HotColdMap"), count, function_count};
}

} // namespace

ReadyToRunImage::ReadyToRunImage(const Target& target, const RuntimeFunctions& functions,
                                 const RangeSection& section)
    : target_(&target), table_(functions), module_(section.r2r_module), info_(info_of(target, section)),
      composite_info_(composite_of(target, info_)), base_(section.begin),
      header_(read_field(target, info_, "ReadyToRunHeader")), image_size_(section.end - section.begin),
      function_count_(read_count(target, info_, "NumRuntimeFunctions")),
      entry_points_(target,
                    target.field_address(composite_info_, "ReadyToRunInfo", "EntryPointToMethodDescMap")),
      hot_cold_(hot_cold_of(target, info_, function_count_)) {
  if (function_count_ != 0) functions_ = read_field(target, info_, "RuntimeFunctions");
  if (const Address thunks = read_field(target, info_, "DelayLoadMethodCallThunks"); thunks != 0) {
    const Directory directory = read_directory(thunks);
    thunks_begin_ = directory.rva;
    thunks_end_ = thunks_begin_ + directory.size;
  }
  const unsigned major = target.read_u16(target.field_address(header_, "ReadyToRunHeader", "MajorVersion"));
  gc_info_version_ = major < first_major_with_gc_info_4 ? 3 : 4;
}

ReadyToRunImage::Directory ReadyToRunImage::read_directory(Address address) const {
  return {.rva = target_->read_u32(target_->field_address(address, "ImageDataDirectory", "VirtualAddress")),
          .size = target_->read_u32(target_->field_address(address, "ImageDataDirectory", "Size"))};
}

std::optional<std::uint32_t> ReadyToRunImage::function_at(std::uint64_t rva) const {
  if (rva >= image_size_ || rva > 0xFFFF'FFFFu) return std::nullopt;
  const auto index = table_.find(functions_, function_count_, static_cast<std::uint32_t>(rva));
  // The last entry would match everything behind it, data included.
  if (!index || rva - table_.begin(functions_, *index) >= length_of(*index)) return std::nullopt;
  return index;
}

std::uint32_t ReadyToRunImage::first_fragment(std::uint32_t index) const {
  for (unsigned i = 0; index > 0 && i < max_fragments && table_.is_fragment(functions_, index, base_); ++i)
    --index;
  return index;
}

std::optional<Address> ReadyToRunImage::method_at(std::uint32_t index) const {
  return entry_points_.find(start_of(index));
}

Address ReadyToRunImage::gc_info_of(std::uint32_t index) const {
  const Address data = base_ + table_.unwind_data(functions_, index);
  return data + table_.unwind_data_size(data);
}

std::optional<ReadyToRunImage::Directory> ReadyToRunImage::debug_info_directory() const {
  const Target& target = *target_;
  if (target.find_offset("ReadyToRunInfo", "DebugInfoSection")) {
    const Address directory = read_field(target, info_, "DebugInfoSection");
    return directory == 0 ? std::nullopt : std::optional(read_directory(directory));
  }
  // Not published by .NET 10. A component's own header lacks the section; the composite's core header is
  // reached through the pointer that ReadyToRunInfo keeps right before its table of functions. For other
  // images it leads to the image's own.
  Address core_header = header_ + core_header_offset;
  if (composite_info_ != info_) {
    const unsigned word = target.pointer_size();
    const Address functions_field = target.field_address(info_, "ReadyToRunInfo", "RuntimeFunctions");
    const Address core_info = target.read_pointer(functions_field - word);
    core_header = target.read_pointer(core_info + word);
  }
  const std::uint32_t count = target.read_u32(core_header + section_count_offset);
  if (count > max_sections)
    throw_corrupt(core_header, fmt::format("ReadyToRun header with {} sections", count));
  for (std::uint32_t i = 0; i < count; ++i) {
    const Address section = core_header + sections_offset + i * section_bytes;
    if (target.read_u32(section) == debug_info_section)
      return Directory{.rva = target.read_u32(section + 4), .size = target.read_u32(section + 8)};
  }
  return std::nullopt;
}

Address ReadyToRunImage::debug_info_of(std::uint32_t index) const {
  if (!debug_directory_) debug_directory_ = debug_info_directory();
  if (!*debug_directory_) return 0;
  const NativeReader reader(target_->memory(), base_);
  const auto offset = NativeFormatArray(reader, (*debug_directory_)->rva).find(index);
  if (!offset) return 0;
  // Equal debug info is stored once; later users tell how far back it lies.
  const auto [back, next] = reader.read_unsigned(*offset);
  if (back > *offset) throw_corrupt(base_ + *offset, "debug info before its image");
  return back != 0 ? base_ + *offset - back : base_ + next;
}

} // namespace clr
