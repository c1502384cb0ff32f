#include "core/describe/code_names.h"
#include "core/types/user_method.h"

#include <catch2/catch.hpp>

using namespace clr;

namespace {

using Names = std::vector<std::string>;

TypeNamePtr named_type(std::string name_space, std::vector<std::string> chain,
                       std::vector<TypeNamePtr> arguments = {}) {
  TypeName type;
  type.shape = TypeShape::definition;
  type.name_space = std::move(name_space);
  type.chain = std::move(chain);
  return instantiate(make_type(std::move(type)), std::move(arguments));
}

Method named_method(TypeNamePtr type, std::string name, std::vector<TypeNamePtr> parameters = {},
                    std::vector<TypeNamePtr> arguments = {}) {
  auto qualified = std::make_shared<QualifiedMethodName>();
  qualified->declaring_type = std::move(type);
  qualified->method = std::move(name);
  qualified->parameters = std::move(parameters);
  qualified->method_arguments = std::move(arguments);
  qualified->signature_known = true;
  Method method;
  method.name = format_short_name(*qualified);
  method.full_name = format_full_name(*qualified);
  method.qualified = std::move(qualified);
  method.module = "app.dll";
  return method;
}

DebugNames names_of(const Method& method) {
  return all_names(method);
}

DebugNames few_names_of(const Method& method) {
  DescribedCode code;
  set_few_names(code, UnspelledMethod(method));
  return code.spelled();
}

const TypeNamePtr names_int = primitive_type(ElementType::i4);

} // namespace

TEST_CASE("names: a plain method") {
  const DebugNames code = names_of(named_method(named_type("Ns", {"Type"}), "Run", {names_int}));
  CHECK(code.name == "Run");
  CHECK(code.full_name == "Ns.Type.Run(int)");
  CHECK(code.aliases == Names{"Ns.Type.Run", "Type.Run"});
  CHECK(code.unit == "Ns.Type");
}

TEST_CASE("names: those of a method that starts a state machine are left to the machine's code") {
  const DebugNames code = kickoff_names(named_method(named_type("Ns", {"Type"}), "Run", {names_int}));
  CHECK(code.name == "Ns.Type.Run(int)");
  CHECK(code.full_name == "Ns.Type.Run(int)");
  CHECK(code.aliases.empty());
  CHECK(code.unit == "Ns.Type");
}

TEST_CASE("names: constructors are found by type") {
  const DebugNames code = names_of(named_method(named_type("Ns", {"Type"}), ".ctor"));
  CHECK(code.name == ".ctor");
  CHECK(code.full_name == "Ns.Type..ctor()");
  CHECK(code.aliases == Names{"Ns.Type..ctor", "Type..ctor"});
  CHECK(code.unit == "Ns.Type");
}

TEST_CASE("names: generics, nested types and explicit implementations") {
  const DebugNames generic = names_of(named_method(named_type("Ns", {"Outer`1", "Inner"}, {names_int}), "Run",
                                                   {names_int}, {primitive_type(ElementType::string)}));
  CHECK(generic.full_name == "Ns.Outer<int>.Inner.Run<string>(int)");
  CHECK(generic.name == "Run");
  CHECK(generic.aliases == Names{"Ns.Outer<int>.Inner.Run<string>", "Outer<int>.Inner.Run<string>",
                                 "Ns.Outer`1+Inner.Run", "Ns.Outer.Inner.Run", "Outer.Inner.Run"});
  CHECK(generic.unit == "Ns.Outer<int>.Inner");

  const DebugNames explicit_one = names_of(named_method(named_type("Ns", {"Type"}), "Ns.IFace.Run"));
  CHECK(explicit_one.name == "Ns.IFace.Run");
  CHECK(explicit_one.unit == "Ns.Type");
}

TEST_CASE("names: the body of a state machine has the user's name, and its own") {
  Method method = named_method(named_type("Ns", {"Type", "<RunAsync>d__1"}), "MoveNext");
  method.user = std::make_shared<const UserMethod>(
      UserMethod{.full_name = "Ns.Type.RunAsync(int)", .mark = "async", .token = 0});
  const DebugNames code = names_of(method);
  CHECK(code.full_name == "Ns.Type.RunAsync(int) [async]");
  CHECK(code.name == "RunAsync");
  for (const char* alias :
       {"Ns.Type.RunAsync", "Type.RunAsync", "Ns.Type.<RunAsync>d__1.MoveNext",
        "Ns.Type+<RunAsync>d__1.MoveNext", "Ns.Type.<RunAsync>d__1.MoveNext()", "MoveNext"})
    CHECK(std::count(code.aliases.begin(), code.aliases.end(), alias) == 1);
  CHECK(std::is_sorted(code.aliases.begin(), code.aliases.end(),
                       [](const auto& a, const auto& b) { return a.size() > b.size(); }));
}

TEST_CASE("names: a local function is called by its name, a lambda is not called like its method") {
  Method local = named_method(named_type("Ns", {"Type"}), "<Main>g__Work|0_0", {names_int});
  local.user = std::make_shared<const UserMethod>(
      UserMethod{.full_name = "Ns.Type.Main(string[]).Work(int)", .mark = "local function", .token = 0});
  CHECK(names_of(local).name == "Work");
  CHECK(names_of(local).full_name == "Ns.Type.Main(string[]).Work(int) [local function]");

  Method lambda = named_method(named_type("Ns", {"Type", "<>c"}), "<Main>b__0_1");
  lambda.user = std::make_shared<const UserMethod>(
      UserMethod{.full_name = "Ns.Type.Main(string[])", .mark = "lambda", .token = 0});
  const DebugNames code = names_of(lambda);
  CHECK(code.name == "<Main>b__0_1");
  CHECK(code.full_name == "Ns.Type.Main(string[]) [lambda]");
  CHECK(std::count(code.aliases.begin(), code.aliases.end(), "Ns.Type.Main") == 0);
  CHECK(std::count(code.aliases.begin(), code.aliases.end(), "Ns.Type.<>c.<Main>b__0_1") == 1);
}

TEST_CASE("names: a method that nothing names has its token, or its address") {
  Method token;
  token.name = token.full_name = "app.dll!0x06000001";
  token.module = "app.dll";
  CHECK(names_of(token).full_name == "app.dll!0x06000001");
  CHECK(names_of(token).name == "app.dll!0x06000001");
  CHECK(names_of(token).aliases.empty());
  Method nothing;
  nothing.method_desc = 0x7777;
  CHECK(names_of(nothing).full_name == "method 0x7777");
}

TEST_CASE("names: of a framework's code the few that are typed") {
  const DebugNames code = few_names_of(named_method(named_type("Ns", {"Type"}), "Run", {names_int}));
  CHECK(code.full_name == "Ns.Type.Run(int)");
  CHECK(code.name == "Type.Run");
  CHECK(code.aliases == Names{"Ns.Type.Run"});

  const DebugNames keyword =
      few_names_of(named_method(named_type("System", {"String"}), "Concat", {names_int}));
  CHECK(keyword.full_name == "string.Concat(int)");
  CHECK(keyword.name == "String.Concat");
  CHECK(keyword.aliases == Names{"System.String.Concat", "string.Concat"});

  const DebugNames global = few_names_of(named_method(named_type("", {"Type"}), "Run"));
  CHECK(global.name == "Run");
  CHECK(global.aliases == Names{"Type.Run"});

  // The user's name is known at once, and so is a token.
  Method local = named_method(named_type("Ns", {"Type"}), "<Main>g__Work|0_0", {names_int});
  local.user = std::make_shared<const UserMethod>(
      UserMethod{.full_name = "Ns.Type.Main(string[]).Work(int)", .mark = "local function", .token = 0});
  CHECK(few_names_of(local).full_name == "Ns.Type.Main(string[]).Work(int) [local function]");
  CHECK(few_names_of(local).name == "Type.<Main>g__Work|0_0");
  Method token;
  token.module = "app.dll";
  token.token = 0x0600'0001;
  CHECK(few_names_of(token).full_name == "app.dll!0x06000001");
  CHECK(few_names_of(token).unit == "app.dll");
}

TEST_CASE("names: those that were left are made later, in a module once") {
  const TypeNamePtr list = named_type("Ns", {"List`1"}, {names_int});
  for (const Method& method :
       {named_method(named_type("Ns", {"Type"}), "Run", {names_int}), named_method(list, "Add", {names_int}),
        named_method(named_type("", {"Type"}), "Run"), named_method(nullptr, "Global")}) {
    CAPTURE(method.full_name);
    const DebugNames expected = few_names(*method.qualified);
    DescribedCode code;
    code->start = 0x1000;
    set_few_names(code, UnspelledMethod(method));
    DebugBody before;
    before.start = 0xFFF;
    DescribedModule module;
    module.add(code.with_body(before));
    module.add(code);
    CHECK(module.size() == 2);
    CHECK(module[0].start == 0xFFF);
    for (unsigned twice = 0; twice < 2; ++twice) {
      const DebugModule& spelled = module.spell();
      REQUIRE(spelled.code.size() == 2);
      for (const DebugCode& made : spelled.code) {
        CHECK(made.full_name == method.full_name);
        CHECK(made.name == expected.name);
        CHECK(made.aliases == expected.aliases);
      }
      CHECK(spelled.code[1].start == 0x1000);
    }
    module.add(DebugCode{{}, {.name = "x", .full_name = "X.x", .aliases = {}, .unit = {}}});
    const DebugModule taken = std::move(module).take_spelled();
    REQUIRE(taken.code.size() == 3);
    CHECK(taken.code[0].name == expected.name);
    CHECK(taken.code[2].full_name == "X.x");
    CHECK(UnspelledMethod(method).spell().name == method.name);
  }
}

// A name that is not made has no text that could be read as an empty name.
static_assert(!std::is_convertible_v<UnspelledName, DebugNames>);
static_assert(!std::is_convertible_v<UnspelledMethod, Method>);
static_assert(!std::is_convertible_v<DescribedCode, DebugCode>);
static_assert(!std::is_convertible_v<DescribedModule*, DebugModule*>);
template<typename T>
concept HasFullName = requires(T value) {
  value.full_name;
};
static_assert(HasFullName<DebugCode> && HasFullName<Method>);
static_assert(!HasFullName<UnspelledMethod> && !HasFullName<DebugBody> && !HasFullName<UnspelledName>);
template<typename T>
concept HasCode = requires(T value) {
  value.code;
};
static_assert(HasCode<DebugModule> && !HasCode<DescribedModule>);
