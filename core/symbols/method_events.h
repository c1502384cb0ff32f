// The runtime's own events about code: which method lies where, and from when to when.
// Source: dotnet/runtime src/coreclr/vm/ClrEtwAll.man (ids and payloads), src/coreclr/vm/eventtrace.cpp (when
// they are written); the ids are also those of microsoft/perfview
// src/TraceEvent/Parsers/ClrTraceEventParser.cs.
#pragma once

#include "core/symbols/net_trace_event.h"

#include <string>
#include <string_view>
#include <variant>

namespace clr {

// The two providers. The same id means different events of the two.
constexpr std::string_view runtime_provider = "Microsoft-Windows-DotNETRuntime";
constexpr std::string_view rundown_provider = "Microsoft-Windows-DotNETRuntimeRundown";

enum class CodeEventKind : std::uint8_t {
  load,          // the code is there from now on
  unload,        // and not any more
  rundown_start, // it was there when the collection began
  rundown_end,   // it was there when the collection ended
};

// MethodFlags >> 7 & 7, of jitted code. Source: src/coreclr/vm/eventtrace.cpp,
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

// One body, or one region of a body that is split: each region has its own event.
struct MethodEvent {
  CodeEventKind kind = CodeEventKind::load;
  TraceTime time = 0;
  std::uint64_t method_id = 0; // address of the MethodDesc
  std::uint64_t module_id = 0; // address of the Module
  Address start = 0;
  std::uint32_t size = 0;  // bytes
  std::uint32_t token = 0; // MethodDef; 0 for methods without metadata
  std::uint32_t flags = 0;
  // Of Verbose events: UTF-16, bytes of the event's payload.
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
  std::span<const std::byte> path; // UTF-16, of the build
};

struct ModuleEvent {
  CodeEventKind kind = CodeEventKind::load;
  TraceTime time = 0;
  std::uint64_t module_id = 0, assembly_id = 0;
  std::uint32_t flags = 0;
  std::span<const std::byte> il_path, native_path; // UTF-16; empty for what is no file
  std::optional<std::uint16_t> clr_instance;       // version 1 and later
  std::optional<PdbReference> managed_pdb;         // version 2; nothing when its GUID is zero
};

// The runtime has told all code that was there when the collection began (or ended).
struct RundownComplete {
  CodeEventKind kind = CodeEventKind::rundown_end;
};

using CodeEvent = std::variant<std::monostate, MethodEvent, ModuleEvent, RundownComplete>;

// Whether events of this type are of interest here: methods, modules, the marks around them.
bool is_code_event(const EventType& type);
// What the event says; monostate when it is not of interest. Its texts are bytes of the event's payload.
// Longer payloads than are known are accepted, shorter ones as far as they are whole behind the texts. Throws
// Error{corrupt} when the payload ends before, or a text has no end.
CodeEvent read_code_event(const TraceEvent& event);

// --- names

// The name of a method as made of its event's fields: `Type.Method(parameters)`; for a constructor the type
// with its parameters. The parameters begin in the signature behind the first two spaces that a parenthesis
// follows;
// "(???)" when it has none. Source: the convention of .NET profilers that work from these events (Criteo's
// series on memory profilers).
std::string method_event_name(std::string_view type, std::string_view method, std::string_view signature);

} // namespace clr
