#include "core/dwarf/entries.h"

#include <dwarf.h>

namespace clr {
namespace {

constexpr unsigned info_version = 4;

// How the string of a value comes into .debug_str.
enum : std::uint64_t { shared, unique, same_as_last };

} // namespace

Die::Die(unsigned tag, bool children)
    : key_{static_cast<char16_t>(tag), static_cast<char16_t>(children ? DW_CHILDREN_yes : DW_CHILDREN_no)} {
  values_.reserve(8);
}

Die& Die::add(unsigned attribute, const Value& value) {
  key_.push_back(static_cast<char16_t>(attribute));
  key_.push_back(static_cast<char16_t>(value.form));
  values_.push_back(value);
  return *this;
}

Die& Die::address(unsigned attribute, Address value) {
  return add(attribute, {.form = DW_FORM_addr, .number = value});
}

Die& Die::number(unsigned attribute, std::uint64_t value) {
  return add(attribute, {.form = DW_FORM_udata, .number = value});
}

Die& Die::signed_number(unsigned attribute, std::int64_t value) {
  return add(attribute, {.form = DW_FORM_sdata, .number = static_cast<std::uint64_t>(value)});
}

Die& Die::string(unsigned attribute, std::string_view value) {
  return value.empty() ? *this : add(attribute, {.form = DW_FORM_strp, .text = value});
}

Die& Die::unique_string(unsigned attribute, std::string_view value) {
  return value.empty() ? *this : add(attribute, {.form = DW_FORM_strp, .number = unique, .text = value});
}

Die& Die::same_string(unsigned attribute) {
  return add(attribute, {.form = DW_FORM_strp, .number = same_as_last});
}

Die& Die::section(unsigned attribute, std::uint64_t offset) {
  return add(attribute, {.form = DW_FORM_sec_offset, .number = offset});
}

Die& Die::expression(unsigned attribute, std::span<const std::byte> value) {
  return add(attribute, {.form = DW_FORM_exprloc, .bytes = value});
}

Die& Die::flag(unsigned attribute) {
  return add(attribute, {.form = DW_FORM_flag_present});
}

Die& Die::reference(unsigned attribute, std::uint64_t offset) {
  return add(attribute, {.form = DW_FORM_ref_addr, .number = offset});
}

void DwarfEntries::begin_unit() {
  unit_ = info_.begin_unit();
  info_.u16(info_version);
  info_.u32(0); // of the abbreviations: all units share them
  info_.u8(info_.word_size());
}

void DwarfEntries::end_unit() {
  info_.end_unit(unit_);
}

std::uint32_t DwarfEntries::abbreviation(const std::u16string& key) {
  const auto [it, fresh] = codes_.try_emplace(key, static_cast<std::uint32_t>(codes_.size() + 1));
  if (fresh) {
    abbreviations_.uleb(it->second);
    abbreviations_.uleb(key[0]);
    abbreviations_.u8(key[1]);
    for (std::size_t i = 2; i < key.size(); ++i) abbreviations_.uleb(key[i]);
    abbreviations_.u16(0); // no attribute, no form
  }
  return it->second;
}

std::size_t DwarfEntries::write(const Die& die) {
  const std::size_t offset = info_.size();
  info_.uleb(abbreviation(die.key_));
  std::uint32_t string = 0; // the last one's place
  for (const Die::Value& value : die.values_) {
    switch (value.form) {
    case DW_FORM_addr:
      info_.word(value.number);
      break;
    case DW_FORM_udata:
      info_.uleb(value.number);
      break;
    case DW_FORM_sdata:
      info_.sleb(static_cast<std::int64_t>(value.number));
      break;
    case DW_FORM_strp:
      if (value.number != same_as_last)
        string = value.number == unique ? strings_.append(value.text) : strings_.add(value.text);
      info_.u32(string);
      break;
    case DW_FORM_exprloc:
      info_.block(value.bytes);
      break;
    case DW_FORM_flag_present:
      break;
    default: // offsets
      info_.u32(value.number);
    }
  }
  return offset;
}

void DwarfEntries::write_function(std::uint32_t name, Address start, std::uint32_t size) {
  if (function_ == 0)
    function_ = abbreviation({DW_TAG_subprogram, DW_CHILDREN_no, DW_AT_name, DW_FORM_strp, DW_AT_low_pc,
                              DW_FORM_addr, DW_AT_high_pc, DW_FORM_udata});
  info_.uleb(function_);
  info_.u32(name);
  info_.word(start);
  info_.uleb(size);
}

DwarfBytes DwarfEntries::abbreviations() const {
  DwarfBytes all = abbreviations_;
  all.u8(0);
  return all;
}

} // namespace clr
