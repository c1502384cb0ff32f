// Where the arguments of a call lie.
#include "core/isa/argument_places.h"

#include <catch2/catch.hpp>

using namespace clr;
using Kind = ArgumentShape::Kind;
using Found = std::vector<ArgumentReference>;

namespace {

const ArgumentShape object{.size = 8, .references = {{}}};
const ArgumentShape byref{.size = 8, .references = {{.interior = true}}};
const ArgumentShape number{.size = 8};
const ArgumentShape real{.kind = Kind::real, .size = 8};
// Two references; a real number and a reference; three words, a reference in the last.
const ArgumentShape pair{.kind = Kind::structure, .size = 16, .references = {{0}, {8}}};
const ArgumentShape mixed{.kind = Kind::structure, .size = 16, .references = {{8}}, .real_words = 1};
const ArgumentShape large{.kind = Kind::structure, .size = 24, .references = {{16}}};
// Four real numbers of 4 bytes, and two of 8.
const ArgumentShape reals{.kind = Kind::structure, .size = 16, .real_words = 3, .equal_reals = 4};

// Registers at 0 and the stack at 1000.
Found place(Cpu cpu, const std::vector<ArgumentShape>& arguments) {
  return place_references(architecture_of(cpu), arguments, 0, 1000);
}

} // namespace

TEST_CASE("references take the integer registers in order, then the stack", "[arguments]") {
  CHECK(place(Cpu::x64, {object, real, number, byref}) == Found{{0, 0, false}, {3, 16, true}});
  CHECK(place(Cpu::x64, {number, number, number, number, number, object, object, byref}) ==
        Found{{5, 40, false}, {6, 1000, false}, {7, 1008, true}});
  CHECK(place(Cpu::arm64, {number, number, number, number, number, number, number, object, object}) ==
        Found{{7, 56, false}, {8, 1000, false}});
  // Real numbers beyond their registers take words of the stack.
  CHECK(place(Cpu::x64, {real, real, real, real, real, real, real, real, real, object, large}) ==
        Found{{9, 0, false}, {10, 1024, false}});
  CHECK(place(Cpu::x86, {object}).empty());
}

TEST_CASE("structures in registers and on the stack of x64", "[arguments]") {
  CHECK(place(Cpu::x64, {object, pair, object}) ==
        Found{{0, 0, false}, {1, 8, false}, {1, 16, false}, {2, 24, false}});
  // The real number has a register of its own.
  CHECK(place(Cpu::x64, {mixed, object}) == Found{{0, 0, false}, {1, 8, false}});
  CHECK(place(Cpu::x64, {object, large, object}) == Found{{0, 0, false}, {1, 1016, false}, {2, 8, false}});
  // A structure is not split, and what follows may still have the register that was too few.
  CHECK(place(Cpu::x64, {number, number, number, number, number, pair, object}) ==
        Found{{5, 1000, false}, {5, 1008, false}, {6, 40, false}});
  ArgumentShape packed = pair;
  packed.memory_only = true;
  CHECK(place(Cpu::x64, {packed, object}) == Found{{0, 1000, false}, {0, 1008, false}, {1, 0, false}});
  CHECK(returned_in_buffer(architecture_of(Cpu::x64), large));
  CHECK_FALSE(returned_in_buffer(architecture_of(Cpu::x64), pair));
  CHECK(returned_in_buffer(architecture_of(Cpu::x64), packed));
}

TEST_CASE("structures of arm64", "[arguments]") {
  CHECK(place(Cpu::arm64, {object, large, object}) == Found{{0, 0, false}, {1, 8, true}, {2, 16, false}});
  // The words of a structure are of one kind, and real numbers alone have registers of theirs.
  CHECK(place(Cpu::arm64, {mixed, reals, object}) == Found{{0, 8, false}, {2, 16, false}});
  // What does not fit leaves no register to what follows.
  CHECK(place(Cpu::arm64, {number, number, number, number, number, number, number, pair, object}) ==
        Found{{7, 1000, false}, {7, 1008, false}, {8, 1016, false}});
  CHECK(place(Cpu::arm64, {reals, reals, reals, object, large}) == Found{{3, 0, false}, {4, 8, true}});
  CHECK_FALSE(returned_in_buffer(architecture_of(Cpu::arm64), large));
}
