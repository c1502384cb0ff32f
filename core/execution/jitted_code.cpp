#include "core/execution/jitted_code.h"

#include "core/execution/gc_info.h"

#include <fmt/format.h>

namespace clr {
namespace {

// For runtimes that do not publish GCInfoVersion: those before .NET 10.
constexpr unsigned gc_info_version_before_10 = 3;

} // namespace

JittedCode::JittedCode(const Target& target, const RuntimeFunctions& functions)
    : target_(&target), functions_(&functions),
      gc_info_version_(
          static_cast<unsigned>(target.find_global("GCInfoVersion").value_or(gc_info_version_before_10))) {
  const std::size_t word = target.pointer_size();
  method_desc_ = span_.require(target, "MethodDesc", word);
  gc_info_ = span_.optional(target, "GCInfo", word);
  debug_info_ = span_.optional(target, "DebugInfo", word);
  unwind_count_ = span_.optional(target, "NumUnwindInfos", sizeof(std::uint32_t));
  unwind_table_ = target.find_offset("RealCodeHeader", "UnwindInfos");
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
  const CodeHeader header = read_header(address);
  if (header.unwind_count == 0) return header;
  Address begin = start;
  try {
    begin = target_->platform().wrap(section.begin + functions_->begin(header.unwind_table, 0));
  } catch (const Error&) {
    // Without the entry nothing speaks against the header.
  }
  if (begin != start) throw_corrupt(address, "a code header that belongs to other code");
  return header;
}

std::uint64_t JittedCode::length(const CodeHeader& header, const RangeSection& section) const {
  try {
    if (header.gc_info == 0) throw_corrupt(header.address, "a code header without GC info");
    return read_code_length(*target_, header.gc_info, gc_info_version_);
  } catch (const Error&) {
    if (header.unwind_count == 0 || header.unwind_count > max_unwind_entries) throw;
    try {
      const std::uint32_t last = header.unwind_count - 1;
      const std::uint32_t first_begin = functions_->begin(header.unwind_table, 0);
      const std::uint32_t last_begin = functions_->begin(header.unwind_table, last);
      const std::uint64_t last_length = functions_->length(header.unwind_table, last, section.begin);
      if (last_begin >= first_begin) return last_begin - first_begin + last_length;
    } catch (const Error&) {
      // The fault of the GC info says more than the fault here.
    }
    throw;
  }
}

std::vector<KnownBody::Function> JittedCode::functions(const CodeHeader& header,
                                                       const RangeSection& section) const {
  if (header.unwind_count > max_unwind_entries)
    throw_corrupt(header.address, fmt::format("a method with {} unwind entries", header.unwind_count));
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
