#include "core/types/user_method.h"

#include "tests/support/metadata_builder.h"

#include <catch2/catch.hpp>

using namespace clr;
using namespace clr::test;

namespace {

const Bytes no_parameters = bytes_of({0, 0, 1}), one_int = bytes_of({0, 1, 1, 0x08});

struct Built {
  explicit Built(const MetadataBuilder& builder)
      : bytes(builder.build()), memory(bytes), metadata(ByteRange(memory, 0, bytes.size())), names(metadata) {
  }

  // The user's method of `rid`, its type and itself instantiated over arguments.
  std::optional<UserMethod> find(std::uint32_t rid, std::vector<TypeNamePtr> of_class = {},
                                 std::vector<TypeNamePtr> of_method = {}) {
    SignatureContext context;
    context.class_arguments = of_class;
    context.method_arguments = of_method;
    return find_user_method(names, rid, names.method(rid, context));
  }
  std::string text(std::uint32_t rid, std::vector<TypeNamePtr> of_class = {},
                   std::vector<TypeNamePtr> of_method = {}) {
    const auto found = find(rid, std::move(of_class), std::move(of_method));
    return found ? found->text() : "its own";
  }

  Bytes bytes;
  HostMemory memory;
  Metadata metadata;
  MetadataNames names;
};

// Attributes of methods: rows must be added in the order of the methods.
class Attributes {
public:
  explicit Attributes(MetadataBuilder& builder)
      : builder_(builder), runtime_(builder.assembly_ref("System.Runtime")) {}

  void add(std::uint32_t method, std::string_view attribute, std::string_view machine) {
    constexpr std::uint32_t parent_is_type_ref = 1, constructor_is_member_ref = 3;
    const std::uint32_t type = builder_.type_ref("System.Runtime.CompilerServices", attribute, runtime_);
    const std::uint32_t constructor =
        builder_.add(MetadataTable::member_ref, {type << 3 | parent_is_type_ref, builder_.string(".ctor"),
                                                 builder_.blob(bytes_of({0x20, 1, 1, 0x12, 5}))});
    Bytes value = bytes_of({1, 0});
    append_compressed(value, static_cast<std::uint32_t>(machine.size()));
    for (const char c : machine) value.push_back(static_cast<std::byte>(c));
    append_u16(value, 0);
    builder_.add(MetadataTable::custom_attribute,
                 {method << 5, constructor << 3 | constructor_is_member_ref, builder_.blob(value)});
  }

private:
  MetadataBuilder& builder_;
  std::uint32_t runtime_;
};

} // namespace

TEST_CASE("a state machine is the method whose attribute names it") {
  MetadataBuilder builder;
  Attributes attributes(builder);
  const std::uint32_t type = builder.type("Ns", "Type");
  builder.method("RunAsync", no_parameters);
  const std::uint32_t second = builder.method("RunAsync", one_int);
  const std::uint32_t items = builder.method("Items", no_parameters);
  const std::uint32_t stream = builder.method("Stream", no_parameters);
  builder.nested("<RunAsync>d__0", type);
  builder.method("MoveNext", no_parameters);
  builder.nested("<RunAsync>d__1", type);
  const std::uint32_t async_move_next = builder.method("MoveNext", no_parameters);
  const std::uint32_t other = builder.method("SetStateMachine", no_parameters);
  builder.nested("<Items>d__2", type);
  const std::uint32_t iterator_move_next = builder.method("MoveNext", no_parameters);
  const std::uint32_t finally_block = builder.method("<>m__Finally1", no_parameters);
  builder.nested("<Stream>d__3", type);
  const std::uint32_t stream_move_next = builder.method("MoveNext", no_parameters);
  attributes.add(second - 1, "AsyncStateMachineAttribute", "Ns.Type+<RunAsync>d__0");
  attributes.add(second, "DebuggerStepThroughAttribute", "");
  attributes.add(second, "AsyncStateMachineAttribute", "Ns.Type+<RunAsync>d__1, app, Version=1.0.0.0");
  attributes.add(items, "IteratorStateMachineAttribute", "Ns.Type+<Items>d__2");
  attributes.add(stream, "AsyncIteratorStateMachineAttribute", "Ns.Type+<Stream>d__3");
  Built built(builder);
  CHECK(built.text(async_move_next) == "Ns.Type.RunAsync(int) [async]");
  CHECK(built.find(async_move_next)->token == token_of(MetadataTable::method_def, second));
  CHECK(built.text(iterator_move_next) == "Ns.Type.Items() [iterator]");
  CHECK(built.text(finally_block) == "Ns.Type.Items() [iterator]");
  CHECK(built.text(stream_move_next) == "Ns.Type.Stream() [async iterator]");
  CHECK(built.text(second) == "its own");
  CHECK(built.text(other) == "its own");
}

TEST_CASE("an attribute whose value is torn names nothing") {
  MetadataBuilder builder;
  Attributes attributes(builder);
  const std::uint32_t type = builder.type("", "Type");
  const std::uint32_t run = builder.method("Run", no_parameters);
  builder.nested("<Run>d__0", type);
  const std::uint32_t move_next = builder.method("MoveNext", no_parameters);
  attributes.add(run, "AsyncStateMachineAttribute", "Type+<Run>d__0");
  const std::uint32_t torn = builder.blob(bytes_of({1, 0, 0x20, 'T'}));
  builder.set(MetadataTable::custom_attribute, 1, 2, torn);
  Built built(builder);
  // The compiler's name of the type is left.
  CHECK(built.text(move_next) == "Type.Run() [state machine]");
}

TEST_CASE("an enumerator that someone wrote is its own method") {
  MetadataBuilder builder;
  const std::uint32_t type = builder.type("Ns", "List");
  builder.method("GetEnumerator", no_parameters);
  builder.nested("Enumerator", type);
  const std::uint32_t move_next = builder.method("MoveNext", no_parameters);
  Built built(builder);
  CHECK(built.text(move_next) == "its own");
  CHECK(may_be_compiler_made(built.names.method(move_next)));
}

TEST_CASE("without attributes the name of the type tells") {
  MetadataBuilder builder;
  const std::uint32_t type = builder.type("Ns", "Type");
  builder.method("Run", one_int);
  builder.method("Twice", no_parameters);
  builder.method("Twice", one_int);
  builder.nested("<Run>d__0", type);
  const std::uint32_t run = builder.method("MoveNext", no_parameters);
  builder.nested("<Twice>d__1", type);
  const std::uint32_t twice = builder.method("MoveNext", no_parameters);
  builder.nested("<Gone>d__2", type);
  const std::uint32_t gone = builder.method("MoveNext", no_parameters);
  Built built(builder);
  CHECK(built.text(run) == "Ns.Type.Run(int) [state machine]");
  CHECK(built.text(twice) == "Ns.Type.Twice [state machine]");
  CHECK(built.find(twice)->token == 0);
  CHECK(built.text(gone) == "Ns.Type.Gone [state machine]");
}

TEST_CASE("lambdas and local functions belong to the method around them") {
  MetadataBuilder builder;
  builder.assembly("app");
  const std::uint32_t type = builder.type("Ns", "Type");
  builder.method("Run", one_int);
  const std::uint32_t self = builder.method("<Run>b__0_3", no_parameters);
  // void <Run>g__Work|0_1(int, ref <>c__DisplayClass0_0), whose struct is TypeDef row 4
  Bytes captured = bytes_of({0, 2, 1, 0x08, 0x10, 0x11});
  append_compressed(captured, 4 << 2);
  const std::uint32_t local = builder.method("<Run>g__Work|0_1", captured);
  const std::uint32_t main = builder.method("<Main>$", no_parameters);
  const std::uint32_t top = builder.method("<<Main>$>g__Top|0_0", no_parameters);
  builder.nested("<>c", type);
  const std::uint32_t cached = builder.method("<Run>b__0_0", no_parameters);
  const std::uint32_t constructor = builder.method(".cctor", no_parameters);
  const std::uint32_t closure = builder.nested("<>c__DisplayClass0_0", type);
  REQUIRE(closure == 4);
  const std::uint32_t capturing = builder.method("<Run>b__2", no_parameters);
  Built built(builder);
  CHECK(built.text(self) == "Ns.Type.Run(int) [lambda]");
  CHECK(built.text(cached) == "Ns.Type.Run(int) [lambda]");
  CHECK(built.text(capturing) == "Ns.Type.Run(int) [lambda]");
  CHECK(built.text(local) == "Ns.Type.Run(int).Work(int) [local function]");
  CHECK(built.text(top) == "Ns.Type.<Main>$().Top() [local function]");
  CHECK(built.text(main) == "its own");
  CHECK(built.text(constructor) == "its own");
}

TEST_CASE("a state machine of a lambda has both marks") {
  MetadataBuilder builder;
  Attributes attributes(builder);
  const std::uint32_t type = builder.type("Ns", "Type");
  builder.method("Run", no_parameters);
  const std::uint32_t closures = builder.nested("<>c", type);
  const std::uint32_t lambda = builder.method("<Run>b__0_0", no_parameters);
  builder.nested("<<Run>b__0_0>d", closures);
  const std::uint32_t move_next = builder.method("MoveNext", no_parameters);
  attributes.add(lambda, "AsyncStateMachineAttribute", "Ns.Type+<>c+<<Run>b__0_0>d");
  Built built(builder);
  CHECK(built.text(move_next) == "Ns.Type.Run() [async lambda]");
  CHECK(built.find(move_next)->token == token_of(MetadataTable::method_def, lambda - 1));
}

TEST_CASE("type arguments are shared out between the user's type and method") {
  MetadataBuilder builder;
  Attributes attributes(builder);
  const std::uint32_t type = builder.type("Ns", "Outer`1");
  const std::uint32_t run = builder.method("RunAsync", bytes_of({0x10, 1, 2, 1, 0x13, 0, 0x1e, 0}));
  const std::uint32_t local = builder.method("<RunAsync>g__Work|0_0", bytes_of({0x10, 2, 1, 1, 0x1e, 1}));
  const std::uint32_t machine = builder.nested("<RunAsync>d__0`1", type);
  const std::uint32_t move_next = builder.method("MoveNext", no_parameters);
  // In the order of the coded owners, as the table is sorted.
  builder.generic_parameter(MetadataTable::method_def, run, 0, "R");
  builder.generic_parameter(MetadataTable::type_def, type, 0, "T");
  builder.generic_parameter(MetadataTable::method_def, local, 0, "R");
  builder.generic_parameter(MetadataTable::method_def, local, 1, "U");
  builder.generic_parameter(MetadataTable::type_def, machine, 0, "T");
  builder.generic_parameter(MetadataTable::type_def, machine, 1, "R");
  attributes.add(run, "AsyncStateMachineAttribute", "Ns.Outer`1+<RunAsync>d__0`1");
  Built built(builder);
  const TypeNamePtr integer = primitive_type(ElementType::i4), text = primitive_type(ElementType::string),
                    octet = primitive_type(ElementType::u1);
  CHECK(built.text(move_next, {integer, text}) == "Ns.Outer<int>.RunAsync<string>(int, string) [async]");
  CHECK(built.text(move_next) == "Ns.Outer<T>.RunAsync<R>(T, R) [async]");
  CHECK(built.text(local, {integer}, {text, octet}) ==
        "Ns.Outer<int>.RunAsync<string>(int, string).Work<byte>(byte) [local function]");
}

TEST_CASE("names that only look like a compiler's") {
  MetadataBuilder builder;
  builder.type("Ns", "Type");
  std::vector<std::uint32_t> methods;
  for (const std::string_view name : {"<", "<>", "<Run", "<Run>", "<>b__0", "<Run>k__BackingField", "<Run>b",
                                      "<Run>g__Work", "<<Run>b__0", "MoveNext", "<>m__Finally1"})
    methods.push_back(builder.method(name, no_parameters));
  Built built(builder);
  for (const std::uint32_t method : methods) CHECK(built.text(method) == "its own");
}

TEST_CASE("types that share their methods do not multiply a search") {
  constexpr unsigned field_list = 4, method_list = 5; // columns of TypeDef
  constexpr std::uint32_t shared = 10'000, types = 40;
  MetadataBuilder builder;
  const std::uint32_t host = builder.type("Ns", "Mod");
  const std::uint32_t machine = builder.nested("Load@22-1", host);
  const std::uint32_t move_next = builder.method("MoveNext", no_parameters);
  builder.add(MetadataTable::field,
              {0, builder.string("ResumptionPoint"), builder.blob(bytes_of({0x06, 0x08}))});
  CHECK(machine == host + 1);
  const std::uint32_t signature = builder.blob(no_parameters), name = builder.string("Other");
  for (std::uint32_t i = 0; i < shared; ++i)
    builder.add(MetadataTable::method_def, {0, 0, 0, name, signature, 1});
  // Each nested type has all of them: the list of the type behind it begins at their end.
  for (std::uint32_t i = 0; i < types; ++i) {
    const std::uint32_t all = builder.nested("Closure", host), none = builder.type("Ns", "Other");
    builder.set(MetadataTable::type_def, all, method_list, move_next + 1);
    builder.set(MetadataTable::type_def, none, method_list, move_next + 1 + shared);
    for (const std::uint32_t type : {all, none}) builder.set(MetadataTable::type_def, type, field_list, 2);
  }
  Built built(builder);
  CHECK(built.text(move_next) == "Ns.Mod.Load [async]");
  CHECK(built.find(move_next)->token == 0);
  CHECK(built.names.searched_methods() <= 2 * max_searched_methods);
}
