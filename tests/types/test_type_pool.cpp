#include "core/types/type_pool.h"

#include <catch2/catch.hpp>

using namespace clr;

namespace {

TypeNamePtr definition(std::string name) {
  TypeName type;
  type.shape = TypeShape::definition;
  type.chain = {std::move(name)};
  return make_type(std::move(type));
}

} // namespace

TEST_CASE("type pool: the same parts are one type, which has them") {
  TypePool pool;
  const TypeNamePtr list = definition("List`1"), text = primitive_type(ElementType::string);
  const TypeNamePtr made = pool.make({.shape = TypeShape::instance, .element = list, .arguments = {text}});
  CHECK(made->shape == TypeShape::instance);
  CHECK(made->element == list);
  CHECK(made->arguments == std::vector<TypeNamePtr>{text});
  CHECK(pool.make({.shape = TypeShape::instance, .element = list, .arguments = {text}}) == made);
  const TypeNamePtr array = pool.make({.shape = TypeShape::szarray, .element = made});
  CHECK(array->element == made);
  CHECK(pool.make({.shape = TypeShape::szarray, .element = made}) == array);
}

TEST_CASE("type pool: what differs in any part is another type") {
  TypePool pool;
  const TypeNamePtr a = definition("A"), equal_a = definition("A");
  const TypeNamePtr number = primitive_type(ElementType::i4), text = primitive_type(ElementType::string);
  const std::vector<TypeParts> all = {
      {.shape = TypeShape::szarray, .element = a},
      {.shape = TypeShape::szarray, .element = equal_a}, // another node
      {.shape = TypeShape::byref, .element = a},
      {.shape = TypeShape::pointer, .element = a},
      {.shape = TypeShape::instance, .element = a, .arguments = {number}},
      {.shape = TypeShape::instance, .element = a, .arguments = {text}},
      {.shape = TypeShape::instance, .element = a, .arguments = {number, text}},
      {.shape = TypeShape::instance, .element = a, .arguments = {text, number}},
      {.shape = TypeShape::modified, .element = a, .arguments = {text}, .required = true},
      {.shape = TypeShape::modified, .element = a, .arguments = {text}},
      {.shape = TypeShape::variable, .element = nullptr, .index = 0, .name = "T"},
      {.shape = TypeShape::variable, .element = nullptr, .index = 0, .name = "U"},
      {.shape = TypeShape::variable, .element = nullptr, .index = 1, .name = "T"},
      {.shape = TypeShape::variable, .element = nullptr, .index = 0, .method_variable = true, .name = "T"},
  };
  std::vector<TypeNamePtr> made;
  for (const TypeParts& parts : all) {
    made.push_back(pool.make(parts));
    CHECK(made.back()->shape == parts.shape);
    CHECK(made.back()->index == parts.index);
    CHECK(made.back()->method_variable == parts.method_variable);
    CHECK(made.back()->name == parts.name);
    CHECK(made.back()->required == parts.required);
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    CAPTURE(i);
    CHECK(pool.make(all[i]) == made[i]);
    for (std::size_t k = 0; k < i; ++k) CHECK(made[k] != made[i]);
  }
}

TEST_CASE("type pool: keeps a limited number, and makes further ones") {
  TypePool pool;
  const TypeNamePtr a = definition("A");
  const auto variable = [&](std::uint32_t index) {
    return pool.make({.shape = TypeShape::variable, .element = a, .index = index});
  };
  const TypeNamePtr first = variable(0);
  for (std::uint32_t i = 1; i < TypePool::max_types; ++i) variable(i);
  CHECK(variable(0) == first);
  const TypeNamePtr beyond = variable(TypePool::max_types);
  CHECK(beyond->index == TypePool::max_types);
  CHECK(variable(TypePool::max_types) != beyond);
}

TEST_CASE("type pool: none of many that differ in their number alone is lost") {
  TypePool pool;
  for (std::uint32_t i = 0; i < TypePool::max_types; ++i)
    pool.make({.shape = TypeShape::variable, .element = nullptr, .index = i << 8});
  CHECK(pool.size() == TypePool::max_types);
}
