#include "core/symbols/method_store.h"

#include <fmt/format.h>

namespace clr {

std::string native_symbol_text(const NativeFunction& symbol) {
  std::string text = symbol.name.substr(0, symbol.name.rfind("$##"));
  if (symbol.displacement != 0) text += fmt::format("+{:#x}", symbol.displacement);
  return text;
}

const MethodBody* MethodStore::find(Address address, TraceTime time) const {
  const std::uint32_t i = index_.find(address, time);
  return i == MethodStoreIndex::none ? nullptr : &bodies_[i];
}

const MethodBody* MethodStore::find_last(Address address) const {
  const std::uint32_t i = index_.find_last(address);
  return i == MethodStoreIndex::none ? nullptr : &bodies_[i];
}

std::string MethodStore::describe(Address address, TraceTime time, const NativeLookup& native) const {
  if (const MethodBody* const body = find(address, time); body != nullptr && !body->name.empty())
    return std::string(body->name);
  if (native)
    if (const auto symbol = native(address)) return native_symbol_text(*symbol);
  return fmt::format("{:#x}", address);
}

std::vector<const MethodBody*> MethodStore::bodies_at(std::optional<TraceTime> time) const {
  std::vector<const MethodBody*> there;
  for (const MethodBody& body : bodies_)
    if (time ? body.there_at(*time) : !body.unloaded) there.push_back(&body);
  return there;
}

} // namespace clr
