// A condition on what an object holds, as people write it: Id=4711, Customer!=null, Place.X<=10, Kind=Blue.
#pragma once

#include "core/objects/object_path.h"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace clr {

class ObjectCondition {
public:
  // A path as follow_path takes it, one of = == != < <= > >=, and a value: a number, true or false, null, the
  // name of an enumerator, a text (in quotes where it would be read as something else), the address of an
  // object. Throws Error{invalid_argument}.
  explicit ObjectCondition(std::string_view text);

  // Whether it holds for the object at `object`. Nothing when the path leads nowhere from there, or what is
  // there cannot be compared with the value: then `why` says the reason. Numbers are compared as numbers,
  // enumerations by their numbers when the value is one, texts by their bytes; null is unequal to everything
  // but null, and neither less nor greater. Never throws for target data. Cost: that of follow_path, and up
  // to 3 reads; when the path is the name of a field, or begins with one that a type does not have,
  // follow_path once for each type. `reader` must be the same one each time.
  std::optional<bool> holds(ObjectReader& reader, Address object, std::string& why);

  // Code units of a string that are compared; what follows them does not count.
  static constexpr std::uint32_t max_compared_units = 1 << 16;
  // Bytes of the reason that is kept for a type from which the path leads nowhere.
  static constexpr std::size_t max_kept_reason = 512;

private:
  enum class Sign : std::uint8_t { equal, unequal, less, not_greater, greater, not_less };
  // Below 0, 0 or above 0 as what is there is less than, equal to or greater than the value.
  using Order = std::optional<int>;

  // Where in the objects of a type a field lies.
  struct FieldPlace {
    TypeUsePtr type;
    std::uint64_t offset = 0; // from the object
  };

  const std::string& why_nowhere(ObjectReader& reader, Address object);
  ValuePlace find_place(ObjectReader& reader, Address object);
  bool fits(Order order) const;
  Order compare(ObjectReader& reader, const TypeUse& type, Address at) const;
  Order compare_object(ObjectReader& reader, Address object) const;
  template<typename Number>
  Order compare_number(Number number) const;
  Order compare_text(std::string_view text) const;

  std::string path_, value_;
  std::string first_; // the name with which the path begins; empty: it begins with something else
  Sign sign_ = Sign::equal;
  bool quoted_ = false;                              // the value is a text, whatever it looks like
  bool one_field_ = false;                           // the path is a name, and no more
  std::unordered_map<Address, FieldPlace> fields_;   // with one_field_, by the type of the object
  std::unordered_map<Address, std::string> nowhere_; // why_nowhere, by the type of the object
};

// Several conditions, all of which must hold.
class ObjectConditions {
public:
  // None: every object fits. Throws as ObjectCondition does.
  explicit ObjectConditions(std::span<const std::string> texts);

  // An object of which one cannot be told does not fit. As ObjectCondition::holds.
  bool hold(ObjectReader& reader, Address object);

  // "3 of 10 objects could not be compared: WHY" of those that hold() was asked for; empty when all could.
  std::string problem() const;

private:
  std::vector<ObjectCondition> conditions_;
  std::uint64_t asked_ = 0, untold_ = 0;
  std::string why_; // of the last one
};

} // namespace clr
