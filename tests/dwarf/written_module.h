// A module that write_elf_module made, read back with libelf and libdw.
#pragma once

#include "core/dwarf/elf_module_writer.h"
#include "core/memory/elf_handle.h"
#include "core/memory/elf_records.h"

#include <catch2/catch.hpp>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <gelf.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace clr {

class ModuleReadBack {
public:
  explicit ModuleReadBack(const DebugModule& module) : bytes_(write_elf_module(module)) {
    elf_version(EV_CURRENT);
    elf_.reset(elf_memory(reinterpret_cast<char*>(bytes_.data()), bytes_.size()));
    REQUIRE(elf_ != nullptr);
    REQUIRE(gelf_getehdr(elf_.get(), &header) != nullptr);
    dwarf_.reset(dwarf_begin_elf(elf_.get(), DWARF_C_READ, nullptr));
  }

  struct Section {
    std::string name;
    GElf_Shdr header;
    std::size_t index;
  };
  std::vector<Section> sections() const {
    std::size_t names = 0;
    REQUIRE(elf_getshdrstrndx(elf_.get(), &names) == 0);
    std::vector<Section> all;
    for (Elf_Scn* scn = nullptr; (scn = elf_nextscn(elf_.get(), scn)) != nullptr;) {
      Section section;
      REQUIRE(gelf_getshdr(scn, &section.header) != nullptr);
      section.name = elf_strptr(elf_.get(), names, section.header.sh_name);
      section.index = elf_ndxscn(scn);
      all.push_back(section);
    }
    return all;
  }
  std::optional<Section> section(const std::string& name) const {
    for (const Section& section : sections())
      if (section.name == name) return section;
    return std::nullopt;
  }
  std::vector<GElf_Phdr> segments() const {
    std::vector<GElf_Phdr> all(header.e_phnum);
    for (std::size_t i = 0; i < all.size(); ++i)
      REQUIRE(gelf_getphdr(elf_.get(), static_cast<int>(i), &all[i]) != nullptr);
    return all;
  }
  std::vector<std::byte> contents(const Section& section) const {
    const auto begin = bytes_.begin() + static_cast<std::ptrdiff_t>(section.header.sh_offset);
    return {begin, begin + static_cast<std::ptrdiff_t>(section.header.sh_size)};
  }

  struct Symbol {
    std::string name;
    Address value = 0, size = 0;
    unsigned type = 0, section = 0;
  };
  // Without the null symbol.
  std::vector<Symbol> symbols() const {
    const auto table = section(".symtab");
    REQUIRE(table);
    Elf_Data* data = elf_getdata(elf_getscn(elf_.get(), table->index), nullptr);
    std::vector<Symbol> all;
    for (std::size_t i = 1; i < table->header.sh_size / table->header.sh_entsize; ++i) {
      GElf_Sym symbol;
      REQUIRE(gelf_getsym(data, static_cast<int>(i), &symbol) != nullptr);
      all.push_back({elf_strptr(elf_.get(), table->header.sh_link, symbol.st_name), symbol.st_value,
                     symbol.st_size, static_cast<unsigned>(GELF_ST_TYPE(symbol.st_info)), symbol.st_shndx});
    }
    return all;
  }

  // The rules at `pc`: nothing where there is no description.
  struct Rules {
    std::string cfa;                       // "7+16"
    std::map<unsigned, std::string> saved; // "cfa-16", "6+8": an address; "same", "undefined"
    unsigned return_column = 0;
    bool signal = false;
    // libdw knows of some registers that callees save them, and then takes them for unchanged without a rule.
    std::string of(unsigned reg) const {
      const auto found = saved.find(reg);
      return found == saved.end() ? "same" : found->second;
    }
  };
  std::optional<Rules> rules(Address pc, unsigned registers = 33) const {
    Dwarf_CFI* cfi = dwarf_ ? dwarf_getcfi(dwarf_.get()) : nullptr;
    Dwarf_Frame* frame = nullptr;
    if (cfi == nullptr || dwarf_cfi_addrframe(cfi, pc, &frame) != 0) return std::nullopt;
    const std::unique_ptr<Dwarf_Frame, decltype(&free)> owner(frame, free);
    Rules rules;
    Dwarf_Op* ops = nullptr;
    std::size_t count = 0;
    REQUIRE(dwarf_frame_cfa(frame, &ops, &count) == 0);
    rules.cfa = text(ops, count);
    for (unsigned reg = 0; reg < registers; ++reg) {
      Dwarf_Op memory[3];
      if (dwarf_frame_register(frame, static_cast<int>(reg), memory, &ops, &count) != 0) continue;
      if (count != 0)
        rules.saved[reg] = text(ops, count);
      else if (ops == nullptr)
        rules.saved[reg] = "same";
    }
    bool signal = false;
    Dwarf_Addr begin = 0, end = 0;
    rules.return_column = static_cast<unsigned>(dwarf_frame_info(frame, &begin, &end, &signal));
    rules.signal = signal;
    return rules;
  }

  // Code that has a description of its frames: [begin, end) of each.
  std::vector<std::pair<Address, Address>> descriptions() const {
    const auto frames = section(".debug_frame");
    std::vector<std::pair<Address, Address>> all;
    if (!frames) return all;
    Elf_Data* data = elf_getdata(elf_getscn(elf_.get(), frames->index), nullptr);
    Dwarf_CFI_Entry entry;
    for (Dwarf_Off at = 0, next = 0; dwarf_next_cfi(header.e_ident, data, false, at, &next, &entry) == 0;
         at = next) {
      if (dwarf_cfi_cie_p(&entry)) continue;
      const bool wide = header.e_ident[EI_CLASS] == ELFCLASS64;
      const ByteOrder order = header.e_ident[EI_DATA] == ELFDATA2LSB ? ByteOrder::little : ByteOrder::big;
      const auto bytes = std::as_bytes(std::span(entry.fde.start, 16));
      const Address begin = decode_word(bytes, {wide, order});
      all.emplace_back(begin, begin + decode_word(bytes.subspan(wide ? 8 : 4), {wide, order}));
    }
    return all;
  }

  struct Line {
    Address address = 0;
    std::string file;
    int line = 0, column = 0;
    bool prologue_end = false, statement = false, end = false;
  };
  std::vector<Line> lines() const {
    std::vector<Line> all;
    for (Dwarf_Die unit : units()) {
      Dwarf_Lines* lines = nullptr;
      std::size_t count = 0;
      if (dwarf_getsrclines(&unit, &lines, &count) != 0) continue;
      for (std::size_t i = 0; i < count; ++i) {
        Dwarf_Line* line = dwarf_onesrcline(lines, i);
        Line row;
        REQUIRE(dwarf_lineaddr(line, &row.address) == 0);
        const char* file = dwarf_linesrc(line, nullptr, nullptr);
        row.file = file == nullptr ? "" : file;
        dwarf_lineno(line, &row.line);
        dwarf_linecol(line, &row.column);
        dwarf_lineprologueend(line, &row.prologue_end);
        dwarf_linebeginstatement(line, &row.statement);
        dwarf_lineendsequence(line, &row.end);
        all.push_back(row);
      }
    }
    return all;
  }

  std::vector<Dwarf_Die> units() const {
    std::vector<Dwarf_Die> all;
    Dwarf_CU* unit = nullptr;
    Dwarf_Die die;
    while (dwarf_ && dwarf_get_units(dwarf_.get(), unit, &unit, nullptr, nullptr, &die, nullptr) == 0)
      all.push_back(die);
    return all;
  }
  static std::vector<Dwarf_Die> children(Dwarf_Die die, int tag = 0) {
    std::vector<Dwarf_Die> all;
    Dwarf_Die child;
    if (dwarf_child(&die, &child) != 0) return all;
    do {
      if (tag == 0 || dwarf_tag(&child) == tag) all.push_back(child);
    } while (dwarf_siblingof(&child, &child) == 0);
    return all;
  }
  // The first entry of this name and tag, in a unit or in what is in it.
  std::optional<Dwarf_Die> find(int tag, const std::string& name) const {
    for (Dwarf_Die unit : units())
      for (Dwarf_Die die : children(unit))
        if (dwarf_tag(&die) == tag && name_of(die) == name) return die;
    return std::nullopt;
  }
  // Functions of which there are a name and a range: those that addresses lead to, in units that hold their
  // code, and those that only names do.
  struct Function {
    std::string name;
    Address start = 0, size = 0;
    bool operator==(const Function&) const = default;
  };
  std::vector<Function> functions(bool by_address) const {
    std::vector<Function> all;
    for (Dwarf_Die unit : units())
      for (Dwarf_Die die : children(unit, DW_TAG_subprogram)) {
        Dwarf_Addr start = 0;
        if (has(die, DW_AT_declaration)) continue;
        REQUIRE(dwarf_lowpc(&die, &start) == 0);
        if (holds(unit, start) == by_address)
          all.push_back({name_of(die), start, number_of(die, DW_AT_high_pc).value_or(0)});
      }
    return all;
  }
  static int tag_of(Dwarf_Die die) { return dwarf_tag(&die); }
  static Dwarf_Off offset_of(Dwarf_Die die) { return dwarf_dieoffset(&die); }
  static bool holds(Dwarf_Die die, Address pc) { return dwarf_haspc(&die, pc) == 1; }
  static std::string name_of(Dwarf_Die die) {
    const char* name = dwarf_diename(&die);
    return name == nullptr ? "" : name;
  }
  static std::string string_of(Dwarf_Die die, unsigned attribute) {
    Dwarf_Attribute found;
    const char* value = dwarf_formstring(dwarf_attr_integrate(&die, attribute, &found));
    return value == nullptr ? "" : value;
  }
  static std::optional<Dwarf_Word> number_of(Dwarf_Die die, unsigned attribute) {
    Dwarf_Attribute found;
    Dwarf_Word value = 0;
    if (dwarf_formudata(dwarf_attr(&die, attribute, &found), &value) != 0) return std::nullopt;
    return value;
  }
  static std::optional<Dwarf_Die> reference_of(Dwarf_Die die, unsigned attribute) {
    Dwarf_Attribute found;
    Dwarf_Die target;
    if (dwarf_formref_die(dwarf_attr(&die, attribute, &found), &target) == nullptr) return std::nullopt;
    return target;
  }
  static std::optional<Dwarf_Die> type_of(Dwarf_Die die) { return reference_of(die, DW_AT_type); }
  static bool has(Dwarf_Die die, unsigned attribute) { return dwarf_hasattr(&die, attribute) != 0; }

  // "begin-end: operations" of each range; begin and end are 0 for an expression that always holds.
  static std::vector<std::string> places(Dwarf_Die die, unsigned attribute = DW_AT_location) {
    Dwarf_Attribute found;
    std::vector<std::string> all;
    if (dwarf_attr(&die, attribute, &found) == nullptr) return all;
    Dwarf_Op* ops = nullptr;
    std::size_t count = 0;
    Dwarf_Addr base = 0, begin = 0, end = 0;
    for (std::ptrdiff_t at = 0;
         (at = dwarf_getlocations(&found, at, &base, &begin, &end, &ops, &count)) > 0;) {
      const bool always = begin == 0 && end == ~Dwarf_Addr{0};
      all.push_back((always ? std::string() : std::to_string(begin) + "-" + std::to_string(end) + ": ") +
                    text(ops, count));
    }
    return all;
  }

  static std::string text(const Dwarf_Op* ops, std::size_t count) {
    const auto signed_text = [](Dwarf_Word value) {
      const auto number = static_cast<std::int64_t>(value);
      return (number < 0 ? "" : "+") + std::to_string(number);
    };
    std::string out;
    for (std::size_t i = 0; i < count; ++i) {
      const Dwarf_Op& op = ops[i];
      if (!out.empty()) out += ' ';
      if (op.atom >= DW_OP_reg0 && op.atom <= DW_OP_reg31)
        out += "reg" + std::to_string(op.atom - DW_OP_reg0);
      else if (op.atom >= DW_OP_breg0 && op.atom <= DW_OP_breg31)
        out += std::to_string(op.atom - DW_OP_breg0) + signed_text(op.number);
      else if (op.atom == DW_OP_regx)
        out += "reg" + std::to_string(op.number);
      else if (op.atom == DW_OP_bregx)
        out += std::to_string(op.number) + signed_text(op.number2);
      else if (op.atom == DW_OP_fbreg)
        out += "base" + signed_text(op.number);
      else if (op.atom == DW_OP_call_frame_cfa)
        out += "cfa";
      else if (op.atom == DW_OP_plus_uconst)
        out += signed_text(op.number);
      else if (op.atom == DW_OP_deref)
        out += "deref";
      else if (op.atom == DW_OP_piece)
        out += "piece" + std::to_string(op.number);
      else if (op.atom == DW_OP_addr)
        out += "addr" + std::to_string(op.number);
      else if (op.atom == DW_OP_stack_value)
        out += "value";
      else
        out += "op" + std::to_string(op.atom);
    }
    return out;
  }

  const std::vector<std::byte>& bytes() const { return bytes_; }
  Dwarf* dwarf() const { return dwarf_.get(); }

  GElf_Ehdr header{};

private:
  struct DwarfEnd {
    void operator()(Dwarf* dwarf) const { dwarf_end(dwarf); }
  };
  std::vector<std::byte> bytes_;
  ElfHandle elf_;
  std::unique_ptr<Dwarf, DwarfEnd> dwarf_;
};

// Platforms whose modules are written: both classes, both byte orders, both CPUs.
inline std::vector<Platform> written_platforms() {
  std::vector<Platform> all;
  for (const Cpu cpu : {Cpu::x64, Cpu::arm64})
    for (const unsigned size : {8u, 4u})
      for (const ByteOrder order : {ByteOrder::little, ByteOrder::big})
        all.push_back({size, order, cpu, Os::unix_like});
  return all;
}

// A module with one section of 0x1000 bytes at `begin` and no code.
inline DebugModule module_at(Address begin,
                             Platform platform = {8, ByteOrder::little, Cpu::x64, Os::unix_like}) {
  DebugModule module;
  module.file_name = "app.dll";
  module.platform = platform;
  module.sections.push_back({begin, begin + 0x1000, {}});
  return module;
}

inline DebugCode code_at(Address start, std::uint64_t size, const std::string& name) {
  DebugCode code;
  code.start = start;
  code.size = size;
  code.name = name;
  code.full_name = "Ns.Type." + name + "()";
  code.unit = "Ns.Type";
  return code;
}

} // namespace clr
