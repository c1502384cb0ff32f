#include "extension/breakpoints/notification_watch.h"

#include "core/types/type_names.h"

#include <algorithm>

namespace clr::lldb_plugin {

bool NotificationWatch::arm(Runtime& runtime, std::span<const BreakpointWish> wishes) {
  if (runtime.absence() != nullptr || wishes.empty()) return false;
  if (!places_) places_ = find_code_notifications(runtime);
  if (!places_) return false;
  if (!std::ranges::equal(wishes_, wishes)) {
    wishes_.assign(wishes.begin(), wishes.end());
    forget();
  }
  if (unable_) return false;
  const std::vector<Address>& modules = runtime.names()->module_addresses();
  forget_unloaded(modules);
  bool precompiled = false;
  for (const Address module : modules) {
    const bool known = methods_.contains(module);
    if (!look(runtime, module)) {
      give_up(runtime);
      return false;
    }
    if (!known && !methods_[module].empty())
      precompiled = precompiled || runtime.names()->named_modules().at(module).module.r2r_info != 0;
  }
  armed_ = tell_runtime(runtime);
  if (!armed_) give_up(runtime);
  return armed_ && precompiled;
}

// False when the methods that are wanted of the module are not known.
bool NotificationWatch::look(Runtime& runtime, Address module) {
  if (methods_.contains(module)) return true;
  const auto tokens = wanted_methods(runtime, wishes_, module);
  if (tokens) methods_[module] = *tokens;
  return tokens.has_value();
}

// A list that was read before a module was heard of does not have it.
void NotificationWatch::forget_unloaded(std::span<const Address> modules) {
  const std::set<Address> there(modules.begin(), modules.end());
  std::erase_if(unlisted_, [&](Address module) { return there.contains(module); });
  std::erase_if(methods_, [&](const auto& entry) {
    return !there.contains(entry.first) && !unlisted_.contains(entry.first);
  });
}

std::vector<MethodKey> NotificationWatch::wanted() const {
  std::vector<MethodKey> all;
  for (const auto& [module, tokens] : methods_)
    for (const std::uint32_t token : tokens) all.push_back({module, token});
  return all;
}

// False when it cannot tell of so many, or no place can be planted.
bool NotificationWatch::tell_runtime(Runtime& runtime) {
  const std::vector<MethodKey> methods = wanted();
  if (methods.size() > max_notified_methods) return false;
  if (throw_place_ == 0) {
    const Address at = client_.throw_place();
    if (at == 0) return false;
    throw_place_ = plants_->plant(at);
    if (throw_place_ == 0) return false;
    planted_.insert(at);
  }
  plants_->enable(throw_place_, true);
  if (armed_ && methods == told_) return true;
  for (const TargetWrite& each : notify_of(*runtime.target(), *places_, methods))
    if (!client_.write(each.address, each.bytes)) return false;
  told_ = methods;
  return true;
}

void NotificationWatch::give_up(Runtime& runtime) {
  unable_ = true;
  disarm(runtime);
}

void NotificationWatch::disarm(Runtime& runtime) {
  if (throw_place_ != 0) plants_->enable(throw_place_, false);
  if (!armed_) return;
  armed_ = false;
  told_.clear();
  forget_methods(); // nobody tells now of modules that come and go
  if (runtime.absence() != nullptr) return;
  for (const TargetWrite& each : notify_of(*runtime.target(), *places_, {}))
    client_.write(each.address, each.bytes);
}

bool NotificationWatch::is_unwanted(Runtime& runtime, Address method_desc) {
  if (runtime.absence() != nullptr || !waits_to_hear()) return false;
  const UnspelledMethod method = runtime.describe_once(method_desc);
  // Made at run time, without metadata: no name and no line that is wanted.
  if (method.kind == MethodKind::dynamic || method.kind == MethodKind::il_stub) return true;
  const auto known = methods_.find(method.runtime_module);
  return method.token != 0 && known != methods_.end() &&
         !std::ranges::binary_search(known->second, method.token);
}

void NotificationWatch::forget() {
  forget_methods();
  unable_ = false;
}

void NotificationWatch::forget_methods() {
  methods_.clear();
  unlisted_.clear();
}

std::optional<Address> NotificationWatch::hit(Runtime& runtime) {
  if (!armed_ || runtime.absence() != nullptr) return std::nullopt;
  try {
    const CodeNotification found = read_notification(*runtime.target(), *places_);
    if (const auto* loaded = std::get_if<ModuleLoaded>(&found)) {
      // Of a Module that is none no notification can tell.
      runtime.names()->named_modules().at(loaded->module);
      heard_ = true;
      methods_.erase(loaded->module); // of one that was there before
      unlisted_.insert(loaded->module);
      if (!look(runtime, loaded->module) || !tell_runtime(runtime)) give_up(runtime);
    } else if (const auto* ready = std::get_if<CodeReady>(&found)) {
      heard_ = true;
      ++hits_;
      return ready->code;
    }
  } catch (const Error&) {
    // It is another exception of the program's.
  }
  return std::nullopt;
}

} // namespace clr::lldb_plugin
