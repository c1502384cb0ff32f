#include "capi/bulk.h"

#include "capi/queries.h"
#include "core/report/answer_json.h"

#include <algorithm>
#include <limits>
#include <unordered_map>
#include <utility>

namespace clr::capi {

namespace {

constexpr std::uint64_t no_offset = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint32_t no_il_offset = std::numeric_limits<std::uint32_t>::max();

// A table of JSON values: each value is stored once and then referred to by its number.
class Table {
public:
  std::uint32_t add(std::string text) {
    const auto [known, added] =
        numbers_.try_emplace(std::move(text), static_cast<std::uint32_t>(numbers_.size()));
    if (added) json_ += (json_.empty() ? "[" : ",") + known->first;
    return known->second;
  }
  std::string json() && { return json_.empty() ? "[]" : std::move(json_) + "]"; }

private:
  std::unordered_map<std::string, std::uint32_t> numbers_;
  std::string json_;
};

struct Row {
  std::uint32_t owner = 0;
  std::uint64_t offset = no_offset;
  clr_place place{CLR_NO_FILE, 0, 0, no_il_offset};
};

class Bulk {
public:
  Bulk(Inspection& inspection, bool lines) : inspection_(inspection), lines_(lines) {}

  Row row_of(Address address) {
    if (const auto row = row_of_last(address)) return *row;
    runtime::Answer answer = answer_at(inspection_, address);
    if (lines_) inspection_.runtime().add_source(answer);
    Row row;
    if (auto* method = std::get_if<MethodAnswer>(&answer.result)) {
      if (method->code.offset) row.offset = *method->code.offset;
      if (method->source) row.place = place_of(*method->source);
      row.owner = owner_of(std::move(answer));
    } else {
      row.owner = owners_.add(owner_json(answer));
    }
    return row;
  }

  void finish(BulkAnswer& answer) {
    answer.owners = std::move(owners_).json();
    answer.files = std::move(files_).json();
  }

private:
  static std::string owner_json(const runtime::Answer& answer) {
    std::string text;
    JsonWriter json(text);
    json.begin_object();
    write_shared_members(json, answer);
    json.end_object();
    return text;
  }

  // Addresses come in ascending order, so those of one body follow each other: the second needs no name.
  // Nothing when the address lies elsewhere, or when not all is known of it.
  std::optional<Row> row_of_last(Address address) {
    if (!last_) return std::nullopt;
    try {
      ExecutionManager& code = *inspection_.runtime().code();
      const CodeLookup found = code.find(address);
      const auto* block = std::get_if<CodeBlock>(&found);
      if (block == nullptr || block->start != last_method_.code.start ||
          block->method_desc != last_method_.method.method_desc)
        return std::nullopt;
      code.funclet_start(*block);
      Row row{.owner = *last_, .offset = code.relative_offset(*block)};
      if (lines_) {
        inspection_.runtime().add_source(last_method_, *block, NativeOffsetKind::exact);
        if (last_method_.source) row.place = place_of(*last_method_.source);
      }
      return row;
    } catch (const std::exception&) {
      return std::nullopt; // the whole answer says what is wrong
    }
  }

  std::uint32_t owner_of(runtime::Answer&& answer) {
    auto& method = std::get<MethodAnswer>(answer.result);
    const bool lasting = method.code.start != 0 && method.code.fault.empty();
    method.code.offset.reset();
    method.code.funclet.reset();
    const std::uint32_t number = owners_.add(owner_json(answer));
    last_ = lasting ? std::optional(number) : std::nullopt;
    last_method_ = std::move(method);
    return number;
  }

  clr_place place_of(const SourceLine& source) {
    if (source.file.empty()) return {CLR_NO_FILE, 0, 0, source.il_offset};
    return {files_.add(file_json(source.file)), source.line, source.column, source.il_offset};
  }

  static std::string file_json(const std::string& path) {
    std::string text;
    JsonWriter(text).text(path);
    return text;
  }

  Inspection& inspection_;
  bool lines_;
  Table owners_, files_;
  std::optional<std::uint32_t> last_; // the owner of the addresses in last_method_'s body
  MethodAnswer last_method_;
};

} // namespace

BulkAnswer symbolize(Inspection& inspection, std::span<const std::uint64_t> addresses, bool lines) {
  BulkAnswer answer;
  answer.owner.resize(addresses.size());
  answer.offset.resize(addresses.size());
  if (lines) answer.places.resize(addresses.size());
  std::vector<std::pair<Address, std::size_t>> order;
  order.reserve(addresses.size());
  for (const Address address : addresses) order.emplace_back(address, order.size());
  std::ranges::sort(order);
  Bulk bulk(inspection, lines);
  Row row;
  for (std::size_t n = 0; n < order.size(); ++n) {
    const auto [address, i] = order[n];
    if (n == 0 || address != order[n - 1].first) row = bulk.row_of(address);
    answer.owner[i] = row.owner;
    answer.offset[i] = row.offset;
    if (lines) answer.places[i] = row.place;
  }
  bulk.finish(answer);
  return answer;
}

} // namespace clr::capi
