// .sym files from arbitrary bytes. Magic, version and size are valid unless bit 1 of byte 13 is set, so that
// mutation gets past them.
#include "core/symbols/symbol_table.h"

#include "tests/fuzz/attempt.h"

#include <algorithm>
#include <cstring>
#include <span>

using namespace clr;
using namespace clr::fuzz;

namespace {

constexpr std::size_t most_entries = 64;

void put(std::vector<std::byte>& bytes, std::size_t at, std::uint64_t value, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) bytes[at + i] = static_cast<std::byte>(value >> (8 * i));
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < symbol_file_header_size) return 0;
  std::vector<std::byte> bytes(size);
  std::memcpy(bytes.data(), data, size);
  if ((data[13] & 2) == 0) {
    std::memcpy(bytes.data(), symbol_file_magic.data(), symbol_file_magic.size());
    put(bytes, 8, symbol_file_version, 4);
    bytes[12] = (data[12] & 1) != 0 ? std::byte{4} : std::byte{8};
    bytes[13] &= std::byte{1};
    put(bytes, 88, size, 8);
    bytes.back() = std::byte{0};
  } else {
    bytes[13] &= std::byte{~2u & 0xff};
  }
  attempt([&] {
    const auto table = SymbolTable::of_bytes(std::move(bytes), "fuzz.sym");
    attempt([&] { table->made_from(); });
    attempt([&] { table->identity(); });
    for (const std::uint64_t offset : {0ull, 1ull, 0x1000ull, 0xffff'ffffull, ~0ull / 2, ~0ull})
      attempt([&] { table->find(table->base() + offset); });
    attempt([&] {
      // Many addresses at once have the answers that they have one by one.
      std::vector<std::uint64_t> addresses;
      for (std::uint64_t offset = 0; offset < 0x4000; offset += 0x80)
        addresses.push_back(table->base() + offset);
      std::vector<std::uint32_t> entries(addresses.size());
      table->index_all(addresses, entries);
      for (std::size_t i = 0; i < addresses.size(); ++i) {
        const auto alone = table->index_of(addresses[i]);
        if (entries[i] != (alone ? *alone : SymbolTable::no_entry)) __builtin_trap();
      }
    });
    for (std::size_t i = 0; i < std::min(table->size(), most_entries); ++i)
      attempt([&] {
        const symbols::Symbol symbol = (*table)[i];
        table->find(symbol.address);
        table->find(symbol.address + symbol.size);
      });
  });
  return 0;
}
