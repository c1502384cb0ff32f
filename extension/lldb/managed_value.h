// Which of LLDB's values are managed objects. Their types are those of the modules that the publisher adds.
#pragma once

#include "core/memory/platform.h"

#include <lldb/API/LLDB.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>

namespace clr::lldb_plugin {

// The category of the plugin's formatters, which LLDB keeps for all its debuggers.
inline constexpr const char* value_category = "clr";
// The names of managed types but for those of numbers, as regular expressions. No name of C++ has a dot.
inline constexpr const char* managed_types[] = {R"(^[A-Za-z_$@][A-Za-z0-9_$@]*\.[^:()*&]*$)",
                                                R"(^[^:()*&]+\[,*\]$)"};
// What stands below values of these types.
inline constexpr const char* parts_category = "clr-parts";
// Types without a namespace may be called as those of C++ are, and a formatter changes how LLDB lays out even
// what it has nothing to say of: their category is on once managed code was seen.
inline constexpr const char* plain_category = "clr-plain";
inline constexpr const char* plain_types[] = {
    R"(^([A-Z][A-Za-z0-9_]*(<[^:()*&]*>)?|(<>f__|VB\$)AnonymousType[^:()*&]*)$)"};
// Those that LLDB asks Python for.
inline constexpr const char* asked_categories[] = {parts_category, plain_category};

// A pointer or a reference of C++'s.
bool is_indirect(lldb::SBType type);

// The object that a managed variable, field or element is or points to; nothing when it is a value, or when
// LLDB cannot read it. `value` must be the raw one: what formatters made of it does not lie in memory.
std::optional<Address> object_of(lldb::SBValue& value);

// The types that were seen last, in any order: comparing two takes LLDB less than naming one.
class RecentTypes {
public:
  bool has(lldb::SBType& type);
  void add(const lldb::SBType& type);

private:
  std::array<lldb::SBType, 4> types_;
  std::size_t next_ = 0; // the place that the next one takes
};

// Types of references to objects, which object_of() has met: it asks LLDB ten questions of each value, and a
// stack shows the same types thousands of times.
class ReferenceTypes {
public:
  // The object that the raw `value` refers to, when its type was met before; `recent` are such types.
  std::optional<Address> object_of(lldb::SBValue& value, RecentTypes& recent);
  // The value is of a type that object_of() has taken for a reference, if it is indirect.
  void met(lldb::SBValue& value);

  static constexpr std::size_t max_kept = 1'024; // types

private:
  // By the name as LLDB keeps it, once for all: another module may have another type of this name.
  std::unordered_map<const void*, lldb::SBType> types_;
};

// What LLDB's members tell too little of: the framework's structures whose text is made of the runtime's
// memory, by the names of their types.
enum class ManagedValue : std::uint8_t { other, tuple, pair, described };
ManagedValue kind_of_value(std::string_view type_name);
// The index of the element `name` ("Item2") of a tuple whose elements have names.
std::optional<std::uint32_t> tuple_index(std::string_view name);

// A base class within an object, which LLDB calls by its type.
bool is_base_part(lldb::SBValue& value);

} // namespace clr::lldb_plugin
