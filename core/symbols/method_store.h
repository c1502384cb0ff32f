// Which method was at an address at a time, by the method events of one process.
//
// An address means several methods in turn: code of collectible assemblies and dynamic methods is freed and
// its memory used again. So each body has a span of time, and no two bodies overlap in address and time. The
// rules:
//   - it begins with its load event, and ends with its unload event, with the unload of its module, or when
//     another body is loaded over it. Of the code of a collectible assembly .NET 10 tells only the module's
//     unload. The unload of a module that a later rundown tells does not count: an ending process tells that
//     of all;
//   - a body that only a rundown or its unload event tells was there before: since the beginning, or since
//   the
//     last body in its place ended;
//   - what no event ends is there until the end.
// The name is method_event_name() of the event's fields. Events that carry none (not Verbose) get the name of
// the method's other events at the same place; without one the name is `MODULE!0xTOKEN`.
#pragma once

#include "core/symbols/method_events.h"
#include "core/symbols/method_store_index.h"

#include <functional>
#include <memory>

namespace clr {

// One body of code, or the cold part of one.
struct MethodBody {
  Address start = 0;
  std::uint32_t size = 0; // bytes
  std::uint32_t token = 0;
  std::string_view name;        // empty: neither a name nor a token is known
  std::string_view module_path; // of the IL image, or a dynamic module's name; empty: not known
  std::uint64_t method_id = 0, module_id = 0, code_version = 0;
  MethodEventTier tier = MethodEventTier::unknown;
  bool jitted = false, dynamic = false, cold = false;
  // From the first tick to the one behind the last. Nothing: since before the trace, until its end.
  std::optional<TraceTime> loaded, unloaded;

  bool there_at(TraceTime time) const {
    return (!loaded || *loaded <= time) && (!unloaded || time < *unloaded);
  }
};

struct NativeFunction {
  std::string name;
  std::uint64_t displacement = 0; // bytes behind its start
};
// The native function that holds an address; nothing when there is none.
using NativeLookup = std::function<std::optional<NativeFunction>(Address)>;
// "memcpy+0x1f": the text in front of the last "$##", which some linkers append, and the displacement when it
// is not 0.
std::string native_symbol_text(const NativeFunction& symbol);

// Immutable: any number of threads may ask. Addresses are looked up as they are: for a return address ask for
// the byte before it.
class MethodStore {
public:
  MethodStore(MethodStore&&) = default;
  MethodStore& operator=(MethodStore&&) = default;

  // The body that held the address at that time; null when none did. Allocates nothing. Cost: one binary
  // search among the bodies, and a short one among those that were there in turn. The pointer lives as long
  // as the store.
  const MethodBody* find(Address address, TraceTime time) const;
  // The last body that held the address, whenever that was.
  const MethodBody* find_last(Address address) const;
  // The name of the body there; else what `native` says; else the address in hexadecimal.
  std::string describe(Address address, TraceTime time, const NativeLookup& native) const;

  // All bodies, by start and then by time.
  const std::vector<MethodBody>& bodies() const { return bodies_; }
  // Those that are there at `time` (nothing: at the end), by start: no two overlap. For a symbol table.
  std::vector<const MethodBody*> bodies_at(std::optional<TraceTime> time) const;

private:
  friend class MethodStoreBuilder;
  MethodStore() = default;

  std::vector<char> text_;
  std::vector<MethodBody> bodies_;
  MethodStoreIndex index_;
};

class MethodStoreBuilder {
public:
  MethodStoreBuilder();
  ~MethodStoreBuilder();
  MethodStoreBuilder(MethodStoreBuilder&&) noexcept;
  MethodStoreBuilder& operator=(MethodStoreBuilder&&) noexcept;

  // In any order; events of the same time take effect in the order in which they are added. Copies what it
  // needs. False when the event can be of no use: no code (size 0), of a size that no code has, beyond the
  // end of the addresses.
  bool add(const MethodEvent& event);
  void add(const ModuleEvent& event);

  // Takes what was added. Cost: n log n of the events.
  MethodStore finish();

  static constexpr std::uint32_t max_size = 0x7fff'ffff;          // bytes of a body
  static constexpr std::size_t max_events = std::size_t{1} << 24; // of methods, and as many of modules

private:
  struct State;
  std::unique_ptr<State> state_;
};

} // namespace clr
