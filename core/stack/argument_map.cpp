#include "core/stack/argument_map.h"

#include "core/execution/ready_to_run.h"

#include <fmt/format.h>

namespace clr {
namespace {

constexpr std::uint32_t import_sections = 101;
// READYTORUN_IMPORT_SECTION: the RVA and the size of its cells, flags and type, the size of a cell, the RVA
// of its signatures, the RVA of what else belongs to it: maps.
constexpr std::uint32_t section_bytes = 20, cell_size_at = 11, maps_at = 16;
// The offsets of the maps are listed for every so many cells.
constexpr std::uint32_t cells_in_group = 1'024;
constexpr unsigned more_bytes = 0x80, bits_of_byte = 7;

// The tokens of a map. Values from `first_wide` on are written as an odd number behind `wide`.
enum class Token : std::uint32_t { skip = 0, reference = 1, interior = 2, wide = 3 };
constexpr std::uint32_t first_wide_skip = 4;
constexpr unsigned max_group_bits = 30;

class MapBits {
public:
  MapBits(const Target& target, Address at) : target_(target), begin_(at), at_(at) {}

  // Nothing but zeros follows.
  bool at_end() {
    if (left_ == 0 && more_) next();
    return bits_ == 0 && !more_;
  }
  // Behind the last byte there are zeros.
  std::uint32_t bit() {
    if (left_ == 0 && more_) next();
    const std::uint32_t value = bits_ & 1;
    bits_ >>= 1;
    if (left_ != 0) --left_;
    return value;
  }
  std::uint32_t two_bits() {
    const std::uint32_t low = bit();
    return low | bit() << 1;
  }
  // Groups of three bits, each with a bit that says whether another one follows.
  std::uint32_t number() {
    std::uint32_t value = 0;
    unsigned shift = 0;
    do {
      if (shift >= max_group_bits) throw_corrupt(begin_, "a map of arguments with a number too large");
      for (unsigned i = 0; i < 3; ++i) value |= bit() << shift++;
    } while (bit() != 0);
    return value;
  }

private:
  void next() {
    if (at_ - begin_ >= max_map_bytes) throw_corrupt(begin_, "a map of arguments without an end");
    const std::uint8_t byte = target_.read_u8(at_++);
    more_ = (byte & more_bytes) != 0;
    bits_ = byte & (more_bytes - 1);
    left_ = bits_of_byte;
  }

  const Target& target_;
  Address begin_, at_;
  unsigned bits_ = 0, left_ = 0;
  bool more_ = true;
};

} // namespace

std::vector<MappedArgument> read_argument_map(const Target& target, Address address) {
  MapBits bits(target, address);
  std::vector<MappedArgument> found;
  std::uint32_t slot = 0;
  while (!bits.at_end()) {
    const auto token = static_cast<Token>(bits.two_bits());
    if (token == Token::wide) {
      const std::uint32_t value = bits.number();
      // An odd value names an argument that is no object: a generic context, the cookie of a signature.
      slot += value % 2 == 0 ? value / 2 + first_wide_skip : 1;
      continue;
    }
    if (token != Token::skip) found.push_back({.slot = slot, .interior = token == Token::interior});
    ++slot;
  }
  return found;
}

std::optional<Address> argument_map_of(ExecutionManager& code, Address cell) {
  const Target& target = code.target();
  const RangeSection* const section = code.section_at(cell);
  if (section == nullptr || section->r2r_module == 0) return std::nullopt;
  const ExecutionManager::R2RImage image = code.r2r_image(*section);
  const auto table = find_r2r_section(target, image.header, import_sections);
  if (!table) return std::nullopt;
  const std::uint32_t count = table->size / section_bytes;
  if (count > max_argument_sections)
    throw_corrupt(image.header, fmt::format("an image with {} import sections", count));
  for (std::uint32_t i = 0; i < count; ++i) {
    const Address row = image.base + table->rva + Address{i} * section_bytes;
    const Address cells = image.base + target.read_u32(row);
    if (cell < cells || cell - cells >= target.read_u32(row + 4)) continue;
    const std::uint32_t maps = target.read_u32(row + maps_at);
    if (maps == 0) return std::nullopt;
    const std::uint8_t stated = target.read_u8(row + cell_size_at);
    const Address index = (cell - cells) / (stated != 0 ? stated : target.pointer_size());
    const Address groups = image.base + maps;
    Address at = groups + target.read_u32(groups + sizeof(std::uint32_t) * (index / cells_in_group));
    const Address limit = at + Address{max_map_bytes};
    for (Address before = index % cells_in_group; before != 0; --before) {
      while ((target.read_u8(at++) & more_bytes) != 0)
        if (at > limit) throw_corrupt(groups, "maps of arguments without an end");
    }
    return at;
  }
  return std::nullopt;
}

} // namespace clr
