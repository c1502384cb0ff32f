#include "core/types/metadata_names.h"

#include "core/memory/failing_reader.h"
#include "tests/support/metadata_builder.h"

#include <catch2/catch.hpp>

using namespace clr;
using namespace clr::test;

namespace {

struct Built {
  explicit Built(const MetadataBuilder& builder)
      : bytes(builder.build()), memory(bytes), metadata(ByteRange(memory, 0, bytes.size())), names(metadata) {
  }
  Bytes bytes;
  HostMemory memory;
  Metadata metadata;
  MetadataNames names;
};

struct Ids {
  std::uint32_t outer, inner, run, enumerator;
};

// assembly "lib": Ns.Outer`1<T> { Inner`1<T, U> { R Run<R>(T, U, List<R>.Enumerator) } }
Ids fill(MetadataBuilder& builder) {
  Ids ids{};
  builder.assembly("lib");
  const std::uint32_t runtime = builder.assembly_ref("System.Collections");
  const std::uint32_t list = builder.type_ref("System.Collections.Generic", "List`1", runtime);
  ids.enumerator = builder.nested_type_ref("Enumerator", list);
  ids.outer = builder.type("Ns", "Outer`1");
  ids.inner = builder.nested("Inner`1", ids.outer);
  Bytes signature = bytes_of({0x30, 1, 3, 0x1e, 0, 0x13, 0, 0x13, 1, 0x15, 0x11});
  append_compressed(signature, ids.enumerator << 2 | 1);
  for (const std::byte b : bytes_of({1, 0x1e, 0})) signature.push_back(b);
  ids.run = builder.method("Run", signature);
  builder.generic_parameter(MetadataTable::method_def, ids.run, 0, "R"); // sorts first: 1 << 1 | 1
  builder.generic_parameter(MetadataTable::type_def, ids.outer, 0, "T");
  builder.generic_parameter(MetadataTable::type_def, ids.inner, 0, "T");
  builder.generic_parameter(MetadataTable::type_def, ids.inner, 1, "U");
  return ids;
}

ErrorKind kind_of(const std::function<void()>& act) {
  try {
    act();
  } catch (const Error& error) {
    return error.kind();
  }
  return ErrorKind::invalid_argument;
}

} // namespace

TEST_CASE("an open method names its type parameters") {
  MetadataBuilder builder;
  const Ids ids = fill(builder);
  Built built(builder);
  const QualifiedMethodName name = built.names.method(ids.run);
  CHECK(format_full_name(name) ==
        "Ns.Outer<T>.Inner<U>.Run<R>(T, U, System.Collections.Generic.List<R>.Enumerator)");
  CHECK(format_short_name(name) == "Ns.Outer`1+Inner`1.Run");
  CHECK(format_perf_map_name(name) ==
        "instance !!0 [lib] Ns.Outer`1+Inner`1[T,U]::Run(!0,!1,valuetype "
        "[System.Collections]System.Collections.Generic.List`1/Enumerator<!!0>)");
  CHECK(name.declaring_type->assembly == "lib");
}

TEST_CASE("arguments stand for the type parameters") {
  MetadataBuilder builder;
  const Ids ids = fill(builder);
  Built built(builder);
  const TypeNamePtr class_arguments[] = {primitive_type(ElementType::i4),
                                         primitive_type(ElementType::string)};
  const TypeNamePtr method_arguments[] = {szarray_of(primitive_type(ElementType::u1))};
  SignatureContext context;
  context.class_arguments = class_arguments;
  context.method_arguments = method_arguments;
  CHECK(format_full_name(built.names.method(ids.run, context)) ==
        "Ns.Outer<int>.Inner<string>.Run<byte[]>(int, string, "
        "System.Collections.Generic.List<byte[]>.Enumerator)");
  // A declaring type that the caller knows better wins.
  const TypeNamePtr exact =
      instantiate(built.names.type_def(ids.inner), {class_arguments[0], class_arguments[0]});
  const std::string list = "System.Collections.Generic.List<R>.Enumerator)";
  CHECK(format_full_name(built.names.method(ids.run, {}, exact)) ==
        "Ns.Outer<int>.Inner<int>.Run<R>(!0, !1, " + list);
  // What a signature meant with arguments is not kept for those without, nor the other way round.
  CHECK(format_full_name(built.names.method(ids.run)) == "Ns.Outer<T>.Inner<U>.Run<R>(T, U, " + list);
  CHECK(format_full_name(built.names.method(ids.run, context))
            .ends_with("(int, string, System.Collections.Generic.List<byte[]>.Enumerator)"));
}

TEST_CASE("types by token") {
  MetadataBuilder builder;
  const Ids ids = fill(builder);
  Bytes spec = bytes_of({0x15, 0x12});
  append_compressed(spec, ids.outer << 2);
  for (const std::byte b : bytes_of({1, 0x08})) spec.push_back(b);
  const std::uint32_t rid = builder.add(MetadataTable::type_spec, {builder.blob(spec)});
  Built built(builder);
  CHECK(format_type(*built.names.type(token_of(MetadataTable::type_def, ids.inner))) == "Ns.Outer<>.Inner<>");
  CHECK(format_type(*built.names.open_type_def(ids.inner)) == "Ns.Outer<T>.Inner<U>");
  const TypeNamePtr reference = built.names.type_ref(ids.enumerator);
  CHECK(reference->scope == "System.Collections");
  CHECK(reference->chain == std::vector<std::string>{"List`1", "Enumerator"});
  CHECK(format_type(*built.names.type(token_of(MetadataTable::type_spec, rid))) == "Ns.Outer<int>");
  CHECK(built.names.type_def(ids.outer) == built.names.type_def(ids.outer)); // kept
  CHECK(built.names.type(0)->shape == TypeShape::unknown);
  CHECK(kind_of([&] { built.names.type_def(99); }) == ErrorKind::corrupt);
}

TEST_CASE("members by reference") {
  MetadataBuilder builder;
  const Ids ids = fill(builder);
  const std::uint32_t by_type =
      builder.add(MetadataTable::member_ref, {ids.enumerator << 3 | 1, builder.string("MoveNext"),
                                              builder.blob(bytes_of({0x20, 0, 2}))});
  const std::uint32_t call_site =
      builder.add(MetadataTable::member_ref,
                  {ids.run << 3 | 3, builder.string("Run"), builder.blob(bytes_of({0x20, 0, 1}))});
  Built built(builder);
  CHECK(format_full_name(built.names.member(by_type)) ==
        "System.Collections.Generic.List<>.Enumerator.MoveNext()");
  CHECK(format_short_name(built.names.member(call_site)) == "Ns.Outer`1+Inner`1.Run");
}

TEST_CASE("raw type handles are named by the caller") {
  struct Handles final : TypeHandleNames {
    TypeNamePtr type_of_handle(std::uint64_t handle) override {
      return handle == 0x7f0000001000
                 ? make_type({.shape = TypeShape::definition, .name_space = "Ns", .chain = {"S"}})
                 : unknown_type();
    }
  } handles;
  MetadataBuilder builder;
  Built built(builder);
  SignatureContext context;
  context.handles = &handles;
  QualifiedMethodName name;
  name.container = MethodContainer::dynamic_class;
  name.method = "Made";
  name.module = "lib";
  built.names.read_signature(bytes_of({0, 1, 1, 0x21, 0x00, 0x10, 0, 0, 0, 0x7f, 0, 0}), context, name);
  CHECK(format_full_name(name) == "DynamicClass.Made(Ns.S)");
  CHECK(format_perf_map_name(name) == "void [lib] dynamicClass::Made(Ns.S /* MT: 0x7f0000001000 */)");
}

TEST_CASE("signatures share the types that they are made of") {
  MetadataBuilder builder;
  Built built(builder);
  const auto parameters = [&](std::initializer_list<int> types, const SignatureContext& context = {}) {
    std::vector<std::byte> bytes = bytes_of({0, 2, 1}); // two parameters, void
    for (const int type : types) bytes.push_back(static_cast<std::byte>(type));
    QualifiedMethodName name;
    built.names.read_signature(bytes, context, name);
    return name.parameters;
  };
  const auto first = parameters({0x1d, 0x0e, 0x10, 0x1d, 0x0e}); // string[], ref string[]
  CHECK(first[1]->element == first[0]);
  CHECK(parameters({0x1d, 0x0e, 0x10, 0x1d, 0x0e}) == first);
  CHECK(parameters({0x1d, 0x08, 0x10, 0x1d, 0x08})[0] != first[0]); // int[]
  // !0 of two types are two.
  const std::vector<TypeNamePtr> text{primitive_type(ElementType::string)};
  const std::vector<TypeNamePtr> number{primitive_type(ElementType::i4)};
  const auto of_text = parameters({0x13, 0, 0x13, 0}, {.class_arguments = text, .method_arguments = {}});
  const auto of_number = parameters({0x13, 0, 0x13, 0}, {.class_arguments = number, .method_arguments = {}});
  CHECK(of_text[0] == of_text[1]);
  CHECK(of_text[0] != of_number[0]);
}

TEST_CASE("a signature that cannot be read leaves the name and says why") {
  MetadataBuilder builder;
  builder.assembly("lib");
  builder.type("Ns", "A");
  const std::uint32_t bad = builder.method("Bad", bytes_of({0x20, 5, 1, 8}));
  const std::uint32_t odd = builder.method("Odd", bytes_of({0x06, 8}));
  Built built(builder);
  for (const std::uint32_t rid : {bad, odd}) {
    const QualifiedMethodName name = built.names.method(rid);
    CHECK_FALSE(name.signature_known);
    CHECK_FALSE(name.signature_fault.empty());
    CHECK(format_full_name(name).ends_with("(\?\?\?)"));
  }
}

TEST_CASE("an assembly without an Assembly row goes by its module's name") {
  MetadataBuilder builder;
  Built built(builder);
  CHECK(built.names.assembly_name() == "test");
  built.names.set_assembly_name("better");
  CHECK(built.names.assembly_name() == "better");
}

TEST_CASE("chains that loop are refused") {
  MetadataBuilder builder;
  const std::uint32_t a = builder.nested("A", 3), b = builder.nested("B", 2);
  CHECK(a == 2);
  CHECK(b == 3);
  const std::uint32_t reference = builder.nested_type_ref("R", 1);
  CHECK(reference == 1); // nested in itself
  const std::uint32_t spec =
      builder.add(MetadataTable::type_spec, {builder.blob(bytes_of({0x12, 1 << 2 | 2}))});
  const std::uint32_t wide =
      builder.add(MetadataTable::type_spec,
                  {builder.blob(bytes_of({0x15, 0x12, 2 << 2 | 2, 2, 0x12, 2 << 2 | 2, 0x12, 2 << 2 | 2}))});
  Built built(builder);
  CHECK(kind_of([&] { built.names.type_def(a); }) == ErrorKind::corrupt);
  CHECK(kind_of([&] { built.names.type_ref(reference); }) == ErrorKind::corrupt);
  CHECK(kind_of([&] { built.names.type(token_of(MetadataTable::type_spec, spec)); }) == ErrorKind::corrupt);
  CHECK(kind_of([&] { built.names.type(token_of(MetadataTable::type_spec, wide)); }) == ErrorKind::corrupt);
}

TEST_CASE("type specifications that multiply are refused") {
  // Each names the one before it a hundred times: 100^8 types.
  MetadataBuilder builder;
  for (unsigned level = 0; level < 8; ++level) {
    Bytes spec = bytes_of({0x15, 0x12, 1 << 2, 100});
    for (unsigned i = 0; i < 100; ++i)
      for (const std::byte b : level == 0 ? bytes_of({0x08}) : bytes_of({0x12, level << 2 | 2}))
        spec.push_back(b);
    builder.add(MetadataTable::type_spec, {builder.blob(spec)});
  }
  Built built(builder);
  CHECK(built.names.type(token_of(MetadataTable::type_spec, 2))->arguments.size() == 100);
  CHECK(kind_of([&] { built.names.type(token_of(MetadataTable::type_spec, 8)); }) == ErrorKind::corrupt);
  CHECK(built.names.type(token_of(MetadataTable::type_spec, 2))->arguments.size() == 100);
}

TEST_CASE("the k-th read fails: a fault or a name that says what it lacks") {
  MetadataBuilder builder;
  const Ids ids = fill(builder);
  const Bytes bytes = builder.build();
  HostMemory memory(bytes);
  FailingReader failing(memory);
  const auto whole = [&] {
    const Metadata metadata(ByteRange(failing, 0, bytes.size()));
    MetadataNames names(metadata);
    return names.method(ids.run);
  };
  const std::string right = format_full_name(whole()), right_sos = format_sos_name(whole());
  failing.fail_at(0);
  whole();
  const std::uint64_t reads = failing.reads();
  REQUIRE(reads > 30);
  for (std::uint64_t k = 1; k <= reads; ++k) {
    INFO("read " << k);
    failing.fail_at(k);
    try {
      const QualifiedMethodName name = whole();
      CHECK_FALSE(name.signature_known);
      CHECK_FALSE(name.signature_fault.empty());
      CHECK(format_full_name(name).starts_with("Ns.Outer<T>.Inner<U>.Run"));
      CHECK(right_sos.starts_with(format_sos_name(name)));
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::memory_missing);
    }
  }
}

TEST_CASE("the names of a type and of those around it have a limit") {
  MetadataBuilder builder;
  const std::string long_name(4'000, 'n'); // one text, which every level names
  std::uint32_t encloser = builder.type("", long_name);
  for (unsigned level = 1; level < 4; ++level) encloser = builder.nested(long_name, encloser);
  const std::uint32_t beyond = builder.nested(long_name, encloser);
  Built built(builder);
  CHECK(built.names.type_def(encloser)->chain.size() == 4);
  CHECK(kind_of([&] { built.names.type_def(beyond); }) == ErrorKind::corrupt);
}

TEST_CASE("a signature that names long names again and again is refused") {
  MetadataBuilder builder;
  const std::uint32_t reference =
      builder.type_ref("", std::string(4'000, 'n'), builder.assembly_ref("other"));
  Built built(builder);
  const auto read = [&](unsigned parameters) {
    Bytes signature = bytes_of({0});
    append_compressed(signature, parameters);
    signature.push_back(std::byte{1});
    for (unsigned i = 0; i < parameters; ++i) append(signature, bytes_of({0x12, reference << 2 | 1}));
    QualifiedMethodName name;
    built.names.read_signature(signature, {}, name);
    return name.parameters.size();
  };
  CHECK(read(500) == 500);
  CHECK(kind_of([&] { read(600); }) == ErrorKind::corrupt); // 2.4 MB of names
  CHECK(read(500) == 500);
}

TEST_CASE("a type that a signature names by its handle many times is one") {
  struct Handles final : TypeHandleNames {
    unsigned asked = 0;
    TypeNamePtr type_of_handle(std::uint64_t) override {
      ++asked;
      return make_type({.shape = TypeShape::definition, .chain = {"S"}});
    }
  } handles;
  Built built{MetadataBuilder()};
  SignatureContext context;
  context.handles = &handles;
  Bytes signature = bytes_of({0, 3, 1});
  for (const unsigned handle : {1u, 2u, 1u}) append(signature, bytes_of({0x21, handle, 0, 0, 0, 0, 0, 0, 0}));
  QualifiedMethodName name;
  built.names.read_signature(signature, context, name);
  REQUIRE(name.parameters.size() == 3);
  CHECK(name.parameters[0] == name.parameters[2]);
  CHECK(name.parameters[0] != name.parameters[1]);
  CHECK(name.parameters[1]->handle == 2);
  CHECK(handles.asked == 2);
}

TEST_CASE("names beyond the room of all modules are dropped and made again") {
  MetadataBuilder builder;
  const Ids ids = fill(builder);
  const Bytes bytes = builder.build();
  HostMemory memory(bytes);
  const Metadata metadata(ByteRange(memory, 0, bytes.size()));
  const auto room = std::make_shared<NameRoom>();
  MetadataNames first(metadata, room), second(metadata, room);
  const TypeNamePtr type = first.type_def(ids.outer);
  const std::string text = format_full_name(first.method(ids.run));
  const std::size_t small = room->kept();
  CHECK(small > 0);
  CHECK(first.type_def(ids.outer) == type);
  CHECK(room->kept() == small);
  room->keep(NameRoom::max_kept_names);
  second.type_def(ids.outer); // whoever asks next drops those of all
  CHECK(room->kept() < small);
  CHECK(first.type_def(ids.outer) != type);
  CHECK(first.type_def(ids.outer)->chain == type->chain);
  CHECK(format_full_name(first.method(ids.run)) == text);
}
