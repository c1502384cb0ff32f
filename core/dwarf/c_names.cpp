#include "core/dwarf/c_names.h"

#include <cstdint>

namespace clr {

std::string_view name_in_c(const DebugType& type) {
  using Kind = DebugType::Kind;
  struct Number {
    Kind kind;
    std::uint32_t size;
    std::string_view name;
  };
  static constexpr Number numbers[] = {{Kind::signed_integer, 1, "signed char"},
                                       {Kind::signed_integer, 2, "short"},
                                       {Kind::signed_integer, 4, "int"},
                                       {Kind::signed_integer, 8, "long"},
                                       {Kind::signed_integer, 16, "__int128"},
                                       {Kind::unsigned_integer, 1, "unsigned char"},
                                       {Kind::unsigned_integer, 2, "unsigned short"},
                                       {Kind::unsigned_integer, 4, "unsigned int"},
                                       {Kind::unsigned_integer, 8, "unsigned long"},
                                       {Kind::unsigned_integer, 16, "unsigned __int128"}};
  for (const Number& number : numbers)
    if (number.kind == type.kind && number.size == type.size) return number.name;
  return type.name;
}

std::string c_identifier(std::string name) {
  for (char& c : name) {
    const auto byte = static_cast<unsigned char>(c);
    const bool letter = (byte | 0x20) >= 'a' && (byte | 0x20) <= 'z';
    if (!letter && !(byte >= '0' && byte <= '9') && byte < 0x80) c = '_';
  }
  return name;
}

} // namespace clr
