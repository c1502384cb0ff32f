#include "extension/lldb/api_lock.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

namespace clr::lldb_plugin {

namespace {
// LLDB calls on the thread that asks for the text.
thread_local const std::function<void()>* act_of_thread = nullptr;
thread_local bool act_done = false;

std::string act_instead_of_text(lldb::SBValue&) {
  if (const auto* const act = std::exchange(act_of_thread, nullptr)) {
    (*act)();
    act_done = true;
  }
  return {};
}
} // namespace

SummaryEntry ApiLock::entry() {
  return plain_summary_entry<act_instead_of_text>();
}

ApiLock::ApiLock(lldb::SBTarget target) {
  lldb::SBType pointer = target.GetBasicType(lldb::eBasicTypeVoid);
  for (auto stars = std::ranges::count(std::string_view(type), '*'); stars > 0; --stars)
    pointer = pointer.GetPointerType();
  std::uint64_t null = 0;
  lldb::SBData data =
      lldb::SBData::CreateDataFromUInt64Array(target.GetByteOrder(), target.GetAddressByteSize(), &null, 1);
  value_ = target.CreateValueFromData("lldb_clr_lock", data, pointer);
}

bool ApiLock::hold(const std::function<void()>& act) {
  act_of_thread = &act;
  act_done = false;
  value_.GetSummary();
  act_of_thread = nullptr;
  return std::exchange(act_done, false);
}

} // namespace clr::lldb_plugin
