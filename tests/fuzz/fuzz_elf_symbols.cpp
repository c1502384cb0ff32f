// Any bytes as an ELF file of functions and source lines, which libelf and libdw read. The identification is
// always that of an ELF file, so that mutation reaches its headers and sections.
#include "core/symbols/elf_symbol_source.h"
#include "tests/fuzz/attempt.h"
#include "tests/fuzz/symbol_table_check.h"

#include <elf.h>

#include <cstring>
#include <vector>

using namespace clr;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < EI_NIDENT) return 0;
  std::vector<std::byte> bytes(size);
  std::memcpy(bytes.data(), data, size);
  std::memcpy(bytes.data(), ELFMAG, SELFMAG);
  fuzz::attempt([&] { fuzz::check(*read_elf_symbols(bytes, "fuzz.so").symbols); });
  return 0;
}
