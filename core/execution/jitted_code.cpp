#include "core/execution/jitted_code.h"

#include "core/execution/gc_info.h"

#include <fmt/format.h>

namespace clr {
namespace {

// For runtimes that do not publish GCInfoVersion: those before .NET 10.
constexpr unsigned gc_info_version_before_10 = 3;

void check_unwind_count(const CodeHeader& header) {
  if (header.unwind_count > JittedCode::max_unwind_entries)
    throw_corrupt(header.address, fmt::format("a method with {} unwind entries", header.unwind_count));
}

} // namespace

JittedCode::JittedCode(const Target& target, const RuntimeFunctions& functions)
    : target_(&target), functions_(&functions) {
  if (const auto version = target.find_global("GCInfoVersion"))
    gc_info_version_ = static_cast<unsigned>(*version);
  else if (target.descriptor().version == descriptor_format_integers)
    gc_info_version_ = gc_info_version_before_10;
  const std::size_t word = target.pointer_size();
  method_desc_ = span_.require(target, "MethodDesc", word);
  gc_info_ = span_.optional(target, "GCInfo", word);
  debug_info_ = span_.optional(target, "DebugInfo", word);
  unwind_count_ = span_.optional(target, "NumUnwindInfos", sizeof(std::uint32_t));
  unwind_table_ = target.find_offset("RealCodeHeader", "UnwindInfos");
}

unsigned JittedCode::gc_info_version() const {
  return gc_info_version_ ? *gc_info_version_ : static_cast<unsigned>(target_->global("GCInfoVersion"));
}

CodeHeader JittedCode::read_header(Address address) const {
  const target::Record record(*target_, address, span_);
  CodeHeader header{.address = address, .method_desc = record.pointer(method_desc_)};
  if (gc_info_) header.gc_info = record.pointer(*gc_info_);
  if (debug_info_) header.debug_info = record.pointer(*debug_info_);
  if (unwind_count_ && unwind_table_) {
    header.unwind_count = record.u32(*unwind_count_);
    header.unwind_table = target_->platform().wrap(address + static_cast<Address>(*unwind_table_));
  }
  return header;
}

CodeHeader JittedCode::read_header_of(Address start, Address address, const RangeSection& section) const {
  CodeHeader header = read_header(address);
  if (header.unwind_count == 0) return header;
  try {
    header.first_function = functions_->at(header.unwind_table, 0);
  } catch (const Error&) {
    return header; // without the entry nothing speaks against the header
  }
  if (target_->platform().wrap(section.begin + header.first_function->begin) != start)
    throw_corrupt(address, "a code header that belongs to other code");
  return header;
}

std::optional<std::uint64_t> JittedCode::unwind_length(const CodeHeader& header,
                                                       const RangeSection& section) const {
  if (header.unwind_count == 0) return std::nullopt;
  check_unwind_count(header);
  try {
    const std::uint32_t last = header.unwind_count - 1;
    const auto first_function =
        header.first_function ? *header.first_function : functions_->at(header.unwind_table, 0);
    const auto last_function = last == 0 ? first_function : functions_->at(header.unwind_table, last);
    if (last_function.begin < first_function.begin)
      throw_corrupt(header.address, "a code header whose unwind entries are out of order");
    return last_function.begin - first_function.begin +
           functions_->length(last_function, functions_->entry(header.unwind_table, last), section.begin);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::corrupt) throw;
    return std::nullopt;
  }
}

std::uint64_t JittedCode::length(const CodeHeader& header, const RangeSection& section) const {
  std::uint64_t length = 0;
  try {
    if (header.gc_info == 0) throw_corrupt(header.address, "a code header without GC info");
    length = read_code_length(*target_, header.gc_info, gc_info_version());
  } catch (const Error&) {
    try {
      if (const auto unwound = unwind_length(header, section)) return *unwound;
    } catch (const Error&) {
      // The fault of the GC info says more than the fault here.
    }
    throw;
  }
  if (const auto unwound = unwind_length(header, section); unwound.value_or(length) != length)
    throw_corrupt(header.address,
                  fmt::format("a code header with {} bytes of code by its GC info and {} by its unwind data",
                              length, *unwound));
  return length;
}

std::vector<KnownBody::Function> JittedCode::functions(const CodeHeader& header,
                                                       const RangeSection& section) const {
  check_unwind_count(header);
  std::vector<KnownBody::Function> result;
  result.reserve(header.unwind_count);
  functions_->for_each(header.unwind_table, 0, header.unwind_count,
                       [&](const RuntimeFunctions::Extent& function) {
                         result.push_back({.begin = target_->platform().wrap(section.begin + function.begin),
                                           .index = static_cast<std::uint32_t>(result.size())});
                       });
  return result;
}

} // namespace clr
