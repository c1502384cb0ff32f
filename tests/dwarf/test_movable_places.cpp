#include "core/dwarf/movable_places.h"

#include "core/memory/elf_handle.h"
#include "core/memory/elf_records.h"

#include <catch2/catch.hpp>
#include <gelf.h>

#include <cstddef>
#include <set>
#include <span>
#include <string>
#include <vector>

using namespace clr;

namespace {

constexpr Platform x64{
    .pointer_size = 8, .byte_order = ByteOrder::little, .cpu = Cpu::x64, .os = Os::unix_like};
constexpr Platform arm{
    .pointer_size = 4, .byte_order = ByteOrder::little, .cpu = Cpu::arm, .os = Os::unix_like};

struct Function {
  std::string name, section;
  Address address = 0, section_address = 0, section_size = 0;
};

std::vector<std::byte> file_of(const MovablePlaces& places) {
  std::vector<std::byte> file;
  places.write([&](FileParts parts) {
    for (const std::span<const std::byte> part : parts) file.insert(file.end(), part.begin(), part.end());
  });
  return file;
}

ElfHandle open(std::vector<std::byte>& file) {
  elf_version(EV_CURRENT);
  ElfHandle elf(elf_memory(reinterpret_cast<char*>(file.data()), file.size()));
  REQUIRE(elf != nullptr);
  return elf;
}

// The functions of the module, as libelf reads them.
std::vector<Function> functions_of(const MovablePlaces& places) {
  std::vector<std::byte> file = file_of(places);
  const ElfHandle elf = open(file);
  std::size_t names = 0;
  REQUIRE(elf_getshdrstrndx(elf.get(), &names) == 0);
  std::vector<Function> found;
  for (Elf_Scn* scn = nullptr; (scn = elf_nextscn(elf.get(), scn)) != nullptr;) {
    GElf_Shdr header;
    REQUIRE(gelf_getshdr(scn, &header) != nullptr);
    if (header.sh_type != SHT_SYMTAB) continue;
    Elf_Data* const data = elf_getdata(scn, nullptr);
    for (std::size_t i = 1; i < header.sh_size / header.sh_entsize; ++i) {
      GElf_Sym symbol;
      REQUIRE(gelf_getsym(data, static_cast<int>(i), &symbol) != nullptr);
      CHECK(GELF_ST_TYPE(symbol.st_info) == STT_FUNC);
      GElf_Shdr section;
      REQUIRE(gelf_getshdr(elf_getscn(elf.get(), symbol.st_shndx), &section) != nullptr);
      CHECK(section.sh_type == SHT_NOBITS);
      CHECK((section.sh_flags & SHF_ALLOC) != 0);
      found.push_back({elf_strptr(elf.get(), header.sh_link, symbol.st_name),
                       elf_strptr(elf.get(), names, section.sh_name), symbol.st_value, section.sh_addr,
                       section.sh_size});
    }
  }
  return found;
}

TEST_CASE("movable places: each function has a section of its own, far away from it") {
  for (const Platform& platform : {x64, arm}) {
    const MovablePlaces places(platform, 7);
    const std::vector<Function> found = functions_of(places);
    REQUIRE(found.size() == MovablePlaces::count);
    std::set<std::string> names, sections;
    for (std::size_t i = 0; i < found.size(); ++i) {
      CHECK(found[i].name == "lldb-clr place 7." + std::to_string(i));
      CHECK(found[i].address == places.file_address(i));
      CHECK(found[i].section_address == MovablePlaces::section_address(i));
      CHECK(found[i].section_size == 1);
      names.insert(found[i].name);
      sections.insert(found[i].section);
    }
    CHECK(names.size() == found.size());
    CHECK(sections.size() == found.size());
  }
}

TEST_CASE("movable places: a section is loaded where its function is at the place that is wanted") {
  const MovablePlaces wide(x64, 1), narrow(arm, 1);
  for (const Address place : {Address{0x7fff'1234'5678}, Address{0x40'0000}, Address{0xf700'0000}})
    for (const MovablePlaces* const places : {&wide, &narrow}) {
      const Address loaded = places->section_for(place);
      const Address function = places->file_address(3) - MovablePlaces::section_address(3) + loaded;
      CHECK(function == place);
    }
  // No target has memory there.
  CHECK(wide.section_for(0x7fff'1234'5678) == 0x8000'7fff'1234'5678);
  CHECK(wide.section_for(0) == 0x8000'0000'0000'0000);
  CHECK(narrow.section_for(0x40'0000) > 0xffff'ffff);
}

TEST_CASE("movable places: the module has a base, which is loaded where nothing is") {
  for (const Platform& platform : {x64, arm}) {
    const MovablePlaces places(platform, 7);
    std::vector<std::byte> file = file_of(places);
    const ElfHandle elf = open(file);
    std::size_t headers = 0;
    REQUIRE(elf_getphdrnum(elf.get(), &headers) == 0);
    REQUIRE(headers == 1);
    GElf_Phdr base;
    REQUIRE(gelf_getphdr(elf.get(), 0, &base) != nullptr);
    CHECK(base.p_type == PT_LOAD);
    CHECK(base.p_vaddr == 0x800);
    CHECK(base.p_memsz == 1);
    CHECK(MovablePlaces::section_address(0) > base.p_vaddr);
  }
  CHECK(MovablePlaces(x64, 7).unused_address() == 0x8000'0000'0000'0800);
  CHECK(MovablePlaces(arm, 7).unused_address() == 0xf000'0800);
}

TEST_CASE("movable places: names of two modules differ") {
  CHECK(MovablePlaces(x64, 1).prefix() != MovablePlaces(x64, 11).prefix());
  CHECK_FALSE(MovablePlaces(x64, 11).prefix().starts_with(MovablePlaces(x64, 1).prefix()));
}

} // namespace
