#include "core/execution/runtime_functions.h"

#include <fmt/format.h>

#include <algorithm>

namespace clr {
namespace {

// The header of UnwindDataForm::Kind::words.
struct XdataHeader {
  std::uint32_t code_words = 0;
  std::uint32_t epilogs = 0;
  std::uint64_t size = 4; // of the header words and epilog scopes
};

XdataHeader read_xdata_header(const Target& target, const UnwindDataForm& form, Address address) {
  const std::uint32_t word = target.read_u32(address);
  XdataHeader header{.code_words = word >> form.code_words_bit, .epilogs = word >> form.epilogs_bit & 31};
  const bool extended = header.code_words == 0 && (header.epilogs == 0 || form.extended_without_code_words);
  if (extended) {
    const std::uint32_t extension = target.read_u32(address + 4);
    header.code_words = extension >> 16 & 0xFF;
    header.epilogs = extension & 0xFFFF;
    header.size = 8;
  }
  // With the E bit, a single epilog is described in the header itself. Its count is then an index into the
  // codes, and there are no scopes.
  const bool single_epilog = (word >> 21 & 1) != 0;
  if (!single_epilog) header.size += 4 * std::uint64_t{header.epilogs};
  return header;
}

constexpr std::uint8_t end_c = 0xE5;

} // namespace

RuntimeFunctions::RuntimeFunctions(const Target& target)
    : target_(&target), stride_(target.size_of("RuntimeFunction")),
      begin_(static_cast<Address>(target.offset("RuntimeFunction", "BeginAddress"))),
      unwind_data_(static_cast<Address>(target.offset("RuntimeFunction", "UnwindData"))),
      architecture_(&architecture_of(target.platform().cpu)),
      address_bits_(~static_cast<std::uint32_t>(architecture_->code_pointer_mark)) {
  if (const auto end = target.find_offset("RuntimeFunction", "EndAddress")) end_ = static_cast<Address>(*end);
  constexpr std::uint64_t max_stride = 64;
  const std::uint64_t last = std::max({begin_, unwind_data_, end_.value_or(0)});
  if (stride_ > max_stride || last > max_stride || last + sizeof(std::uint32_t) > stride_)
    throw Error(ErrorKind::unsupported_contract, fmt::format("RuntimeFunction of {} bytes", stride_));
  const auto apart = [](Address a, Address b) {
    return std::max(a, b) - std::min(a, b) >= sizeof(std::uint32_t);
  };
  if (!apart(begin_, unwind_data_) || (end_ && (!apart(begin_, *end_) || !apart(*end_, unwind_data_))))
    throw Error(ErrorKind::unsupported_contract, "RuntimeFunction whose fields overlap");
}

std::uint32_t RuntimeFunctions::begin(Address table, std::uint32_t index) const {
  return target_->read_u32(entry(table, index) + begin_) & address_bits_;
}

std::uint32_t RuntimeFunctions::unwind_data(Address table, std::uint32_t index) const {
  return target_->read_u32(entry(table, index) + unwind_data_);
}

RuntimeFunctions::Extent RuntimeFunctions::extent(std::span<const std::byte> record) const {
  const auto word = [&](Address field) {
    return load<std::uint32_t>(record.subspan(static_cast<std::size_t>(field)),
                               target_->platform().byte_order);
  };
  return {word(begin_) & address_bits_, end_ ? word(*end_) : 0, word(unwind_data_)};
}

RuntimeFunctions::Extent RuntimeFunctions::at(Address table, std::uint32_t index) const {
  Extent result;
  for_each(table, index, 1, [&](const Extent& function) { result = function; });
  return result;
}

std::vector<std::uint32_t> RuntimeFunctions::begins(Address table, std::uint32_t first,
                                                    std::uint32_t count) const {
  std::vector<std::uint32_t> result;
  result.reserve(count);
  for_each(table, first, count, [&](const Extent& function) { result.push_back(function.begin); });
  return result;
}

std::vector<RuntimeFunctions::Extent> RuntimeFunctions::extents(Address table, std::uint32_t first,
                                                                std::uint32_t count) const {
  std::vector<Extent> result;
  result.reserve(count);
  for_each(table, first, count, [&](const Extent& function) { result.push_back(function); });
  return result;
}

std::optional<std::uint32_t> RuntimeFunctions::find(Address table, std::uint32_t count,
                                                    std::uint32_t rva) const {
  if (count == 0) return std::nullopt;
  const auto [low, high] = narrow_search(0, count - 1, rva, [&](std::uint32_t i) { return begin(table, i); });
  const std::vector<std::uint32_t> candidates = begins(table, low, high - low + 1);
  for (std::uint32_t i = high;; --i) {
    if (candidates[i - low] <= rva) return i;
    if (i == low) return std::nullopt;
  }
}

std::uint64_t RuntimeFunctions::length(const Extent& function, Address entry, Address image_base) const {
  if (end_) {
    if (function.end <= function.begin)
      throw_corrupt(entry, fmt::format("runtime function from {:#x} to {:#x}", function.begin, function.end));
    return function.end - function.begin;
  }
  if (form().entry_has_end) target_->offset("RuntimeFunction", "EndAddress"); // throws, and names it
  const Address data = image_base + function.unwind_data;
  if (const auto length = target_->find_offset("UnwindInfo", "FunctionLength");
      length || form().kind == UnwindDataForm::Kind::length)
    return target_->read_u32(data + static_cast<Address>(length.value_or(0)));
  return std::uint64_t{target_->read_u32(data) & 0x3FFFFu} * (target_->pointer_size() / 2);
}

std::uint64_t RuntimeFunctions::unwind_data_size(Address address) const {
  switch (form().kind) {
  case UnwindDataForm::Kind::codes: {
    const auto count_offset = target_->find_offset("UnwindInfo", "CountOfUnwindCodes").value_or(2);
    const std::uint64_t codes = target_->read_u8(address + static_cast<Address>(count_offset));
    // Header, codes, and the RVA of the personality routine, which is always there; rounded up to a multiple
    // of 4.
    return (4 + 2 * codes + 4 + 3) / 4 * 4;
  }
  case UnwindDataForm::Kind::length:
    return 4;
  case UnwindDataForm::Kind::words: {
    const XdataHeader header = read_xdata_header(*target_, form(), address);
    return header.size + 4 * std::uint64_t{header.code_words} + 4;
  }
  case UnwindDataForm::Kind::unknown:
    break;
  }
  throw Error(ErrorKind::unsupported_contract, fmt::format("the unwind data of the CPU {} is not supported",
                                                           to_string(target_->platform().cpu)));
}

bool RuntimeFunctions::is_fragment(Address table, std::uint32_t index, Address image_base) const {
  if (form().kind != UnwindDataForm::Kind::words) return false; // one record holds any function
  const Address data = image_base + unwind_data(table, index);
  if (form().fragment_bit) return (target_->read_u32(data) >> *form().fragment_bit & 1) != 0;
  return target_->read_u8(data + read_xdata_header(*target_, form(), data).size) == end_c;
}

} // namespace clr
