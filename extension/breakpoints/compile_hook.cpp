#include "extension/breakpoints/compile_hook.h"

#include "extension/lldb/hidden_breakpoints.h"

#include <algorithm>
#include <chrono>
#include <exception>

namespace clr::lldb_plugin {

namespace {
// The library that getJit stands in. A program in a single file does not export it, but neither does it run
// long without its compiler.
constexpr const char* jit_library = "libclrjit.so";
constexpr const char* jit_export = "getJit";

lldb::addr_t return_value(lldb::SBThread& thread) {
  lldb::SBFrame frame = thread.GetFrameAtIndex(0);
  for (const char* name : {"rax", "x0"}) {
    lldb::SBValue value = frame.FindRegister(name);
    if (value.IsValid()) return value.GetValueAsUnsigned(0);
  }
  return 0;
}
} // namespace

CompileHook::~CompileHook() {
  if (!target_.IsValid()) return;
  for (lldb::SBBreakpoint* one : {&loading_, &entry_})
    if (one->IsValid()) target_.BreakpointDelete(one->GetID());
  for (auto& [pc, site] : sites_)
    if (site.IsValid()) target_.BreakpointDelete(site.GetID());
  tidy();
}

lldb::SBBreakpoint CompileHook::plant(lldb::addr_t pc) {
  lldb::SBBreakpoint made = target_.BreakpointCreateByAddress(pc);
  if (!made.IsValid()) return made;
  hide(target_, made);
  planted_.insert(pc);
  made.SetCallback(&CompileHook::on_hit, this);
  return made;
}

void CompileHook::arm() {
  armed_ = true;
  if (!loading_.IsValid()) {
    loading_ = target_.BreakpointCreateByName(jit_export, jit_library);
    if (loading_.IsValid()) {
      hide(target_, loading_);
      loading_.SetCallback(&CompileHook::on_hit, this);
    }
  }
  loading_.SetEnabled(true);
  if (entry_address_ == 0) entry_address_ = client_.compile_method();
  if (entry_address_ != 0 && !entry_.IsValid()) entry_ = plant(entry_address_);
  if (entry_.IsValid()) entry_.SetEnabled(confirmations_ < wanted_confirmations);
  for (auto& [pc, site] : sites_) site.SetEnabled(true);
}

void CompileHook::disarm() {
  if (!armed_) return;
  armed_ = false;
  loading_.SetEnabled(false);
  if (entry_.IsValid()) entry_.SetEnabled(false);
  for (auto& [pc, site] : sites_) site.SetEnabled(false);
}

void CompileHook::tidy() {
  for (const lldb::break_id_t id : unwanted_) target_.BreakpointDelete(id);
  unwanted_.clear();
}

bool CompileHook::on_hit(void* self, lldb::SBProcess&, lldb::SBThread& thread, lldb::SBBreakpointLocation&) {
  // LLDB is built without exceptions.
  try {
    auto* hook = static_cast<CompileHook*>(self);
    if (const SessionStore::Turn turn = hook->client_.turn(); turn.owns_lock())
      hook->hit(thread, thread.GetFrameAtIndex(0).GetPC());
  } catch (const std::exception&) {
    // The next stop brings what was missed here.
  }
  return false; // the process goes on
}

void CompileHook::hit(lldb::SBThread& thread, lldb::addr_t pc) {
  if (!armed_) return;
  if (sites_.contains(pc)) return returned(thread, pc);
  if (pc == entry_address_) return compilation_begins(thread);
  // The JIT has just been loaded.
  entry_address_ = 0;
  arm();
}

void CompileHook::compilation_begins(lldb::SBThread& thread) {
  const std::uint32_t frames = std::min(thread.GetNumFrames(), watched_frames + 1);
  bool known = false;
  std::vector<lldb::addr_t> returns;
  for (std::uint32_t i = 1; i < frames; ++i) {
    lldb::SBFrame frame = thread.GetFrameAtIndex(i);
    if (!frame.GetModule().IsValid()) break;
    returns.push_back(frame.GetPC());
    known = known || (ready_site_ != 0 && frame.GetPC() == ready_site_);
  }
  if (known) {
    // Several in a row went by the learned place: there is no other way.
    if (++confirmations_ >= wanted_confirmations) entry_.SetEnabled(false);
    return;
  }
  confirmations_ = 0;
  for (const lldb::addr_t pc : returns) watch(pc);
}

void CompileHook::watch(lldb::addr_t pc) {
  if (sites_.contains(pc)) return;
  if (lldb::SBBreakpoint site = plant(pc); site.IsValid()) sites_[pc] = site;
}

void CompileHook::returned(lldb::SBThread& thread, lldb::addr_t pc) {
  const lldb::addr_t address = return_value(thread);
  if (pc != ready_site_) {
    if (client_.code_at(address) != Code::jitted) return;
    learn(pc);
  }
  ++hits_;
  const auto began = std::chrono::steady_clock::now();
  client_.ready(thread, address);
  milliseconds_ +=
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - began).count();
}

void CompileHook::learn(lldb::addr_t pc) {
  ready_site_ = pc;
  for (auto it = sites_.begin(); it != sites_.end();) {
    if (it->first == pc) {
      ++it;
      continue;
    }
    it->second.SetEnabled(false);
    unwanted_.push_back(it->second.GetID());
    it = sites_.erase(it);
  }
}

} // namespace clr::lldb_plugin
