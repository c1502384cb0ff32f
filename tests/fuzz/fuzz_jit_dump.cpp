// jitdump files from arbitrary bytes. The first byte chooses the byte order. The header is always valid, so
// that mutation reaches the records.
#include "core/symbols/jit_dump.h"
#include "tests/fuzz/symbol_table_check.h"

#include "core/memory/error.h"

#include <algorithm>
#include <cstring>

using namespace clr;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t header_size = 40;
  if (size < header_size) return 0;
  std::vector<std::byte> bytes(size);
  std::memcpy(bytes.data(), data, size);
  const bool big = (data[0] & 1) != 0;
  const std::uint32_t fields[] = {0x4A69'5444, 1, header_size};
  for (std::size_t field = 0; field < std::size(fields); ++field)
    for (std::size_t i = 0; i < 4; ++i)
      bytes[4 * field + (big ? 3 - i : i)] = static_cast<std::byte>(fields[field] >> (8 * i));
  try {
    fuzz::check(*read_jit_dump(bytes, "fuzz.dump").symbols);
  } catch (const Error&) {
  }
  return 0;
}
