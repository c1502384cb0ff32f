// The part of Metadata that follows relations between rows.
#include "core/metadata/metadata.h"
#include "core/metadata/sorted_rows.h"

#include <algorithm>

namespace clr {
namespace {

// Columns by position in their rows.
constexpr unsigned field_list = 4, method_list = 5, constant_parent = 2, param_list = 5, nested_type = 0,
                   enclosing_type = 1, generic_owner = 2, attribute_parent = 0;

} // namespace

std::pair<std::uint32_t, std::uint32_t> Metadata::rows_with(MetadataTable table, unsigned column,
                                                            std::uint32_t value) const {
  const std::uint32_t count = rows(table);
  if (count > max_pointer_rows) throw_corrupt(bytes_.begin(), "too many rows of a table that is not sorted");
  const auto value_of = [&](std::uint32_t rid) { return cell(table, rid, column); };
  const auto& [rids, fault] = indexes_->of(table, column, count, value_of);
  const auto found = std::ranges::lower_bound(rids, value, {}, value_of);
  if (found == rids.end() || value_of(*found) != value) {
    if (fault) throw *fault; // the row may be one of those that are missing
    return {count + 1, count + 1};
  }
  const std::uint32_t first = *found;
  const auto in_run = [&](std::uint32_t rid) { // those in the index come in the order of rids
    const std::uint32_t indexed = found[rid - first];
    return indexed == rid && value_of(indexed) == value;
  };
  const auto left = static_cast<std::uint32_t>(rids.end() - found);
  const std::uint32_t end =
      first + partition_point(left - 1, [&](std::uint32_t i) { return in_run(first + i); });
  if (fault && end == rids.size() + 1) throw *fault; // the run may go on
  return {first, end};
}

std::uint32_t Metadata::owner_of_method(std::uint32_t method_rid) const {
  if (method_rid == 0 || method_rid > rows(MetadataTable::method_def)) return 0;
  std::uint32_t index = method_rid;
  if (const std::uint32_t pointers = rows(MetadataTable::method_ptr); pointers != 0) {
    index = rows_with(MetadataTable::method_ptr, 0, method_rid).first;
    if (index > pointers) return 0;
  }
  // The last type whose list begins at or before the method: the list of an empty type begins where the next
  // one begins.
  return partition_point(
             rows(MetadataTable::type_def),
             [&](std::uint32_t rid) { return cell(MetadataTable::type_def, rid, method_list) <= index; }) -
         1;
}

std::pair<std::uint32_t, std::uint32_t> Metadata::list_range(MetadataTable owner, std::uint32_t rid,
                                                             unsigned column, MetadataTable list,
                                                             MetadataTable pointers) const {
  const std::uint32_t count = rows(pointers) != 0 ? rows(pointers) : rows(list);
  const std::uint32_t first = cell(owner, rid, column);
  const std::uint32_t last = rid < rows(owner) ? cell(owner, rid + 1, column) : count + 1;
  // Some writers express "none" by a list that begins at 0 or past the end.
  if (first == 0 || first > count) return {1, 1};
  if (last < first || last > count + 1) throw_corrupt(bytes_.begin(), "metadata list runs backwards");
  return {first, last};
}

std::pair<std::uint32_t, std::uint32_t> Metadata::method_range(std::uint32_t type_rid) const {
  return list_range(MetadataTable::type_def, type_rid, method_list, MetadataTable::method_def,
                    MetadataTable::method_ptr);
}

std::uint32_t Metadata::method_at(std::uint32_t list_index) const {
  return rows(MetadataTable::method_ptr) != 0 ? cell(MetadataTable::method_ptr, list_index, 0) : list_index;
}

std::pair<std::uint32_t, std::uint32_t> Metadata::field_range(std::uint32_t type_rid) const {
  return list_range(MetadataTable::type_def, type_rid, field_list, MetadataTable::field,
                    MetadataTable::field_ptr);
}

std::uint32_t Metadata::field_at(std::uint32_t list_index) const {
  return rows(MetadataTable::field_ptr) != 0 ? cell(MetadataTable::field_ptr, list_index, 0) : list_index;
}

std::optional<ConstantRow> Metadata::constant_of_field(std::uint32_t field_rid) const {
  constexpr unsigned type = 0, value = 3, tag_bits = 2; // HasConstant: 0 is a field
  const auto [first, last] = rows_of_owner(MetadataTable::constant, constant_parent, field_rid << tag_bits);
  if (first == last) return std::nullopt;
  return ConstantRow{.type = static_cast<std::uint8_t>(cell(MetadataTable::constant, first, type)),
                     .value = cell(MetadataTable::constant, first, value)};
}

std::pair<std::uint32_t, std::uint32_t> Metadata::param_range(std::uint32_t method_rid) const {
  return list_range(MetadataTable::method_def, method_rid, param_list, MetadataTable::param,
                    MetadataTable::param_ptr);
}

std::uint32_t Metadata::param_at(std::uint32_t list_index) const {
  return rows(MetadataTable::param_ptr) != 0 ? cell(MetadataTable::param_ptr, list_index, 0) : list_index;
}

std::uint32_t Metadata::encloser_of(std::uint32_t type_rid) const {
  const std::uint32_t count = rows(MetadataTable::nested_class);
  // Edited modules append rows out of order.
  const std::uint32_t found = uncompressed_
                                  ? rows_with(MetadataTable::nested_class, nested_type, type_rid).first
                                  : partition_point(count, [&](std::uint32_t rid) {
                                      return cell(MetadataTable::nested_class, rid, nested_type) < type_rid;
                                    });
  if (found > count || cell(MetadataTable::nested_class, found, nested_type) != type_rid) return 0;
  return cell(MetadataTable::nested_class, found, enclosing_type);
}

std::pair<std::uint32_t, std::uint32_t> Metadata::rows_of_owner(MetadataTable table, unsigned column,
                                                                std::uint32_t owner) const {
  const std::uint32_t count = rows(table);
  const auto owner_at = [&](std::uint32_t rid) { return cell(table, rid, column); };
  if (uncompressed_) return rows_with(table, column, owner);
  const std::uint32_t first =
      partition_point(count, [&](std::uint32_t rid) { return owner_at(rid) < owner; });
  if (first > count || owner_at(first) != owner) return {first, first};
  // Nearly all owners have a few rows: looks 1, 2, 4 rows ahead, then between the last two places.
  std::uint32_t ahead = 1;
  while (first + ahead <= count && owner_at(first + ahead) == owner) ahead *= 2;
  const std::uint32_t known = first + ahead / 2, end = std::min(first + ahead, count + 1);
  return {first, known + partition_point(end - known - 1,
                                         [&](std::uint32_t i) { return owner_at(known + i) == owner; })};
}

std::pair<std::uint32_t, std::uint32_t> Metadata::generic_params(std::uint32_t owner_token) const {
  const std::uint32_t tag = table_of(owner_token) == MetadataTable::method_def ? 1 : 0;
  return rows_of_owner(MetadataTable::generic_param, generic_owner, rid_of(owner_token) << 1 | tag);
}

std::pair<std::uint32_t, std::uint32_t> Metadata::custom_attributes(std::uint32_t owner_token) const {
  constexpr unsigned tag_bits = 5;
  const MetadataTable owner = table_of(owner_token);
  const std::uint32_t tag = owner == MetadataTable::method_def ? 0
                            : owner == MetadataTable::field    ? 1
                            : owner == MetadataTable::param    ? 4
                                                               : 3;
  return rows_of_owner(MetadataTable::custom_attribute, attribute_parent,
                       rid_of(owner_token) << tag_bits | tag);
}

} // namespace clr
