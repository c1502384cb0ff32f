#include "core/isa/x64/calls.h"

namespace clr {
namespace {

constexpr unsigned direct_call = 0xE8;
constexpr std::size_t direct_call_size = 5, longest_call = 7;
// ModRM.reg of the call forms of opcode FF.
constexpr unsigned indirect_call = 2;

// Length of `FF /2` with this ModRM byte and, where there is one, SIB byte; prefixes not counted.
std::size_t indirect_call_length(unsigned modrm, unsigned sib) {
  const unsigned mode = modrm >> 6, base = modrm & 7;
  if (mode == 3) return 2;
  const bool has_sib = base == 4;
  std::size_t length = 2 + (has_sib ? 1u : 0u);
  if (mode == 1) length += 1;
  if (mode == 2) length += 4;
  if (mode == 0 && (base == 5 || (has_sib && (sib & 7) == 5))) length += 4;
  return length;
}

// `bytes` end where the call must end.
bool ends_in_call(std::span<const std::byte> bytes) {
  const auto at = [&](std::size_t back) { return std::to_integer<unsigned>(bytes[bytes.size() - back]); };
  if (bytes.size() >= direct_call_size && at(direct_call_size) == direct_call) return true;
  for (std::size_t length = 2; length <= longest_call && length <= bytes.size(); ++length) {
    if (at(length) != 0xFF) continue;
    const unsigned modrm = at(length - 1), sib = length > 2 ? at(length - 2) : 0;
    if ((modrm >> 3 & 7) == indirect_call && indirect_call_length(modrm, sib) == length) return true;
  }
  return false;
}

} // namespace

std::optional<bool> x64_follows_call(MemoryReader& memory, Address return_address) {
  std::byte raw[longest_call];
  if (return_address < sizeof raw) return std::nullopt;
  if (memory.read_some(return_address - sizeof raw, raw) == sizeof raw) return ends_in_call(raw);
  // The longest form may begin on a page that is missing.
  const std::span<std::byte> rest = std::span(raw).first(return_address % 8 == 0 ? 2 : return_address % 8);
  if (rest.size() < 2 || memory.read_some(return_address - rest.size(), rest) < rest.size())
    return std::nullopt;
  return ends_in_call(rest);
}

std::optional<Address> x64_direct_call_target(MemoryReader& memory, Address return_address) {
  std::byte raw[direct_call_size];
  if (return_address < sizeof raw || memory.read_some(return_address - sizeof raw, raw) < sizeof raw)
    return std::nullopt;
  if (raw[0] != std::byte{direct_call}) return std::nullopt;
  const std::int64_t distance = load<std::int32_t>(std::span(raw).subspan(1), ByteOrder::little);
  return return_address + static_cast<Address>(distance);
}

bool x64_is_call(std::span<const std::byte> instruction) {
  std::size_t at = 0;
  unsigned byte = 0;
  // Prefixes that compilers put before calls.
  for (;; ++at) {
    if (at + 1 >= instruction.size()) return false;
    byte = std::to_integer<unsigned>(instruction[at]);
    if ((byte & 0xF0) != 0x40 && byte != 0xF2 && byte != 0x66 && byte != 0x3E && byte != 0x2E) break;
  }
  if (byte == direct_call) return true;
  return byte == 0xFF && (std::to_integer<unsigned>(instruction[at + 1]) >> 3 & 7) == indirect_call;
}

} // namespace clr
