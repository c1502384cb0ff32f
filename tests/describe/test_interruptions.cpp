#include "core/describe/interruptions.h"
#include "core/dwarf/choice.h"
#include "core/dwarf/locations.h"
#include "tests/dwarf/expression_machine.h"
#include "tests/dwarf/written_module.h"

#include <fmt/format.h>

using namespace clr;

namespace {

constexpr Platform interrupted_platform{8, ByteOrder::little, Cpu::x64, Os::unix_like};
constexpr Address code_begin = 0x7000'0100, handlers_frame = 0x7ffe'0000, faults_sp = 0x7ffe'4000;
constexpr Address far_stack = 0x7fff'8000'0000; // of the handler, elsewhere
using namespace x64_register;

InterruptedCode interrupted(std::uint32_t offset, Address frame = handlers_frame) {
  InterruptedCode code{.registers = RegisterContext(Cpu::x64), .frame = frame};
  for (unsigned reg = 0; reg <= r15; ++reg) code.registers.set(reg, 0x5500 + reg);
  code.registers.set_pc(code_begin + offset);
  code.registers.set_sp(faults_sp);
  return code;
}

FrameLayout frame_of(std::int64_t cfa, std::vector<std::pair<unsigned, std::int64_t>> saved = {}) {
  FrameLayout layout;
  layout.cfa = {rsp, cfa};
  layout.save(rip, {rsp, cfa - 8});
  for (const auto& [reg, at] : saved) layout.save(reg, {rsp, cfa + at});
  return layout;
}

// push rbp; push rbx; ...
DebugCode interruptible_code() {
  DebugCode code = code_at(code_begin, 0x40, "Run");
  code.unwind = {{.begin = 0,
                  .end = 0x20,
                  .rows = {{0, frame_of(8)},
                           {1, frame_of(16, {{rbp, -16}})},
                           {2, frame_of(24, {{rbp, -16}, {rbx, -24}})}}},
                 {.begin = 0x20, .end = 0x40, .rows = {{0x20, frame_of(8)}, {0x21, frame_of(48)}}}};
  return code;
}

// "offset: CFA offset, a mark where it was interrupted" of each row.
std::string rows_of(const DebugUnwindRange& range) {
  std::string text = fmt::format("[{:x}, {:x})", range.begin, range.end);
  for (const DebugUnwindRow& row : range.rows)
    text += fmt::format(" {:x}:{}{}", row.offset, row.layout.cfa.offset, row.interruption ? "!" : "");
  return text;
}

std::string lines_of(const DebugBody& code) {
  std::string text;
  for (const DebugLineRow& row : code.lines)
    text += fmt::format(" {:x}:{}{}{}", row.offset, row.line, row.statement ? "" : "-",
                        row.prologue_end ? "p" : "");
  return text;
}

} // namespace

TEST_CASE("interruptions: rows at the instruction that failed hold for the byte before it") {
  const auto rows = [](std::uint32_t at) {
    DebugCode code = interruptible_code();
    add_interruption(code, interrupted(at));
    CHECK(code.interruptions.size() == 1);
    return rows_of(code.unwind[0]) + " " + rows_of(code.unwind[1]);
  };
  const std::string second = " [20, 40) 20:8 21:48";
  CHECK(rows(0) == "[0, 20) 0:8! 1:16 2:24" + second);
  CHECK(rows(1) == "[0, 20) 0:16! 2:24" + second);
  CHECK(rows(2) == "[0, 20) 0:8 1:24! 3:24" + second);
  CHECK(rows(0x10) == "[0, 20) 0:8 1:16 2:24 f:24! 11:24" + second);
  CHECK(rows(0x1F) == "[0, 20) 0:8 1:16 2:24 1e:24!" + second);
  // The first instruction of a function takes the byte from the one before.
  CHECK(rows(0x20) == "[0, 1f) 0:8 1:16 2:24 [1f, 40) 1f:8! 21:48");
  CHECK(rows(0x21) == "[0, 20) 0:8 1:16 2:24 [20, 40) 20:48! 22:48");
}

TEST_CASE("interruptions: a row at the last byte of the function before goes with that byte") {
  DebugCode code = interruptible_code();
  code.unwind[0].rows.push_back({0x1F, frame_of(8)}); // ret
  add_interruption(code, interrupted(0x20));
  CHECK(rows_of(code.unwind[0]) == "[0, 1f) 0:8 1:16 2:24");
}

TEST_CASE("interruptions: code that was not interrupted is as it was") {
  DebugCode code = interruptible_code();
  add_interruption(code, interrupted(0x40));
  InterruptedCode elsewhere = interrupted(0);
  elsewhere.registers.set_pc(code_begin - 1);
  add_interruption(code, elsewhere);
  CHECK(code.interruptions.empty());
  CHECK(rows_of(code.unwind[0]) == "[0, 20) 0:8 1:16 2:24");
  add_interruption(code, interrupted(1));
  CHECK_FALSE(code_before_entry(code));
  code = interruptible_code();
  // Without rows there are none to change.
  code.unwind.clear();
  add_interruption(code, interrupted(5));
  CHECK(code.unwind.empty());
}

TEST_CASE("interruptions: two in one method") {
  DebugCode code = interruptible_code();
  add_interruption(code, interrupted(0x10));
  add_interruption(code, interrupted(0x12));
  CHECK(rows_of(code.unwind[0]) == "[0, 20) 0:8 1:16 2:24 f:24! 11:24! 13:24");
}

TEST_CASE("interruptions: a line that begins with the instruction that failed") {
  const auto lines = [](std::uint32_t at) {
    DebugCode code = interruptible_code();
    code.lines = {
        {.offset = 0, .line = 7}, {.offset = 4, .line = 8, .prologue_end = true}, {.offset = 5, .line = 9}};
    add_interruption(code, interrupted(at));
    return lines_of(code);
  };
  CHECK(lines(4) == " 0:7 3:8- 4:8p 5:9"); // no place for a breakpoint
  CHECK(lines(5) == " 0:7 4:9- 5:9");
  CHECK(lines(6) == " 0:7 4:8p 5:9");
  CHECK(lines(0) == " 0:7 4:8p 5:9");
}

TEST_CASE("interruptions: the byte before the first instruction") {
  DebugCode code = interruptible_code();
  code.lines = {{.offset = 0, .line = 7, .prologue_end = true}};
  add_interruption(code, interrupted(0));
  auto before = code_before_entry(code);
  REQUIRE(before);
  CHECK(before->start == code_begin - 1);
  CHECK(before->size == 1);
  CHECK_FALSE(before->function);
  CHECK(before->before_entry);
  CHECK(rows_of(before->unwind.at(0)) == "[0, 1) 0:8!");
  CHECK(lines_of(*before) == " 0:7-");
  code.variables = {{.name = "s", .ranges = {{.begin = 0, .end = 4, .location = {.reg = 7}}}},
                    {.name = "later", .ranges = {{.begin = 2, .end = 4, .location = {.reg = 3}}}},
                    {.name = "inner", .scope_begin = 2, .scope_end = 4}};
  copy_entry_variables(code, *before);
  REQUIRE(before->variables.size() == 2);
  CHECK(before->variables[0].ranges.size() == 1);
  CHECK(before->variables[0].ranges[0].end == 1);
  CHECK(before->variables[1].ranges.empty());
}

TEST_CASE("interruptions: values of registers in the frame that was interrupted, and in others") {
  const auto value = [](Address frame, unsigned reg, std::int64_t offset, Address sp) {
    DebugCode code = interruptible_code();
    add_interruption(code, interrupted(0x10, frame));
    ExpressionMachine machine{.registers = {{rsp, sp}, {rbx, 0x9000}, {rbp, 0xA000}}, .words = {}};
    return machine.run(
        interrupted_value(interrupted_platform, *code.interruptions.at(0), reg, offset).bytes());
  };
  // On one stack: known by its stack pointer.
  CHECK(value(handlers_frame, rbx, 0, faults_sp) == 0x5503);
  CHECK(value(handlers_frame, rbx, -3, faults_sp) == 0x5500);
  CHECK(value(handlers_frame, rbx, 0, faults_sp - 8) == 0x9000);
  CHECK(value(handlers_frame, rbx, 16, faults_sp + 8) == 0x9010);
  // The registers that the made-up frame restores.
  CHECK(value(handlers_frame, rbp, 8, faults_sp) == 0xA008);
  CHECK(value(handlers_frame, rsp, 8, faults_sp) == faults_sp + 8);
  // The handler of a stack overflow: anywhere above its Frame.
  CHECK(value(far_stack, rsp, 8, far_stack + 0x300) == faults_sp + 8);
  CHECK(value(far_stack, rsp, 8, far_stack + other_stack_size - 1) == faults_sp + 8);
  CHECK(value(far_stack, rsp, 8, far_stack + other_stack_size) == far_stack + other_stack_size + 8);
  CHECK(value(far_stack, rsp, 8, far_stack - 8) == far_stack);
  CHECK(value(far_stack, rbx, 0, faults_sp) == 0x9000);
}

TEST_CASE("interruptions: threads at the same instruction are told apart") {
  DebugCode code = interruptible_code();
  InterruptedCode other = interrupted(0, far_stack);
  other.registers.set(rbx, 0x6603);
  add_interruption(code, interrupted(0));
  add_interruption(code, other);
  REQUIRE(code.interruptions.size() == 1);
  CHECK(rows_of(code.unwind[0]) == "[0, 20) 0:8! 1:16 2:24");
  const auto before = code_before_entry(code);
  REQUIRE(before);
  for (const DebugInterruption* interruption :
       {code.interruptions[0].get(), before->interruptions[0].get()}) {
    ExpressionMachine machine{.registers = {{rsp, faults_sp}, {rbx, 0x9000}}, .words = {}};
    const auto value = [&](unsigned reg) {
      return machine.run(interrupted_value(interrupted_platform, *interruption, reg, 8).bytes());
    };
    CHECK(value(rbx) == 0x550B);
    CHECK(value(rsp) == faults_sp + 8);
    machine.registers[rsp] = far_stack + 0x1000;
    CHECK(value(rbx) == 0x660B);
    CHECK(value(rsp) == faults_sp + 8);
    machine.registers[rsp] = faults_sp + 0x1000;
    CHECK(value(rbx) == 0x9008);
    CHECK(value(rsp) == faults_sp + 0x1008);
  }
  for (std::size_t i = 0; i < 2 * max_interruptions; ++i) add_interruption(code, interrupted(0x10));
  std::size_t count = 0;
  for (const DebugInterruption* one = code.interruptions.at(1).get(); one != nullptr; one = one->next.get())
    ++count;
  CHECK(count == max_interruptions);
}

TEST_CASE("interruptions: rules of a written module") {
  for (const Address frame : {handlers_frame, far_stack}) {
    DebugModule module = module_at(code_begin - 0x100, interrupted_platform);
    module.code.push_back(interruptible_code());
    add_interruption(module.code[0], interrupted(0x10, frame));
    const ModuleReadBack written(module);
    for (const Address at : {code_begin + 0xF, code_begin + 0x10}) {
      const auto rules = written.rules(at);
      REQUIRE(rules);
      CHECK((rules->cfa == "7+24") == (frame == handlers_frame));
      CHECK(rules->of(rip) == "cfa -8");
      CHECK(rules->of(rbx) == "cfa -24");
      CHECK(rules->of(r12) != "same");
      CHECK(rules->of(r15) != "same");
    }
    for (const Address at : {code_begin + 0xE, code_begin + 0x11}) {
      const auto rules = written.rules(at);
      REQUIRE(rules);
      CHECK(rules->cfa == "7+24");
      CHECK(rules->of(rip) == "cfa -8");
      CHECK(rules->of(rbx) == "cfa -24");
      CHECK(rules->of(r12) == "same");
    }
  }
}

TEST_CASE("interruptions: places of variables") {
  DebugCode code = interruptible_code();
  const DebugVariableRange in_rbx{.begin = 0, .end = 0x10, .location = {.reg = 3}};
  const DebugVariableRange in_r12{.begin = 0x10, .end = 0x40, .location = {.reg = 12}};
  const DebugVariableRange below_rsp{
      .begin = 0, .end = 0x40, .location = {.home = VariableHome::stack, .base = 4, .offset = 8}};
  add_interruption(code, interrupted(0x10, far_stack));
  struct Written {
    std::uint64_t begin, end;
    std::vector<std::byte> expression;
  };
  const auto written = [&](std::vector<DebugVariableRange> ranges) {
    DwarfBytes list(interrupted_platform);
    CHECK(
        write_places({.name = "v", .ranges = std::move(ranges)}, {&code, 0, 0x40}, interrupted_platform, list)
            .list);
    std::vector<Written> all;
    const std::vector<std::byte> bytes(list.bytes().begin(), list.bytes().end());
    const auto number = [&](std::size_t at, unsigned size) {
      std::uint64_t value = 0;
      for (unsigned i = 0; i < size; ++i) value |= std::to_integer<std::uint64_t>(bytes.at(at + i)) << 8 * i;
      return value;
    };
    for (std::size_t at = 0; number(at, 8) != 0;) {
      const auto size = static_cast<std::ptrdiff_t>(number(at + 16, 2));
      const auto begin = bytes.begin() + static_cast<std::ptrdiff_t>(at) + 18;
      all.push_back({number(at, 8) - code_begin, number(at + 8, 8) - code_begin, {begin, begin + size}});
      at += 18 + static_cast<std::size_t>(size);
    }
    return all;
  };
  const auto moved = written({in_rbx, in_r12});
  REQUIRE(moved.size() == 3);
  CHECK(moved[0].end == 0xF);
  CHECK(moved[1].begin == 0xF);
  CHECK(moved[1].end == 0x11);
  CHECK(moved[2].begin == 0x11);
  // At the byte before the instruction too, it is where it is at the instruction.
  ExpressionMachine machine{.registers = {{rsp, far_stack + 64}, {r12, 0xC000}}, .words = {}};
  CHECK(machine.run(moved[1].expression) == 0x550C);
  CHECK(machine.is_value);
  machine.registers[rsp] = faults_sp - 0x100;
  CHECK(machine.run(moved[1].expression) == 0xC000);
  const auto stays = written({below_rsp});
  REQUIRE(stays.size() == 3);
  ExpressionMachine address{.registers = {{rsp, far_stack + 64}}, .words = {}};
  CHECK(address.run(stays[1].expression) == faults_sp + 8);
  CHECK_FALSE(address.is_value);
  // Nowhere at the instruction: nowhere.
  const auto gone = written({in_rbx});
  REQUIRE(gone.size() == 1);
  CHECK(gone[0].end == 0xF);
}
