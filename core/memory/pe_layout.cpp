#include "core/memory/pe_layout.h"

#include "core/memory/byte_range.h"
#include "core/memory/memory_reader.h"

#include <algorithm>
#include <fmt/format.h>

namespace clr {
namespace {

constexpr unsigned highlow = 3, dir64 = 10;

// Offsets of ManagedNativeHeader in the COR20 header and of AddressOfFunctions in the export directory. A
// composite image has no COR header; its only export is its ReadyToRun header.
constexpr std::uint32_t managed_native_header = 64, address_of_functions = 28;
constexpr std::uint32_t ready_to_run_header_size = 16, ready_to_run_section_size = 12;
// Section types of the format: 100 to 123 are known, and one of them is code with cells.
constexpr std::uint32_t first_table = 100, last_table = 123, delay_load_thunks = 106;

using Bytes = std::span<const std::byte>;

// An image in a file, as memory at 0.
class ImageBytes final : public MemoryReader {
public:
  ImageBytes(PartialFile& file, std::uint64_t offset, std::uint64_t size)
      : file_(&file), offset_(offset), size_(size) {}

  std::uint64_t size() const { return size_; }
  // Empty when they are not all there.
  Bytes bytes(std::uint64_t at, std::uint64_t size) {
    return at <= size_ && size <= size_ - at ? file_->bytes(offset_ + at, size) : Bytes();
  }
  std::size_t read_some(Address at, std::span<std::byte> out) override {
    if (at >= size_) return 0;
    const Bytes there = bytes(at, std::min<std::uint64_t>(out.size(), size_ - at));
    std::ranges::copy(there, out.begin());
    return there.size();
  }

private:
  PartialFile* file_;
  std::uint64_t offset_, size_;
};

// A place of the image in its file.
struct Place {
  std::uint64_t offset = 0;
  std::uint64_t size = 0; // bytes to the end of its section; 0: no section holds it
};

Place place_of(const PeLayout& layout, std::uint32_t address) {
  for (const PeSection& section : layout.sections)
    if (address >= section.rva && address - section.rva < section.raw_size) {
      const std::uint32_t into = address - section.rva;
      return {std::uint64_t{section.raw_offset} + into, std::uint64_t{section.raw_size} - into};
    }
  return {};
}

// The number `into` bytes behind a place.
std::optional<std::uint32_t> number_at(ImageBytes& image, const Place& place, std::uint64_t into) {
  if (into > place.size || place.size - into < sizeof(std::uint32_t)) return std::nullopt;
  const Bytes raw = image.bytes(place.offset + into, sizeof(std::uint32_t));
  return raw.empty() ? std::nullopt : std::optional(load<std::uint32_t>(raw, ByteOrder::little));
}

template<typename T>
T at(Bytes bytes, std::size_t offset) {
  return load<T>(bytes.subspan(offset), ByteOrder::little);
}

void parse_relocations(Bytes table, std::vector<PeLayout::Relocation>& out) {
  while (table.size() >= 8) {
    const auto page = at<std::uint32_t>(table, 0), size = at<std::uint32_t>(table, 4);
    if (size < 8 || size > table.size()) return;
    for (std::size_t i = 8; i + 2 <= size; i += 2) {
      const auto entry = at<std::uint16_t>(table, i);
      const unsigned type = entry >> 12;
      if (type != highlow && type != dir64) continue;
      out.push_back({page + (entry & 0xfffu), type == dir64 ? 8u : 4u});
    }
    table = table.subspan(size);
  }
}

// `native`: address of the ReadyToRun header, from the COR header's directory entry or from the export.
void parse_ready_to_run(ImageBytes& image, std::uint32_t native, PeLayout& layout) {
  const Place header = place_of(layout, native);
  const auto count = number_at(image, header, 12);
  if (number_at(image, header, 0) != ready_to_run_signature || !count) return;
  for (std::uint32_t i = 0; i < std::min(*count, PeLayout::max_ready_to_run_sections); ++i) {
    const std::uint64_t entry = ready_to_run_header_size + std::uint64_t{i} * ready_to_run_section_size;
    const auto type = number_at(image, header, entry), begin = number_at(image, header, entry + 4),
               size = number_at(image, header, entry + 8);
    if (!type || !begin || !size) break;
    if (*type < first_table || *type > last_table || *type == delay_load_thunks) continue;
    if (*size != 0 && *size <= place_of(layout, *begin).size && *size <= ~*begin)
      layout.ready_to_run_tables.push_back({*begin, *begin + *size});
  }
  std::sort(layout.ready_to_run_tables.begin(), layout.ready_to_run_tables.end(),
            [](const PeLayout::Range& a, const PeLayout::Range& b) { return a.begin < b.begin; });
  // Neighbours become one, so that a read may cross from one table into the next.
  std::vector<PeLayout::Range> joined;
  for (const PeLayout::Range& range : layout.ready_to_run_tables)
    if (!joined.empty() && range.begin <= joined.back().end)
      joined.back().end = std::max(joined.back().end, range.end);
    else
      joined.push_back(range);
  layout.ready_to_run_tables = std::move(joined);
}

} // namespace

std::optional<PeLayout> PeLayout::parse(Bytes file) {
  PartialFile parts(file);
  std::uint64_t relocation_bytes = max_relocation_bytes;
  return parse(parts, 0, file.size(), relocation_bytes);
}

std::optional<PeLayout> PeLayout::parse(PartialFile& file, std::uint64_t offset, std::uint64_t size,
                                        std::uint64_t& relocation_bytes) {
  ImageBytes image(file, offset, size);
  std::optional<PeHeaders> headers;
  try {
    headers = read_pe_headers(image, 0);
  } catch (const Error&) {
    return std::nullopt; // no PE image, or a file that is cut within its headers
  }
  PeLayout layout;
  layout.preferred_base = headers->preferred_base;
  layout.image_size = headers->image_size;
  layout.header_size = headers->header_size;
  for (PeSection section : headers->sections) {
    if (section.raw_offset > image.size()) continue;
    section.raw_size = static_cast<std::uint32_t>(
        std::min<std::uint64_t>(section.raw_size, image.size() - section.raw_offset));
    layout.sections.push_back(section);
  }

  const auto& directories = headers->directories;
  const PeDirectory table = directories[PeHeaders::relocation_directory];
  const Place relocations = place_of(layout, table.rva);
  const std::uint64_t table_size = std::min<std::uint64_t>(table.size, relocations.size);
  if (table_size > relocation_bytes)
    throw Error(ErrorKind::corrupt,
                fmt::format("PE images with more than {} bytes of relocations", max_relocation_bytes));
  relocation_bytes -= table_size;
  parse_relocations(image.bytes(relocations.offset, table_size), layout.relocations);
  // Linkers write them in order, mostly.
  if (!std::ranges::is_sorted(layout.relocations, {}, &Relocation::address))
    std::ranges::sort(layout.relocations, {}, &Relocation::address);

  const auto number = [&](std::uint32_t address, std::uint64_t into) {
    return number_at(image, place_of(layout, address), into);
  };
  if (const PeDirectory cor = directories[PeHeaders::cor_directory]; cor.rva != 0) {
    if (const auto native = number(cor.rva, managed_native_header))
      parse_ready_to_run(image, *native, layout);
  } else if (const PeDirectory exports = directories[PeHeaders::export_directory]; exports.rva != 0) {
    if (const auto functions = number(exports.rva, address_of_functions))
      if (const auto native = number(*functions, 0)) parse_ready_to_run(image, *native, layout);
  }
  return layout;
}

std::uint32_t PeLayout::constant_end(std::uint32_t address) const {
  auto after = std::upper_bound(ready_to_run_tables.begin(), ready_to_run_tables.end(), address,
                                [](std::uint32_t a, const Range& range) { return a < range.begin; });
  if (after == ready_to_run_tables.begin()) return address;
  --after;
  return address < after->end ? after->end : address;
}

const PeSection* PeLayout::section_of_offset(std::uint64_t file_offset) const {
  for (const PeSection& section : sections)
    if (file_offset >= section.raw_offset && file_offset - section.raw_offset < section.raw_size)
      return &section;
  return nullptr;
}

std::vector<PeLayout::Relocation>::const_iterator PeLayout::first_relocation(std::uint32_t address) const {
  const std::uint32_t from = address < 7 ? 0 : address - 7;
  auto found =
      std::lower_bound(relocations.begin(), relocations.end(), from,
                       [](const Relocation& relocation, std::uint32_t a) { return relocation.address < a; });
  while (found != relocations.end() && found->address < address && address - found->address >= found->size)
    ++found;
  return found;
}

} // namespace clr
