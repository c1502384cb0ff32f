// Real ReadyToRun images in a synthetic runtime: every line of the maps that crossgen2 wrote for them, and
// every runtime function. The recorded images are always tested; CLR_R2R_IMAGES names a folder with more, at
// any depth (IMAGE.dll with IMAGE.ni.r2rmap beside it).
#include "core/execution/execution_manager.h"
#include "tests/support/more_images.h"
#include "tests/support/r2r_image_target.h"

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <map>

using namespace clr;
using namespace clr::test;
namespace fs = std::filesystem;

namespace {

std::optional<CodeBlock> find(ExecutionManager& manager, Address ip) {
  const CodeLookup found = manager.find(ip);
  if (const auto* block = std::get_if<CodeBlock>(&found)) return *block;
  return std::nullopt;
}

struct Counts {
  std::size_t lines = 0, wrong = 0;         // of the map
  std::size_t functions = 0, strangers = 0; // runtime functions, and those whose method no line names
  std::size_t funclets = 0, cold_parts = 0;
  std::size_t with_data = 0; // lines whose size counts constants behind the code
  std::string first_wrong;
};

// Cold parts by the text map (--map) of the image, if it has one: size by RVA.
std::map<std::uint32_t, std::uint64_t> read_cold_parts(const fs::path& path) {
  std::map<std::uint32_t, std::uint64_t> parts;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    if (!line.ends_with("(MethodColdCodeNode)") || !line.starts_with("0x")) continue;
    const auto bar = line.find('|');
    parts[static_cast<std::uint32_t>(std::stoul(line, nullptr, 16))] =
        std::stoul(line.substr(bar + 1), nullptr, 16);
  }
  return parts;
}

void note(Counts& counts, const std::string& what) {
  ++counts.wrong;
  if (counts.first_wrong.empty()) counts.first_wrong = what;
}

// `registered`: every how many-th method has a MethodDesc; 0 none.
Counts check_image(const fs::path& file, std::size_t registered) {
  R2RImageTarget image(file);
  const std::vector<R2RMapEntry> lines = read_r2r_map(fs::path(file).replace_extension(".ni.r2rmap"));
  std::map<std::uint32_t, const R2RMapEntry*> by_rva;
  for (const R2RMapEntry& line : lines) by_rva[line.rva] = &line;
  std::vector<std::pair<std::uint32_t, Address>> methods;
  std::map<std::uint32_t, Address> method_at;
  std::size_t n = 0;
  for (const auto& [rva, line] : by_rva)
    if (registered != 0 && n++ % registered == 0 && methods.size() < 200)
      methods.emplace_back(rva, method_at[rva] = 0x10'0000 + 16 * n);
  image.register_methods(methods);

  const auto cold_parts = read_cold_parts(fs::path(file).replace_extension(".map"));
  const Target target = image.target();
  ExecutionManager manager(target);
  Counts counts;
  for (const auto& [rva, whole] : by_rva) {
    ++counts.lines;
    const Address start = image.base() + rva;
    // On arm64 jump tables and other constants follow the code and count in the map. They are no code, to the
    // runtime as to us.
    R2RMapEntry own = *whole;
    const R2RMapEntry* const line = &own;
    if (const auto block = find(manager, start); block && image.platform().cpu == Cpu::arm64) {
      const std::uint64_t code = manager.regions(*block).hot_size;
      if (code < whole->size) {
        ++counts.with_data;
        own.size = static_cast<std::uint32_t>(code);
        if (find(manager, start + whole->size - 1)) note(counts, fmt::format("constants of {}", own.name));
      }
    }
    const auto expected = method_at.find(rva);
    for (const Address ip : {start, start + line->size / 2, start + line->size - 1}) {
      const auto block = find(manager, ip);
      const MethodRegions regions = block ? manager.regions(*block) : MethodRegions{};
      const bool right = block && block->start == start && regions.hot_start == start &&
                         regions.hot_size == line->size &&
                         manager.relative_offset(*block) == block->ip - start &&
                         block->method_desc == (expected == method_at.end() ? 0 : expected->second);
      if (!right) {
        note(counts,
             fmt::format("{:#x} in {:#x} +{:#x} {}: start {:#x} size {:#x} method {:#x}", ip - image.base(),
                         rva, line->size, line->name, block ? block->start - image.base() : 0,
                         regions.hot_size, block ? block->method_desc : 0));
        break;
      }
      if (ip == start && regions.cold_size != 0) {
        ++counts.cold_parts;
        const auto part = cold_parts.find(static_cast<std::uint32_t>(regions.cold_start - image.base()));
        if (part == cold_parts.end() || part->second != regions.cold_size)
          note(counts, fmt::format("cold part of {:#x} {}: {:#x} +{:#x}", rva, line->name,
                                   regions.cold_start - image.base(), regions.cold_size));
        for (const Address cold : {regions.cold_start, regions.cold_start + regions.cold_size - 1}) {
          const auto in_cold = find(manager, cold);
          if (!in_cold || in_cold->start != start ||
              manager.relative_offset(*in_cold) != line->size + (cold - regions.cold_start))
            note(counts, fmt::format("cold part of {:#x} {}", rva, line->name));
        }
      }
    }
    for (const Address outside : {start - 1, start + line->size}) {
      const auto block = find(manager, outside);
      if (block && block->start == start) note(counts, fmt::format("{:#x} beside {}", outside, line->name));
    }
  }
  if (counts.cold_parts != cold_parts.size()) note(counts, "not all cold parts were met");
  // Every runtime function belongs to a method of the map.
  const RangeSection section = *manager.section_at(image.base());
  const ExecutionManager::R2RImage tables = manager.r2r_image(section);
  for (std::uint32_t i = 0; i < tables.function_count; ++i) {
    ++counts.functions;
    const CodeBlock block = manager.r2r_block(section, i);
    if (!by_rva.contains(static_cast<std::uint32_t>(block.start - image.base()))) ++counts.strangers;
    if (manager.is_funclet(block)) ++counts.funclets;
    if (manager.unwind_info(block) == 0) note(counts, "no unwind info");
  }
  // Headers, tables and the end are nobody's.
  for (const Address data :
       {image.base(), manager.r2r_image(section).header, tables.functions, image.base() + image.size() - 1})
    if (find(manager, data)) note(counts, fmt::format("data at {:#x} in a method", data - image.base()));
  return counts;
}

void check_and_tell(const fs::path& file) {
  for (const std::size_t registered : {std::size_t{0}, std::size_t{1}, std::size_t{7}}) {
    const Counts counts = check_image(file, registered);
    INFO(file.string() << ", a MethodDesc for every " << registered << "th: " << counts.first_wrong);
    CHECK(counts.lines > 0);
    CHECK(counts.wrong == 0);
    CHECK(counts.strangers == 0);
    if (registered == 0)
      std::cout << fmt::format(
          "  {}: {} lines, {} functions, {} funclets, {} cold parts, {} with constants; {} wrong, {} "
          "strangers\n",
          file.parent_path().filename().string() + "/" + file.filename().string(), counts.lines,
          counts.functions, counts.funclets, counts.cold_parts, counts.with_data, counts.wrong,
          counts.strangers);
  }
}

} // namespace

TEST_CASE("recorded ReadyToRun images of every CPU") {
  const fs::path data = fs::path(CLR_TEST_DATA);
  for (const char* name :
       {"names-x64.dll", "names-x86.dll", "names-arm64.dll", "names-arm.dll", "composite.r2r.dll"})
    check_and_tell(data / "metadata/data" / name);
}

TEST_CASE("a recorded ReadyToRun image with cold parts") {
  check_and_tell(fs::path(CLR_TEST_DATA) / "execution/data/cold-x64.dll");
}

TEST_CASE("more ReadyToRun images, from a folder") {
  const auto images = more_r2r_images("execution: more ReadyToRun images");
  if (!images) return;
  std::size_t with_map = 0;
  for (const fs::path& image : *images) {
    if (!fs::exists(compilers_map(image))) continue;
    check_and_tell(image);
    ++with_map;
  }
  CHECK(with_map > 0);
}
