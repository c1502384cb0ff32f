#include "extension/breakpoints/compile_watch.h"

#include <algorithm>

namespace clr::lldb_plugin {

int CompileWatch::plant(Address pc) {
  const int made = plants_->plant(pc);
  if (made != 0) planted_.insert(pc);
  return made;
}

void CompileWatch::arm() {
  armed_ = true;
  if (loading_ == 0)
    loading_ = plants_->plant(jit_export, jit_library);
  else
    plants_->enable(loading_, true);
  if (client_.told()) return quiet();
  if (entry_address_ == 0) entry_address_ = client_.compile_method();
  if (entry_address_ != 0 && entry_ == 0) entry_ = plant(entry_address_);
  if (entry_ != 0) plants_->enable(entry_, confirmations_ < wanted_confirmations);
  for (const auto& [pc, site] : sites_) plants_->enable(site, true);
}

void CompileWatch::disarm() {
  if (!armed_) return;
  armed_ = false;
  if (loading_ != 0) plants_->enable(loading_, false);
  quiet();
}

void CompileWatch::quiet() {
  if (entry_ != 0) plants_->enable(entry_, false);
  for (const auto& [pc, site] : sites_) plants_->enable(site, false);
}

void CompileWatch::tidy() {
  for (const int place : unwanted_) plants_->remove(place);
  unwanted_.clear();
}

std::optional<Address> CompileWatch::hit(Visitor& visitor) {
  if (!armed_) return std::nullopt;
  const Address pc = visitor.pc();
  if (sites_.contains(pc)) return returned(visitor, pc);
  if (pc == entry_address_) {
    compilation_begins(visitor);
    return std::nullopt;
  }
  // The JIT has just been loaded.
  entry_address_ = 0;
  arm();
  return std::nullopt;
}

void CompileWatch::compilation_begins(Visitor& visitor) {
  // The places behind it are not worth their stops then.
  if (client_.unwanted(visitor)) return;
  const std::vector<Address> returns = visitor.return_addresses(watched_frames);
  if (ready_site_ != 0 && std::ranges::find(returns, ready_site_) != returns.end()) {
    // Several in a row went by the learned place: there is no other way.
    if (++confirmations_ >= wanted_confirmations) plants_->enable(entry_, false);
    return;
  }
  confirmations_ = 0;
  for (const Address pc : returns) watch(pc);
}

void CompileWatch::watch(Address pc) {
  if (sites_.contains(pc)) return;
  if (const int site = plant(pc); site != 0) sites_[pc] = site;
}

std::optional<Address> CompileWatch::returned(Visitor& visitor, Address pc) {
  const Address address = visitor.return_value();
  if (pc != ready_site_) {
    if (client_.code_at(address) != Code::jitted) return std::nullopt;
    learn(pc);
  }
  ++hits_;
  return address;
}

void CompileWatch::learn(Address pc) {
  ready_site_ = pc;
  for (auto it = sites_.begin(); it != sites_.end();) {
    if (it->first == pc) {
      ++it;
      continue;
    }
    plants_->enable(it->second, false);
    unwanted_.push_back(it->second);
    it = sites_.erase(it);
  }
}

} // namespace clr::lldb_plugin
