#include "tests/support/pe_file_builder.h"

#include "tests/support/elf_core_builder.h"

#include <algorithm>
#include <string_view>

namespace clr::test {
namespace {
constexpr Platform little{8, ByteOrder::little, Cpu::x64, Os::unix_like};
}

std::vector<std::byte> PeFileBuilder::data(std::uint64_t base) const {
  TargetBytes out(little);
  for (std::uint32_t i = 0; i < words; ++i) out.u64(base + 0x2000 + 4 * i);
  if (ready_to_run) out.pad_to(tables_begin - data_address).append(pattern(tables_end - tables_begin, 12));
  return out.pad_to(data_size).bytes();
}

std::vector<std::byte> PeFileBuilder::text() const {
  if (!ready_to_run) return pattern(text_size, seed);
  constexpr std::uint32_t native = text_address + 0x100, functions = text_address + 0x80;
  TargetBytes out(little);
  if (composite)
    out.pad_to(28).u32(functions).pad_to(0x80).u32(native); // export directory, AddressOfFunctions
  else
    out.u32(72).pad_to(64).u32(native).u32(0x100); // COR header, ManagedNativeHeader
  out.pad_to(0x100).text("RTR", 4).u16(16).u16(0).u32(0).u32(4);
  out.u32(101).u32(data_address).u32(0); // import sections: cells follow
  out.u32(102).u32(tables_begin).u32(0x100);
  out.u32(106).u32(data_address).u32(0x40); // thunks: not a table
  out.u32(103).u32(tables_begin + 0x100).u32(0x80);
  const auto rest = pattern(text_size, seed);
  return out.append(std::vector(rest.begin() + static_cast<std::ptrdiff_t>(out.size()), rest.end())).bytes();
}

std::vector<std::byte> PeFileBuilder::file() const {
  TargetBytes relocations(little);
  if (text_relocation != 0)
    relocations.u32(text_relocation & ~0xfffu).u32(12).u16(0xa000 | (text_relocation & 0xfff)).u16(0);
  if (words != 0) {
    relocations.u32(data_address & ~0xfffu).u32(8 + 2 * words);
    for (std::uint32_t i = 0; i < words; ++i) relocations.u16(0xa000 | ((data_address & 0xfff) + 8 * i));
  }

  TargetBytes out(little);
  out.text("MZ").pad_to(0x3c).u32(0x80).pad_to(0x80).text("PE", 4);
  out.u16(0x8664).u16(3).u32(timestamp).u32(0).u32(0).u16(240).u16(0x2022);
  const std::size_t optional = out.size();
  out.u16(0x20b).pad_to(optional + 24).u64(preferred_base).u32(0x1000).u32(0x200).pad_to(optional + 56);
  out.u32(0x7000).u32(0x200).pad_to(optional + 108).u32(16);
  if (ready_to_run && composite) out.u32(text_address).u32(40);
  out.pad_to(optional + 112 + 5 * 8).u32(reloc_address).u32(relocations.size());
  if (ready_to_run && !composite) out.pad_to(optional + 112 + 14 * 8).u32(text_address).u32(72);
  out.pad_to(optional + 240);
  const auto section = [&](std::string_view name, std::uint32_t address, std::uint32_t size,
                           std::uint32_t offset, std::uint32_t flags) {
    out.text(name, 8).u32(size).u32(address).u32(size).u32(offset).u32(0).u32(0).u32(0).u32(flags);
  };
  section(".text", text_address, text_size, text_offset, 0x6000'0020);
  section(".data", data_address, data_size, data_offset, 0xc000'0040);
  section(".reloc", reloc_address, static_cast<std::uint32_t>(relocations.size()), reloc_offset, 0x4200'0040);
  out.pad_to(text_offset).append(text()).append(data(preferred_base));
  return out.append(relocations.bytes()).pad_to(file_size).bytes();
}

std::vector<std::byte> host_marker() {
  TargetBytes out(little);
  out.u64(0);
  for (const unsigned byte :
       {0x8b, 0x12, 0x02, 0xb9, 0x6a, 0x61, 0x20, 0x38, 0x72, 0x7b, 0x93, 0x02, 0x14, 0xd7, 0xa0, 0x32,
        0x13, 0xf5, 0xb9, 0xe6, 0xef, 0xae, 0x33, 0x18, 0xee, 0x3b, 0x2d, 0xce, 0x24, 0xb3, 0x6a, 0xae})
    out.u8(byte);
  return out.bytes();
}

std::vector<std::byte> single_file(std::vector<std::byte> host,
                                   const std::vector<std::vector<std::byte>>& images,
                                   std::vector<std::uint64_t>& offsets) {
  const auto marker = host_marker();
  const auto at = std::search(host.begin(), host.end(), marker.begin() + 8, marker.end());
  TargetBytes out(little);
  out.append(host);
  for (const auto& image : images) {
    offsets.push_back(out.align(16).size());
    out.append(image);
  }
  const std::size_t manifest = out.size();
  out.u32(6).u32(0).u32(images.size()).u8(4).text("id42").pad_to(out.size() + 40);
  for (std::size_t i = 0; i < images.size(); ++i)
    out.u64(offsets[i]).u64(images[i].size()).u64(0).u8(1).u8(5).text("a.dll");
  if (at != host.end()) out.patch(static_cast<std::size_t>(at - host.begin()) - 8, manifest, 8);
  return out.bytes();
}

} // namespace clr::test
