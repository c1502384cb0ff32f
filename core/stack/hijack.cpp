#include "core/stack/hijack.h"

#include "core/isa/registers.h"

#include <vector>

namespace clr {
namespace {

// How much of a Thread is searched for its hijack pair; the pair lies within the first words.
constexpr std::size_t hijack_search_bytes = 1024;

} // namespace

std::optional<Address> hijacked_return_address(const Target& target, const RuntimeThread& thread,
                                               Address slot, const std::function<bool(Address)>& is_managed) {
  const auto found = hijack_within(target, thread.address, slot, slot + 1, is_managed);
  return found ? std::optional(found->original) : std::nullopt;
}

std::optional<Hijack> hijack_within(const Target& target, Address thread, Address first, Address end,
                                    const std::function<bool(Address)>& is_managed) {
  const unsigned word = target.pointer_size();
  std::vector<std::byte> raw(hijack_search_bytes);
  raw.resize(target.memory().read_some(thread, raw));
  const auto load_word = [&](std::size_t at) -> Address {
    const auto bytes = std::span(raw).subspan(at, word);
    return word == 8 ? load<std::uint64_t>(bytes, target.platform().byte_order)
                     : load<std::uint32_t>(bytes, target.platform().byte_order);
  };
  for (std::size_t at = 0; at + word <= raw.size(); at += word) {
    const Address slot = load_word(at);
    if (slot < first || slot >= end) continue;
    for (const std::size_t neighbour : {at - word, at + word}) {
      if (neighbour > raw.size() - word) continue; // below 0 it wraps to a number beyond all others
      const Address original = strip_return_address(target.platform().cpu, load_word(neighbour));
      if (is_managed(original)) return Hijack{.slot = slot, .original = original};
    }
  }
  return std::nullopt;
}

} // namespace clr
