// The types that expressions name. Before a command those that it names are described: most are never named.
// Who drives LLDB by its API evaluates expressions without a command, and is given all that are loaded.
#pragma once

#include "core/describe/named_types.h"
#include "extension/session/stop_session.h"

#include <lldb/API/LLDB.h>

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace clr::lldb_plugin {

class NamedTypes {
public:
  // `sessions` must outlive this.
  NamedTypes(const lldb::SBTarget& target, StopSession& sessions) : target_(target), sessions_(&sessions) {}

  // Gives LLDB the types, and those whose static fields, the expression `text` names; names that begin with a
  // variable of the selected frame are no types. One module holds them, so what a later expression names with
  // dots takes the place of what an earlier one named with colons. Throws Error for a fault of the target.
  // Cost: nothing without such a name; with one that is new at this stop that of core's find_spelled.
  void before_expression(std::string_view text);
  // Gives LLDB every type that the program has loaded at this stop, by its name with colons, in the place of
  // those that were named; not in LLDB 14 and 15. Never throws for target data. Cost: nothing twice at a
  // stop; when no type was loaded since the last time, that of mark_of_loaded_types; else 20 microseconds for
  // each type.
  void publish_loaded();
  // What publish_loaded() could not describe: of these LLDB says that it does not know the name.
  const Omissions& missing() const { return missing_; }
  void withdraw();

  static constexpr std::size_t max_named = 1'000; // types that are kept described

private:
  std::map<std::string, Address> find(ObjectReader& objects, const std::set<std::string>& wanted);
  void describe_loaded();
  void add(DebugModule described);
  bool is_published();
  void make_room();

  lldb::SBTarget target_;
  StopSession* sessions_;
  std::uint32_t stop_ = 0;
  std::map<std::string, Address> known_; // at this stop, by their names with dots; 0: no such type
  lldb::SBModule module_;                // that LLDB has
  std::set<std::string> described_;      // in it
  bool colons_ = false;
  // Set while the module holds all that are loaded: their mark; described_ has their names.
  std::optional<std::uint64_t> loaded_;
  std::uint32_t loaded_stop_ = 0; // at which that was looked at last
  Omissions missing_;
};

} // namespace clr::lldb_plugin
