#include "core/types/name_format.h"

#include <catch2/catch.hpp>

using namespace clr;

namespace {

const std::string core_library = "System.Private.CoreLib";

TypeNamePtr definition(std::string name_space, std::vector<std::string> chain,
                       std::string assembly = core_library, std::optional<bool> value_type = false) {
  return make_type({.shape = TypeShape::definition,
                    .name_space = std::move(name_space),
                    .chain = std::move(chain),
                    .assembly = std::move(assembly),
                    .value_type = value_type});
}
TypeNamePtr primitive(ElementType type) {
  return primitive_type(type);
}
TypeNamePtr wrap(TypeShape shape, TypeNamePtr element) {
  return make_type({.shape = shape, .element = std::move(element)});
}
TypeNamePtr array_of(TypeNamePtr element, std::uint32_t rank) {
  return make_type({.shape = TypeShape::array, .element = std::move(element), .rank = rank});
}
TypeNamePtr variable(std::uint32_t index, bool of_method, TypeNamePtr stands_for = nullptr,
                     std::string name = "") {
  return make_type({.shape = TypeShape::variable,
                    .element = std::move(stands_for),
                    .index = index,
                    .method_variable = of_method,
                    .name = std::move(name)});
}
TypeNamePtr internal(TypeNamePtr type, std::uint64_t handle) {
  TypeName copy = *type;
  copy.internal = true;
  copy.handle = handle;
  return make_type(std::move(copy));
}

const TypeNamePtr int32 = primitive(ElementType::i4), text = primitive(ElementType::string),
                  object = primitive(ElementType::object), nothing = primitive(ElementType::void_);
const TypeNamePtr canon = definition("System", {"__Canon"});
const TypeNamePtr int32_definition = definition("System", {"Int32"}, core_library, true);

QualifiedMethodName method(TypeNamePtr type, std::string name, std::vector<TypeNamePtr> parameters = {},
                           std::uint8_t header = 0x20) {
  QualifiedMethodName m;
  m.declaring_type = std::move(type);
  m.method = std::move(name);
  m.module = "app";
  m.signature_known = true;
  m.signature_header = header;
  m.return_type = nothing;
  m.parameters = std::move(parameters);
  return m;
}

QualifiedMethodName run() {
  QualifiedMethodName m = method(instantiate(definition("Ns", {"Outer", "Inner`1"}, "app"), {int32}), "Run",
                                 {variable(0, false, int32), szarray_of(text)}, 0x30);
  m.method_arguments = {text};
  return m;
}

} // namespace

TEST_CASE("one method in every form") {
  const QualifiedMethodName m = run();
  CHECK(format_full_name(m) == "Ns.Outer.Inner<int>.Run<string>(int, string[])");
  CHECK(format_short_name(m) == "Ns.Outer+Inner`1.Run");
  CHECK(format_sos_name(m) == "Ns.Outer+Inner`1[[System.Int32, System.Private.CoreLib]].Run[[System.String, "
                              "System.Private.CoreLib]](Int32, System.String[])");
  CHECK(format_event_name(m) == "Ns.Outer+Inner`1[System.Int32].Run(!0,string[])");
  CHECK(format_perf_map_name(m) == "instance void [app] Ns.Outer+Inner`1[System.Int32]::Run(!0,string[])");
  CHECK(event_fields(m).signature == "instance void  (!0,string[])");
}

TEST_CASE("constructors keep their names except in the event form") {
  const TypeNamePtr type = definition("Ns", {"Type"}, "app");
  CHECK(format_full_name(method(type, ".ctor", {int32})) == "Ns.Type..ctor(int)");
  CHECK(format_sos_name(method(type, ".ctor", {int32})) == "Ns.Type..ctor(Int32)");
  CHECK(format_event_name(method(type, ".ctor", {int32})) == "Ns.Type(int32)");
  CHECK(format_event_name(method(type, ".cctor", {}, 0)) == "Ns.Type..cctor()");
}

TEST_CASE("a signature that is not known says so") {
  QualifiedMethodName m = method(definition("Ns", {"Type"}, "app"), "Run");
  m.signature_known = false;
  CHECK(format_full_name(m) == "Ns.Type.Run(\?\?\?)");
  CHECK(format_event_name(m) == "Ns.Type.Run(\?\?\?)");
  CHECK(format_sos_name(m) == "Ns.Type.Run");
  CHECK(format_perf_map_name(m) == "[app] Ns.Type::Run");
  CHECK(event_fields(m).signature.empty());
  m.method = ".ctor";
  CHECK(format_event_name(m) == "Ns.Type(\?\?\?)");
}

TEST_CASE("SOS' names of methods of the framework") {
  const TypeNamePtr list = definition("System.Collections.Generic", {"List`1"});
  CHECK(format_sos_name(method(definition("System.Threading", {"Monitor"}), "Wait", {object, int32}, 0)) ==
        "System.Threading.Monitor.Wait(System.Object, Int32)");
  CHECK(format_sos_name(method(instantiate(list, {canon}), "Add", {variable(0, false, canon)})) ==
        "System.Collections.Generic.List`1[[System.__Canon, System.Private.CoreLib]].Add(System.__Canon)");
  CHECK(
      format_sos_name(method(
          instantiate(definition("System.Collections.Generic", {"Dictionary`2"}), {canon, int32_definition}),
          "TryGetValue",
          {variable(0, false, canon), wrap(TypeShape::byref, variable(1, false, int32_definition))})) ==
      "System.Collections.Generic.Dictionary`2[[System.__Canon, System.Private.CoreLib],[System.Int32, "
      "System.Private.CoreLib]].TryGetValue(System.__Canon, Int32 ByRef)");
  QualifiedMethodName to_list = method(
      definition("System.Linq", {"Enumerable"}, "System.Linq"), "ToList",
      {instantiate(definition("System.Collections.Generic", {"IEnumerable`1"}), {variable(0, true, canon)})},
      0x10);
  to_list.method_arguments = {canon};
  CHECK(format_sos_name(to_list) == "System.Linq.Enumerable.ToList[[System.__Canon, System.Private.CoreLib]]"
                                    "(System.Collections.Generic.IEnumerable`1<System.__Canon>)");
  CHECK(format_sos_name(method(definition("", {"Program", "<>c"}, "app"), "<Main>b__0_0")) ==
        "Program+<>c.<Main>b__0_0()");
  CHECK(format_sos_name(method(array_of(int32_definition, 2), "Get", {int32, int32})) ==
        "System.Int32[,].Get(Int32, Int32)");
}

TEST_CASE("SOS' parameter lists") {
  const auto parameter = [](TypeNamePtr type) {
    const std::string whole = format_sos_name(method(definition("", {"T"}), "M", {std::move(type)}));
    return whole.substr(4, whole.size() - 5);
  };
  CHECK(parameter(primitive(ElementType::native_int)) == "IntPtr");
  CHECK(parameter(primitive(ElementType::typed_reference)) == "TypedReference");
  // A nested type loses its encloser and the namespace with it.
  const TypeNamePtr enumerator = definition("System.Collections.Generic", {"List`1", "Enumerator"});
  CHECK(parameter(instantiate(enumerator, {int32})) == "Enumerator<Int32>");
  CHECK(parameter(array_of(wrap(TypeShape::pointer, int32), 3)) == "Int32*[,,]");
  CHECK(parameter(make_type(
            {.shape = TypeShape::function_pointer, .element = nothing, .arguments = {int32, text}})) ==
        "Void (Int32, System.String)");
  CHECK(parameter(make_type({.shape = TypeShape::modified, .element = int32, .arguments = {canon}})) ==
        "Int32");
  CHECK(parameter(variable(1, false)) == "!!1");
  CHECK(parameter(unknown_type()) == "**UNKNOWN TYPE**");
  // Definitions named by token stay as they are, those that stand for variables know that they are primitive.
  CHECK(parameter(int32_definition) == "System.Int32");
  CHECK(parameter(variable(0, false, int32_definition)) == "Int32");
  // Raw type handles.
  CHECK(parameter(internal(instantiate(definition("System", {"Span`1"}), {int32}), 0x7f00)) ==
        "System.Span`1");
  CHECK(parameter(internal(wrap(TypeShape::pointer, int32), 0x7f02)) == "System.UIntPtr");
  CHECK(parameter(internal(wrap(TypeShape::byref, int32_definition), 0x7f02)) == "Int32 ByRef");
  QualifiedMethodName vararg = method(definition("", {"T"}), "M", {int32}, 5);
  CHECK(format_sos_name(vararg) == "T.M(Int32, ...)");
  vararg.parameters.clear();
  CHECK(format_sos_name(vararg) == "T.M(...)");
}

TEST_CASE("SOS escapes what would be read as structure") {
  CHECK(format_sos_type(*definition("A,B", {"C+D", "E[]&*\\"})) == "A\\,B.C\\+D+E\\[\\]\\&\\*\\\\");
  CHECK(format_sos_type(*instantiate(definition("", {"G`1"}), {definition("", {"X"}, "odd]name")})) ==
        "G`1[[X, odd\\]name]]");
  // A bare variable stands without brackets of its own, so does a type of unknown assembly.
  CHECK(format_sos_type(*instantiate(definition("", {"G`2"}), {variable(0, false, nullptr, "T"),
                                                               definition("", {"X"}, "")})) == "G`2[T,X]");
  CHECK(format_sos_type(*instantiate(definition("", {"G`1"}), {szarray_of(int32)})) ==
        "G`1[[System.Int32[], System.Private.CoreLib]]");
  CHECK(format_sos_type(*array_of(int32, 1)) == "System.Int32[*]");
  CHECK(format_sos_type(*array_of(int32, 65)) == "System.Int32[65]");
}

TEST_CASE("C#-like types") {
  // Names that only damaged metadata gives.
  CHECK(format_type(*definition("", {""})) == "?");
  CHECK(format_type(*definition("Ns", {"Outer", "`1"})) == "Ns.Outer.?<>");
  const auto shown = [](const TypeNamePtr& type) { return format_type(*type); };
  CHECK(shown(primitive(ElementType::u1)) == "byte");
  CHECK(shown(primitive(ElementType::native_uint)) == "nuint");
  CHECK(shown(int32_definition) == "int");
  CHECK(shown(definition("System", {"Decimal"})) == "decimal");
  CHECK(shown(definition("My", {"Int32"})) == "My.Int32");
  CHECK(shown(definition("System.Collections.Generic", {"Dictionary`2"})) ==
        "System.Collections.Generic.Dictionary<,>");
  TypeName open = *definition("", {"Outer`1", "Inner`2"});
  open.parameter_names = {"A", "B", "C"};
  CHECK(format_type(open) == "Outer<A>.Inner<B, C>");
  CHECK(shown(instantiate(definition("", {"Outer`1", "Plain", "Inner`2"}), {int32, text, object})) ==
        "Outer<int>.Plain.Inner<string, object>");
  CHECK(shown(instantiate(definition("", {"NoTick"}), {int32})) == "NoTick<int>");
  CHECK(shown(definition("", {"<>f__Name`x"})) == "<>f__Name`x");
  // C# writes the outermost dimensions first.
  CHECK(shown(szarray_of(array_of(int32, 2))) == "int[][,]");
  CHECK(shown(array_of(szarray_of(int32), 3)) == "int[,,][]");
  CHECK(shown(szarray_of(wrap(TypeShape::pointer, szarray_of(int32)))) == "int[]*[]");
  CHECK(shown(wrap(TypeShape::byref, szarray_of(int32))) == "ref int[]");
  CHECK(shown(make_type({.shape = TypeShape::function_pointer, .element = nothing, .arguments = {int32}})) ==
        "delegate*<int, void>");
  CHECK(shown(make_type({.shape = TypeShape::function_pointer, .element = int32, .header = 9})) ==
        "delegate* unmanaged<int>");
  CHECK(shown(make_type({.shape = TypeShape::function_pointer, .element = int32, .header = 1})) ==
        "delegate* unmanaged[Cdecl]<int>");
  CHECK(shown(variable(3, true)) == "!!3");
  CHECK(shown(variable(3, true, nullptr, "TKey")) == "TKey");
}

TEST_CASE("methods without a type") {
  QualifiedMethodName m = method(nullptr, "InvokeStub_X.Y", {object, wrap(TypeShape::pointer, object)}, 0);
  m.container = MethodContainer::dynamic_class;
  CHECK(format_full_name(m) == "DynamicClass.InvokeStub_X.Y(object, object*)");
  CHECK(format_sos_name(m) == "DynamicClass.InvokeStub_X.Y(System.Object, System.Object*)");
  CHECK(format_perf_map_name(m) == "void [app] dynamicClass::InvokeStub_X.Y(object,object*)");
  CHECK(format_short_name(m) == "DynamicClass.InvokeStub_X.Y");
  m.container = MethodContainer::il_stub_class;
  m.method = "IL_STUB_PInvoke";
  CHECK(format_sos_name(m) == "ILStubClass.IL_STUB_PInvoke(System.Object, System.Object*)");
  CHECK(format_token_name("app.dll", 0x06000123) == "app.dll!0x06000123");
}

TEST_CASE("IL spelling of events and perf maps") {
  const auto parameter = [](TypeNamePtr type) {
    const std::string whole = format_event_name(method(definition("", {"T"}), "M", {std::move(type)}));
    return whole.substr(4, whole.size() - 5);
  };
  TypeName referenced =
      *definition("System.Collections.Generic", {"List`1", "Enumerator"}, "System.Runtime", true);
  referenced.scope = "System.Runtime";
  CHECK(parameter(instantiate(make_type(referenced), {variable(0, false, int32)})) ==
        "valuetype [System.Runtime]System.Collections.Generic.List`1/Enumerator<!0>");
  CHECK(parameter(wrap(TypeShape::byref, definition("Ns", {"C"}))) == "class Ns.C&");
  CHECK(parameter(make_type({.shape = TypeShape::modified,
                             .element = wrap(TypeShape::byref, primitive(ElementType::char_)),
                             .arguments = {definition("System.Runtime.InteropServices", {"InAttribute"})},
                             .required = true})) ==
        "char& modreq(System.Runtime.InteropServices.InAttribute)");
  CHECK(
      parameter(make_type(
          {.shape = TypeShape::function_pointer, .element = nothing, .arguments = {object}, .header = 9})) ==
      "method unmanaged void *(object)");
  CHECK(parameter(array_of(int32, 2)) == "int32[,]");
  CHECK(parameter(array_of(int32, 1)) == "int32[...]");
  const auto bounds = std::make_shared<const ArrayBounds>(ArrayBounds{.sizes = {3}, .lower = {0, -1}});
  CHECK(parameter(make_type({.shape = TypeShape::array, .element = int32, .rank = 2, .bounds = bounds})) ==
        "int32[3,-1...]");
  // A raw handle prints as its class and MethodTable.
  const TypeNamePtr span = internal(definition("System", {"Span`1"}), 0x7f4b287c93b0);
  CHECK(parameter(instantiate(span, {object})) == "System.Span`1 /* MT: 0x7f4b287c93b0 */<object>");
  CHECK(parameter(primitive(ElementType::u2)) == "uint16");
  CHECK(parameter(primitive(ElementType::native_int)) == "native int");
}

TEST_CASE("hostile trees print within the limits") {
  // Each level names the one below twice: 2^60 leaves.
  TypeNamePtr wide = definition("Ns", {"Leaf"});
  for (unsigned i = 0; i < 60; ++i) wide = instantiate(definition("Ns", {"Pair`2"}), {wide, wide});
  TypeNamePtr deep = int32;
  for (unsigned i = 0; i < 5000; ++i) deep = wrap(TypeShape::pointer, deep);
  TypeNamePtr arrays = int32;
  for (unsigned i = 0; i < 5000; ++i) arrays = szarray_of(arrays);
  TypeNamePtr variables = int32;
  for (unsigned i = 0; i < 5000; ++i) variables = variable(0, false, variables);
  for (const TypeNamePtr& type : {wide, deep, arrays, variables, array_of(int32, 0xffff'ffff)}) {
    const QualifiedMethodName m = method(type, "M", {type, type});
    for (const std::string& name : {format_full_name(m), format_sos_name(m), format_event_name(m),
                                    format_short_name(m), format_perf_map_name(m)}) {
      CHECK(name.size() <= max_name_length + 3);
      CHECK(!name.empty());
    }
  }
  QualifiedMethodName holes = method(nullptr, "M", {nullptr, nullptr});
  holes.return_type = nullptr;
  CHECK(format_full_name(holes) == "M(?, ?)");
  CHECK_FALSE(format_perf_map_name(holes).empty());
  CHECK_FALSE(format_sos_name(holes).empty());
}

TEST_CASE("names of every length are whole, up to the limit") {
  for (const std::size_t length : {1, 200, 249, 250, 251, 500, 508, 509, 510, 511, 512, 513, 600, 3000}) {
    INFO(length);
    const std::string part(length, 'x'), type = "Ns." + std::string(length, 'T');
    const TypeNamePtr of = definition("Ns", {std::string(length, 'T')});
    const QualifiedMethodName name = method(of, part, {szarray_of(of), of});
    CHECK(format_full_name(name) == type + "." + part + "(" + type + "[], " + type + ")");
    CHECK(format_short_name(name) == type + "." + part);
    CHECK(format_type(*szarray_of(of)) == type + "[]");
  }
}

TEST_CASE("a type that was printed before prints the same within another, at every depth") {
  const auto tower = [](unsigned levels) {
    std::vector<TypeNamePtr> types{definition("Ns", {"Leaf"})};
    while (types.size() <= levels)
      types.push_back(instantiate(definition("Ns", {"Box`1"}), {wrap(TypeShape::pointer, types.back())}));
    return types;
  };
  for (const unsigned levels : {1u, 5u, 30u, 31u, 32u, 33u, 64u, 80u}) {
    INFO(levels);
    const auto fresh = tower(levels), printed = tower(levels);
    // From the inside out, and once more.
    for (const TypeNamePtr& type : printed) format_type(*type);
    CHECK(format_type(*printed.back()) == format_type(*fresh.back()));
    for (std::size_t i = 0; i < fresh.size(); ++i)
      CHECK(format_type(*printed[i]) == format_type(*tower(levels)[i]));
  }
  // A copy is another type.
  TypeName changed = *definition("Ns", {"Old"});
  const TypeNamePtr before = make_type(changed);
  CHECK(format_type(*before) == "Ns.Old");
  changed = *before;
  changed.chain = {"New"};
  CHECK(format_type(changed) == "Ns.New");
}

TEST_CASE("long types print the same whether they were printed before or not") {
  // Of about 300 and 16,300 characters: beyond what is kept, and around the longest name.
  for (const std::size_t length : {200u, 300u, 16'370u, 16'383u, 16'384u}) {
    const std::string long_name(length, 'x');
    const TypeNamePtr type = definition("", {long_name}), again = definition("", {long_name});
    format_type(*type);
    CHECK(format_full_name(method(type, "M", {type, type})) ==
          format_full_name(method(again, "M", {again, again})));
  }
}
