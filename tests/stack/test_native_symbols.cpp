// Symbols of the test process itself: its modules are real, and the linker knows the right answers.
#include "core/stack/elf_symbols.h"
#include "core/stack/native_symbols.h"

#include <catch2/catch.hpp>

#include <filesystem>
#include <fstream>
#include <gnu/libc-version.h>
#include <link.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <limits>

namespace clr_test_symbols {
// A name that only .symtab has.
[[gnu::noinline]] int only_in_the_file(int a) {
  asm volatile("");
  return a + 1;
}
} // namespace clr_test_symbols

using namespace clr;

namespace {

class OwnMemory : public MemoryReader {
public:
  std::size_t reads = 0;
  std::size_t fail_at = std::numeric_limits<std::size_t>::max();

  std::size_t read_some(Address address, std::span<std::byte> out) override {
    if (reads++ == fail_at) return 0;
    const iovec local{out.data(), out.size()}, remote{reinterpret_cast<void*>(address), out.size()};
    const ssize_t got = process_vm_readv(getpid(), &local, 1, &remote, 1, 0);
    return got < 0 ? 0 : static_cast<std::size_t>(got);
  }
};

std::vector<LoadedModule> own_modules() {
  std::vector<LoadedModule> modules;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* out) {
        LoadedModule module;
        module.path = info->dlpi_name;
        if (module.path.empty()) module.path = std::filesystem::read_symlink("/proc/self/exe").string();
        for (int n = 0; n < info->dlpi_phnum; ++n)
          if (info->dlpi_phdr[n].p_type == PT_LOAD) {
            if (module.base == 0)
              module.base = info->dlpi_addr + info->dlpi_phdr[n].p_vaddr - info->dlpi_phdr[n].p_offset;
            module.size =
                info->dlpi_addr + info->dlpi_phdr[n].p_vaddr + info->dlpi_phdr[n].p_memsz - module.base;
          }
        static_cast<std::vector<LoadedModule>*>(out)->push_back(module);
        return 0;
      },
      &modules);
  return modules;
}

Address address_of(auto* function) {
  return reinterpret_cast<Address>(function);
}

} // namespace

TEST_CASE("symbols: a function of a library, from its dynamic symbols") {
  OwnMemory memory;
  NativeSymbols symbols(memory, own_modules());
  const auto found = symbols.find(address_of(&::gnu_get_libc_version) + 3);
  REQUIRE(found);
  CHECK(found->module.starts_with("libc.so"));
  CHECK(found->name == "gnu_get_libc_version");
  CHECK(found->offset == 3);
  const std::size_t before = memory.reads;
  CHECK(symbols.find(address_of(&::gnu_get_libc_release))->name == "gnu_get_libc_release");
  CHECK(memory.reads == before);
}

TEST_CASE("symbols: a name that only the file has, demangled") {
  CHECK(clr_test_symbols::only_in_the_file(1) == 2);
  OwnMemory memory;
  NativeSymbols symbols(memory, own_modules());
  const auto found = symbols.find(address_of(&clr_test_symbols::only_in_the_file));
  REQUIRE(found);
  CHECK(found->name == "clr_test_symbols::only_in_the_file(int)");
  CHECK(found->offset == 0);
  SECTION("another build id: the file is not believed") {
    std::vector<LoadedModule> modules = own_modules();
    for (LoadedModule& module : modules) module.build_id = {1, 2, 3};
    NativeSymbols careful(memory, modules);
    const auto nameless = careful.find(address_of(&clr_test_symbols::only_in_the_file));
    REQUIRE(nameless);
    CHECK(nameless->name != found->name);
    CHECK(careful.find(address_of(&::gnu_get_libc_version))->name == "gnu_get_libc_version");
  }
}

TEST_CASE("symbols: addresses without one") {
  OwnMemory memory;
  NativeSymbols symbols(memory, own_modules());
  CHECK_FALSE(symbols.find(0));
  CHECK_FALSE(symbols.find(16));
  CHECK_FALSE(symbols.find(~Address{0}));
  // The ELF header of a module is in it, and no function.
  const Address base = own_modules().front().base;
  const auto found = symbols.find(base + 8);
  REQUIRE(found);
  CHECK(found->name.empty());
  CHECK(found->offset == 8);
}

TEST_CASE("symbols: any failing read costs the name, never gives another") {
  OwnMemory good;
  NativeSymbols(good, own_modules()).find(address_of(&::gnu_get_libc_version));
  REQUIRE(good.reads > 3);
  for (std::size_t k = 0; k < good.reads; ++k) {
    CAPTURE(k);
    OwnMemory memory;
    memory.fail_at = k;
    const auto found = NativeSymbols(memory, own_modules()).find(address_of(&::gnu_get_libc_version));
    REQUIRE(found);
    CHECK((found->name == "gnu_get_libc_version" || found->name.empty()));
  }
}

TEST_CASE("symbols: names stay when the bytes of the file go") {
  std::ifstream in("/proc/self/exe", std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(in)), {});
  auto bytes =
      std::vector<std::byte>(std::as_bytes(std::span(text)).begin(), std::as_bytes(std::span(text)).end());
  ElfSymbols table = ElfSymbols::of_file(bytes);
  REQUIRE_FALSE(table.empty());
  const Address bias = own_modules().front().base;
  const auto function = [&] { return table.find(address_of(&clr_test_symbols::only_in_the_file) - bias); };
  REQUIRE(function());
  const std::string name(function()->name);
  const std::uint64_t before = table.size();
  table.own_names();
  std::ranges::fill(bytes, std::byte{0x41});
  REQUIRE(function());
  CHECK(function()->name == name);
  CHECK(table.size() > before);
}

TEST_CASE("symbols: tables of target memory that say they are larger than there is room for") {
  OwnMemory memory;
  for (const LoadedModule& module : own_modules()) {
    ElfImage image(memory, module.base);
    if (ElfSymbols::of_memory(memory, image).empty()) continue;
    CHECK_THROWS_AS(ElfSymbols::of_memory(memory, image, 100), Error);
    return;
  }
  FAIL("no module has a table");
}

TEST_CASE("symbols: a file that is none") {
  const std::vector<std::byte> noise(4096, std::byte{0x41});
  CHECK(ElfSymbols::of_file(noise).empty());
  CHECK(ElfSymbols::of_file({}).empty());
  CHECK_FALSE(ElfSymbols().find(5));
}
