#include "core/runtime/core_session.h"
#include "tests/memory/temporary_directory.h"
#include "tests/support/elf_core_builder.h"
#include "tests/support/elf_module_builder.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cstddef>
#include <filesystem>

using namespace clr;
using namespace clr::test;

namespace {
constexpr std::uint64_t mega = 1u << 20;

LoadedModule module_at(Address base) {
  LoadedModule module;
  module.base = base;
  return module;
}
} // namespace

// Each file keeps to the limit of one, of all that are kept and of those that a debugger gets.
TEST_CASE("The files of a core that are kept and opened have one limit", "[core_session]") {
  const TemporaryDirectory directory;
  const ElfModuleBuilder builder{.platform = {8, ByteOrder::little, Cpu::x64, Os::unix_like}};
  std::vector<Address> bases;
  std::vector<std::string> paths;
  std::vector<FileMapping> mappings;
  ElfCoreBuilder made(builder.platform);
  // The file system stores next to nothing of them.
  for (const std::uint64_t size : {240 * mega, 100 * mega, 100 * mega}) {
    const Address base = 0x7000'0000 + bases.size() * 0x10'0000;
    const std::string path = directory.write("lib" + std::to_string(bases.size()) + ".so", builder.file());
    std::filesystem::resize_file(path, size);
    std::vector<std::byte> loaded = builder.loaded(base, true);
    loaded.resize(0x1000);
    made.segment(base, loaded, 0x3000, 5);
    mappings.push_back({base, base + 0x3000, 0, path});
    bases.push_back(base);
    paths.push_back(path);
  }
  const auto bytes = made.files(mappings).build();
  CoreSession session(std::make_unique<ElfCore>(bytes), {});

  const auto left = [&] { return session.room()->left() / mega; };
  CHECK(left() == 640);
  CHECK(session.file_of(module_at(bases[0])) == paths[0]);
  CHECK(left() == 640 - 2 * 240); // it is kept, and a debugger reads it
  // It is kept, but too much for the debugger beside the first.
  CHECK(session.file_of(module_at(bases[1])).empty());
  CHECK(left() == 640 - 2 * 240 - 100);
  // The files alone would not have too many bytes; all together have.
  CHECK(session.file_of(module_at(bases[2])).empty());
  CHECK(left() == 640 - 2 * 240 - 100);
  // Once, however often it is asked for.
  CHECK(std::ranges::count(
            session.problems(),
            "the debugger does not get the files of 1 native module, beyond 256 MB of such files "
            "(max_opened_files) or 640 MB of all that is kept (max_kept_bytes): " +
                paths[1]) == 1);
  REQUIRE(session.overlay().files().size() == 3);
  CHECK(session.overlay().files()[2].refusal.find("bytes of files that are kept") != std::string::npos);
}
