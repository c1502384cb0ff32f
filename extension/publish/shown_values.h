// What stands below a managed variable when LLDB shows it: the parts of the object that it refers to, as
// values of LLDB's.
#pragma once

#include "core/objects/value_parts.h"
#include "extension/publish/value_types.h"
#include "extension/session/stop_session.h"

#include <lldb/API/LLDB.h>

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace clr::lldb_plugin {

class ShownValues {
public:
  // `sessions` must outlive this.
  ShownValues(const lldb::SBTarget& target, StopSession& sessions)
      : target_(target), sessions_(&sessions), types_(target) {}

  // The text of a structure of the framework's (ManagedValue::described), or of a union of F#'s, that lies in
  // the process's memory; "" for others, and where it does not, or cannot be read. Cost: when its type is
  // new, that of find_type; once in a stop of a live process that of mark_of_loaded_types.
  std::string text(lldb::SBValue& value, const TextLimits& limits);

  // The number of parts of the object that `value` is or refers to, which is looked at anew. Nothing: it is
  // no managed object, or it cannot be read, and LLDB shows what it makes of the declared type.
  std::optional<std::uint64_t> count(lldb::SBValue& value);
  // A part of it; invalid when it has no such part.
  lldb::SBValue part(lldb::SBValue& value, std::uint64_t index);
  std::optional<std::uint64_t> find(lldb::SBValue& value, std::string_view name);
  void forget();

  static constexpr std::size_t max_kept = 1'024;       // objects whose parts are kept at a stop
  static constexpr std::size_t max_kept_types = 1'024; // of structures, by their names

private:
  // Null: no managed object. The address of the object goes to `object`.
  ValueParts* parts_of(lldb::SBValue& value, bool anew);
  ObjectReader* reader();
  // The structure that `raw` is: its MethodTable and its address; nothing: no such structure.
  struct Place {
    Address object = 0;
    Address method_table = 0; // 0: an object
    std::vector<NamedArgument> names = {};
    auto operator<=>(const Place&) const = default;
  };
  std::optional<Place> structure_of(lldb::SBValue& raw);
  // Forgets which structures names mean when that may be others than at the stop before.
  void renew_types(ObjectReader& objects);

  lldb::SBTarget target_;
  StopSession* sessions_;
  ValueTypes types_;
  std::uint32_t stop_ = 0;
  std::map<Place, ValueParts> kept_;
  struct KnownType {
    Address table = 0;  // 0: none that can be told from others
    bool fault = false; // it could not be read
  };
  std::unordered_map<std::string, KnownType> types_by_name_;
  std::uint32_t types_stop_ = 0; // the last one
  std::uint64_t types_mark_ = 0; // of a live process mark_of_loaded_types() at that
};

} // namespace clr::lldb_plugin
