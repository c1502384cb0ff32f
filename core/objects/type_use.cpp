#include "core/objects/type_use.h"

#include <array>
#include <utility>

namespace clr {

std::uint32_t size_of_number(ElementType number, unsigned pointer_size) {
  switch (number) {
  case ElementType::boolean:
  case ElementType::i1:
  case ElementType::u1:
    return 1;
  case ElementType::char_:
  case ElementType::i2:
  case ElementType::u2:
    return 2;
  case ElementType::i4:
  case ElementType::u4:
  case ElementType::r4:
    return 4;
  case ElementType::i8:
  case ElementType::u8:
  case ElementType::r8:
    return 8;
  case ElementType::native_int:
  case ElementType::native_uint:
    return pointer_size;
  default:
    return 0;
  }
}

bool is_signed_number(ElementType number) {
  return number == ElementType::i1 || number == ElementType::i2 || number == ElementType::i4 ||
         number == ElementType::i8 || number == ElementType::native_int;
}

TypeUsePtr number_use(ElementType number) {
  static const auto uses = [] {
    std::array<TypeUsePtr, 0x20> made;
    for (std::size_t i = 0; i < made.size(); ++i) {
      TypeUse use;
      use.number = static_cast<ElementType>(i);
      use.kind = use.number == ElementType::void_     ? TypeUse::Kind::nothing
                 : size_of_number(use.number, 8) != 0 ? TypeUse::Kind::number
                                                      : TypeUse::Kind::unknown;
      use.name = primitive_type(use.number);
      made[i] = std::make_shared<const TypeUse>(std::move(use));
    }
    return made;
  }();
  const auto index = static_cast<std::size_t>(number);
  return index < uses.size() ? uses[index] : unknown_use();
}

TypeUsePtr unknown_use(TypeNamePtr name) {
  TypeUse use;
  use.name = name ? std::move(name) : unknown_type();
  return std::make_shared<const TypeUse>(std::move(use));
}

} // namespace clr
