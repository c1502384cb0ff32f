// What stands below a managed variable when LLDB shows it: the parts of the object that it refers to, as
// values of LLDB's.
#pragma once

#include "core/objects/value_parts.h"
#include "extension/publish/value_types.h"
#include "extension/session/stop_session.h"

#include <lldb/API/LLDB.h>

#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>

namespace clr::lldb_plugin {

class ShownValues {
public:
  // `sessions` must outlive this.
  ShownValues(const lldb::SBTarget& target, StopSession& sessions)
      : target_(target), sessions_(&sessions), types_(target) {}

  // The number of parts of the object that `value` is or refers to, which is looked at anew. Nothing: it is
  // no managed object, or it cannot be read, and LLDB shows what it makes of the declared type.
  std::optional<std::uint64_t> count(lldb::SBValue& value);
  // A part of it; invalid when it has no such part.
  lldb::SBValue part(lldb::SBValue& value, std::uint64_t index);
  std::optional<std::uint64_t> find(lldb::SBValue& value, std::string_view name);
  void forget();

  static constexpr std::size_t max_kept = 1'024; // objects whose parts are kept at a stop

private:
  // Null: no managed object. The address of the object goes to `object`.
  ValueParts* parts_of(lldb::SBValue& value, bool anew);
  ObjectReader* reader();

  lldb::SBTarget target_;
  StopSession* sessions_;
  ValueTypes types_;
  std::uint32_t stop_ = 0;
  std::unordered_map<Address, ValueParts> kept_; // by object
};

} // namespace clr::lldb_plugin
