// Blobs of debug info in synthetic runtimes: how the parts of a blob are found, in the form of every release.
#include "core/memory/counting_reader.h"
#include "tests/debuginfo/debug_info_runtime.h"
#include "tests/support/faults.h"

using namespace clr;
using namespace clr::test;

TEST_CASE("a jitted method's debug info in the form of every release") {
  for (const Platform& platform : execution_platforms())
    for (const Form form : all_forms)
      for (const unsigned parts : {0u, 1u, 2u, 3u, 4u, 5u, 6u, 7u}) {
        const bool osr = has_osr(platform);
        const Blob blob{.form = form,
                        .flag_byte = osr,
                        .patchpoints = (parts & 1) != 0,
                        .rich = (parts & 2) != 0,
                        .rewritten = (parts & 4) != 0};
        if (form == Form::net9 && blob.rewritten) continue;
        if (form != Form::net11 && !osr && (blob.patchpoints || blob.rich)) continue;
        INFO(to_string(platform) << " form " << static_cast<int>(form) << " parts " << parts);
        Runtime runtime(platform, blob);
        const Target target = runtime.builder.target();
        ExecutionManager manager(target);
        DebugInfoReader reader(manager);
        const CodeBlock block = block_at(manager, method_start + 0x100);
        CHECK(reader.il_map(block)->boundaries() == (blob.rewritten ? original : map));
        CHECK(reader.variables(block) == variables);
        const auto patchpoints = reader.patchpoint_info(block);
        REQUIRE(patchpoints.has_value() == blob.patchpoints);
        if (!patchpoints) continue;
        CHECK(patchpoints->frame_size == 0x90);
        CHECK_FALSE(patchpoints->generic_context);
        CHECK(patchpoints->kept_alive_this == 0x18);
        CHECK_FALSE(patchpoints->security_cookie);
        CHECK(patchpoints->monitor == -8);
        REQUIRE(patchpoints->locals.size() == 2);
        CHECK(patchpoints->locals[0].offset == -16);
        CHECK_FALSE(patchpoints->locals[0].exposed);
        CHECK(patchpoints->locals[1].offset == 24);
        CHECK(patchpoints->locals[1].exposed);
      }
}

TEST_CASE("offsets count from the method's start, in funclets too") {
  Runtime runtime({.pointer_size = 8, .cpu = Cpu::x64}, Blob{});
  const Target target = runtime.builder.target();
  ExecutionManager manager(target);
  DebugInfoReader reader(manager);
  const auto at = [&](std::uint64_t offset, NativeOffsetKind kind) {
    return reader.il_position(block_at(manager, method_start + offset), kind);
  };
  CHECK(at(0x1F, NativeOffsetKind::exact) == IlPosition{.mark = IlMark::prolog});
  CHECK(at(0x20, NativeOffsetKind::exact) == IlPosition{.il = 5, .mark = IlMark::mapped});
  CHECK(at(0x200, NativeOffsetKind::return_address) == IlPosition{.il = 5, .mark = IlMark::mapped});
  CHECK(at(0x310, NativeOffsetKind::exact) == IlPosition{.il = 9, .mark = IlMark::mapped});
}

TEST_CASE("a method without debug info has an empty map") {
  const Platform platform{.pointer_size = 8, .cpu = Cpu::x64};
  ExecutionBuilder b(platform);
  auto heap = b.heap(range_begin, range_end);
  b.method(heap, {.start = method_start, .size = method_size, .method_desc = method_desc});
  const Target target = b.target();
  ExecutionManager manager(target);
  DebugInfoReader reader(manager);
  const CodeBlock block = block_at(manager, method_start);
  CHECK(reader.il_map(block)->empty());
  CHECK(reader.il_position(block, NativeOffsetKind::exact) == IlPosition{});
  CHECK(reader.variables(block).empty());
  CHECK_FALSE(reader.patchpoint_info(block));
}

TEST_CASE("the debug info of an image has the form of the image's own release") {
  constexpr Address image_begin = 0x0b0a'0000;
  struct Row {
    std::uint16_t major;
    Form form;
    VariablesCoding coding;
  };
  for (const Platform& platform : execution_platforms())
    for (const Row& row :
         {Row{11, Form::net9, VariablesCoding::from_4}, Row{15, Form::net9, VariablesCoding::from_4},
          Row{16, Form::net10, VariablesCoding::from_4}, Row{17, Form::net11, VariablesCoding::from_4},
          Row{20, Form::net11, VariablesCoding::from_5}, Row{22, Form::net11, VariablesCoding::number_first},
          Row{24, Form::net11, VariablesCoding::number_first}}) {
      INFO(to_string(platform) << " major " << row.major);
      const Bytes bounds = bounds_bytes(map, bounds_coding(row.form));
      const Bytes vars = variables_bytes(variables, row.coding, platform.cpu == Cpu::x86);
      Bytes blob = NibbleWriter()
                       .u32(static_cast<std::uint32_t>(bounds.size()))
                       .u32(static_cast<std::uint32_t>(vars.size()))
                       .bytes();
      append(blob, bounds);
      append(blob, vars);
      std::vector<unsigned> values;
      for (const std::byte byte : blob) values.push_back(std::to_integer<unsigned>(byte));
      ExecutionBuilder b(platform);
      // The cold part of the method is runtime function 1.
      b.image({.begin = image_begin,
               .end = image_begin + 0xC000,
               .functions = {{0x100, 0x180, 0x200}, {0x400, 0x80, 0, true}},
               .methods = {{0x100, method_desc}},
               .hot_cold = {1, 0},
               .debug_info = std::vector<std::uint32_t>{0},
               .debug_blobs = {{0, values}},
               .major = row.major});
      const Target target = b.target();
      ExecutionManager manager(target);
      DebugInfoReader reader(manager);
      const CodeBlock hot = block_at(manager, image_begin + 0x120);
      CHECK(reader.il_map(hot)->boundaries() == map);
      CHECK(reader.variables(hot) == variables);
      CHECK_FALSE(reader.patchpoint_info(hot));
      CHECK(reader.il_position(hot, NativeOffsetKind::exact) == IlPosition{.il = 5, .mark = IlMark::mapped});
      // 0x80 bytes in the cold part, behind 0x180 bytes of the hot one.
      const CodeBlock cold = block_at(manager, image_begin + 0x47F);
      CHECK(manager.relative_offset(cold) == 0x1FF);
      CHECK(reader.il_position(cold, NativeOffsetKind::exact) == IlPosition{.il = 5, .mark = IlMark::mapped});
      CHECK(reader.il_map(cold) == reader.il_map(hot));
    }
}

TEST_CASE("which form jitted code has") {
  const Platform platform{.pointer_size = 8, .cpu = Cpu::x64};
  const auto format = [&](unsigned execution_manager, const char* debug_info) {
    ExecutionBuilder b(platform, execution_manager);
    if (execution_manager == 11) b.types().as_net11();
    if (debug_info != nullptr) b.types().contract("DebugInfo", debug_info);
    return jitted_debug_info_format(b.target());
  };
  using Header = DebugInfoFormat::Header;
  CHECK(format(1, nullptr).header == Header::two_sizes);
  CHECK(format(1, nullptr).bounds == BoundsCoding::nibbles);
  CHECK(format(1, nullptr).patchpoints.locals == 32);
  CHECK(format(2, nullptr).header == Header::marked);
  CHECK(format(2, nullptr).bounds == BoundsCoding::packed_2_bits);
  CHECK(format(2, nullptr).patchpoints.locals == 40);
  CHECK(format(2, "1").header == Header::marked);
  CHECK(format(11, nullptr).header == Header::slim_or_fat);
  CHECK(format(11, nullptr).bounds == BoundsCoding::packed_3_bits);
  CHECK(format(11, nullptr).variables == VariablesCoding::number_first);
  for (const auto& [generation, version] :
       {std::pair{2u, "2"}, {2u, "3"}, {2u, "c1"}, {2u, "0"}, {11u, "1"}, {11u, "2"}, {11u, "c2"}}) {
    const auto error = fault_of([&] { format(generation, version); });
    REQUIRE(error);
    CHECK(error->kind() == ErrorKind::unsupported_contract);
    CHECK_THAT(error->what(), Catch::Contains("contract DebugInfo has version"));
  }
  SECTION("a published layout of patchpoints wins") {
    ExecutionBuilder b(platform);
    b.types().type("PatchpointInfo", {{"LocalCount", Width::u32, 0, 24}}, 64);
    CHECK(jitted_debug_info_format(b.target()).patchpoints.local_count == 24);
    CHECK(jitted_debug_info_format(b.target()).patchpoints.locals == 64);
    ExecutionBuilder lying(platform);
    lying.types().type("PatchpointInfo", {{"LocalCount", Width::u32, 0, 24}}, 32);
    const auto error = fault_of([&] { jitted_debug_info_format(lying.target()); });
    REQUIRE(error);
    CHECK(error->kind() == ErrorKind::unsupported_contract);
  }
}

TEST_CASE("debug info by a contract that is not known is no map, and lookups go on") {
  const Platform platform{.pointer_size = 8, .cpu = Cpu::x64};
  Runtime runtime(platform, Blob{.form = Form::net11});
  runtime.builder.types().contract("DebugInfo", "c9");
  const Target target = runtime.builder.target();
  ExecutionManager manager(target);
  DebugInfoReader reader(manager);
  const CodeBlock block = block_at(manager, method_start);
  const auto error = fault_of([&] { reader.il_map(block); });
  REQUIRE(error);
  CHECK(error->kind() == ErrorKind::unsupported_contract);
  CHECK_THAT(error->what(), Catch::Contains("contract DebugInfo has version \"c9\""));
}

TEST_CASE("what a map costs, cold and warm") {
  const Platform platform{.pointer_size = 8, .cpu = Cpu::x64};
  for (const bool patchpoints : {false, true}) {
    Runtime runtime(platform, Blob{.patchpoints = patchpoints});
    CountingReader counting(runtime.builder.memory());
    const Target target(counting, runtime.builder.types().contract_descriptor(), platform);
    ExecutionManager manager(target);
    DebugInfoReader reader(manager);
    const CodeBlock block = block_at(manager, method_start + 0x100);
    counting.reset();
    reader.il_position(block, NativeOffsetKind::exact);
    CHECK(counting.reads() <= (patchpoints ? 5 : 4));
    counting.reset();
    reader.il_position(block_at(manager, method_start + 0x200), NativeOffsetKind::exact);
    CHECK(counting.reads() == 0);
  }
}

TEST_CASE("large maps are forgotten for others") {
  constexpr std::uint32_t count = DebugInfoReader::max_kept_boundaries / 2;
  const Platform platform{.pointer_size = 8, .cpu = Cpu::x64};
  ExecutionBuilder b(platform);
  // Entries of 4 zero bits.
  Bytes bounds = NibbleWriter().u32(count).u32(0).u32(0).bytes();
  bounds.resize(bounds.size() + count / 2);
  Bytes blob{std::byte{0}}; // no patchpoints
  append(blob, NibbleWriter().u32(static_cast<std::uint32_t>(bounds.size())).u32(0).bytes());
  append(blob, bounds);
  const Address at = b.memory().place(blob, 1);
  auto heap = b.heap(range_begin, range_end);
  for (const Address start : {method_start, method_start + 0x100, method_start + 0x200})
    b.method(heap, {.start = start, .size = 0x40, .method_desc = method_desc, .debug_info = at});
  const Target target = b.target();
  ExecutionManager manager(target);
  DebugInfoReader reader(manager);
  const auto map_of = [&](Address start) { return reader.il_map(block_at(manager, start)); };
  const auto first = map_of(method_start), second = map_of(method_start + 0x100);
  CHECK(first->boundaries().size() == count);
  CHECK(map_of(method_start) == first);
  CHECK(map_of(method_start + 0x100) == second);
  const auto third = map_of(method_start + 0x200);
  CHECK(map_of(method_start + 0x200) == third);
  CHECK(first.use_count() == 1); // only here
  CHECK(second.use_count() == 1);
  CHECK(third.use_count() == 2);
}
