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

DebugCode names_of(const Method& method) {
  DebugCode code;
  set_names(code, method);
  return code;
}

const TypeNamePtr names_int = primitive_type(ElementType::i4);

} // namespace

TEST_CASE("names: a plain method") {
  const DebugCode code = names_of(named_method(named_type("Ns", {"Type"}), "Run", {names_int}));
  CHECK(code.name == "Run");
  CHECK(code.full_name == "Ns.Type.Run(int)");
  CHECK(code.aliases == Names{"Ns.Type.Run", "Type.Run"});
  CHECK(code.unit == "Ns.Type");
}

TEST_CASE("names: constructors are found by type") {
  const DebugCode code = names_of(named_method(named_type("Ns", {"Type"}), ".ctor"));
  CHECK(code.name == ".ctor");
  CHECK(code.full_name == "Ns.Type..ctor()");
  CHECK(code.aliases == Names{"Ns.Type..ctor", "Type..ctor"});
  CHECK(code.unit == "Ns.Type");
}

TEST_CASE("names: generics, nested types and explicit implementations") {
  const DebugCode generic = names_of(named_method(named_type("Ns", {"Outer`1", "Inner"}, {names_int}), "Run",
                                                  {names_int}, {primitive_type(ElementType::string)}));
  CHECK(generic.full_name == "Ns.Outer<int>.Inner.Run<string>(int)");
  CHECK(generic.name == "Run");
  CHECK(generic.aliases == Names{"Ns.Outer<int>.Inner.Run<string>", "Outer<int>.Inner.Run<string>",
                                 "Ns.Outer`1+Inner.Run", "Ns.Outer.Inner.Run", "Outer.Inner.Run"});
  CHECK(generic.unit == "Ns.Outer<int>.Inner");

  const DebugCode explicit_one = names_of(named_method(named_type("Ns", {"Type"}), "Ns.IFace.Run"));
  CHECK(explicit_one.name == "Ns.IFace.Run");
  CHECK(explicit_one.unit == "Ns.Type");
}

TEST_CASE("names: the body of a state machine has the user's name, and its own") {
  Method method = named_method(named_type("Ns", {"Type", "<RunAsync>d__1"}), "MoveNext");
  method.user = std::make_shared<const UserMethod>(
      UserMethod{.full_name = "Ns.Type.RunAsync(int)", .mark = "async", .token = 0});
  const DebugCode code = names_of(method);
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
  const DebugCode code = names_of(lambda);
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
  DebugCode code;
  set_names(code, named_method(named_type("Ns", {"Type"}), "Run", {names_int}), NameForms::few);
  CHECK(code.full_name == "Ns.Type.Run(int)");
  CHECK(code.name == "Type.Run");
  CHECK(code.aliases == Names{"Ns.Type.Run"});

  DebugCode keyword;
  set_names(keyword, named_method(named_type("System", {"String"}), "Concat", {names_int}), NameForms::few);
  CHECK(keyword.full_name == "string.Concat(int)");
  CHECK(keyword.name == "String.Concat");
  CHECK(keyword.aliases == Names{"System.String.Concat", "string.Concat"});

  DebugCode global;
  set_names(global, named_method(named_type("", {"Type"}), "Run"), NameForms::few);
  CHECK(global.name == "Run");
  CHECK(global.aliases == Names{"Type.Run"});
}

TEST_CASE("names: what was left is made as it would have been at once") {
  const TypeNamePtr list = named_type("Ns", {"List`1"}, {names_int});
  for (const Method& method :
       {named_method(named_type("Ns", {"Type"}), "Run", {names_int}), named_method(list, "Add", {names_int}),
        named_method(named_type("", {"Type"}), "Run"), named_method(nullptr, "Global")}) {
    CAPTURE(method.full_name);
    DebugCode at_once;
    set_names(at_once, method, NameForms::few);
    Method unspelled = method;
    unspelled.name.clear();
    unspelled.full_name.clear();
    DebugModule module;
    set_names(module.code.emplace_back(), unspelled, NameForms::few);
    CHECK(module.code[0].full_name.empty());
    for (unsigned twice = 0; twice < 2; ++twice) {
      spell_names(module);
      CHECK(module.code[0].full_name == method.full_name);
      CHECK(module.code[0].name == at_once.name);
      CHECK(module.code[0].aliases == at_once.aliases);
    }
    unspelled.spell();
    CHECK(unspelled.name == method.name);
    CHECK(unspelled.full_name == method.full_name);
  }
}
