// Describes the types of managed code for a debugger, each once per module and only as far as variables need
// them.
#pragma once

#include "core/describe/omissions.h"
#include "core/dwarf/debug_module.h"
#include "core/objects/type_layout.h"

#include <deque>
#include <functional>
#include <string>
#include <unordered_map>

namespace clr {

class DebugTypes {
public:
  // Of one module; beyond it, references lead to a plain object. `embedded`: with the value types that
  // complete ones need.
  static constexpr std::size_t max_types = 4'000, max_embedded = 8'000;
  struct Limits {
    std::size_t types = max_types, embedded = max_embedded;
  };
  // The same of a module that describes all types of a program.
  static constexpr std::size_t max_all_types = 100'000, max_all_embedded = 120'000;
  static constexpr Limits of_all_types{.types = max_all_types, .embedded = max_all_embedded};

  // `types` are those of the module; types and members that are missing go to `omissions`. All of these must
  // outlive this. `is_users(Module)`: code that somebody debugs, whose types are shown however far away they
  // are; those of other modules only near a variable. No reads.
  DebugTypes(TypeLayouts& layouts, std::vector<DebugType>& types, Omissions& omissions,
             std::function<bool(Address)> is_users, const Limits& limits);
  DebugTypes(TypeLayouts& layouts, std::vector<DebugType>& types, Omissions& omissions,
             std::function<bool(Address)> is_users)
      : DebugTypes(layouts, types, omissions, std::move(is_users), Limits{}) {}

  // The type of a variable that is used so. Fields follow with complete(). no_debug_type: nothing (void), or
  // the limit of types is reached. A type that cannot be read is opaque, or an object with a name; no Error
  // leaves.
  DebugTypeIndex of(const TypeUse& type) { return of(type, 0); }
  // The same, but of what it refers to only the name is described.
  DebugTypeIndex of_part(const TypeUse& type) { return of(type, max_distance + 1); }
  // Fills in the types that of() promised and those that they need. No Error leaves. Cost: that of
  // TypeLayouts::of for each type that is new.
  void complete();

  static constexpr unsigned max_distance = 2;      // references from a variable to another module's type
  static constexpr std::size_t max_fields = 4'096; // shown of one type
  static constexpr std::size_t max_all_fields = 500'000; // of one module
  static constexpr std::size_t max_name = 1'024;         // bytes of a type's name
  static constexpr unsigned max_nesting = 64;            // values in values

private:
  struct Pending {
    DebugTypeIndex index;
    Address method_table;
    unsigned distance;  // references between a variable and this type
    bool named = false; // one of several types of the source's that are one of the runtime's
  };
  struct Known {
    DebugTypeIndex index = no_debug_type;
    unsigned distance = 0;
    bool expanded = false;
  };
  DebugTypeIndex of(const TypeUse& type, unsigned distance);
  DebugTypeIndex number(ElementType number);
  DebugTypeIndex value(const TypeUse& type, unsigned distance);
  DebugTypeIndex object(Address method_table, unsigned distance);
  DebugTypeIndex object_with_names(const TypeUse& type, unsigned distance);
  DebugTypeIndex array_object(const TypeUse& type, unsigned distance);
  DebugTypeIndex named_object(const std::string& name);
  DebugTypeIndex plain_object();
  DebugTypeIndex to(DebugType::Kind kind, DebugTypeIndex element);
  DebugTypeIndex add(DebugType type);
  void expand(const Pending& pending);
  void add_fields(DebugType& type, const TypeLayout& layout, unsigned distance);
  bool add_elements(DebugType& type, const TypeUse& use, unsigned distance);
  std::string name_of(const TypeName& name) const;
  void omit(OmittedPart part, OmissionCause cause, const std::string& of, std::string text);
  // True, and told, when `limit` types are reached: `name` is not described.
  bool is_full(std::size_t limit, const std::string& name);

  TypeLayouts* layouts_;
  std::vector<DebugType>* module_types_;
  Omissions* omissions_;
  std::function<bool(Address)> is_users_;
  Limits limits_;
  std::size_t all_fields_ = 0;
  std::unordered_map<Address, Known> by_table_;
  std::unordered_map<std::string, DebugTypeIndex> by_name_;
  std::unordered_map<std::uint64_t, DebugTypeIndex> indirect_; // by kind and element
  std::deque<Pending> pending_;
  DebugTypeIndex plain_object_ = no_debug_type;
  unsigned nesting_ = 0;
};

} // namespace clr
