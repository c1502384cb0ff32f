#include "core/metadata/row_index.h"

#include <algorithm>
#include <atomic>

namespace clr {
namespace {

std::atomic<std::size_t> all_rows = 0; // of all indexes

} // namespace

RowIndexes::~RowIndexes() {
  all_rows -= rows_;
}

const RowIndexes::Index& RowIndexes::of(MetadataTable table, unsigned column, std::uint32_t rows,
                                        const std::function<std::uint32_t(std::uint32_t rid)>& value_of) {
  const std::scoped_lock lock(mutex_);
  const std::pair key(table, column);
  auto known = indexes_.find(key);
  if (known == indexes_.end()) {
    if (all_rows.load() + rows > max_indexed_rows)
      throw Error(ErrorKind::corrupt, "too many rows of edited modules");
    Index index;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> by_value;
    by_value.reserve(rows);
    try {
      for (std::uint32_t rid = 1; rid <= rows; ++rid) by_value.emplace_back(value_of(rid), rid);
    } catch (const Error& fault) {
      if (fault.kind() != ErrorKind::memory_missing) throw;
      index.fault = fault;
    }
    std::ranges::sort(by_value);
    index.rids.reserve(by_value.size());
    for (const auto& [value, rid] : by_value) index.rids.push_back(rid);
    const std::size_t kept = index.rids.size();
    known = indexes_.emplace(key, std::move(index)).first;
    rows_ += kept;
    all_rows += kept;
  }
  return known->second;
}

} // namespace clr
