#include "core/heap/array_reader.h"

#include <algorithm>

namespace clr {

ArrayReader::ArrayReader(HeapTypes& types)
    : types_(types), bytes_(types), word_(types.target().pointer_size()),
      string_(types.target().read_pointer(types.target().global("StringMethodTable"))) {}

void ArrayReader::choose(Address method_table) {
  if (method_table == chosen_) return;
  const char* why = "";
  const auto number = types_.find(method_table, why);
  chosen_ = method_table;
  if (number) type_ = types_.at(*number);
  array_ = number && method_table != string_ && type_.has_elements() && type_.component_size != 0 &&
           type_.base_size >= 3 * word_;
}

std::optional<ArrayCounts> ArrayReader::counts(Address object, std::uint64_t size, Address method_table) {
  choose(method_table);
  if (!array_) return std::nullopt;
  const auto count = bytes_.from(object + word_, 4, object + size);
  if (count.size() < 4) return std::nullopt;
  ArrayCounts found{.elements = load<std::uint32_t>(count, types_.target().platform().byte_order),
                    .element_size = type_.component_size};
  if (data_offset() + found.elements * found.element_size > size) return std::nullopt;
  return found;
}

std::optional<ArrayCounts> ArrayReader::counts_with_empty(Address object, std::uint64_t size,
                                                          Address method_table) {
  std::optional<ArrayCounts> found = counts(object, size, method_table);
  if (!found) return found;
  const std::size_t width = found->element_size;
  for (std::uint64_t done = 0; done < found->elements;) {
    const auto some = bytes_.from(object + data_offset() + done * width, width, object + size);
    const std::uint64_t here = std::min<std::uint64_t>(some.size() / width, found->elements - done);
    if (here == 0) {
      found->whole = false;
      break;
    }
    for (std::uint64_t i = 0; i < here; ++i)
      found->empty +=
          std::ranges::all_of(some.subspan(i * width, width), [](std::byte b) { return b == std::byte{}; });
    done += here;
  }
  return found;
}

} // namespace clr
