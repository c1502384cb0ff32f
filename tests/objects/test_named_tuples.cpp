// The names of elements of tuples within the names of types: made from lists of names as metadata has them,
// and taken apart again.
#include "core/objects/named_tuples.h"
#include "core/objects/tuple_names.h"

#include <catch2/catch.hpp>

using namespace clr;

namespace {

TypeNamePtr definition(const std::string& name_space, const std::string& name) {
  TypeName type;
  type.shape = TypeShape::definition;
  type.name_space = name_space;
  type.chain = {name};
  type.assembly = "System.Private.CoreLib";
  return make_type(std::move(type));
}

const TypeNamePtr i4 = primitive_type(ElementType::i4), text = primitive_type(ElementType::string);

TypeNamePtr tuple(std::vector<TypeNamePtr> elements) {
  const std::string name = "ValueTuple`" + std::to_string(elements.size());
  return instantiate(definition("System", name), std::move(elements));
}
TypeNamePtr list(const TypeNamePtr& element) {
  return instantiate(definition("Ns", "List`1"), {element});
}
TypeNamePtr map(const TypeNamePtr& key, const TypeNamePtr& value) {
  return instantiate(definition("Ns", "Map`2"), {key, value});
}

std::string named(const TypeNamePtr& type, const std::vector<std::string>& names) {
  return format_type(*type_with_tuple_names(type, names));
}

const std::string plain_pair = "System.ValueTuple<int, string>";
const std::string named_pair = "System.ValueTuple<int Id, string Name>";

} // namespace

TEST_CASE("a type is written with the names of the tuples in it", "[objects]") {
  const TypeNamePtr pair = tuple({i4, text});
  CHECK(has_tuple(*list(pair)));
  CHECK(has_tuple(*szarray_of(list(list(pair)))));
  CHECK_FALSE(has_tuple(*list(i4)));
  CHECK(named(list(pair), {"Id", "Name"}) == "Ns.List<" + named_pair + ">");
  CHECK(named(szarray_of(pair), {"Id", "Name"}) == named_pair + "[]");
  CHECK(named(map(text, list(pair)), {"Id", "Name"}) == "Ns.Map<string, Ns.List<" + named_pair + ">>");
  CHECK(named(map(pair, pair), {"", "", "Id", "Name"}) == "Ns.Map<" + plain_pair + ", " + named_pair + ">");
  // A tuple's own names come before those of what stands in it.
  CHECK(named(list(tuple({pair, i4})), {"Both", "One", "Id", "Name"}) ==
        "Ns.List<System.ValueTuple<" + named_pair + " Both, int One>>");
  // The eighth and further elements are a tuple of their own, which has places in the list once more.
  const TypeNamePtr eight = tuple({i4, i4, i4, i4, i4, i4, i4, tuple({pair})});
  CHECK(named(list(eight), {"A", "B", "C", "D", "E", "F", "G", "H", "", "Id", "Name"}) ==
        "Ns.List<System.ValueTuple<int A, int B, int C, int D, int E, int F, int G, " + named_pair + " H>>");
  CHECK(named(list(pair), {"Id"}) == "Ns.List<System.ValueTuple<int Id, string>>");
}

TEST_CASE("the names are found in the name of a type", "[objects]") {
  const auto of = [](const std::string& type) { return named_arguments(type); };
  const NamedArgument pair{.type = plain_pair, .names = {"Id", "Name"}};
  CHECK(of("Ns.List<" + named_pair + ">") == std::vector{pair});
  CHECK(of(named_pair + "[]") == std::vector{pair});
  CHECK(of(named_pair + "[][,]") ==
        std::vector{NamedArgument{.type = plain_pair + "[,]", .names = {"Id", "Name"}}});
  CHECK(of("Ns.Map<string, Ns.List<" + named_pair + ">>") ==
        std::vector{NamedArgument{.type = "Ns.List<" + plain_pair + ">", .names = {"Id", "Name"}}});
  CHECK(of("Ns.Outer<" + named_pair + ">.Inner<int>") == std::vector{pair});
  CHECK(of("Ns.List<" + plain_pair + ">").empty());
  CHECK(of("Ns.List<int>").empty());
  CHECK(of("Ns.List<System.ValueTuple<int Id, stri...").empty());
  const std::string eight = "System.ValueTuple<int A, int, int, int, int, int, int, " + named_pair + " H>";
  CHECK(of("Ns.List<" + eight + ">") ==
        std::vector{
            NamedArgument{.type = "System.ValueTuple<int, int, int, int, int, int, int, System.ValueTuple<" +
                                  plain_pair + ">>",
                          .names = {"A", "", "", "", "", "", "", "H", "", "Id", "Name"}}});
}

TEST_CASE("the name of a type without the names of elements", "[objects]") {
  CHECK(without_tuple_names("Ns.Memory<" + named_pair + ">") == "Ns.Memory<" + plain_pair + ">");
  CHECK(without_tuple_names(named_pair + "[]") == plain_pair + "[]");
  CHECK(without_tuple_names("Ns.List<int>") == "Ns.List<int>");
  CHECK(without_tuple_names("System.ValueTuple<int Id") == "System.ValueTuple<int Id");
}

TEST_CASE("names of a signature with type parameters", "[objects]") {
  const TypeNamePtr pair = tuple({i4, text});
  const std::vector<std::string> names{"Id", "Name"};
  CHECK(names_of_instance(*list(pair), names) == names);
  // Map<T, (int Id, string Name)> of a T that is a tuple itself: the names would be those of T's elements.
  CHECK(names_of_instance(*map(pair, pair), names).empty());
  // (T Id, string Name): its own names come first.
  CHECK(names_of_instance(*tuple({pair, text}), names) == names);
}

TEST_CASE("a type that names another one again and again is not looked through for tuples", "[objects]") {
  // 10^15 types, of which 16 nodes are made.
  TypeNamePtr type = definition("Ns", "Leaf");
  for (unsigned level = 0; level < 15; ++level)
    type = instantiate(definition("Ns", "Wide`10"), std::vector<TypeNamePtr>(10, type));
  CHECK_FALSE(has_tuple(*type));
  CHECK(has_tuple(*map(tuple({i4, text}), type)));
}
