#include "core/isa/x64/frame_pointer.h"

#include <catch2/catch.hpp>

#include <vector>

using namespace clr;

namespace {
std::optional<std::int64_t> set_by(std::initializer_list<unsigned> code) {
  std::vector<std::byte> bytes;
  for (const unsigned b : code) bytes.push_back(static_cast<std::byte>(b));
  return x64_frame_pointer_set(bytes);
}
} // namespace

TEST_CASE("frame pointer: the instructions that set it from rsp") {
  CHECK(set_by({0x48, 0x8B, 0xEC}) == 0);                                 // mov rbp, rsp
  CHECK(set_by({0x48, 0x89, 0xE5}) == 0);                                 // the same
  CHECK(set_by({0x48, 0x8D, 0x6C, 0x24, 0x70}) == 0x70);                  // lea rbp, [rsp+70h]
  CHECK(set_by({0x48, 0x8D, 0x6C, 0x24, 0xF0}) == -16);                   // lea rbp, [rsp-10h]
  CHECK(set_by({0x48, 0x8D, 0xAC, 0x24, 0xC0, 0x12, 0, 0}) == 0x12C0);    // lea rbp, [rsp+12C0h]
  CHECK(set_by({0x48, 0x8D, 0xAC, 0x24, 0, 0xFF, 0xFF, 0xFF}) == -0x100); // lea rbp, [rsp-100h]
}

TEST_CASE("frame pointer: others, and cut ones, do not") {
  CHECK_FALSE(set_by({0x48, 0x8D, 0x6D, 0x40}));       // lea rbp, [rbp+40h]: a funclet's
  CHECK_FALSE(set_by({0x48, 0x8D, 0x6C, 0x24}));       // ends early
  CHECK_FALSE(set_by({0x48, 0x8D, 0xAC, 0x24, 0x10})); // likewise
  CHECK_FALSE(set_by({0x48, 0x8B, 0x2C, 0x24}));       // mov rbp, [rsp]
  CHECK_FALSE(set_by({0x8B, 0xEC}));                   // mov ebp, esp
  CHECK_FALSE(set_by({}));
}

TEST_CASE("frame pointer: a layout by it") {
  using namespace x64_register;
  FrameLayout layout{.cfa = {rsp, 56}};
  layout.save(rip, {rsp, 48});
  layout.save(rbp, {rsp, 40});
  const auto changed = x64_layout_by_frame_pointer(layout, 0x28);
  REQUIRE(changed);
  CHECK(changed->cfa == RegisterOffset{rbp, 16});
  CHECK(changed->find(rip)->at == RegisterOffset{rbp, 8});
  CHECK(changed->find(rbp)->at == RegisterOffset{rbp, 0});
  FrameLayout other = layout;
  other.save(rbx, {r12, 8});
  CHECK_FALSE(x64_layout_by_frame_pointer(other, 0x28));
  // The address of a local variable.
  CHECK_FALSE(x64_layout_by_frame_pointer(layout, 0x20));
  FrameLayout machine = layout;
  machine.stack_pointer_at = RegisterOffset{rsp, 24};
  CHECK_FALSE(x64_layout_by_frame_pointer(machine, 0x28));
}
