// Types of the framework's own library (System.Private.CoreLib) by their names, for their static fields.
#pragma once

#include "core/objects/object_reader.h"

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace clr {

class CoreLibrary {
public:
  // `objects` must outlive this. No reads.
  explicit CoreLibrary(ObjectReader& objects) : objects_(&objects) {}

  // The MethodTable of a type that is not generic: "System.Threading.ThreadBlockingInfo"; 0: there is no such
  // type, or it is not loaded. Throws Error for missing memory. Kept. Cost: the first time the names of all
  // types of the library; 2 reads for each type.
  Address find(std::string_view name);

  // The same of another library of the framework, `module` being its Module.
  Address find_in(Address module, std::string_view name);

  // The address of a thread's own static field. Nothing: there is no such type or field, or the thread has
  // not used it. Throws as thread_static_address does. Cost: that of find() and thread_static_address.
  std::optional<Address> thread_static(std::string_view type, std::string_view field, Address thread);
  // The same of the MethodTable of a type.
  std::optional<Address> thread_static(Address table, std::string_view field, Address thread);

  // The address of a static field of a type that is not generic. Nothing: there is no such type or field, or
  // its statics do not exist yet. Throws as find(). Cost: that of find() and TypeLayouts::of.
  std::optional<Address> static_field(std::string_view type, std::string_view field);
  // The reference in such a field; 0 for null, and for a field that is not there. 1 read more.
  Address static_reference(std::string_view type, std::string_view field);

private:
  using Tokens = std::unordered_map<std::string, std::uint32_t>; // by name
  const Tokens& tokens_of(Address module);

  ObjectReader* objects_;
  Address module_ = 0;
  std::unordered_map<Address, Tokens> tokens_; // by Module
};

} // namespace clr
