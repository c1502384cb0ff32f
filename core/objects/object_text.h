// One answer of ObjectReader while it is built. Only for the sources of this room.
#pragma once

#include "core/objects/object_reader.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace clr {

class ObjectText {
public:
  ObjectText(ObjectReader& reader, const TextLimits& limits);

  void object(Address object);
  void value(const TypeUse& type, Address at);
  std::string take();

private:
  // A type, and the place of an instance's bytes.
  struct Instance {
    const TypeLayout& layout;
    Address fields = 0; // place of its first field
  };
  struct Place {
    const FieldLayout* field = nullptr;
    Address at = 0;
  };

  void add(std::string_view text);
  bool full() const { return text_.size() >= limits_.text; }
  // Runs `act`; a fault becomes part of the text.
  template<typename Act>
  void guarded(const Act& act);

  void tell_object(Address object);
  void tell_value(const TypeUse& type, Address at);
  void instance(const Instance& instance, Address object);
  void number(ElementType number, Address at);
  void enumeration(const TypeLayout& layout, Address at);
  void string(Address object);
  void array(const TypeLayout& layout, Address object);
  void array_items(const TypeLayout& layout, Address data, const std::vector<std::uint64_t>& lengths);
  void structure(const Instance& instance);
  void exception(const TypeLayout& layout, Address object);
  void delegate(const TypeLayout& layout, Address object);
  bool known_value(const Instance& instance);
  bool known_object(const TypeLayout& layout, Address object);
  void nullable(const Instance& instance);
  void list(const Instance& instance);
  void dictionary(const Instance& instance, bool pairs);

  // An instance field of the type or of one of its base types. Throws Error{unsupported_contract} when there
  // is none.
  Place field(const Instance& instance, std::string_view name);
  std::uint64_t integer(const Instance& instance, std::string_view name); // sign-extended
  Address reference(const Instance& instance, std::string_view name);
  std::uint64_t read_number(ElementType number, Address at);
  bool derives_from(const TypeLayout& layout, std::string_view full_name);
  std::string code_name(Address code);
  const Target& target() { return layouts_->finder().target(); }

  ObjectReader* reader_;
  TypeLayouts* layouts_;
  TextLimits limits_;
  std::string text_;
  unsigned depth_ = 0;
  std::vector<Address> path_; // objects that are being shown, from the outermost inwards
};

// "System.Collections.Generic.List`1" for a type of the core library; "" for other types.
std::string core_type_name(const TypeName& name);

} // namespace clr
