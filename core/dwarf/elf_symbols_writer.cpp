#include "core/dwarf/elf_symbols_writer.h"

#include "core/dwarf/bare_units.h"

namespace clr {
namespace {

// LLDB finds the entry of a function by its name if that is an identifier of C. Every symbol takes time to
// load.
bool is_found_without(const DebugCode& code) {
  for (std::size_t i = 0; i < code.name.size(); ++i) {
    const auto byte = static_cast<unsigned char>(code.name[i]);
    const bool letter = ((byte | 0x20) >= 'a' && (byte | 0x20) <= 'z') || byte == '_';
    if (!letter && (i == 0 || byte < '0' || byte > '9')) return false;
  }
  return code.function;
}

class SymbolWriter {
public:
  SymbolWriter(CodeSymbols& out, std::uint32_t first_section) : out_(&out), first_section_(first_section) {}

  void write(const PlacedCode& placed) {
    const DebugCode& code = *placed.code;
    const bool full = is_usable_name(code.full_name);
    if (full) add(placed, code.full_name);
    if (!code.function && full) return;
    for (std::size_t i = 0; i < code.aliases.size() && i < max_aliases && code.function; ++i)
      if (is_usable_name(code.aliases[i])) add(placed, code.aliases[i]);
    if (is_usable_name(code.name) && code.name != code.full_name && !is_found_without(code))
      add(placed, code.name);
  }

private:
  void add(const PlacedCode& placed, std::string_view name) {
    const std::uint32_t at = out_->names.append_or_share(name);
    if (at == 0) return; // no room
    const unsigned type = placed.code->function ? STT_FUNC : STT_OBJECT;
    out_->symbols.push_back({.st_name = at,
                             .st_info = static_cast<unsigned char>(ELF64_ST_INFO(STB_GLOBAL, type)),
                             .st_other = STV_DEFAULT,
                             .st_shndx = static_cast<Elf64_Section>(first_section_ + placed.section),
                             .st_value = placed.code->start,
                             .st_size = placed.size});
  }

  CodeSymbols* out_;
  std::uint32_t first_section_;
};

} // namespace

CodeSymbols write_symbols(const PlacedModule& placed, std::uint32_t first_section) {
  CodeSymbols out;
  out.symbols.emplace_back();
  SymbolWriter writer(out, first_section);
  for (const PlacedCode& code : placed.code)
    if (!is_bare(*code.code)) writer.write(code);
  return out;
}

} // namespace clr
