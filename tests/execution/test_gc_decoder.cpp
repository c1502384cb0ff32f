// GC info: bodies of the framework whose content was read by another reader, and blobs of a builder.
#include "core/execution/gc_decoder.h"
#include "core/execution/gc_info.h"
#include "core/isa/registers.h"
#include "core/memory/byte_range.h"
#include "tests/support/faults.h"
#include "tests/support/gc_info_builder.h"
#include "tests/support/memory_builder.h"

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include <random>

using namespace clr;
using namespace clr::test;

namespace {

// A blob in a memory of its own, which ends with it.
struct Blob {
  Blob(Cpu cpu, std::vector<std::byte> bytes, unsigned of_version = 4)
      : memory({.pointer_size = 8, .cpu = cpu}), at(memory.place(bytes)), size(bytes.size()),
        target(memory, ContractDescriptor{.platform = memory.platform()}, memory.platform()),
        version(of_version) {}
  explicit Blob(const GcInfoSpec& spec) : Blob(spec.cpu, gc_info_bytes(spec), spec.version) {}

  GcDecoder decoder() const { return GcDecoder(target, at, version); }

  MemoryBuilder memory;
  Address at;
  std::size_t size;
  Target target;
  unsigned version;
};

std::vector<std::byte> from_hex(std::string_view text) {
  std::vector<std::byte> bytes;
  for (std::size_t n = 0; n < text.size(); n += 2)
    bytes.push_back(static_cast<std::byte>(std::stoul(std::string(text.substr(n, 2)), nullptr, 16)));
  return bytes;
}

std::string flags_of(const GcSlot& slot) {
  return fmt::format("{}{}", slot.interior ? " interior" : "", slot.pinned ? " pinned" : "");
}

std::string names(GcDecoder& decoder, const std::vector<std::uint32_t>& slots) {
  std::vector<std::string> texts;
  for (const std::uint32_t n : slots) {
    const GcSlot& slot = decoder.slots().slots[n];
    texts.push_back(gc_slot_name(decoder.cpu(), decoder.header(), slot) + flags_of(slot));
  }
  return fmt::format("{{{}}}", fmt::join(texts, ", "));
}

// Everything that a blob says, in lines.
std::string told(const Blob& blob) {
  GcDecoder decoder = blob.decoder();
  const GcHeader& header = decoder.header();
  std::string text = fmt::format("{} bytes", header.code_length);
  if (header.frame_register)
    text += fmt::format(", {}", register_name(decoder.cpu(), *header.frame_register));
  if (header.cookie)
    text += fmt::format(", cookie {:+d} {:#x}-{:#x}", header.cookie->offset, header.cookie->valid_begin,
                        header.cookie->valid_end);
  if (header.context)
    text +=
        fmt::format(", {} {}{:+d} from {:#x}", to_string(header.context->kind),
                    to_string(header.context->place.base), header.context->place.offset, *header.prolog_end);
  if (header.psp_symbol) text += fmt::format(", psp {:+d}", *header.psp_symbol);
  if (header.enc_bytes) text += fmt::format(", enc {}", *header.enc_bytes);
  if (header.reverse_pinvoke)
    text += fmt::format(", reverse {}{:+d}", to_string(header.reverse_pinvoke->base),
                        header.reverse_pinvoke->offset);
  if (header.outgoing_area != 0) text += fmt::format(", outgoing {}", header.outgoing_area);
  text += "\n";
  for (std::size_t n = 0; n < decoder.safe_points().size(); ++n)
    text += fmt::format("{:#x}: {}\n", decoder.safe_points()[n],
                        names(decoder, decoder.live_at_safe_point(n).members()));
  for (const GcRange& range : decoder.ranges()) text += fmt::format("{:#x}-{:#x}\n", range.begin, range.end);
  decoder.for_each_change([&](std::uint64_t offset, std::uint32_t slot, bool live) {
    text += fmt::format("{:#x} {}{}\n", offset, live ? '+' : '-', names(decoder, {slot}));
    return true;
  });
  std::vector<std::uint32_t> untracked;
  for (std::uint32_t n = decoder.slots().tracked; n < decoder.slots().slots.size(); ++n)
    untracked.push_back(n);
  if (!untracked.empty()) text += "untracked " + names(decoder, untracked) + "\n";
  return text;
}

std::string live_text(GcDecoder& decoder, std::uint64_t offset) {
  const auto live = decoder.live_in_range(offset);
  return live ? names(decoder, live->members()) : "no range";
}

GcInfoSpec with_slots(Cpu cpu, unsigned version) {
  return {
      .cpu = cpu,
      .version = version,
      .length = 0x400,
      .frame_register = true,
      // Those with flags come first, as the JIT sorts them.
      .registers = {{.reg = 7, .flags = 1}, {.reg = 3}, {.reg = 6}, {.reg = 12}},
      .stack = {{.base = 1, .offset = 8, .flags = 1}, {.base = 1, .offset = -16}, {.base = 2, .offset = -8}},
      .untracked = {{.base = 2, .offset = -0x88, .flags = 3}, {.base = 0, .offset = 0x100}}};
}

} // namespace

TEST_CASE("GC info of bodies of the framework, x64") {
  const auto x64 = [](std::string_view hex) {
    const Blob blob(Cpu::x64, from_hex(hex));
    CHECK(blob.decoder().measure() == blob.size);
    return told(blob);
  };
  CHECK(x64("82495398bced09") == "96 bytes, rbp\n0x4d: {}\n"
                                 "untracked {[rbp-0x20] interior pinned, [rbp-0x18] pinned}\n");
  CHECK(x64("869b132cf14c8032d46905") == "225 bytes, rbp\n0x4e: {rax, [rbp-0x70]}\n0xb0: {[rbp-0x70]}\n"
                                         "0xc4: {[rbp-0x70]}\nuntracked {[rbp-0x30] pinned}\n");
  CHECK(x64("01cc0180d19971012401") == "57 bytes, reverse sp+0\n0x1d: {rax}\n0x26: {rbx}\n0x31: {}\n");
  CHECK(
      x64("894084810e0065ce81723c152cf6bdc7444a4a00") ==
      "136 bytes, rbp, cookie -48 0x19-0x88\n0x19-0x81\n0x19 +{r15}\n0x50 +{rdi}\n0x56 -{rdi}\n0x61 +{rdi}\n"
      "0x6b -{rdi}\n0x6b -{r15}\n");
  CHECK(x64("ba1cc0d9111046272d66618b407ab96ec21c3b93fbcbee2fbdbf54ad8e00000e")
            .starts_with("814 bytes, rbp\n0x76: {[rbp-0x120] interior, [rbp-0x118] interior, [rbp-0x110] "
                         "interior}\n"));
}

TEST_CASE("GC info of a body of the framework with several ranges") {
  const Blob blob(Cpu::x64, from_hex("c1d114fd0070929c2012b815c0a9d0016659d7a07f"));
  GcDecoder decoder = blob.decoder();
  CHECK(decoder.header().code_length == 154);
  REQUIRE(decoder.header().context);
  CHECK(decoder.header().context->kind == GcContextKind::method_desc);
  CHECK(decoder.header().context->place.offset == -8);
  CHECK(decoder.header().context->place.base == GcBase::frame);
  CHECK(*decoder.header().prolog_end == 0x12);
  CHECK(decoder.ranges() == std::vector<GcRange>{{0x12, 0x4c}, {0x4e, 0x60}, {0x61, 0x99}});
  CHECK(live_text(decoder, 0x11) == "no range");
  CHECK(live_text(decoder, 0x12) == "{rdi}");
  CHECK(live_text(decoder, 0x17) == "{rdi}");
  CHECK(live_text(decoder, 0x18) == "{}");
  CHECK(live_text(decoder, 0x36) == "{}");
  CHECK(live_text(decoder, 0x37) == "{rax}");
  CHECK(live_text(decoder, 0x4b) == "{rax}");
  CHECK(live_text(decoder, 0x4c) == "no range");
  CHECK(live_text(decoder, 0x93) == "{}");
  CHECK(live_text(decoder, 0x94) == "{rax}");
  CHECK(live_text(decoder, 0x99) == "no range");
  CHECK(decoder.measure() == blob.size);
}

TEST_CASE("GC info of bodies of the framework, arm64") {
  const Blob context(Cpu::arm64, from_hex("c1403124008138c220077948"));
  CHECK(told(context) == "160 bytes, fp, method_desc fp+72 from 0x10\n0x88: {x0 interior}\n"
                         "untracked {[fp+0x18] interior, [fp+0x38] interior}\n");
  CHECK(context.decoder().measure() == context.size);
  const Blob range(Cpu::arm64, from_hex("81d802800ed2c088000d443acf01"));
  CHECK(told(range) == "364 bytes, fp\n0x1c-0x168\n0xe8 +{x0}\n0x100 -{x0}\nuntracked {[fp+0x30]}\n");
  CHECK(range.decoder().measure() == range.size);
}

TEST_CASE("what the builder writes is read back, of each version and CPU") {
  for (const Cpu cpu : {Cpu::x64, Cpu::arm64})
    for (const unsigned version : {2u, 3u, 4u, 5u})
      for (const bool shared : {false, true})
        for (const bool runs : {false, true}) {
          INFO(to_string(cpu) << " version " << version << " shared " << shared << " runs " << runs);
          GcInfoSpec spec = with_slots(cpu, version);
          spec.shared_sets = shared;
          spec.runs = runs;
          spec.outgoing = 0x28;
          spec.context_kind = 3;
          spec.context = GcInfoSpec::Place{.prolog = 0x10, .offset = -0x108};
          spec.cookie = spec.context;
          spec.cookie->offset = -0x30;
          spec.epilog = 8;
          spec.reverse_pinvoke = 0x18;
          spec.flags = 0x100;
          if (version < 4) spec.psp_symbol = -0x20;
          spec.safe_points = {{.offset = 0x14, .live = {}},
                              {.offset = 0x80, .live = {0, 6}},
                              {.offset = 0x84, .live = {1, 2, 3, 4, 5, 6}},
                              {.offset = 0x3fc, .live = {0, 6}}};
          const Blob blob(spec);
          const bool arm64 = cpu == Cpu::arm64;
          const std::string fp = arm64 ? "fp" : "rbp", sp = arm64 ? "sp" : "rsp";
          const std::vector<std::string> regs = arm64 ? std::vector<std::string>{"x7", "x3", "x6", "x12"}
                                                      : std::vector<std::string>{"rdi", "rbx", "rsi", "r12"};
          CHECK(told(blob) ==
                fmt::format("1024 bytes, {0}, cookie -48 0x10-0x3f8, this fp-264 from 0x10{7}, enc 16, "
                            "reverse fp+24, outgoing 40\n"
                            "0x14: {{}}\n0x80: {{{2} interior, [{0}-0x8]}}\n"
                            "0x84: {{{3}, {4}, {5}, [{1}+0x8] interior, [{1}-0x10], [{0}-0x8]}}\n"
                            "0x3fc: {{{2} interior, [{0}-0x8]}}\n"
                            "untracked {{[{0}-0x88] interior pinned, [caller_sp+0x100]}}\n",
                            fp, sp, regs[0], regs[1], regs[2], regs[3], "", version < 4 ? ", psp -32" : ""));
          GcDecoder decoder = blob.decoder();
          CHECK(decoder.measure() == blob.size);
          CHECK(decoder.safe_point_at(0x84) == 2);
          CHECK_FALSE(decoder.safe_point_at(0x85));
          CHECK(read_code_length(blob.target, blob.at, version) == 0x400);
        }
}

TEST_CASE("lives in ranges: chunks, and chunks in which nothing changes") {
  for (const Cpu cpu : {Cpu::x64, Cpu::arm64})
    for (const bool runs : {false, true}) {
      GcInfoSpec spec = with_slots(cpu, 4);
      spec.runs = runs;
      spec.length = 0x4000;
      const std::uint64_t unit = cpu == Cpu::arm64 ? 4 : 1;
      // The second range begins in the middle of a chunk, and several chunks follow without a change.
      spec.ranges = {{0x20, 0x20 + 100 * unit}, {0x1000, 0x1000 + 600 * unit}};
      spec.lives = {{.slot = 0, .begin = 0x20, .end = 0x20 + 100 * unit},
                    {.slot = 5, .begin = 0x20 + 63 * unit, .end = 0x20 + 65 * unit},
                    {.slot = 6, .begin = 0x1000 + 3 * unit, .end = 0x1000 + 500 * unit},
                    {.slot = 2, .begin = 0x1000 + 9 * unit, .end = 0x1000 + 10 * unit},
                    {.slot = 2, .begin = 0x1000 + 599 * unit, .end = 0x1000 + 600 * unit}};
      const Blob blob(spec);
      GcDecoder decoder = blob.decoder();
      CHECK(decoder.measure() == blob.size);
      std::size_t offsets = 0;
      std::vector<std::vector<bool>> by_changes(0x4000 / unit);
      std::vector<bool> now(7);
      const auto in_range = [&](std::uint64_t offset) {
        return std::ranges::any_of(
            spec.ranges, [&](const auto& range) { return offset >= range.begin && offset < range.end; });
      };
      std::vector<std::tuple<std::uint64_t, std::uint32_t, bool>> changes;
      decoder.for_each_change([&](std::uint64_t offset, std::uint32_t slot, bool live) {
        changes.emplace_back(offset, slot, live);
        return true;
      });
      auto change = changes.begin();
      for (std::uint64_t offset = 0; offset < spec.length; offset += unit) {
        const auto live = decoder.live_in_range(offset);
        CHECK(live.has_value() == in_range(offset));
        if (!live) continue;
        if (std::ranges::any_of(spec.ranges, [&](const auto& range) { return offset == range.begin; }))
          now.assign(7, false);
        for (; change != changes.end() && std::get<0>(*change) == offset; ++change)
          now[std::get<1>(*change)] = std::get<2>(*change);
        for (std::uint32_t slot = 0; slot < 7; ++slot) {
          const bool expected = std::ranges::any_of(spec.lives, [&](const auto& life) {
            return life.slot == slot && offset >= life.begin && offset < life.end;
          });
          if (live->has(slot) != expected || now[slot] != expected)
            FAIL_CHECK(fmt::format("slot {} at {:#x}", slot, offset));
        }
        ++offsets;
      }
      CHECK(offsets == 700);
      CHECK(change == changes.end());
      // A reader that has enough stops.
      std::size_t seen = 0;
      decoder.for_each_change([&](std::uint64_t, std::uint32_t, bool) { return ++seen < 2; });
      CHECK(seen == 2);
    }
}

TEST_CASE("GC info without live slots, without slots, and with untracked ones only") {
  GcInfoSpec spec = with_slots(Cpu::x64, 4);
  spec.ranges = {{0x10, 0x200}};
  Blob blob(spec);
  GcDecoder nothing_lives = blob.decoder();
  CHECK(live_text(nothing_lives, 0x10) == "{}");
  CHECK(nothing_lives.measure() == blob.size);
  spec.registers.clear();
  spec.stack.clear();
  Blob untracked(spec);
  GcDecoder untracked_only = untracked.decoder();
  CHECK(live_text(untracked_only, 0x10) == "{}");
  CHECK(untracked_only.slots().tracked == 0);
  CHECK(untracked_only.measure() == untracked.size);
  const Blob slim(GcInfoSpec{.length = 5, .safe_points = {{.offset = 5}}});
  CHECK(told(slim) == "5 bytes\n0x5: {}\n");
}

TEST_CASE("GC info that is not supported is named") {
  const auto text_of = [](const Blob& blob) {
    const auto fault = fault_of([&] { blob.decoder(); });
    CHECK(fault->kind() == ErrorKind::unsupported_contract);
    return std::string(fault->what());
  };
  GcInfoSpec spec{.length = 0x40};
  CHECK(text_of(Blob(Cpu::x64, gc_info_bytes(spec), 6)) == "unsupported GC info 6");
  CHECK(text_of(Blob(Cpu::x64, gc_info_bytes(spec), 1)) == "unsupported GC info 1");
  CHECK(text_of(Blob(Cpu::x86, {std::byte{8}})) == "the GC info of the CPU x86 is not supported");
  CHECK(text_of(Blob(Cpu::arm, gc_info_bytes(spec))) == "the GC info of the CPU arm is not supported");
  // Their code length is known all the same.
  const Blob blob(spec);
  CHECK(read_code_length(blob.target, blob.at, 5) == 0x40);
}

TEST_CASE("GC info that contradicts itself") {
  const auto corrupt = [](const GcInfoSpec& spec) {
    const Blob blob(spec);
    const auto fault = fault_of([&] { blob.decoder().measure(); });
    CHECK(fault->kind() == ErrorKind::corrupt);
    return std::string(fault->what());
  };
  using Spec = GcInfoSpec;
  const auto begins = [](const std::string& text) {
    return Catch::Matchers::StartsWith("GC info with " + text);
  };
  CHECK_THAT(corrupt({.length = 4, .safe_points = std::vector<Spec::SafePoint>(6)}),
             begins("more safe points"));
  CHECK_THAT(corrupt({.length = 100, .safe_points = {{.offset = 9}, {.offset = 8}}}),
             begins("safe points out of order"));
  CHECK_THAT(corrupt({.length = 100, .safe_points = {{.offset = 101}}}), begins("safe points out of order"));
  CHECK_THAT(corrupt({.length = 100, .ranges = {{10, 101}}}), begins("a range beyond its code"));
  CHECK_THAT(corrupt({.length = 100, .ranges = {{100, 101}}}), begins("a range beyond its code"));
  CHECK_THAT(corrupt({.length = 100, .registers = {{.reg = 16}}}), begins("a slot in register 16"));
  CHECK_THAT(corrupt({.length = 100, .stack = {{.base = 3}}}), begins("a slot without a base"));
  CHECK_THAT(corrupt({.length = 100, .stack = {{.offset = std::int64_t{1} << 50}}}),
             begins("a slot that no frame has"));
  CHECK_THAT(corrupt({.length = 100, .flags = 2}), begins("the unknown flag 0x2"));
  CHECK_THAT(corrupt({.length = 100, .psp_symbol = 8}), begins("the unknown flag 0x8"));
  CHECK_THAT(corrupt({.length = 100, .context_kind = 1, .context = Spec::Place{.prolog = 101}}),
             begins("a prolog or epilog"));
  CHECK_THAT(corrupt({.length = 100, .cookie = Spec::Place{.prolog = 4}, .epilog = 101}),
             begins("a prolog or epilog"));
  CHECK_THAT(corrupt({.length = 100, .outgoing = std::uint64_t{1} << 50}),
             begins("a size that no frame has"));
  // Shared sets end where no reader knows, so ranges cannot follow them.
  Spec both{.length = 100, .registers = {{.reg = 3}}, .safe_points = {{.offset = 9}}, .ranges = {{10, 20}}};
  both.shared_sets = true;
  CHECK_THAT(corrupt(both), begins("shared sets"));
}

TEST_CASE("GC info of more slots than a method has") {
  GcInfoSpec spec{.length = 100};
  spec.untracked.resize(max_gc_slots, {.base = 1, .offset = 8});
  CHECK(Blob(spec).decoder().slots().slots.size() == max_gc_slots);
  spec.untracked.push_back({.base = 1, .offset = 8});
  const Blob blob(spec);
  const auto fault = fault_of([&] { blob.decoder().slots(); });
  REQUIRE(fault);
  CHECK(fault->kind() == ErrorKind::corrupt);
  CHECK_THAT(fault->what(), Catch::Contains("more than 65536 slots"));
}

TEST_CASE("GC info ends where memory ends") {
  GcInfoSpec spec = with_slots(Cpu::x64, 4);
  spec.safe_points = {{.offset = 0x84, .live = {1, 2, 3}}};
  const std::vector<std::byte> whole = gc_info_bytes(spec);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const Blob blob(Cpu::x64, {whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)});
    const auto fault = fault_of([&] { blob.decoder().measure(); });
    INFO(size);
    CHECK(fault->kind() == ErrorKind::memory_missing);
    CHECK(fault->address() == blob.at + size);
  }
}

TEST_CASE("GC info of which the k-th read fails") {
  GcInfoSpec spec = with_slots(Cpu::x64, 4);
  for (unsigned n = 1; n < 200; ++n) spec.safe_points.push_back({.offset = n, .live = {n % 7}});
  Blob blob(spec);
  REQUIRE(blob.size > 32); // more than is read at first
  const auto reads = for_each_failing_read(blob.memory, [&](MemoryReader& memory, std::uint64_t failing) {
    const Target target(memory, ContractDescriptor{.platform = blob.memory.platform()},
                        blob.memory.platform());
    std::uint64_t size = 0;
    const auto fault = fault_of([&] { size = GcDecoder(target, blob.at, 4).measure(); });
    if (fault) CHECK(fault->kind() == ErrorKind::memory_missing);
    if (!fault) CHECK(size == blob.size);
    if (failing == 0) CHECK_FALSE(fault);
  });
  CHECK(reads >= 2);
  // What failed once is asked for again.
  std::uint64_t failed = 0;
  for_each_failing_read(blob.memory, [&](MemoryReader& memory, std::uint64_t) {
    const Target target(memory, ContractDescriptor{.platform = blob.memory.platform()},
                        blob.memory.platform());
    std::optional<GcDecoder> decoder;
    if (fault_of([&] { decoder.emplace(target, blob.at, 4u); })) return;
    if (fault_of([&] { decoder->measure(); })) ++failed;
    CHECK(decoder->measure() == blob.size);
  });
  CHECK(failed > 0);
}

TEST_CASE("a few bytes of GC info cannot make endless work") {
  // Safe points that all share one set, which one run tells.
  GcInfoSpec spec{.length = 1 << 20, .shared_sets = true, .runs = true};
  std::vector<unsigned> all;
  for (unsigned n = 0; n < 4'000; ++n) {
    spec.registers.push_back({.reg = 3, .flags = 1});
    all.push_back(n);
  }
  for (unsigned n = 1; n <= 5'000; ++n) spec.safe_points.push_back({.offset = n, .live = all});
  const Blob blob(spec);
  GcDecoder decoder = blob.decoder();
  CHECK(decoder.live_at_safe_point(4'999).members().size() == 4'000);
  const auto fault = fault_of([&] { decoder.measure(); });
  CHECK(fault->kind() == ErrorKind::corrupt);
  CHECK_THAT(fault->what(), Catch::Matchers::Contains("steps"));
  // One question after another may be asked all the same.
  std::size_t found = 0;
  for (unsigned n = 0; n < 5'000; ++n) found += decoder.live_at_safe_point(n).has(3'999);
  CHECK(found == 5'000);
  // A blob that never ends.
  const std::vector<std::byte> zeroes(GcBits::max_gc_info_bytes + 64);
  HostMemory memory(zeroes);
  GcBits bits(memory, 0);
  bits.seek(8 * GcBits::max_gc_info_bytes - 32);
  CHECK(bits.take(32) == 0);
  CHECK(fault_of([&] { bits.take(1); })->kind() == ErrorKind::corrupt);
}

TEST_CASE("random and damaged GC info ends in an error or in a bounded answer") {
  std::mt19937_64 random(24);
  std::vector<std::vector<std::byte>> seeds;
  for (const bool runs : {false, true}) {
    GcInfoSpec spec = with_slots(Cpu::x64, 4);
    spec.runs = spec.shared_sets = runs;
    spec.safe_points = {{.offset = 0x80, .live = {0, 6}}, {.offset = 0x84, .live = {1, 2}}};
    seeds.push_back(gc_info_bytes(spec));
    spec.safe_points.clear();
    spec.ranges = {{0x20, 0x300}};
    spec.lives = {{.slot = 1, .begin = 0x40, .end = 0x200}};
    seeds.push_back(gc_info_bytes(spec));
  }
  std::size_t whole = 0;
  for (unsigned n = 0; n < 20'000; ++n) {
    std::vector<std::byte> bytes = seeds[n % seeds.size()];
    if (n % 5 == 0)
      for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
    else
      bytes[random() % bytes.size()] ^= static_cast<std::byte>(1u << random() % 8);
    HostMemory memory(bytes);
    const Platform platform{8, ByteOrder::little, n % 2 == 0 ? Cpu::x64 : Cpu::arm64, Os::unix_like};
    const Target target(memory, ContractDescriptor{.platform = platform}, platform);
    try {
      GcDecoder decoder(target, 0, 2 + n % 3);
      const std::uint64_t size = decoder.measure();
      CHECK(size <= bytes.size());
      for (const std::uint64_t point : decoder.safe_points()) CHECK(point <= decoder.header().code_length);
      ++whole;
    } catch (const Error&) {
    }
  }
  CHECK(whole > 0);
  CHECK(whole < 20'000);
}
