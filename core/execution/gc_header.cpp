#include "core/execution/gc_header.h"

#include "core/execution/gc_info.h"
#include "core/isa/registers.h"

#include <fmt/format.h>

namespace clr {
namespace {

namespace gc_flag {
constexpr std::uint32_t varargs = 1, security_object = 2, cookie = 4, psp_symbol = 8, context = 0x30,
                        frame_register = 0x40, leaf_or_tail_calls = 0x80, enc = 0x100,
                        reverse_pinvoke = 0x200;
// Those that version 4 has no more.
constexpr std::uint32_t old = security_object | psp_symbol;
} // namespace gc_flag

// 5 differs from 4 on x86 only.
constexpr unsigned first_gc_version = 2, last_gc_version = 5;
// Widths of groups, which are the same for x64 and arm64.
constexpr unsigned prolog_width = 5, epilog_width = 3, header_place_width = 6, enc_width = 4, area_width = 3,
                   ranges_width = 1;
constexpr std::int64_t header_word = 8; // of the CPUs whose parts are known

class HeaderReader {
public:
  HeaderReader(GcBits& bits, Cpu cpu, unsigned version)
      : bits_(bits), cpu_(cpu), form_(architecture_of(cpu).gc_info) {
    header_.version = version;
  }

  GcHeader read() {
    if (bits_.flag())
      read_fat();
    else
      read_slim();
    if (header_.safe_point_count > units() + 1 || header_.range_count > units())
      bits_.corrupt("more safe points or ranges than instructions");
    return header_;
  }

private:
  bool has_return_kind() const { return header_.version <= last_gc_info_version_with_return_kind; }
  std::uint64_t units() const { return header_.code_length / form_.unit; }

  void read_slim() {
    if (bits_.flag()) set_frame_register(0);
    if (has_return_kind()) bits_.take(gc_return_kind_bits_slim);
    read_code_length();
    header_.safe_point_count = bits_.unsigned_number(form_.parts.safe_point_count);
  }

  void read_fat() {
    const std::uint32_t flags = bits_.take(gc_fat_flag_bits);
    if (!has_return_kind() && (flags & gc_flag::old) != 0)
      bits_.corrupt(fmt::format("the unknown flag {:#x}", flags & gc_flag::old));
    if (has_return_kind()) bits_.take(form_.return_kind_bits);
    read_code_length();
    header_.varargs = (flags & gc_flag::varargs) != 0;
    const bool flag_80 = (flags & gc_flag::leaf_or_tail_calls) != 0;
    (form_.parts.marks_tail_calls ? header_.has_tail_calls : header_.wants_leaf_only) = flag_80;
    const bool has_cookie = (flags & gc_flag::cookie) != 0, has_context = (flags & gc_flag::context) != 0;
    if (has_cookie || has_context) header_.prolog_end = code_offset(bits_.unsigned_number(prolog_width), 1);
    if (has_cookie) {
      const std::uint64_t epilog = code_offset(bits_.unsigned_number(epilog_width), 0);
      header_.cookie = {.valid_begin = *header_.prolog_end, .valid_end = header_.code_length - epilog};
    }
    if ((flags & gc_flag::security_object) != 0) frame_offset(header_place_width);
    if (has_cookie) header_.cookie->offset = frame_offset(header_place_width);
    if ((flags & gc_flag::psp_symbol) != 0) header_.psp_symbol = frame_offset(header_place_width);
    if (has_context) {
      constexpr GcContextKind kinds[] = {GcContextKind::method_table, GcContextKind::method_desc,
                                         GcContextKind::this_object};
      header_.context = {.kind = kinds[((flags & gc_flag::context) >> 4) - 1],
                         .place = {.offset = frame_offset(header_place_width)}};
    }
    if ((flags & gc_flag::frame_register) != 0)
      set_frame_register(bits_.unsigned_number(form_.parts.frame_register));
    if ((flags & gc_flag::enc) != 0) {
      header_.enc_bytes = bits_.unsigned_number(enc_width);
      if (form_.parts.frame_size_with_enc) header_.enc_frame_size = bits_.unsigned_number(enc_width);
    }
    if ((flags & gc_flag::reverse_pinvoke) != 0)
      header_.reverse_pinvoke = {.base = frame_base(), .offset = frame_offset(header_place_width)};
    if (header_.context) header_.context->place.base = frame_base();
    header_.outgoing_area = static_cast<std::uint64_t>(checked(bits_.unsigned_number(area_width)));
    header_.safe_point_count = bits_.unsigned_number(form_.parts.safe_point_count);
    header_.range_count = bits_.unsigned_number(ranges_width);
  }

  void read_code_length() { header_.code_length = read_gc_code_length(bits_, form_); }

  std::uint64_t code_offset(std::uint64_t value, std::uint64_t more) const {
    if (value > units() || (value + more) > units()) bits_.corrupt("a prolog or epilog beyond its code");
    return (value + more) * form_.unit;
  }

  std::int64_t frame_offset(unsigned width) const {
    const std::int64_t words = bits_.signed_number(width);
    if (words > max_gc_frame_offset / header_word || words < -max_gc_frame_offset / header_word)
      bits_.corrupt("an offset that no frame has");
    return words * header_word;
  }

  std::int64_t checked(std::uint64_t words) const {
    if (words > static_cast<std::uint64_t>(max_gc_frame_offset / header_word))
      bits_.corrupt("a size that no frame has");
    return static_cast<std::int64_t>(words) * header_word;
  }

  void set_frame_register(std::uint64_t stored) {
    const std::uint64_t number = stored ^ form_.parts.frame_register_mask;
    const auto reg = number < 32 ? dwarf_of_jit_register(cpu_, static_cast<std::uint32_t>(number))
                                 : std::optional<unsigned>();
    if (!reg) bits_.corrupt(fmt::format("the frame register {}", number));
    header_.frame_register = reg;
  }

  GcBase frame_base() const { return header_.frame_register ? GcBase::frame : GcBase::sp; }

  GcBits& bits_;
  Cpu cpu_;
  const GcInfoForm& form_;
  GcHeader header_;
};

} // namespace

std::string_view to_string(GcContextKind kind) {
  switch (kind) {
  case GcContextKind::method_table:
    return "method_table";
  case GcContextKind::method_desc:
    return "method_desc";
  case GcContextKind::this_object:
    return "this";
  }
  return "this";
}

std::string_view to_string(GcBase base) {
  switch (base) {
  case GcBase::caller_sp:
    return "caller_sp";
  case GcBase::sp:
    return "sp";
  case GcBase::frame:
    return "fp";
  }
  return "sp";
}

void require_gc_info(Cpu cpu, unsigned version) {
  const GcInfoForm& form = architecture_of(cpu).gc_info;
  if (form.kind == GcInfoForm::Kind::unknown || form.parts.safe_point_count == 0)
    throw Error(ErrorKind::unsupported_contract,
                fmt::format("the GC info of the CPU {} is not supported", to_string(cpu)));
  if (version < first_gc_version || version > last_gc_version)
    throw Error(ErrorKind::unsupported_contract, fmt::format("unsupported GC info {}", version));
}

GcHeader read_gc_header(GcBits& bits, Cpu cpu, unsigned version) {
  require_gc_info(cpu, version);
  return HeaderReader(bits, cpu, version).read();
}

} // namespace clr
