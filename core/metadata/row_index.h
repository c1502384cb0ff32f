// Finds rows by a column in tables that are not sorted by it: pointer tables, and tables of edited modules.
#pragma once

#include "core/memory/error.h"
#include "core/metadata/tables.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace clr {

// The indexes of one metadata. For any thread.
class RowIndexes {
public:
  struct Index {
    std::vector<std::uint32_t> rids; // of the rows that were read, from the first on
    std::optional<Error> fault;      // why there are no more
  };

  RowIndexes() = default;
  ~RowIndexes();
  RowIndexes(const RowIndexes&) = delete;
  RowIndexes& operator=(const RowIndexes&) = delete;

  // The rids of a table with `rows` rows, ascending by the value that its `column` has by `value_of`, and of
  // one value by rid. Made at the first question, from each row once, up to the first one of which memory is
  // missing, and kept. Valid as long as this. Throws Error{corrupt} where the indexes of all metadata would
  // have more than max_indexed_rows.
  const Index& of(MetadataTable table, unsigned column, std::uint32_t rows,
                  const std::function<std::uint32_t(std::uint32_t rid)>& value_of);

  // Of all metadata of this process, 4 bytes each. The tables of a module that is being edited have some
  // 10,000.
  static constexpr std::size_t max_indexed_rows = 20'000'000;

private:
  std::mutex mutex_;
  std::map<std::pair<MetadataTable, unsigned>, Index> indexes_;
  std::size_t rows_ = 0; // of this one's
};

} // namespace clr
