// The part of PortablePdb that does not concern lines: scopes, state machines, custom debug information.
#include "core/metadata/inflate.h"
#include "core/metadata/portable_pdb.h"
#include "core/metadata/signature.h"
#include "core/metadata/sorted_rows.h"

#include <algorithm>
#include <limits>

namespace clr {
namespace {

// Columns by position in their rows.
constexpr unsigned scope_method = 0, scope_import = 1, scope_variables = 2, scope_constants = 3,
                   scope_start = 4, scope_length = 5;
constexpr unsigned variable_attributes = 0, variable_slot = 1, variable_name = 2;
constexpr unsigned constant_name = 0, constant_signature = 1;
constexpr unsigned machine_move_next = 0, machine_kickoff = 1;
constexpr unsigned information_parent = 0, information_kind = 1, information_value = 2;

constexpr std::uint32_t debugger_hidden = 1;

consteval metadata::Guid guid_of(std::uint32_t a, std::uint16_t b, std::uint16_t c, std::uint64_t rest) {
  metadata::Guid guid{};
  for (unsigned i = 0; i < 4; ++i) guid[i] = static_cast<std::byte>(a >> (8 * i));
  for (unsigned i = 0; i < 2; ++i) guid[4 + i] = static_cast<std::byte>(b >> (8 * i));
  for (unsigned i = 0; i < 2; ++i) guid[6 + i] = static_cast<std::byte>(c >> (8 * i));
  for (unsigned i = 0; i < 8; ++i) guid[8 + i] = static_cast<std::byte>(rest >> (56 - 8 * i));
  return guid;
}
constexpr metadata::Guid hoisted_scopes_kind = guid_of(0x6da9'a61e, 0xf8c7, 0x4874, 0xbe62'68bc'5630'df71);
constexpr metadata::Guid async_kind = guid_of(0x54fd'2ac5, 0xe925, 0x401a, 0x9c2a'f94f'1710'72f8);
constexpr metadata::Guid tuple_names_kind = guid_of(0xed9f'df71, 0x8879, 0x4747, 0x8ed3'fe5e'de3c'e710);
constexpr metadata::Guid source_link_kind = guid_of(0xcc11'0556, 0xa091, 0x4d38, 0x9fec'25ab'9a35'1a6a);
constexpr metadata::Guid embedded_source_kind = guid_of(0x0e8a'571b, 0x6926, 0x466e, 0xb4ad'8ab0'4611'f5fe);

constexpr std::size_t max_source_link = 16u << 20; // bytes

// start + length must not exceed the range of IL offsets.
IlRange il_range(std::uint32_t start, std::uint32_t length) {
  if (length > std::numeric_limits<std::uint32_t>::max() - start)
    throw Error(ErrorKind::corrupt, "a scope wraps around");
  return {start, start + length};
}

std::uint32_t fixed_u32(SignatureReader& reader) {
  std::uint32_t value = 0;
  for (unsigned i = 0; i < 4; ++i) value |= std::uint32_t{reader.u8()} << (8 * i);
  return value;
}

// The coded form of `token` in the parent column; nothing when tokens of this table have no such information.
std::optional<std::uint32_t> coded_parent(std::uint32_t token) {
  constexpr unsigned tag_bits = 5;
  for (std::uint32_t tag = 0; tag < 1u << tag_bits; ++tag) {
    const std::uint32_t value = rid_of(token) << tag_bits | tag;
    if (decode_coded_index(CodedIndex::has_custom_debug_information, value) == token) return value;
  }
  return std::nullopt;
}

} // namespace

// The first row whose `column` is at least `value`, in a table that is sorted by this column.
std::uint32_t PortablePdb::first_row(MetadataTable table, unsigned column, std::uint32_t value) const {
  return partition_point(metadata_->rows(table),
                         [&](std::uint32_t row) { return metadata_->cell(table, row, column) < value; });
}

IlRange PortablePdb::scope_range(std::uint32_t row) const {
  return il_range(metadata_->cell(MetadataTable::local_scope, row, scope_start),
                  metadata_->cell(MetadataTable::local_scope, row, scope_length));
}

// Rows [first, last) of a scope's list. The list begins at the row in `column` and ends where the list of the
// next scope begins.
std::pair<std::uint32_t, std::uint32_t> PortablePdb::scope_list(std::uint32_t row, unsigned column,
                                                                MetadataTable list) const {
  const std::uint32_t end = metadata_->rows(list) + 1;
  const std::uint32_t first = metadata_->cell(MetadataTable::local_scope, row, column);
  const std::uint32_t last = row < metadata_->rows(MetadataTable::local_scope)
                                 ? metadata_->cell(MetadataTable::local_scope, row + 1, column)
                                 : end;
  if (first == 0 || first >= end) return {1, 1};
  if (last < first || last > end) throw Error(ErrorKind::corrupt, "the names of a scope run backwards");
  return {first, last};
}

std::vector<LocalScope> PortablePdb::local_scopes(std::uint32_t method) const {
  if (table_of(method) != MetadataTable::method_def) return {};
  return guarded([&] {
    const std::uint32_t rows = metadata_->rows(MetadataTable::local_scope);
    const auto method_of = [&](std::uint32_t row) {
      return metadata_->cell(MetadataTable::local_scope, row, scope_method);
    };
    std::vector<LocalScope> scopes;
    for (std::uint32_t row = first_row(MetadataTable::local_scope, scope_method, rid_of(method));
         row <= rows && method_of(row) == rid_of(method); ++row) {
      if (scopes.size() == max_scopes) throw Error(ErrorKind::corrupt, "too many scopes of one method");
      const auto [first_variable, last_variable] =
          scope_list(row, scope_variables, MetadataTable::local_variable);
      const auto [first_constant, last_constant] =
          scope_list(row, scope_constants, MetadataTable::local_constant);
      scopes.push_back({.row = row,
                        .import_scope = metadata_->cell(MetadataTable::local_scope, row, scope_import),
                        .range = scope_range(row),
                        .first_variable = first_variable,
                        .last_variable = last_variable,
                        .first_constant = first_constant,
                        .last_constant = last_constant});
    }
    return scopes;
  });
}

std::vector<LocalVariable> PortablePdb::variables(const LocalScope& scope, std::size_t most) const {
  return guarded([&] {
    std::vector<LocalVariable> found;
    for (std::uint32_t row = scope.first_variable; row < scope.last_variable && found.size() < most; ++row) {
      const auto cell = [&](unsigned column) {
        return metadata_->cell(MetadataTable::local_variable, row, column);
      };
      found.push_back({.slot = static_cast<std::uint16_t>(cell(variable_slot)),
                       .debugger_hidden = (cell(variable_attributes) & debugger_hidden) != 0,
                       .name = metadata_->string(cell(variable_name)),
                       .scope = scope.range,
                       .row = row});
    }
    return found;
  });
}

std::vector<LocalConstant> PortablePdb::constants(const LocalScope& scope) const {
  return guarded([&] {
    std::vector<LocalConstant> found;
    for (std::uint32_t row = scope.first_constant; row < scope.last_constant; ++row) {
      const auto cell = [&](unsigned column) {
        return metadata_->cell(MetadataTable::local_constant, row, column);
      };
      const BlobBytes signature(metadata_->blob(cell(constant_signature)));
      found.push_back({.name = metadata_->string(cell(constant_name)),
                       .signature = {signature.span().begin(), signature.span().end()},
                       .scope = scope.range});
    }
    return found;
  });
}

std::vector<LocalVariable> PortablePdb::locals(std::uint32_t method, std::uint32_t il_offset) const {
  std::vector<LocalVariable> found;
  for (const LocalScope& scope : local_scopes(method)) {
    if (!scope.range.contains(il_offset)) continue;
    std::vector<LocalVariable> of_scope = variables(scope, max_locals - found.size());
    std::move(of_scope.begin(), of_scope.end(), std::back_inserter(found));
  }
  return found;
}

std::optional<std::uint32_t> PortablePdb::kickoff_method(std::uint32_t move_next) const {
  if (table_of(move_next) != MetadataTable::method_def) return std::nullopt;
  return guarded([&]() -> std::optional<std::uint32_t> {
    constexpr MetadataTable machines = MetadataTable::state_machine_method;
    const std::uint32_t rid = rid_of(move_next);
    const std::uint32_t row = first_row(machines, machine_move_next, rid);
    if (row > metadata_->rows(machines) || metadata_->cell(machines, row, machine_move_next) != rid)
      return std::nullopt;
    const std::uint32_t kickoff = metadata_->cell(machines, row, machine_kickoff);
    if (kickoff == 0 || kickoff > assembly_rows(MetadataTable::method_def))
      throw Error(ErrorKind::corrupt, "a state machine without the method that starts it");
    return token_of(MetadataTable::method_def, kickoff);
  });
}

std::vector<std::uint32_t> PortablePdb::kickoff_methods() const {
  return guarded([&] {
    constexpr MetadataTable machines = MetadataTable::state_machine_method;
    std::vector<std::uint32_t> tokens;
    for (std::uint32_t row = 1; row <= metadata_->rows(machines); ++row)
      tokens.push_back(token_of(MetadataTable::method_def, metadata_->cell(machines, row, machine_kickoff)));
    std::ranges::sort(tokens);
    return tokens;
  });
}

// The table is sorted by the coded parent.
std::optional<metadata::Blob> PortablePdb::find_information(std::uint32_t parent,
                                                            const metadata::Guid& kind) const {
  constexpr MetadataTable table = MetadataTable::custom_debug_information;
  const std::optional<std::uint32_t> coded = coded_parent(parent);
  if (!coded) return std::nullopt;
  for (std::uint32_t row = first_row(table, information_parent, *coded);
       row <= metadata_->rows(table) && metadata_->cell(table, row, information_parent) == *coded; ++row)
    if (metadata_->guid(metadata_->cell(table, row, information_kind)) == kind)
      return metadata_->blob(metadata_->cell(table, row, information_value));
  return std::nullopt;
}

std::optional<metadata::Blob> PortablePdb::custom_debug_information(std::uint32_t parent,
                                                                    const metadata::Guid& kind) const {
  return guarded([&] { return find_information(parent, kind); });
}

std::vector<std::string> PortablePdb::tuple_names(std::uint32_t variable_row) const {
  return guarded([&] {
    std::vector<std::string> names;
    const auto blob =
        find_information(token_of(MetadataTable::local_variable, variable_row), tuple_names_kind);
    if (!blob) return names;
    const BlobBytes bytes(*blob);
    SignatureReader reader(bytes.span(), blob->begin());
    while (!reader.at_end() && names.size() < max_tuple_names) {
      std::string& name = names.emplace_back();
      while (const std::uint8_t byte = reader.u8()) name += static_cast<char>(byte);
    }
    return names;
  });
}

std::optional<AsyncMethod> PortablePdb::async_method(std::uint32_t move_next) const {
  return guarded([&]() -> std::optional<AsyncMethod> {
    const std::optional<metadata::Blob> blob = find_information(move_next, async_kind);
    if (!blob) return std::nullopt;
    const BlobBytes bytes(*blob);
    SignatureReader reader(bytes.span(), blob->begin());
    AsyncMethod method;
    const std::uint32_t handler = fixed_u32(reader);
    if (handler != 0) method.catch_handler = handler - 1;
    while (!reader.at_end()) {
      AwaitPoint& point = method.awaits.emplace_back();
      point.yield_offset = fixed_u32(reader);
      point.resume_offset = fixed_u32(reader);
      point.resume_method = token_of(MetadataTable::method_def, reader.compressed_unsigned());
    }
    return method;
  });
}

std::vector<IlRange> PortablePdb::hoisted_scopes(std::uint32_t move_next) const {
  return guarded([&] {
    std::vector<IlRange> scopes;
    const std::optional<metadata::Blob> blob = find_information(move_next, hoisted_scopes_kind);
    if (!blob) return scopes;
    const BlobBytes bytes(*blob);
    SignatureReader reader(bytes.span(), blob->begin());
    while (!reader.at_end()) {
      const std::uint32_t start = fixed_u32(reader);
      scopes.push_back(il_range(start, fixed_u32(reader)));
    }
    return scopes;
  });
}

std::optional<std::vector<std::byte>> PortablePdb::embedded_source(std::uint32_t row,
                                                                   std::size_t most) const {
  const std::size_t limit = std::min(most, max_embedded_source);
  return guarded([&]() -> std::optional<std::vector<std::byte>> {
    const auto blob = find_information(token_of(MetadataTable::document, row), embedded_source_kind);
    if (!blob) return std::nullopt;
    // 0: the text follows uncompressed; else the number is its size and the text is compressed.
    const std::uint32_t size = blob->u32(0);
    const std::span<const std::byte> content = blob->from(4).lent();
    if (size > static_cast<std::uint32_t>(std::numeric_limits<std::int32_t>::max()))
      throw Error(ErrorKind::corrupt, "embedded source of an unknown format");
    if (size != 0) return inflate_raw(content, size, limit);
    if (content.size() > limit) throw Error(ErrorKind::corrupt, "embedded source too long");
    return std::vector<std::byte>(content.begin(), content.end());
  });
}

std::string PortablePdb::source_link() const {
  return guarded([&] {
    const auto blob = find_information(token_of(MetadataTable::module, 1), source_link_kind);
    if (!blob) return std::string();
    if (blob->size() > max_source_link) throw Error(ErrorKind::corrupt, "Source Link file too long");
    return std::string(reinterpret_cast<const char*>(blob->lent().data()), blob->lent().size());
  });
}

} // namespace clr
