// Tells which method was at an address at a time, from the method events of one process.
//
// An address can belong to several methods one after the other: code of collectible assemblies and dynamic
// methods is freed, and its memory is used again. So each body has a span of time, and no two bodies overlap
// in both address and time. The rules:
//   - A body begins with its load event. It ends with its unload event, with the unload of its module, or
//     when another body is loaded over it. For the code of a collectible assembly, .NET 10 reports only the
//     unload of the module. The unload of a module does not count when a later rundown still lists the
//     module: a process that ends reports the unload of all modules.
//   - A body that appears only in a rundown or in its unload event existed earlier: since the beginning, or
//     since the last body in its place ended.
//   - A body without an end event exists until the end.
// The name is method_event_name() of the event's fields. Events without names (not verbose) get the name from
// the method's other events at the same place; if there is none, the name is `MODULE!0xTOKEN`.
#pragma once

#include "core/memory/byte_room.h"
#include "core/symbols/method_events.h"
#include "core/symbols/method_store_index.h"
#include "core/symbols/trace_fault_kind.h"

#include <functional>
#include <memory>

namespace clr {

// One body of code, or the cold part of one.
struct MethodBody {
  Address start = 0;
  std::uint32_t size = 0; // bytes
  std::uint32_t token = 0;
  std::string_view name;        // empty: neither name nor token is known
  std::string_view module_path; // of the IL image, or the name of a dynamic module; empty: unknown
  std::uint64_t method_id = 0, module_id = 0, code_version = 0;
  MethodEventTier tier = MethodEventTier::unknown;
  bool jitted = false, dynamic = false, cold = false;
  // From the first tick to the one behind the last. `loaded` nothing: since before the trace; `unloaded`
  // nothing: until its end.
  std::optional<TraceTime> loaded, unloaded;

  bool there_at(TraceTime time) const {
    return (!loaded || *loaded <= time) && (!unloaded || time < *unloaded);
  }
};

struct NativeFunction {
  std::string name;
  std::uint64_t displacement = 0; // bytes behind the start of the function
};
// The native function that holds an address; nothing when there is none.
using NativeLookup = std::function<std::optional<NativeFunction>(Address)>;
// "memcpy+0x1f": the name up to the last "$##", which some linkers append, and the displacement when it is
// not 0.
std::string native_symbol_text(const NativeFunction& symbol);

// Immutable, so any number of threads may use it. Addresses are looked up unchanged: for a return address,
// ask for the byte before it.
class MethodStore {
public:
  MethodStore(MethodStore&&) = default;
  MethodStore& operator=(MethodStore&&) = default;

  // The body that held the address at that time; null when none did. Allocates nothing. Cost: one binary
  // search among the bodies, and a short one among those that followed each other at this place. The pointer
  // is valid as long as the store.
  const MethodBody* find(Address address, TraceTime time) const;
  // The last body that held the address, at whatever time.
  const MethodBody* find_last(Address address) const;
  // The name of that body; without a body, the answer of `native`; without that, the address in hexadecimal.
  std::string describe(Address address, TraceTime time, const NativeLookup& native) const;

  // All bodies, by start and then by time.
  const std::vector<MethodBody>& bodies() const { return bodies_; }
  // The bodies that exist at `time` (nothing: at the end), by start; no two of them overlap. For a symbol
  // table.
  std::vector<const MethodBody*> bodies_at(std::optional<TraceTime> time) const;
  // Bodies without names of their own, to which MODULE!0xTOKEN was not given: there was no room for it.
  std::size_t lost_names() const { return lost_names_; }

private:
  friend class MethodStoreBuilder;
  MethodStore() = default;

  std::vector<char> text_;
  std::vector<MethodBody> bodies_;
  MethodStoreIndex index_;
  std::size_t lost_names_ = 0;
};

class MethodStoreBuilder {
public:
  // `room` is for the bytes of the names and paths; builders may share it. `most_events` are kept, of each
  // kind.
  explicit MethodStoreBuilder(std::shared_ptr<ByteRoom> room = std::make_shared<ByteRoom>(max_text),
                              std::size_t most_events = max_events);
  ~MethodStoreBuilder();
  MethodStoreBuilder(MethodStoreBuilder&&) noexcept;
  MethodStoreBuilder& operator=(MethodStoreBuilder&&) noexcept;

  // Adds an event, in any order. Events of the same time take effect in the order in which they are added.
  // Copies the parts that it needs. Returns what is wrong: impossible_code (size 0, an impossible size, or
  // beyond the end of the addresses) and many_events when the event is left out; lost_text when only its name
  // is cut (at max_symbol_name), or its name or path missing: there is no room for it, or no path is as long.
  std::optional<TraceFaultKind> add(const MethodEvent& event);
  std::optional<TraceFaultKind> add(const ModuleEvent& event);

  // Makes the store and takes the events. Cost: n log n of the number of events.
  MethodStore finish();

  static constexpr std::uint32_t max_size = 0x7fff'ffff; // bytes of a body
  // Of methods, and as many of modules and of their unloads.
  static constexpr std::size_t max_events = std::size_t{1} << 24;
  // Bytes of all different names and paths. Those of 200,000 methods have some 30 MB.
  static constexpr std::uint64_t max_text = 256u << 20;

private:
  struct State;
  std::unique_ptr<State> state_;
};

} // namespace clr
