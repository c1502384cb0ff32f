#include "core/symbols/method_events.h"

#include "core/symbols/net_trace_bytes.h"

#include <algorithm>
#include <array>

namespace clr {
namespace {

enum class Subject : std::uint8_t { none, method, named_method, module, complete };

struct KnownEvent {
  std::uint16_t id;
  Subject subject;
  CodeEventKind kind;
};

constexpr std::array runtime_events{
    // Old runtimes write these in the place of the rundown provider's events.
    KnownEvent{135, Subject::complete, CodeEventKind::rundown_start},
    KnownEvent{136, Subject::complete, CodeEventKind::rundown_end},
    KnownEvent{137, Subject::method, CodeEventKind::rundown_start},
    KnownEvent{138, Subject::method, CodeEventKind::rundown_end},
    KnownEvent{139, Subject::named_method, CodeEventKind::rundown_start},
    KnownEvent{140, Subject::named_method, CodeEventKind::rundown_end},
    KnownEvent{149, Subject::module, CodeEventKind::rundown_start},
    KnownEvent{150, Subject::module, CodeEventKind::rundown_end},

    KnownEvent{141, Subject::method, CodeEventKind::load},
    KnownEvent{142, Subject::method, CodeEventKind::unload},
    KnownEvent{143, Subject::named_method, CodeEventKind::load},
    KnownEvent{144, Subject::named_method, CodeEventKind::unload},
    KnownEvent{152, Subject::module, CodeEventKind::load},
    KnownEvent{153, Subject::module, CodeEventKind::unload},
};

constexpr std::array rundown_events{
    KnownEvent{141, Subject::method, CodeEventKind::rundown_start},
    KnownEvent{142, Subject::method, CodeEventKind::rundown_end},
    KnownEvent{143, Subject::named_method, CodeEventKind::rundown_start},
    KnownEvent{144, Subject::named_method, CodeEventKind::rundown_end},
    KnownEvent{145, Subject::complete, CodeEventKind::rundown_start},
    KnownEvent{146, Subject::complete, CodeEventKind::rundown_end},
    KnownEvent{153, Subject::module, CodeEventKind::rundown_start},
    KnownEvent{154, Subject::module, CodeEventKind::rundown_end},
};

KnownEvent known_event(const symbols::EventType& type) {
  const auto find = [&](const auto& events) {
    const auto found =
        std::ranges::find(events, type.event_id, [](const KnownEvent& e) { return std::uint32_t{e.id}; });
    return found == events.end() ? KnownEvent{0, Subject::none, CodeEventKind::load} : *found;
  };
  if (type.provider == runtime_provider) return find(runtime_events);
  if (type.provider == rundown_provider) return find(rundown_events);
  return {0, Subject::none, CodeEventKind::load};
}

MethodEvent read_method(TraceBytes bytes, bool named) {
  MethodEvent method;
  method.method_id = bytes.u64();
  method.module_id = bytes.u64();
  method.start = bytes.u64();
  method.size = bytes.u32();
  method.token = bytes.u32();
  method.flags = bytes.u32();
  method.named = named;
  if (named) {
    method.type_name = take_utf16(bytes);
    method.method_name = take_utf16(bytes);
    method.signature = take_utf16(bytes);
  }
  if (bytes.left() >= 2) method.clr_instance = bytes.u16();
  if (bytes.left() >= 8) method.code_version = bytes.u64();
  return method;
}

std::optional<PdbReference> read_pdb(TraceBytes& bytes) {
  constexpr std::size_t guid_size = 16;
  if (bytes.left() < guid_size + 4) return std::nullopt;
  const auto guid = bytes.take(guid_size).first<guid_size>();
  const std::uint32_t age = bytes.u32();
  const PdbReference pdb{guid, age, take_utf16(bytes)};
  const bool known = std::ranges::any_of(guid, [](std::byte b) { return b != std::byte{0}; });
  return known ? std::optional(pdb) : std::nullopt;
}

ModuleEvent read_module(TraceBytes bytes) {
  ModuleEvent module;
  module.module_id = bytes.u64();
  module.assembly_id = bytes.u64();
  module.flags = bytes.u32();
  bytes.u32(); // reserved
  module.il_path = take_utf16(bytes);
  module.native_path = take_utf16(bytes);
  if (bytes.left() >= 2) module.clr_instance = bytes.u16();
  module.managed_pdb = read_pdb(bytes);
  return module;
}

} // namespace

bool is_code_event(const symbols::EventType& type) {
  return known_event(type).subject != Subject::none;
}

CodeEvent read_code_event(const TraceEvent& event) {
  const KnownEvent known = known_event(*event.type);
  const TraceBytes bytes(event.payload, event.file_offset);
  const auto of_event = [&](auto subject) {
    subject.kind = known.kind;
    subject.time = event.time;
    return subject;
  };
  switch (known.subject) {
  case Subject::method:
  case Subject::named_method:
    return of_event(read_method(bytes, known.subject == Subject::named_method));
  case Subject::module:
    return of_event(read_module(bytes));
  case Subject::complete:
    return RundownComplete{known.kind};
  case Subject::none:
    break;
  }
  return std::monostate();
}

std::string method_event_name(std::string_view type, std::string_view method, std::string_view signature) {
  std::string name(type);
  if (method != ".ctor") {
    if (!name.empty()) name += '.';
    name += method;
  }
  const std::size_t spaces = signature.find("  (");
  name += spaces == std::string_view::npos ? std::string_view("(\?\?\?)") : signature.substr(spaces + 2);
  return name;
}

} // namespace clr
