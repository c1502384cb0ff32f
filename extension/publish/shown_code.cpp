#include "extension/publish/shown_code.h"

#include "core/isa/code_reference.h"
#include "extension/lldb/published_module.h"
#include "extension/publish/publish_level.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string>

namespace clr::lldb_plugin {

namespace {

constexpr std::uint32_t max_shown_instructions = 64; // LLDB prints 4 unless the user wants more
constexpr std::size_t max_shown_bytes = 16;          // of an instruction
constexpr std::uint32_t max_stopped_threads = 16;    // threads that are looked at beside the selected one

std::string setting(Session& session, const char* name) {
  lldb::SBDebugger debugger = session.target().GetDebugger();
  lldb::SBStringList values = lldb::SBDebugger::GetInternalVariableValue(name, debugger.GetInstanceName());
  const char* const value = values.GetSize() == 0 ? nullptr : values.GetStringAtIndex(0);
  return value == nullptr ? "" : value;
}

template<typename Number>
std::optional<Number> number_of(std::string_view text) {
  Number value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::vector<Address> named_at(Session& session, lldb::SBFrame frame) {
  std::vector<Address> found;
  if (!frame.IsValid()) return found;
  lldb::SBModule module = frame.GetModule();
  if (!module.IsValid() || !is_published(module)) return found;
  if (frame.GetLineEntry().IsValid() && setting(session, "stop-disassembly-display") != "always")
    return found;
  const std::uint32_t count =
      std::min(number_of<std::uint32_t>(setting(session, "stop-disassembly-count")).value_or(4),
               max_shown_instructions);
  lldb::SBInstructionList instructions = session.target().ReadInstructions(frame.GetPCAddress(), count);
  CodeReferences references(session.runtime().platform().cpu);
  Address at = frame.GetPC();
  for (std::size_t i = 0; i < instructions.GetSize(); ++i) {
    std::array<std::byte, max_shown_bytes> bytes{};
    const std::size_t size = std::min(
        instructions.GetInstructionAtIndex(static_cast<std::uint32_t>(i)).GetByteSize(), bytes.size());
    if (size == 0 || session.memory().read_some(at, std::span(bytes).first(size)) != size) break;
    if (const auto reference = references.next(at, std::span(bytes).first(size)))
      found.push_back(reference->address);
    at += size;
  }
  return found;
}

std::vector<Address> held_by_registers(lldb::SBFrame frame) {
  std::vector<Address> found;
  if (!frame.IsValid()) return found;
  lldb::SBValue general = frame.GetRegisters().GetValueAtIndex(0);
  for (std::uint32_t i = 0; i < general.GetNumChildren(); ++i)
    found.push_back(general.GetChildAtIndex(i).GetValueAsUnsigned(0));
  return found;
}

// The frame that `frame select` is given: a number, or -r and a distance. Nothing: it cannot be told.
std::optional<lldb::SBFrame> chosen_frame(lldb::SBThread thread,
                                          std::span<const std::string_view> arguments) {
  const std::int64_t selected = thread.GetSelectedFrame().GetFrameID();
  std::optional<std::int64_t> chosen;
  if (arguments.empty()) chosen = selected;
  if (arguments.size() == 1) chosen = number_of<std::uint32_t>(arguments[0]);
  if (arguments.size() == 2 && (arguments[0] == "-r" || arguments[0] == "--relative"))
    if (const auto distance = number_of<std::int32_t>(arguments[1])) chosen = selected + *distance;
  if (!chosen) return std::nullopt;
  return thread.GetFrameAtIndex(static_cast<std::uint32_t>(std::max<std::int64_t>(*chosen, 0)));
}

} // namespace

std::vector<Address> addresses_at_stop(Session& session) {
  lldb::SBProcess process = session.target().GetProcess();
  const lldb::tid_t selected = process.GetSelectedThread().GetThreadID();
  std::vector<Address> all;
  std::uint32_t shown = 0;
  for (std::uint32_t i = 0; i < process.GetNumThreads(); ++i) {
    lldb::SBThread thread = process.GetThreadAtIndex(i);
    const lldb::StopReason reason = thread.GetStopReason();
    const bool stopped = reason != lldb::eStopReasonInvalid && reason != lldb::eStopReasonNone;
    if (thread.GetThreadID() != selected && (!stopped || ++shown > max_stopped_threads)) continue;
    const std::vector<Address> found = named_at(session, thread.GetFrameAtIndex(0));
    all.insert(all.end(), found.begin(), found.end());
  }
  return all;
}

std::optional<std::vector<Address>> addresses_shown(Session& session,
                                                    std::span<const std::string_view> words) {
  lldb::SBProcess process = session.target().GetProcess();
  lldb::SBThread thread = process.GetSelectedThread();
  if (shows_registers(words)) return held_by_registers(thread.GetSelectedFrame());
  if (!shows_instructions(words)) return std::vector<Address>{};
  const std::span<const std::string_view> arguments = words.subspan(2);
  if (words[0] == "frame") {
    const std::optional<lldb::SBFrame> frame = chosen_frame(thread, arguments);
    if (!frame) return std::nullopt;
    return named_at(session, *frame);
  }
  if (words[0] == "thread" && arguments.size() == 1) {
    const auto number = number_of<std::uint32_t>(arguments[0]);
    if (!number) return std::nullopt;
    thread = process.GetThreadByIndexID(*number);
  }
  return named_at(session, thread.GetSelectedFrame());
}

} // namespace clr::lldb_plugin
