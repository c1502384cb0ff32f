#include "core/runtime/name_filter.h"

#include <catch2/catch.hpp>

using namespace clr;

namespace {
Method named(const char* name, const char* full_name) {
  Method method;
  method.name = name;
  method.full_name = full_name;
  return method;
}
} // namespace

TEST_CASE("an empty pattern takes everything") {
  CHECK(NameFilter("").everything());
  CHECK(NameFilter("").accepts(Method{}));
  CHECK_FALSE(NameFilter("*").everything());
  CHECK(NameFilter("*").accepts(Method{}));
}

TEST_CASE("a pattern matches the whole of the full name or of the plain name") {
  const Method run = named("Ns.Type.Run", "Ns.Type.Run(int, string[])");
  CHECK(NameFilter("Ns.Type.Run").accepts(run));
  CHECK(NameFilter("Ns.Type.Run(int, string[])").accepts(run));
  CHECK(NameFilter("Ns.*").accepts(run));
  CHECK(NameFilter("*.Ru?").accepts(run));
  CHECK(NameFilter("*(*string*)").accepts(run));
  CHECK_FALSE(NameFilter("Run").accepts(run));
  CHECK_FALSE(NameFilter("Ns.Type.Ru").accepts(run));
  CHECK_FALSE(NameFilter("ns.*").accepts(run));
}

TEST_CASE("brackets and backslashes are themselves") {
  const Method run = named("T.M", "T.M(int[], char)");
  CHECK(NameFilter("*int[]*").accepts(run));
  CHECK_FALSE(NameFilter("*[abc]har*").accepts(run));
  CHECK(NameFilter("a\\b").accepts(named("a\\b", "")));
  CHECK_FALSE(NameFilter("a\\*").accepts(named("a*", "")));
}

TEST_CASE("a name that is shown with escapes is found as it is shown") {
  const Method odd = named("T.Re\x1b[2J\nRun", "T.Re\x1b[2J\nRun(\u202eint)");
  CHECK(NameFilter("T.Re\\x1b[2J\\x0aRun").accepts(odd));
  CHECK(NameFilter("*(\\u202eint)").accepts(odd));
  CHECK(NameFilter("T.Re\x1b[2J\nRun").accepts(odd));
  CHECK_FALSE(NameFilter("T.Re[2JRun").accepts(odd));
}
