#include "tests/support/r2r_image_target.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>

namespace clr::test {
namespace {

std::vector<std::byte> read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  const std::vector<char> raw{std::istreambuf_iterator<char>(in), {}};
  std::vector<std::byte> bytes(raw.size());
  std::transform(raw.begin(), raw.end(), bytes.begin(), [](char c) { return std::byte(c); });
  return bytes;
}

// Images for Unix disguise their machine by a number of the system.
std::optional<Platform> platform_of(std::uint16_t machine) {
  constexpr std::uint16_t linux_mark = 0x7B79;
  for (const auto& [mark, os] :
       {std::pair(linux_mark, Os::unix_like), std::pair(std::uint16_t{0}, Os::windows)}) {
    switch (machine ^ mark) {
    case 0x8664:
      return Platform{.pointer_size = 8, .cpu = Cpu::x64, .os = os};
    case 0xAA64:
      return Platform{.pointer_size = 8, .cpu = Cpu::arm64, .os = os};
    case 0x01C4:
      return Platform{.pointer_size = 4, .cpu = Cpu::arm, .os = os};
    case 0x014C:
      return Platform{.pointer_size = 4, .cpu = Cpu::x86, .os = os};
    default:
      break;
    }
  }
  return std::nullopt;
}

} // namespace

std::vector<R2RMapEntry> read_r2r_map(const std::filesystem::path& path) {
  std::vector<R2RMapEntry> entries;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    std::istringstream fields(line);
    R2RMapEntry entry;
    fields >> std::hex >> entry.rva >> entry.size >> std::ws;
    std::getline(fields, entry.name);
    // The first lines describe the image.
    if (entry.rva < 0xFFFF'FF00u && entry.size != 0) entries.push_back(std::move(entry));
  }
  return entries;
}

R2RImageTarget::R2RImageTarget(const std::filesystem::path& path) {
  const std::vector<std::byte> file = read_file(path);
  HostMemory host(file);
  const PeImage pe(host, 0, false);
  const auto platform = platform_of(pe.machine());
  if (!platform) throw std::runtime_error(path.string() + " is of an unknown machine");

  image_.resize(pe.size_of_image());
  // By its sections; the headers are those of the file.
  const auto u32 = [&](std::size_t at) {
    return load<std::uint32_t>(std::span(file).subspan(at), ByteOrder::little);
  };
  const auto u16 = [&](std::size_t at) {
    return load<std::uint16_t>(std::span(file).subspan(at), ByteOrder::little);
  };
  const std::size_t pe_header = u32(0x3C);
  const std::size_t headers = u32(pe_header + 24 + 60);
  std::copy_n(file.begin(), headers, image_.begin());
  const std::size_t table = pe_header + 24 + u16(pe_header + 20);
  for (std::size_t i = 0; i < u16(pe_header + 6); ++i) {
    const std::size_t section = table + 40 * i;
    const std::size_t size = std::min(u32(section + 8), u32(section + 16));
    std::copy_n(file.begin() + u32(section + 20), size, image_.begin() + u32(section + 12));
  }

  std::uint32_t header_rva = pe.managed_native_header().rva;
  if (header_rva == 0) header_rva = pe.find_export("RTR_HEADER").value_or(0);
  if (header_rva == 0) throw std::runtime_error(path.string() + " is no ReadyToRun image");

  builder_ = std::make_unique<ExecutionBuilder>(*platform);
  ExecutionBuilder& b = *builder_;
  if (platform->cpu == Cpu::arm) b.platform_metadata(1);
  base_ = platform->pointer_size == 8 ? 0x7f00'0000'0000 : 0x6000'0000;
  header_ = base_ + header_rva;
  const PeDirectory functions = section(102), thunks = section(106), hot_cold = section(120);
  // In the header a section is its type, then its directory.
  Address thunk_directory = 0;
  if (thunks.size != 0) {
    thunk_directory =
        b.types().record("ImageDataDirectory", {{"VirtualAddress", thunks.rva}, {"Size", thunks.size}});
  }
  info_ = b.types().record("ReadyToRunInfo",
                           {{"ReadyToRunHeader", header_},
                            {"RuntimeFunctions", base_ + functions.rva},
                            {"NumRuntimeFunctions", functions.size / b.types().size_of("RuntimeFunction")},
                            {"HotColdMap", hot_cold.size == 0 ? 0 : base_ + hot_cold.rva},
                            {"NumHotColdMap", hot_cold.size / 4},
                            {"DelayLoadMethodCallThunks", thunk_directory}});
  b.types().set(info_, "ReadyToRunInfo", "CompositeInfo", info_);
  register_methods({});
  const Address module = b.types().record("Module", {{"ReadyToRunInfo", info_}});
  b.section({.begin = base_,
             .end = base_ + ((image_.size() + 0xFFF) & ~std::size_t{0xFFF}),
             .flags = 0,
             .r2r_module = module});
}

PeDirectory R2RImageTarget::section(std::uint32_t type) const {
  const auto u32 = [&](Address at) {
    return load<std::uint32_t>(std::span(image_).subspan(static_cast<std::size_t>(at - base_)),
                               ByteOrder::little);
  };
  const std::uint32_t count = u32(header_ + 12);
  for (std::uint32_t i = 0; i < count; ++i)
    if (const Address at = header_ + 16 + 12 * i; u32(at) == type)
      return {.rva = u32(at + 4), .size = u32(at + 8)};
  return {};
}

void R2RImageTarget::register_methods(const std::vector<std::pair<std::uint32_t, Address>>& method_by_rva) {
  std::vector<std::pair<Address, Address>> pairs;
  for (const auto& [rva, method] : method_by_rva) pairs.emplace_back(base_ + rva, method);
  builder_->hash_map(
      info_ + static_cast<Address>(builder_->types().offset("ReadyToRunInfo", "EntryPointToMethodDescMap")),
      pairs);
}

std::size_t R2RImageTarget::read_some(Address address, std::span<std::byte> out) {
  if (address < base_ || address - base_ >= image_.size()) return builder_->memory().read_some(address, out);
  const auto at = static_cast<std::size_t>(address - base_);
  const std::size_t size = std::min(out.size(), image_.size() - at);
  std::copy_n(image_.begin() + static_cast<std::ptrdiff_t>(at), size, out.begin());
  return size;
}

} // namespace clr::test
