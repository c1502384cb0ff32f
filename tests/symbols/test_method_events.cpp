// The payloads of the runtime's events about code, in every version, and the names that are made of them.
#include "core/symbols/method_events.h"

#include "core/memory/text_encoding.h"
#include "core/symbols/net_trace_bytes.h"
#include "core/types/name_format.h"
#include "tests/support/faults.h"
#include "tests/symbols/net_trace_builder.h"

#include <catch2/catch.hpp>

using namespace clr;
using namespace clr::test;

namespace {

symbols::EventType type_of(std::string_view provider, std::uint32_t id) {
  symbols::EventType type;
  type.provider = provider;
  type.event_id = id;
  return type;
}

CodeEvent read(const symbols::EventType& type, const NetTraceBytes& payload) {
  TraceEvent event;
  event.type = &type;
  event.time = 42;
  event.payload = payload.bytes;
  event.file_offset = 0x100;
  return read_code_event(event);
}

std::string text(std::span<const std::byte> utf16) {
  std::string out;
  append_utf8(out, utf16, ByteOrder::little);
  return out;
}

} // namespace

TEST_CASE("method events: kinds by provider and id") {
  struct Row {
    std::string_view provider;
    std::uint32_t id;
    CodeEventKind kind;
    bool named;
  };
  const auto row = GENERATE(values<Row>({{runtime_provider, 141, CodeEventKind::load, false},
                                         {runtime_provider, 142, CodeEventKind::unload, false},
                                         {runtime_provider, 143, CodeEventKind::load, true},
                                         {runtime_provider, 144, CodeEventKind::unload, true},
                                         {runtime_provider, 137, CodeEventKind::rundown_start, false},
                                         {runtime_provider, 138, CodeEventKind::rundown_end, false},
                                         {runtime_provider, 139, CodeEventKind::rundown_start, true},
                                         {runtime_provider, 140, CodeEventKind::rundown_end, true},
                                         {rundown_provider, 141, CodeEventKind::rundown_start, false},
                                         {rundown_provider, 142, CodeEventKind::rundown_end, false},
                                         {rundown_provider, 143, CodeEventKind::rundown_start, true},
                                         {rundown_provider, 144, CodeEventKind::rundown_end, true}}));
  const auto version = GENERATE(0u, 1u, 2u);
  CAPTURE(row.provider, row.id, version);
  const symbols::EventType type = type_of(row.provider, row.id);
  CHECK(is_code_event(type));
  const BuiltMethod built{.flags = 1 | 8 | 4 << 7 | 0x1000'0000, .version = version, .named = row.named};
  const NetTraceBytes payload = payload_of(built);
  const CodeEvent code = read(type, payload);
  REQUIRE(std::holds_alternative<MethodEvent>(code));
  const MethodEvent& method = std::get<MethodEvent>(code);
  CHECK(method.kind == row.kind);
  CHECK(method.time == 42);
  CHECK(method.method_id == 0x7000);
  CHECK(method.module_id == 0x8000);
  CHECK(method.start == 0x10'0000);
  CHECK(method.size == 0x80);
  CHECK(method.token == 0x0600'0001);
  CHECK(method.dynamic());
  CHECK(method.jitted());
  CHECK(method.cold());
  CHECK(method.tier() == MethodEventTier::tier1);
  CHECK(method.named == row.named);
  CHECK(text(method.type_name) == (row.named ? "Ns.Type" : ""));
  CHECK(text(method.method_name) == (row.named ? "Run" : ""));
  CHECK(text(method.signature) == (row.named ? "instance void  (int32)" : ""));
  CHECK(method.clr_instance == (version >= 1 ? std::optional<std::uint16_t>(9) : std::nullopt));
  CHECK(method.code_version == (version >= 2 ? std::optional<std::uint64_t>(77) : std::nullopt));
}

TEST_CASE("method events: modules") {
  for (const auto& [provider, id, kind] : {std::tuple(runtime_provider, 152u, CodeEventKind::load),
                                           std::tuple(runtime_provider, 153u, CodeEventKind::unload),
                                           std::tuple(runtime_provider, 149u, CodeEventKind::rundown_start),
                                           std::tuple(runtime_provider, 150u, CodeEventKind::rundown_end),
                                           std::tuple(rundown_provider, 153u, CodeEventKind::rundown_start),
                                           std::tuple(rundown_provider, 154u, CodeEventKind::rundown_end)}) {
    CAPTURE(provider, id);
    const NetTraceBytes payload = module_payload(0x8000, "/app/app.dll", "/app/app.r2r.dll");
    const symbols::EventType type = type_of(provider, id);
    const CodeEvent code = read(type, payload);
    REQUIRE(std::holds_alternative<ModuleEvent>(code));
    const ModuleEvent& module = std::get<ModuleEvent>(code);
    CHECK(module.kind == kind);
    CHECK(module.module_id == 0x8000);
    CHECK(module.assembly_id == 0x9000);
    CHECK(module.flags == 8);
    CHECK(text(module.il_path) == "/app/app.dll");
    CHECK(text(module.native_path) == "/app/app.r2r.dll");
    CHECK(module.clr_instance == 9);
    REQUIRE(module.managed_pdb);
    CHECK(module.managed_pdb->age == 1);
    CHECK(text(module.managed_pdb->path) == "/build/app.pdb");
    CHECK(module.managed_pdb->guid[0] == std::byte{0x88});
  }
  // Version 0 and 1 end earlier.
  NetTraceBytes old = NetTraceBytes().u64(1).u64(2).u32(3).u32(0).utf16("a").utf16("");
  const symbols::EventType type = type_of(runtime_provider, 152);
  CHECK_FALSE(std::get<ModuleEvent>(read(type, old)).clr_instance);
  old.u16(9);
  const CodeEvent first = read(type, old);
  CHECK(std::get<ModuleEvent>(first).clr_instance == 9);
  CHECK_FALSE(std::get<ModuleEvent>(first).managed_pdb);
}

TEST_CASE("method events: marks of the rundown, and what is of no interest") {
  const auto complete = [](std::string_view provider, std::uint32_t id) {
    return std::get<RundownComplete>(read(type_of(provider, id), NetTraceBytes())).kind;
  };
  CHECK(complete(rundown_provider, 145) == CodeEventKind::rundown_start);
  CHECK(complete(rundown_provider, 146) == CodeEventKind::rundown_end);
  CHECK(complete(runtime_provider, 135) == CodeEventKind::rundown_start);
  CHECK(complete(runtime_provider, 136) == CodeEventKind::rundown_end);
  for (const auto& [provider, id] :
       {std::pair(runtime_provider, 145u), std::pair(rundown_provider, 152u),
        std::pair(runtime_provider, 190u),
        std::pair(std::string_view("Microsoft-Windows-DotNETRuntimePrivate"), 143u)}) {
    CHECK_FALSE(is_code_event(type_of(provider, id)));
    CHECK(std::holds_alternative<std::monostate>(read(type_of(provider, id), NetTraceBytes())));
  }
}

TEST_CASE("method events: payloads that are cut") {
  const symbols::EventType type = type_of(runtime_provider, 143);
  const NetTraceBytes whole = payload_of({.version = 2});
  const std::size_t texts_end = whole.size() - 10;
  for (std::size_t size = 0; size <= whole.size(); ++size) {
    CAPTURE(size);
    NetTraceBytes cut = whole;
    cut.bytes.resize(size);
    const auto fault = fault_of([&] { read(type, cut); });
    CHECK(fault.has_value() == (size < texts_end));
    if (fault) CHECK(fault->kind() == ErrorKind::corrupt);
  }
  NetTraceBytes longer = whole;
  longer.raw("and more");
  CHECK(std::get<MethodEvent>(read(type, longer)).code_version == 77);

  const symbols::EventType module = type_of(runtime_provider, 152);
  NetTraceBytes no_end = NetTraceBytes().u64(1).u64(2).u32(3).u32(0).raw("a");
  const auto fault = fault_of([&] { read(module, no_end); });
  REQUIRE(fault);
  CHECK(fault->what() == std::string("a string has no end at file offset 0x118"));
}

TEST_CASE("method events: UTF-16 of every kind") {
  const auto utf8 = [](std::u16string_view units) {
    NetTraceBytes bytes;
    for (const char16_t unit : units) bytes.u16(unit);
    return text(bytes.bytes);
  };
  CHECK(utf8(u"Größe") == "Gr\xc3\xb6\xc3\x9f"
                          "e");
  CHECK(utf8(u"\u20ac") == "\xe2\x82\xac");
  CHECK(utf8(u"\U0001F600!") == "\xf0\x9f\x98\x80!");
  CHECK(utf8(std::u16string{0xd83d}) == "\xef\xbf\xbd");
  CHECK(utf8(std::u16string{0xd83d, u'a'}) == "\xef\xbf\xbd"
                                              "a");
  CHECK(utf8(std::u16string{0xde00, 0xd83d, 0xde00}) == "\xef\xbf\xbd\xf0\x9f\x98\x80");
}

TEST_CASE("method events: full names") {
  CHECK(method_event_name("A.B.Type", "Foo", "instance void  (int32,string)") ==
        "A.B.Type.Foo(int32,string)");
  CHECK(method_event_name("A.B.Type", ".ctor", "instance void  (string)") == "A.B.Type(string)");
  CHECK(method_event_name("A.B.Type", ".cctor", "void  ()") == "A.B.Type..cctor()");
  // One space is no mark of the parameters; the first two spaces in front of a parenthesis are.
  CHECK(method_event_name("T", "M", "void (int32)") == "T.M(\?\?\?)");
  CHECK(method_event_name("T", "M", "") == "T.M(\?\?\?)");
  CHECK(method_event_name("T", ".ctor", "") == "T(\?\?\?)");
  CHECK(method_event_name("T", "M", "void  (method void  (int32))") == "T.M(method void  (int32))");
  CHECK(method_event_name("T", "M", "class X  class Y  ()") == "T.M()");
  CHECK(method_event_name("", "M", "void  ()") == "M()");
  CHECK(method_event_name("dynamicClass", "IL_STUB_PInvoke", "void  (native int)") ==
        "dynamicClass.IL_STUB_PInvoke(native int)");
}

// The store makes the same text of the event as core/types makes of the runtime's own data structures.
TEST_CASE("method events: the same text as core/types has for the same method") {
  TypeName definition;
  definition.shape = TypeShape::definition;
  definition.name_space = "Ns";
  definition.chain = {"Outer", "Inner`1"};
  const TypeNamePtr open = make_type(definition);
  const TypeNamePtr int32 = primitive_type(ElementType::i4), string = primitive_type(ElementType::string);
  TypeName pointer;
  pointer.shape = TypeShape::function_pointer;
  pointer.element = primitive_type(ElementType::void_);
  pointer.arguments = {int32};

  QualifiedMethodName method;
  method.signature_known = true;
  method.signature_header = 0x20;
  method.return_type = primitive_type(ElementType::void_);
  unsigned compared = 0;
  for (const TypeNamePtr& type : {TypeNamePtr(), open, instantiate(open, {int32})})
    for (const char* name : {".ctor", ".cctor", "Run", "Ns.IFace.Run", "<Main>b__0_1"})
      for (const auto& parameters :
           {std::vector<TypeNamePtr>{}, {int32, szarray_of(string)}, {make_type(pointer)}})
        for (const auto& returned : {primitive_type(ElementType::void_), make_type(pointer)})
          for (const bool known : {true, false})
            for (const auto container : {MethodContainer::type, MethodContainer::dynamic_class}) {
              method.declaring_type = type;
              method.method = name;
              method.parameters = parameters;
              method.return_type = returned;
              method.signature_known = known;
              method.container = container;
              const EventFields fields = event_fields(method);
              CHECK(method_event_name(fields.type_name, fields.method_name, fields.signature) ==
                    format_event_name(method));
              ++compared;
            }
  CHECK(compared == 360);
}
