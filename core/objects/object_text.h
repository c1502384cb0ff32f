// One answer of ObjectReader while it is built. Only for the sources of this room.
#pragma once

#include "core/objects/instance_reader.h"

#include <algorithm>
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
  void add(std::string_view text);
  bool full() const { return text_.size() >= limits_.text; }
  // Of collections, and of what is as long: so much may yet be looked at for this text.
  std::uint64_t steps_left() const { return steps_ - std::min(steps_, looked_at_); }
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
  // The only field of a structure that is there several times.
  void repeated(const Instance& instance);
  // What people ask of it: a lazy value, the target of a weak reference, bits. False: it is none of these.
  bool held(const std::string& name, const Instance& instance);
  void bits(const Instance& instance);
  bool known_value(const Instance& instance);
  bool known_object(const TypeLayout& layout, Address object);
  bool collection(const Instance& instance);
  // A value of a union of F#'s: "Circle(1.5)". False: it is none.
  bool union_value(const Instance& instance);
  void nullable(const Instance& instance);
  void tuple(const Instance& instance);
  void memory(const Instance& instance);
  void span(const Instance& instance);
  void characters(Address at, std::uint64_t units);
  void items(const TypeUse& element, std::uint32_t stride, Address data, std::uint64_t count);
  void token(const Instance& instance);
  void task(const TypeLayout& layout, const Instance& instance);
  void builder(const Instance& instance);
  void version(const Instance& instance);
  std::string big_integer(const Instance& instance);
  Address first_exception(const Instance& instance);
  bool text_field(const Instance& instance, std::string_view name);

  std::string code_name(Address code);
  std::string delegate_target(const Instance& instance);
  const Target& target() { return layouts_->finder().target(); }

  ObjectReader* reader_;
  TypeLayouts* layouts_;
  InstanceReader instances_;
  TextLimits limits_;
  std::uint64_t steps_, looked_at_ = 0;
  std::string text_;
  unsigned depth_ = 0, nesting_ = 0;
  std::vector<Address> path_; // objects that are being shown, from the outermost inwards
};

} // namespace clr
