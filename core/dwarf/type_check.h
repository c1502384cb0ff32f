// Finds the types of a module, and the fields in them, that make sense. A type that contains itself or refers
// to nothing would lead a debugger astray.
#pragma once

#include "core/dwarf/debug_module.h"

#include <cstddef>
#include <vector>

namespace clr {

// A type within itself would be endless, and LLDB descends into values within values without end: what goes
// beyond these is left out.
constexpr unsigned max_value_depth = 32;                         // values within values
constexpr std::uint64_t max_value_leaves = 100'000;              // simple values in one, at any depth
constexpr std::uint64_t max_value_size = std::uint64_t{1} << 26; // bytes

class TypeCheck {
public:
  explicit TypeCheck(const DebugModule& module);

  // False: it is to be left out, with all that is of this type. No index is too large.
  bool usable(DebugTypeIndex type) const { return type < types_.size() && types_[type].usable; }
  // False for a type that has no place in a value or variable: an object, or one that is not usable.
  bool is_value(DebugTypeIndex type) const;
  // Bytes. Of an object as far as its fields go: fields of a derived class begin there.
  std::uint64_t size(DebugTypeIndex type) const { return types_[type].size; }
  // Whether a field that is not static is to be written.
  bool has_field(DebugTypeIndex type, std::size_t field) const { return types_[type].fields[field]; }

private:
  enum class State : std::uint8_t { unseen, open, done };
  struct Info {
    State state = State::unseen;
    bool usable = false;
    unsigned depth = 0;
    std::uint64_t size = 0, leaves = 1;
    std::vector<bool> fields;
  };
  void check_from(DebugTypeIndex first);
  // The types whose values are within one of `type`.
  std::vector<DebugTypeIndex> parts(DebugTypeIndex type) const;
  // Enters the size and the sense of `type`, whose parts are done.
  void finish(DebugTypeIndex type);
  void finish_record(const DebugType& type, Info& info);
  void finish_array(const DebugType& type, Info& info);
  bool is_base(const DebugType& type, const DebugField& field) const;

  const DebugModule* module_;
  std::vector<Info> types_;
};

} // namespace clr
