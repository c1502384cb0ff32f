// Unwind data of real ReadyToRun images for x64 and arm64, of every method. Recorded images always;
// CLR_R2R_IMAGES names a folder with more.
#include "core/isa/arm64/unwind.h"
#include "core/isa/x64/unwind.h"
#include "tests/support/more_images.h"

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>

using namespace clr;
using namespace clr::test;

namespace {

// A PE file laid out by its section headers at `base`.
class Image : public MemoryReader {
public:
  static constexpr Address base = 0x1'0000'0000;
  std::uint16_t machine = 0;
  std::uint32_t functions = 0, functions_size = 0; // the exception directory

  explicit Image(const std::filesystem::path& path) {
    std::ifstream in(path, std::ios::binary);
    const std::vector<char> raw{std::istreambuf_iterator<char>(in), {}};
    const auto file = std::as_bytes(std::span(raw));
    const auto u16 = [&](std::size_t at) { return load<std::uint16_t>(file.subspan(at), ByteOrder::little); };
    const auto u32 = [&](std::size_t at) { return load<std::uint32_t>(file.subspan(at), ByteOrder::little); };
    if (file.size() < 0x400 || u16(0) != 0x5A4D) return;
    const std::size_t pe = u32(0x3C), optional = pe + 24;
    // The machine of a Unix image is disguised by the number of its system.
    machine = static_cast<std::uint16_t>(u16(pe + 4) ^ 0x7B79);
    if (u16(optional) != 0x20B) return;
    functions = u32(optional + 112 + 3 * 8);
    functions_size = u32(optional + 112 + 3 * 8 + 4);
    memory_.resize(u32(optional + 56));
    const std::size_t sections = optional + u16(pe + 20);
    for (std::size_t n = 0; n < u16(pe + 6); ++n) {
      const std::size_t header = sections + n * 40;
      const std::size_t size = std::min(u32(header + 8), u32(header + 16)), to = u32(header + 12),
                        from = u32(header + 20);
      if (from + size <= file.size() && to + size <= memory_.size())
        std::ranges::copy(file.subspan(from, size), memory_.begin() + static_cast<std::ptrdiff_t>(to));
    }
  }

  std::size_t read_some(Address address, std::span<std::byte> out) override {
    const auto bytes = view(address, 1);
    if (bytes.empty()) return 0;
    const std::size_t size = std::min<std::size_t>(out.size(), base + memory_.size() - address);
    std::memcpy(out.data(), bytes.data(), size);
    return size;
  }
  std::span<const std::byte> view(Address address, std::size_t size) override {
    if (address < base || address - base >= memory_.size() || memory_.size() - (address - base) < size)
      return {};
    return std::span(memory_).subspan(address - base, size);
  }
  std::uint32_t u32(Address address) {
    std::byte raw[4];
    read(address, raw);
    return load<std::uint32_t>(raw, ByteOrder::little);
  }

private:
  std::vector<std::byte> memory_;
};

// The effect of a prologue or an epilogue of arm64 on the frame; places are relative to the CFA.
struct Arm64Machine {
  std::int64_t sp = 0;
  std::optional<std::int64_t> fp;
  std::map<unsigned, std::int64_t> saved;   // register -> place
  std::map<unsigned, std::int64_t> scratch; // values of mov x9, #n
  bool understood = true;

  static std::int64_t signed7(std::uint32_t word, int scale) {
    const auto raw = static_cast<std::int64_t>(word >> 15 & 0x7F);
    return (raw >= 64 ? raw - 128 : raw) * scale;
  }
  static bool is_kept(unsigned reg) { return (reg >= 19 && reg <= 30) || (reg >= 72 && reg <= 79); }
  void store(unsigned reg, std::int64_t place) {
    if (is_kept(reg)) saved[reg] = place;
  }
  void reload(unsigned reg) { saved.erase(reg); }

  void step(std::uint32_t word) {
    const unsigned rt = word & 31, rn = word >> 5 & 31, rt2 = word >> 10 & 31;
    const bool vector = (word >> 26 & 1) != 0;
    const unsigned bank = vector ? 64 : 0;
    const std::uint32_t pair = word & 0xFFC0'0000;
    const std::int64_t imm12 = static_cast<std::int64_t>(word >> 10 & 0xFFF)
                               << ((word >> 22 & 1) != 0 ? 12 : 0);
    if (pair == 0xA980'0000 || pair == 0x6D80'0000) { // stp, pre-indexed
      if (rn != 31) return give_up();
      sp += signed7(word, 8);
      store(bank + rt, sp);
      store(bank + rt2, sp + 8);
    } else if (pair == 0xA900'0000 || pair == 0x6D00'0000) { // stp
      const auto at = address(rn);
      if (!at) return;
      store(bank + rt, *at + signed7(word, 8));
      store(bank + rt2, *at + signed7(word, 8) + 8);
    } else if ((word & 0xFFE0'0C00) == 0xF800'0C00 ||
               (word & 0xFFE0'0C00) == 0xFC00'0C00) { // str, pre-indexed
      if (rn != 31) return give_up();
      const auto raw = static_cast<std::int64_t>(word >> 12 & 0x1FF);
      sp += raw >= 256 ? raw - 512 : raw;
      store(bank + rt, sp);
    } else if (pair == 0xF900'0000 || pair == 0xFD00'0000) { // str
      if (const auto at = address(rn))
        store(bank + rt, *at + static_cast<std::int64_t>(word >> 10 & 0xFFF) * 8);
    } else if (pair == 0xA8C0'0000 || pair == 0x6CC0'0000) { // ldp, post-indexed
      reload(bank + rt);
      reload(bank + rt2);
      sp += signed7(word, 8);
    } else if (pair == 0xA940'0000 || pair == 0x6D40'0000) { // ldp
      reload(bank + rt);
      reload(bank + rt2);
    } else if ((word & 0xFFE0'0C00) == 0xF840'0400 ||
               (word & 0xFFE0'0C00) == 0xFC40'0400) { // ldr, post-indexed
      reload(bank + rt);
      const auto raw = static_cast<std::int64_t>(word >> 12 & 0x1FF);
      sp += raw >= 256 ? raw - 512 : raw;
    } else if (pair == 0xF940'0000 || pair == 0xFD40'0000) { // ldr
      reload(bank + rt);
    } else if ((word & 0xFF80'03FF) == 0xD100'03FF) { // sub sp, sp, #n
      sp -= imm12;
    } else if ((word & 0xFF80'03FF) == 0x9100'03FF) { // add sp, sp, #n
      sp += imm12;
    } else if ((word & 0xFF80'03FF) == 0x9100'03FD) { // add fp, sp, #n
      fp = sp + imm12;
    } else if ((word & 0xFF80'03FF) == 0x9100'03BF ||
               (word & 0xFF80'03FF) == 0xD100'03BF) { // mov, sub sp, fp
      if (!fp) return give_up();
      sp = *fp + ((word & 0x4000'0000) != 0 ? -imm12 : imm12);
    } else if ((word & 0xFFE0'0000) == 0xD280'0000) { // movz
      scratch[rt] = word >> 5 & 0xFFFF;
    } else if ((word & 0xFFE0'0000) == 0xF2A0'0000) { // movk, lsl 16
      scratch[rt] |= static_cast<std::int64_t>(word >> 5 & 0xFFFF) << 16;
    } else if ((word & 0xFFE0'FFFF) == 0xCB20'63FF) { // sub sp, sp, xN
      sp -= scratch[word >> 16 & 31];
    } else if ((word & 0xFFE0'FFFF) == 0x8B20'63FF) { // add sp, sp, xN
      sp += scratch[word >> 16 & 31];
    }
  }

  std::optional<std::int64_t> address(unsigned reg) const {
    if (reg == 31) return sp;
    return reg == 29 ? fp : std::nullopt;
  }
  void give_up() { understood = false; }

  std::optional<std::int64_t> place(const RegisterOffset& at) const {
    if (at.reg == arm64_register::sp) return sp + at.offset;
    if (at.reg == arm64_register::fp && fp) return *fp + at.offset;
    return std::nullopt;
  }
  // The layout says the same as the instructions did.
  bool agrees(const FrameLayout& layout) const {
    if (place(layout.cfa) != 0) return false;
    std::size_t kept = 0;
    for (const SavedRegister& reg : layout.saved) {
      if (!is_kept(reg.reg)) continue;
      ++kept;
      const auto it = saved.find(reg.reg);
      if (it == saved.end() || place(reg.at) != it->second) return false;
    }
    return kept == saved.size();
  }
};

struct Count {
  std::size_t functions = 0, positions = 0, epilogues = 0, differences = 0, not_emulated = 0;
};

// Compares every prologue and epilogue position of an arm64 function with its instructions.
void check_arm64(Image& image, Address function, Count& count) {
  const Arm64RuntimeFunction entry = read_arm64_runtime_function(image, function);
  const Arm64UnwindInfo info = read_arm64_unwind_info(image, Image::base + entry.unwind_data);
  const Address start = Image::base + entry.begin;
  const auto layout = [&](std::uint64_t index) {
    ++count.positions;
    return arm64_frame_layout(image, function, Image::base, start + index * 4);
  };
  ++count.functions;
  const std::vector<Arm64UnwindCode> codes = decode_arm64_codes(info, 0);
  std::uint64_t prologue = 0;
  while (prologue < codes.size() && codes[prologue].op != Arm64UnwindOp::end &&
         codes[prologue].op != Arm64UnwindOp::end_c)
    ++prologue;
  const bool fragment = prologue < codes.size() && codes[prologue].op == Arm64UnwindOp::end_c;
  Arm64Machine machine;
  if (!fragment) {
    for (std::uint64_t n = 0; n <= prologue && n * 4 < info.function_length; ++n) {
      if (!machine.understood || !machine.agrees(layout(n))) {
        ++(machine.understood ? count.differences : count.not_emulated);
        return;
      }
      if (n < prologue) machine.step(image.u32(start + n * 4));
    }
  }
  const auto check_epilogue = [&](std::uint64_t first, std::uint64_t size) {
    ++count.epilogues;
    Arm64Machine at = machine;
    if (fragment) {
      // The frame is its function's: take the first position for granted.
      at = {};
      const FrameLayout body = layout(first);
      if (body.cfa.reg == arm64_register::sp)
        at.sp = -body.cfa.offset;
      else
        at.fp = -body.cfa.offset;
      for (const SavedRegister& reg : body.saved) at.store(reg.reg, at.place(reg.at).value_or(1));
    }
    for (std::uint64_t n = first; n < first + size; ++n) {
      if (!at.agrees(layout(n))) {
        ++count.differences;
        return;
      }
      at.step(image.u32(start + n * 4));
    }
  };
  const auto scope_size = [&](std::uint32_t code_index) {
    std::uint64_t size = 1; // the return
    for (const Arm64UnwindCode& code : decode_arm64_codes(info, code_index)) size += code.instruction ? 1 : 0;
    return size;
  };
  if (info.single_epilog) {
    const std::uint64_t size = scope_size(info.epilog_code_index);
    check_epilogue(info.function_length / 4 - size, size);
  }
  for (const Arm64EpilogScope& scope : info.epilogs)
    check_epilogue(scope.start / 4, scope_size(scope.code_index));
}

void check_x64(Image& image, Address function, Count& count) {
  const X64RuntimeFunction entry = read_x64_runtime_function(image, function);
  const X64UnwindInfo info = read_x64_unwind_info(image, Image::base + entry.unwind_data);
  const Address start = Image::base + entry.begin;
  ++count.functions;
  std::int64_t last = 8;
  for (unsigned offset = 0; offset <= info.prolog_size && offset < entry.end - entry.begin; ++offset) {
    ++count.positions;
    const FrameLayout layout = x64_frame_layout(image, function, Image::base, start + offset, true);
    if (layout.cfa.reg != x64_register::rsp) continue;
    // The frame only grows in a prologue.
    if (layout.cfa.offset < last) ++count.differences;
    last = layout.cfa.offset;
  }
}

// How many functions the image has of its own: the components of a composite image have none. Images of other
// CPUs count as empty.
std::size_t check_image(const std::filesystem::path& path) {
  Image image(path);
  const bool arm64 = image.machine == 0xAA64, x64 = image.machine == 0x8664;
  if (!arm64 && !x64) return 0;
  const std::uint32_t size = arm64 ? 8 : 12;
  Count count;
  for (std::uint32_t at = 0; at + size <= image.functions_size; at += size) {
    const Address function = Image::base + image.functions + at;
    if (image.u32(function) == 0xFFFF'FFFF) break; // the sentinel behind the last one
    CAPTURE(path.string(), at / size);
    if (arm64)
      check_arm64(image, function, count);
    else
      check_x64(image, function, count);
  }
  std::cout << fmt::format(
      "  {}/{}: {} functions, {} positions, {} epilogues, {} differences, {} not emulated\n",
      path.parent_path().filename().string(), path.filename().string(), count.functions, count.positions,
      count.epilogues, count.differences, count.not_emulated);
  CHECK(count.differences == 0);
  CHECK(count.not_emulated == 0);
  return count.functions;
}

} // namespace

TEST_CASE("the unwind data of every method of recorded images decodes") {
  const std::filesystem::path data = CLR_TEST_DATA;
  CHECK(check_image(data / "metadata/data/names-x64.dll") == 55);
  CHECK(check_image(data / "metadata/data/names-arm64.dll") == 55);
  CHECK(check_image(data / "execution/data/cold-x64.dll") == 11);
}

TEST_CASE("the unwind data of every method of more images decodes") {
  const auto images = more_r2r_images("stack: unwind data of more images");
  if (!images) return;
  std::size_t functions = 0;
  for (const std::filesystem::path& image : *images) functions += check_image(image);
  CHECK(functions > 0);
}
