// The walks over collections that are met less often.
#include "core/objects/collection_visit.h"

#include <algorithm>

namespace clr {

void CollectionVisit::sorted_list(const Instance& what) {
  const std::uint64_t count = counted(what, "_size");
  if (count == 0) return;
  const InstanceReader::Vector keys = reader_.vector(reader_.reference(what, "keys"));
  const InstanceReader::Vector values = reader_.vector(reader_.reference(what, "values"));
  if (count > keys.count || count > values.count)
    throw_corrupt(keys.data, "a sorted list with more elements than its arrays");
  for (std::uint64_t i = 0; i < count; ++i)
    if (!entry(keys.layout.element, keys.at(i), values.layout.element, values.at(i))) return;
}

// Its enumerator begins at the last bucket.
void CollectionVisit::hashtable(const Instance& what) {
  counted(what, "_count");
  const Address buckets = reader_.reference(what, "_buckets");
  const InstanceReader::Vector array = reader_.vector(buckets);
  if (array.layout.element->kind != TypeUse::Kind::value)
    throw_corrupt(buckets, "a table whose buckets are no structures");
  const TypeLayout& bucket = reader_.objects().layouts().of(array.layout.element->method_table);
  for (std::uint64_t i = array.count; i-- > 0;) {
    step(buckets);
    const Instance at{bucket, array.at(i)};
    const Address key = reader_.reference(at, "key");
    if (key == 0 || key == buckets) continue; // never used; freed
    if (!pair(at, "key", "val")) return;
  }
}

void CollectionVisit::ordered_dictionary(const Instance& what) {
  const std::uint64_t count = counted(what, "_count");
  if (count == 0) return;
  const InstanceReader::Vector array = reader_.vector(reader_.reference(what, "_entries"));
  if (count > array.count || array.layout.element->kind != TypeUse::Kind::value)
    throw_corrupt(array.data, "a dictionary with more entries than its array");
  const TypeLayout& entry = reader_.objects().layouts().of(array.layout.element->method_table);
  for (std::uint64_t i = 0; i < count; ++i)
    if (!pair({entry, array.at(i)}, "Key", "Value")) return;
}

// Two stacks: the first one is taken from, the second one is put onto. Each ends with a node that holds
// nothing.
void CollectionVisit::immutable_queue(const Instance& what) {
  std::vector<Address> nodes;
  const auto add = [&](std::string_view stack) {
    for (Address node = reader_.reference(what, stack); node != 0;) {
      step(node);
      const Address next = reader_.reference(reader_.of_object(node), "_tail");
      if (next == 0) return;
      if (nodes.size() == max_queue_nodes) throw_corrupt(node, "a queue of too many nodes");
      nodes.push_back(node);
      node = next;
    }
  };
  add("_forwards");
  const auto middle = static_cast<std::ptrdiff_t>(nodes.size());
  add("_backwards");
  std::reverse(nodes.begin() + middle, nodes.end());
  visitor_.count(nodes.size());
  for (const Address node : nodes)
    if (!field(reader_.of_object(node), "_head")) return;
}

// A ring for each thread, of which the last item comes first.
void CollectionVisit::concurrent_bag(const Instance& what) {
  struct Part {
    InstanceReader::Vector ring;
    std::uint32_t head = 0, count = 0, mask = 0;
  };
  std::vector<Part> parts;
  std::uint64_t count = 0;
  for (Address queue = reader_.reference(what, "_workStealingQueues"); queue != 0;) {
    step(queue);
    if (parts.size() == max_queue_parts) throw_corrupt(queue, "a bag of too many parts");
    const Instance at = reader_.of_object(queue);
    Part part{.ring = reader_.vector(reader_.reference(at, "_array")),
              .head = static_cast<std::uint32_t>(reader_.integer(at, "_headIndex")),
              .mask = static_cast<std::uint32_t>(reader_.integer(at, "_mask"))};
    part.count = static_cast<std::uint32_t>(reader_.integer(at, "_tailIndex")) - part.head;
    if (part.count > part.ring.count || part.mask >= part.ring.count)
      throw_corrupt(queue, "a part of a bag with more elements than its array");
    count += part.count;
    parts.push_back(part);
    queue = reader_.reference(at, "_nextQueue");
  }
  visitor_.count(count);
  for (const Part& part : parts)
    for (std::uint32_t i = part.count; i-- > 0;)
      if (!item(part.ring.layout.element, part.ring.at((part.head + i) & part.mask))) return;
}

void CollectionVisit::grouping(const Instance& what) {
  if (const std::uint64_t count = counted(what, "_count"); count != 0)
    elements(reader_.reference(what, "_elements"), 0, count);
}

bool CollectionVisit::frozen_dictionary(const Instance& what) {
  const auto keys = reader_.find(what, "_keys"), values = reader_.find(what, "_values");
  if (!keys || !values) return false;
  const InstanceReader::Vector first = reader_.vector(reader_.target().read_pointer(keys->at));
  const InstanceReader::Vector second = reader_.vector(reader_.target().read_pointer(values->at));
  if (first.count != second.count) throw_corrupt(first.data, "a dictionary with more keys than values");
  visitor_.count(first.count);
  for (std::uint64_t i = 0; i < first.count; ++i)
    if (!entry(first.layout.element, first.at(i), second.layout.element, second.at(i))) break;
  return true;
}

bool CollectionVisit::frozen_set(const Instance& what) {
  const auto items = reader_.find(what, "_items");
  if (!items) return false;
  const Address array = reader_.target().read_pointer(items->at);
  const std::uint32_t count = reader_.vector(array).count;
  visitor_.count(count);
  elements(array, 0, count);
  return true;
}

} // namespace clr
