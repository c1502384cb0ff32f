// LLDB's types for values that no variable has: of objects behind an interface, elements, items. They stand
// in modules that no target has, so that nothing that LLDB keeps of a process changes while it prints values.
#pragma once

#include "core/objects/type_layout.h"

#include <lldb/API/LLDB.h>

#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace clr::lldb_plugin {

class ValueTypes {
public:
  explicit ValueTypes(lldb::SBTarget target) : target_(std::move(target)) {}

  // Makes those of `uses` that are not known yet, in one module. Throws Error as load_module does. Cost: some
  // milliseconds when one is new, else none.
  void prepare(TypeLayouts& layouts, std::span<const TypeUsePtr> uses);
  // The type of values of this use, which was prepared; invalid: it cannot be described.
  lldb::SBType find(const TypeUse& use) const;
  void forget();

  // Beyond it all are made anew; values that LLDB still has of the old ones are no longer valid.
  static constexpr std::size_t max_modules = 10'000;

private:
  lldb::SBTarget target_;
  std::unordered_map<std::string, lldb::SBType> known_; // by the identity of the use
  std::vector<lldb::SBModule> modules_;
};

} // namespace clr::lldb_plugin
