#include "core/stack/threads.h"

#include <fmt/format.h>

#include <array>
#include <unordered_set>

namespace clr {
namespace {

// A process with more threads than this does not exist; a list this long is a torn one.
constexpr std::size_t max_threads = 100'000;
// Thread.Name is free text, but nobody reads more than this.
constexpr std::size_t max_name_units = 1024;

constexpr std::array<std::pair<std::uint32_t, std::string_view>, 15> state_names{{
    {0x2, "suspension_trapped"},
    {0x4, "gc_redirected"},
    {0x8, "debug_suspend_pending"},
    {0x80, "hijacked"},
    {0x200, "background"},
    {0x400, "unstarted"},
    {0x800, "dead"},
    {0x10000, "stop_requested"},
    {0x80000, "debugger_sync_suspended"},
    {0x0100'0000, "threadpool_worker"},
    {0x0200'0000, "wait_sleep_join"},
    {0x0400'0000, "interrupted"},
    {0x1000'0000, "abort_initiated"},
    {0x2000'0000, "finalized"},
    {0x8000'0000, "detached"},
}};

// Runs `read`; a fault leaves the result empty and is noted in `fault` (the first one only).
template<typename Read>
auto attempt(std::string& fault, const Read& read) -> std::optional<decltype(read())> {
  try {
    return read();
  } catch (const Error& error) {
    if (fault.empty()) fault = error.what();
    return std::nullopt;
  }
}

// The layout of the managed Thread object, where a supplement knows it.
std::optional<ManagedThreadFields> supplied_fields(const Target& target) {
  const auto name = target.find_offset("ManagedThread", "_name");
  const auto back = target.find_offset("ManagedThread", "_DONT_USE_InternalThread");
  if (!name || !back) return std::nullopt;
  return ManagedThreadFields{.name = *name, .runtime_thread = *back};
}

// The managed Thread object; 0 when there is none. .NET 11 renamed the field of the handle.
Address managed_object_of(const Target& target, Address thread) {
  const std::string_view field = target.find_offset("Thread", "ExposedObject") ? "ExposedObject" : "GCHandle";
  if (!target.find_offset("Thread", field)) return 0;
  return object_of_handle(target, target.read_pointer(target.field_address(thread, "Thread", field)));
}

RuntimeThread read_thread(const Target& target, Address address) {
  RuntimeThread thread;
  thread.address = address;
  std::string& fault = thread.fault;
  const auto pointer_field = [&](std::string_view field) {
    return attempt(fault,
                   [&] { return target.read_pointer(target.field_address(address, "Thread", field)); });
  };
  const auto u32_field = [&](std::string_view field) {
    return attempt(fault, [&] { return target.read_u32(target.field_address(address, "Thread", field)); });
  };
  thread.state = u32_field("State");
  if (const auto disabled = u32_field("PreemptiveGCDisabled")) thread.cooperative = *disabled != 0;
  thread.managed_id = u32_field("Id");
  thread.os_id = pointer_field("OSId");
  thread.frame = pointer_field("Frame").value_or(0);
  thread.exception_tracker = pointer_field("ExceptionTracker").value_or(0);
  if (const auto handle = pointer_field("LastThrownObject"))
    thread.last_thrown = attempt(fault, [&] { return object_of_handle(target, *handle); }).value_or(0);
  if (target.find_offset("Thread", "CachedStackBase") && target.find_offset("Thread", "CachedStackLimit")) {
    thread.stack_base = pointer_field("CachedStackBase");
    thread.stack_limit = pointer_field("CachedStackLimit");
    // Both are null until the thread has run.
    if (!thread.stack_base || !thread.stack_limit || *thread.stack_limit >= *thread.stack_base)
      thread.stack_base = thread.stack_limit = std::nullopt;
  }
  // A name that cannot be read is no fault of the thread: most have none.
  std::string ignored;
  thread.managed_object = attempt(ignored, [&] { return managed_object_of(target, address); }).value_or(0);
  if (const auto fields = supplied_fields(target))
    if (auto name = attempt(ignored, [&] { return managed_thread_name(target, thread, *fields); }))
      thread.name = *name;
  return thread;
}

} // namespace

std::vector<std::string> state_words(std::uint32_t state) {
  std::vector<std::string> words;
  for (auto [bit, word] : state_names)
    if ((state & bit) != 0) words.emplace_back(word);
  return words;
}

std::optional<std::string> managed_thread_name(const Target& target, const RuntimeThread& thread,
                                               const ManagedThreadFields& fields) {
  const auto string_table = target.find_global("StringMethodTable");
  const Address object = thread.managed_object;
  if (object == 0 || !string_table) return std::nullopt;
  const auto word = [&](std::int64_t at) {
    return target.read_pointer(target.platform().wrap(object + static_cast<Address>(at)));
  };
  if (word(fields.runtime_thread) != thread.address) return std::nullopt;
  const Address name = word(fields.name);
  if (name == 0) return std::nullopt;
  const Address mask = target.find_global("ObjectToMethodTableUnmask").value_or(7);
  const Address method_table = target.read_pointer(name) & ~mask;
  if (method_table != target.read_pointer(*string_table)) return std::nullopt;
  const std::uint32_t units = target.read_u32(target.field_address(name, "String", "m_StringLength"));
  if (units > max_name_units) return std::nullopt;
  return target.read_utf16_units(target.field_address(name, "String", "m_FirstChar"), units);
}

Address object_of_handle(const Target& target, Address handle) {
  return handle == 0 ? 0 : target.read_pointer(handle);
}

ThreadList read_threads(const Target& target) {
  ThreadList list;
  const Address store = target.read_pointer(target.global("ThreadStore"));
  if (store == 0) return list;
  const Address next_at = static_cast<Address>(target.offset("Thread", "LinkNext"));
  // A link leads to the field of the next thread that is its own link; from .NET 11 on, to that thread.
  const Address link_offset = target.find_contract_form("Thread") == contract_form::net11 ? 0 : next_at;
  Address link = target.read_pointer(target.field_address(store, "ThreadStore", "FirstThreadLink"));
  std::unordered_set<Address> seen;
  while (link != 0) {
    if (!seen.insert(link).second) {
      list.problem = fmt::format("the list of threads comes back to {:#x}", link);
      break;
    }
    if (seen.size() > max_threads) {
      list.problem = fmt::format("the list of threads has more than {} entries", max_threads);
      break;
    }
    std::string fault;
    const Address thread = target.platform().wrap(link - link_offset);
    const auto next =
        attempt(fault, [&] { return target.read_pointer(target.platform().wrap(thread + next_at)); });
    if (!next) {
      list.problem = fmt::format("the list of threads is torn: {}", fault);
      break;
    }
    list.threads.push_back(read_thread(target, thread));
    link = *next;
  }
  return list;
}

} // namespace clr
