// The runtime's own events about code: which method's code is at which address, from when to when. Source:
// dotnet/runtime src/coreclr/vm/ClrEtwAll.man (ids and payloads), src/coreclr/vm/eventtrace.cpp (when they
// are written); the ids are also those of microsoft/perfview
// src/TraceEvent/Parsers/ClrTraceEventParser.cs.
#pragma once

#include "core/symbols/net_trace_event.h"

#include <string>
#include <string_view>
#include <variant>

namespace clr {

// The two providers. The same id means different events in each of them.
constexpr std::string_view runtime_provider = "Microsoft-Windows-DotNETRuntime";
constexpr std::string_view rundown_provider = "Microsoft-Windows-DotNETRuntimeRundown";

enum class CodeEventKind : std::uint8_t {
  load,          // the code exists from now on
  unload,        // the code exists no longer
  rundown_start, // the code existed when the collection began
  rundown_end,   // the code existed when the collection ended
};

// MethodFlags >> 7 & 7, for jitted code. Source: src/coreclr/vm/eventtrace.cpp,
// MethodFlagsJitOptimizationTier.
enum class MethodEventTier : std::uint8_t {
  unknown = 0,
  min_opts = 1,
  optimized = 2,
  quick = 3,
  tier1 = 4,
  tier1_osr = 5,
  quick_instrumented = 6,
  tier1_instrumented = 7,
};

// One body of code. A body that is split has one event for each of its regions.
struct MethodEvent {
  CodeEventKind kind = CodeEventKind::load;
  TraceTime time = 0;
  std::uint64_t method_id = 0; // address of the MethodDesc
  std::uint64_t module_id = 0; // address of the Module
  Address start = 0;
  std::uint32_t size = 0;  // bytes
  std::uint32_t token = 0; // MethodDef; 0 for methods without metadata
  std::uint32_t flags = 0;
  // From verbose events: UTF-16, bytes of the event's payload.
  bool named = false;
  std::span<const std::byte> type_name, method_name, signature;
  std::optional<std::uint16_t> clr_instance; // version 1 and later
  std::optional<std::uint64_t> code_version; // version 2 and later: which version of the method's code

  bool dynamic() const { return (flags & 1) != 0; }
  bool jitted() const { return (flags & 8) != 0; }
  bool cold() const { return flags >> 28 == 1; }
  MethodEventTier tier() const {
    return jitted() ? static_cast<MethodEventTier>(flags >> 7 & 7) : MethodEventTier::unknown;
  }
};

struct PdbReference {
  std::span<const std::byte, 16> guid; // as stored
  std::uint32_t age = 0;
  std::span<const std::byte> path; // UTF-16, path at build time
};

struct ModuleEvent {
  CodeEventKind kind = CodeEventKind::load;
  TraceTime time = 0;
  std::uint64_t module_id = 0, assembly_id = 0;
  std::uint32_t flags = 0;
  std::span<const std::byte> il_path, native_path; // UTF-16; empty when it is no file
  std::optional<std::uint16_t> clr_instance;       // version 1 and later
  std::optional<PdbReference> managed_pdb;         // version 2; nothing when its GUID is zero
};

// The runtime has listed all code that existed when the collection began (or ended).
struct RundownComplete {
  CodeEventKind kind = CodeEventKind::rundown_end;
};

using CodeEvent = std::variant<std::monostate, MethodEvent, ModuleEvent, RundownComplete>;

// Whether events of this type are used here: methods, modules, and the marks at the end of a rundown.
bool is_code_event(const symbols::EventType& type);
// Decodes an event; monostate when it is not used here. The texts are bytes of the event's payload. A payload
// that is longer than the known form is accepted; a shorter one is accepted if it is complete up to the end
// of its texts. Throws Error{corrupt} when the payload ends before that, or when a text has no end.
CodeEvent read_code_event(const TraceEvent& event);

// --- names

// The name of a method, made from the fields of its event: `Type.Method(parameters)`; for a constructor, the
// type with its parameters. The parameters begin in the signature behind the first two spaces that are
// followed by a parenthesis; "(???)" when there are none. Source: the convention of .NET profilers that work
// from these events (Criteo's series on memory profilers).
std::string method_event_name(std::string_view type, std::string_view method, std::string_view signature);

} // namespace clr
