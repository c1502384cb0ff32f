#include "core/memory/module_list.h"
#include "core/memory/recording_reader.h"
#include "tests/memory/sparse_memory.h"
#include "tests/support/elf_core_builder.h"
#include "tests/support/elf_module_builder.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>

using namespace clr;
using test::ElfCoreBuilder;
using test::ElfModuleBuilder;
using test::TargetBytes;

namespace {

constexpr Address executable = 0x40'0000, library = 0x70'0000, loader_data = 0x90'0000;

Platform any_platform() {
  return GENERATE(Platform{8, ByteOrder::little, Cpu::x64, Os::unix_like},
                  Platform{8, ByteOrder::big, Cpu::arm64, Os::unix_like},
                  Platform{4, ByteOrder::little, Cpu::arm, Os::unix_like},
                  Platform{4, ByteOrder::big, Cpu::arm, Os::unix_like});
}

std::vector<std::byte> part(const std::vector<std::byte>& all, std::size_t begin, std::size_t end) {
  return {all.begin() + static_cast<std::ptrdiff_t>(begin), all.begin() + static_cast<std::ptrdiff_t>(end)};
}

// The executable with its DT_DEBUG entry pointing at `debug`.
std::vector<std::byte> executable_image(const ElfModuleBuilder& builder, Address debug) {
  auto image = builder.loaded(executable, false);
  const unsigned word = builder.platform.pointer_size;
  for (std::size_t at = ElfModuleBuilder::dynamic; at < ElfModuleBuilder::relocated; at += 2 * word) {
    const std::size_t tag_byte = builder.platform.byte_order == ByteOrder::little ? 0 : word - 1;
    if (image[at + tag_byte] != std::byte{21}) continue;
    const auto value = TargetBytes(builder.platform).word(debug).bytes();
    std::copy(value.begin(), value.end(), image.begin() + static_cast<std::ptrdiff_t>(at + word));
    break;
  }
  return image;
}

// r_debug, two link map entries and their names.
std::vector<std::byte> loader_memory(Platform platform, Address second_next = 0) {
  TargetBytes out(platform);
  out.word(1).word(loader_data + 0x100).word(0);
  out.pad_to(0x100).word(executable).word(loader_data + 0x300).word(0).word(loader_data + 0x200).word(0);
  out.pad_to(0x200)
      .word(library)
      .word(loader_data + 0x310)
      .word(0)
      .word(second_next)
      .word(loader_data + 0x100);
  out.pad_to(0x310).text("/lib/libmade.so").pad_to(0x400).text("/opt/program").pad_to(0x1000);
  return out.bytes();
}

} // namespace

TEST_CASE("Modules of a core by NT_FILE") {
  const Platform platform = any_platform();
  const ElfModuleBuilder builder{.platform = platform};
  const auto image = builder.loaded(library, true);
  const auto mapped_flat = builder.file();
  ElfCoreBuilder core_builder(platform);
  core_builder.segment(library, image)
      .segment(0x10'0000, mapped_flat, 0, 4)
      .segment(0x20'0000, test::pattern(0x1000))
      .segment(0x30'0000, {}, 0x1000, 5)
      .files({{library + 0x3000, library + 0x5000, 0x3000, "/lib/libmade.so"}, // in any order
              {library, library + 0x3000, 0, "/lib/libmade.so"},
              {0x20'0000, 0x20'1000, 0, "/data/a.dll"},
              {0x30'0000, 0x30'1000, 0, "/lib/lost.so"},
              {0x38'0000, 0x38'1000, 0, "/data/lost.dat"}});
  const auto bytes = core_builder.build();
  ElfCore core(bytes);
  const ModuleList list = list_modules(core, core);
  CHECK(list.found_by == "NT_FILE");
  REQUIRE(list.modules.size() == 2);
  CHECK(list.modules[0].base == 0x30'0000);
  CHECK(list.modules[0].path == "/lib/lost.so");
  CHECK(list.modules[0].build_id.empty());
  CHECK(list.modules[1].base == library);
  CHECK(list.modules[1].path == "/lib/libmade.so");
  CHECK(list.modules[1].size == 0x5000);
  CHECK(list.modules[1].build_id == builder.build_id);
}

TEST_CASE("A file that is mapped to be read is no module") {
  const Platform platform{8, ByteOrder::little, Cpu::x64, Os::unix_like};
  const ElfModuleBuilder builder{.platform = platform};
  const auto bytes = ElfCoreBuilder(platform)
                         .segment(library, part(builder.file(), 0, 0x1000))
                         .files({{library, library + 0x1000, 0, "/lib/libmade.so"}})
                         .build();
  ElfCore core(bytes);
  const ModuleList list = list_modules(core, core);
  CHECK(list.modules.empty());
  CHECK(list.problems == std::vector<std::string>{"no native module was found in the core"});
}

TEST_CASE("Modules of a core without NT_FILE, by the link map or by a scan") {
  const Platform platform = any_platform();
  ElfModuleBuilder builder{.platform = platform};
  builder.soname.clear();
  const ElfModuleBuilder library_builder{.platform = platform};
  const auto program = executable_image(builder, loader_data);
  const auto made = library_builder.loaded(library, true);
  const std::uint64_t headers = executable + (platform.pointer_size == 8 ? 64 : 52);

  SECTION("the executable is where AT_PHDR says") {
    const auto bytes = ElfCoreBuilder(platform)
                           .auxv({{3, headers}, {31, loader_data + 0x400}})
                           .segment(executable, program)
                           .segment(library, made)
                           .segment(loader_data, loader_memory(platform))
                           .build();
    ElfCore core(bytes);
    const ModuleList list = list_modules(core, core);
    CHECK(list.found_by == "link map");
    REQUIRE(list.modules.size() == 2);
    CHECK(list.modules[0].path == "/opt/program");
    CHECK(list.modules[0].base == executable);
    CHECK(list.modules[1].path == "/lib/libmade.so");
    CHECK(list.modules[1].base == library);
    CHECK(list.modules[1].build_id == library_builder.build_id);
    CHECK(list.problems.empty());
  }
  SECTION("no auxiliary vector: the executable is the module whose DT_DEBUG is set") {
    const auto bytes = ElfCoreBuilder(platform)
                           .segment(executable, program)
                           .segment(library, made)
                           .segment(loader_data, loader_memory(platform))
                           .build();
    ElfCore core(bytes);
    const ModuleList list = list_modules(core, core);
    CHECK(list.found_by == "link map");
    REQUIRE(list.modules.size() == 2);
    CHECK(list.modules[1].path == "/lib/libmade.so");
  }
  SECTION("qemu leaves out an executable mapping that begins with an ELF header") {
    const auto bytes = ElfCoreBuilder(platform)
                           .auxv({{3, headers}, {31, loader_data + 0x400}})
                           .segment(executable, program)
                           .segment(library, {}, 0x3000, 5)
                           .segment(library + 0x3000, part(made, 0x3000, 0x5000))
                           .segment(loader_data, loader_memory(platform))
                           .build();
    ElfCore core(bytes);
    const ModuleList list = list_modules(core, core);
    REQUIRE(list.modules.size() == 2);
    CHECK(list.modules[1].path == "/lib/libmade.so");
    CHECK(list.modules[1].size == 0x5000);
    CHECK(list.modules[1].build_id.empty());
    CHECK(list.problems == std::vector<std::string>{"the ELF header of /lib/libmade.so is not in the core"});
  }
  SECTION("a link map that loops ends") {
    const auto bytes = ElfCoreBuilder(platform)
                           .auxv({{3, headers}})
                           .segment(executable, program)
                           .segment(library, made)
                           .segment(loader_data, loader_memory(platform, loader_data + 0x100))
                           .build();
    ElfCore core(bytes);
    const ModuleList list = list_modules(core, core);
    CHECK(list.modules.size() == 2);
    REQUIRE(list.problems.size() == 1);
    CHECK(list.problems[0] == "the link map does not end; 2 modules were read");
  }
  SECTION("the link map is gone") {
    const auto bytes = ElfCoreBuilder(platform).segment(executable, program).segment(library, made).build();
    ElfCore core(bytes);
    const ModuleList list = list_modules(core, core);
    REQUIRE(list.modules.size() == 2);
    CHECK(list.modules[1].path == "libmade.so"); // by its own name
    REQUIRE_FALSE(list.problems.empty());
    CHECK_THAT(list.problems[0], Catch::Contains("the link map could not be read"));
  }
  SECTION("nothing but headers") {
    const auto bytes = ElfCoreBuilder(platform).segment(library, made).build();
    ElfCore core(bytes);
    const ModuleList list = list_modules(core, core);
    CHECK(list.found_by == "scan");
    REQUIRE(list.modules.size() == 1);
    CHECK(list.modules[0].path == "libmade.so");
  }
}

namespace {

constexpr Platform x64{8, ByteOrder::little, Cpu::x64, Os::unix_like};

// A core without NT_FILE whose link map has, behind the executable, a module at each of `bases`, all with the
// name `name`.
ElfCoreBuilder core_with_link_map(const std::vector<Address>& bases, const std::string& name) {
  ElfModuleBuilder builder{.platform = x64};
  builder.soname.clear();
  constexpr std::size_t entry_size = 0x40, names = 0x100, entries = 0x2000;
  TargetBytes out(x64);
  out.word(1).word(loader_data + entries).pad_to(names + 0x10).text(name).pad_to(entries);
  for (std::size_t i = 0; i <= bases.size(); ++i) {
    const Address at = loader_data + entries + i * entry_size;
    out.word(i == 0 ? executable : bases[i - 1]).word(loader_data + names + (i == 0 ? 0 : 0x10)).word(0);
    out.word(i == bases.size() ? 0 : at + entry_size).pad_to(entries + (i + 1) * entry_size);
  }
  ElfCoreBuilder core(x64);
  core.auxv({{3, executable + 64}})
      .segment(executable, executable_image(builder, loader_data))
      .segment(loader_data, out.bytes());
  return core;
}

} // namespace

TEST_CASE("Modules of a link map whose headers are missing and whose names are one long text") {
  const std::string name = "/lib/" + std::string(4000, 'a');
  const std::size_t named = ModuleList::max_link_map_names / name.size(), count = named + 100;
  std::vector<Address> bases;
  for (std::size_t i = 0; i < count; ++i) bases.push_back(0x1'0000'0000 + i * 0x1000);
  const auto bytes = core_with_link_map(bases, name).build();
  ElfCore core(bytes);
  const ModuleList list = list_modules(core, core);
  CHECK(list.modules.size() == count + 1);
  std::size_t size = 0;
  for (const LoadedModule& module : list.modules) size += module.path.size();
  CHECK(size <= ModuleList::max_link_map_names);
  CHECK(list.problems ==
        std::vector<std::string>{
            "the names in the link map have more than 16777216 bytes together: 100 modules are without",
            "the ELF headers of " + std::to_string(count) +
                " modules are not in the core, the first is that of " + name});
}

TEST_CASE("A name in the link map that no file can have is none") {
  std::string name;
  for (unsigned i = 0; i < 300; ++i) name += "/a";
  const auto bytes = core_with_link_map({0x1'0000'0000}, name).build();
  ElfCore core(bytes);
  const ModuleList list = list_modules(core, core);
  REQUIRE(list.modules.size() == 2);
  CHECK(list.modules[1].path.empty());
}

TEST_CASE("A module without header reaches over the segments that follow closely") {
  constexpr Address first = 0x1'0000'0000, gap = 1u << 20;
  // Neighbours, a gap that is small enough, one that is not, and one in front of which nothing begins.
  const std::vector<Address> bases{first, first + 0x5000, first + 0x2000'0000, first + 0x3000'0000,
                                   first + 0x4000'0000};
  auto builder = core_with_link_map(bases, "/lib/a.so");
  builder.segment(first, {}, 0x1000)
      .segment(first + 0x1000, {}, 0x1000)
      .segment(first + 0x2000 + gap, {}, 0x1000)
      .segment(first + 0x3000 + 2 * gap + 1, {}, 0x1000)
      .segment(first + 0x2000'0000 + gap, {}, 0x3000)
      .segment(first + 0x2000'0000 + gap + 0x1000, {}, 0x1000) // within the one before
      .segment(first + 0x3000'0000 + gap + 1, {}, 0x1000);
  const auto bytes = builder.build();
  ElfCore core(bytes);
  const ModuleList list = list_modules(core, core);
  REQUIRE(list.modules.size() == 6);
  CHECK(list.modules[1].size == 0x5000); // up to the next module
  CHECK(list.modules[2].size == gap + 0x3000 - 0x5000);
  CHECK(list.modules[3].size == gap + 0x2000);
  CHECK(list.modules[4].size == 0);
  CHECK(list.modules[5].size == 0);
}

TEST_CASE("Modules with large tables are listed as far as their headers are few bytes together") {
  // The dynamic section of one module claims 64 KiB, and 5,000 segments that share it begin with its header.
  // Names that they give themselves cost a look at it.
  ElfModuleBuilder builder{.platform = x64};
  auto image = builder.loaded(0, false);
  constexpr std::uint64_t dynamic_size = 64u << 10;
  for (const std::size_t at : {64 + 3 * 56 + 32, 64 + 3 * 56 + 40})
    std::memcpy(image.data() + at, &dynamic_size, sizeof dynamic_size);
  image.resize(0x5000 + dynamic_size);
  class Repeated final : public MemoryReader {
  public:
    explicit Repeated(std::span<const std::byte> image) : image_(image) {}
    std::size_t read_some(Address address, std::span<std::byte> out) override {
      const std::size_t at = address % 0x10'0000;
      if (at >= image_.size()) return 0;
      const std::size_t size = std::min(out.size(), image_.size() - at);
      std::copy_n(image_.begin() + static_cast<std::ptrdiff_t>(at), size, out.begin());
      return size;
    }

  private:
    std::span<const std::byte> image_;
  };
  constexpr std::size_t count = 5000;
  ElfCoreBuilder core_builder(x64);
  core_builder.auxv({{3, 0x1'0000'0000 + 64}}); // else the executable is looked for in the same way
  for (std::size_t i = 0; i < count; ++i)
    core_builder.segment(0x1'0000'0000 + i * 0x10'0000, std::vector<std::byte>(4));
  const auto bytes = core_builder.build();
  ElfCore core(bytes);
  Repeated memory(image);
  const ModuleList list = list_modules(core, memory);
  CHECK(list.modules.size() > 1000);
  CHECK(list.modules.size() < count);
  CHECK_THAT(list.problems.back(), Catch::Contains("more than 268435456 bytes together"));
}

TEST_CASE("A link map that was walked is in a recording with the last words of its entries") {
  const Platform platform = any_platform();
  const unsigned word = platform.pointer_size;
  const std::size_t entry = RecordingReader::page_size - 4 * word; // its last word is on the next page
  TargetBytes loader(platform);
  loader.word(1).word(loader_data + entry).pad_to(entry).word(executable).word(0).word(0).word(0).word(0);
  test::SparseMemory memory;
  memory.add(executable, executable_image({.platform = platform}, loader_data));
  memory.add(loader_data, loader.pad_to(2 * RecordingReader::page_size).bytes());
  RecordingReader recording(memory);
  std::vector<std::string> problems;
  CHECK(walk_link_map(recording, executable, problems).size() == 1);
  CHECK(problems.empty());
  CHECK(recording.ranges().back() == MemoryRange{loader_data, 2 * RecordingReader::page_size});
}
