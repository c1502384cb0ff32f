// Debugging information entries and their abbreviations: .debug_info, .debug_abbrev, .debug_str.
// Source: DWARF 4 sections 2 and 7.5.
#pragma once

#include "core/dwarf/bytes.h"
#include "core/dwarf/string_section.h"

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace clr {

// An entry that is being put together: attributes in the order in which they are added.
class Die {
public:
  explicit Die(unsigned tag, bool children = false);

  Die& address(unsigned attribute, Address value);
  Die& number(unsigned attribute, std::uint64_t value);
  Die& signed_number(unsigned attribute, std::int64_t value);
  // Into .debug_str, and nothing when `value` is empty.
  Die& string(unsigned attribute, std::string_view value);
  // The same for one that is hardly ever equal to another.
  Die& unique_string(unsigned attribute, std::string_view value);
  // The string that was added last, as the value of another attribute. There must be one.
  Die& same_string(unsigned attribute);
  // An offset into another section.
  Die& section(unsigned attribute, std::uint64_t offset);
  Die& expression(unsigned attribute, std::span<const std::byte> value);
  Die& flag(unsigned attribute);
  // To an entry of any unit. With `later` the reference is to be patched.
  Die& reference(unsigned attribute, std::uint64_t offset);
  static constexpr std::uint64_t later = 0;

private:
  friend class DwarfEntries;
  struct Value {
    std::uint16_t form = 0;
    std::uint64_t number = 0; // of a string: how it is kept
    std::string_view text;
    std::span<const std::byte> bytes;
  };
  Die& add(unsigned attribute, const Value& value);

  std::u16string key_; // of the abbreviation: tag, children, then attribute and form of each value
  std::vector<Value> values_;
};

class DwarfEntries {
public:
  explicit DwarfEntries(const Platform& platform) : info_(platform), abbreviations_(platform) {}

  // The header of a unit; entries follow, the first being the unit's.
  void begin_unit();
  void end_unit();
  // Writes an entry; its offset. An entry with children is followed by them and by end_children().
  std::size_t write(const Die& die);
  void end_children() { info_.u8(0); }
  // Writes a function that has a name and a range and nothing else, as tens of thousands of entries are.
  // `name` comes from append_string().
  void write_function(std::uint32_t name, Address start, std::uint32_t size);
  // Where `text`, which must outlive this and is hardly ever equal to another, is in .debug_str; 0: no room.
  std::uint32_t append_string(std::string_view text) { return strings_.append_or_share(text); }
  // Room for calls of write_function(), and for strings that will be appended, in bytes.
  void reserve_functions(std::size_t count) { info_.reserve(info_.size() + count * bytes_of_function); }
  void reserve_strings(std::size_t size) { strings_.reserve(strings_.bytes().size() + size); }
  // The place of the value that was written last, a reference, and what makes it refer to `offset`.
  std::size_t last_reference() const { return info_.size() - 4; }
  void patch_reference(std::size_t place, std::uint64_t offset) { info_.patch_u32(place, offset); }
  bool full() const { return info_.size() > max_debug_section; }

  const DwarfBytes& info() const { return info_; }
  const StringSection& strings() const { return strings_; }
  // Complete: call it last.
  DwarfBytes abbreviations() const;

private:
  // Abbreviation, name, start, size: a little more than most have.
  static constexpr std::size_t bytes_of_function = 1 + 4 + 8 + 2;

  std::uint32_t abbreviation(const std::u16string& key);

  DwarfBytes info_, abbreviations_;
  StringSection strings_;
  std::unordered_map<std::u16string, std::uint32_t> codes_;
  std::size_t unit_ = 0;
  std::uint32_t function_ = 0; // abbreviation of write_function(); 0: none yet
};

} // namespace clr
