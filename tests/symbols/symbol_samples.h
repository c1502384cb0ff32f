// Helpers that the suites of the symbols room share.
#pragma once

#include "core/symbols/symbol_table_builder.h"
#include "tests/support/faults.h"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

namespace clr::test {

inline std::vector<std::byte> bytes_of_text(std::string_view text) {
  std::vector<std::byte> bytes(text.size());
  if (!text.empty()) std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

inline std::span<const std::byte> as_bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

inline std::string read_text(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// "function file:line" of what holds the address; "-" in a gap.
inline std::string at(const SymbolTable& table, std::uint64_t address) {
  const auto symbol = table.find(address);
  if (!symbol) return "-";
  std::string text(symbol->function);
  if (!symbol->file.empty()) text += " " + std::string(symbol->file) + ":" + std::to_string(symbol->line);
  return text;
}

// The same for first, middle and last byte when all three agree; else all of them.
inline std::string whole(const SymbolTable& table, std::uint64_t address, std::uint64_t size) {
  const std::string first = at(table, address), middle = at(table, address + size / 2),
                    last = at(table, address + size - 1);
  return first == middle && middle == last ? first : first + " | " + middle + " | " + last;
}

// Where a test's value lies: addresses of 32 bits, of 64 bits within 4 GiB, and of more.
inline const std::uint64_t bases[] = {0, 0x7f12'3456'7000, 0xffff'ff00'0000'0000};

} // namespace clr::test
