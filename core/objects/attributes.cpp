#include "core/objects/attributes.h"

namespace clr {
namespace {

constexpr std::uint8_t null_text = 0xff;

std::uint32_t fixed_u32(SignatureReader& reader) {
  std::uint32_t value = 0;
  for (unsigned shift = 0; shift < 32; shift += 8) value |= std::uint32_t{reader.u8()} << shift;
  return value;
}

bool has_prolog(SignatureReader& reader) {
  return reader.remaining() >= 2 && reader.u8() == 1 && reader.u8() == 0;
}

} // namespace

std::optional<metadata::Blob> find_attribute(MetadataNames& names, std::uint32_t owner,
                                             std::string_view name_space, std::string_view name) {
  const Metadata& metadata = names.metadata();
  const auto [first, last] = metadata.custom_attributes(owner);
  for (std::uint32_t rid = first; rid < last; ++rid) {
    const CustomAttributeRow row = metadata.custom_attribute(rid);
    std::uint32_t type = 0;
    if (table_of(row.constructor) == MetadataTable::member_ref)
      type = metadata.member_ref(rid_of(row.constructor)).parent;
    else if (table_of(row.constructor) == MetadataTable::method_def)
      type = token_of(MetadataTable::type_def, metadata.owner_of_method(rid_of(row.constructor)));
    if (rid_of(type) == 0 ||
        (table_of(type) != MetadataTable::type_ref && table_of(type) != MetadataTable::type_def))
      continue;
    const TypeNamePtr found = names.type(type);
    if (found->name_space == name_space && found->chain.size() == 1 && found->chain.front() == name)
      return metadata.blob(row.value);
  }
  return std::nullopt;
}

std::optional<std::int32_t> attribute_number(const metadata::Blob& value) {
  const BlobBytes bytes(value);
  SignatureReader reader(bytes.span(), value.begin());
  if (!has_prolog(reader) || reader.remaining() < 4) return std::nullopt;
  return static_cast<std::int32_t>(fixed_u32(reader));
}

std::vector<std::string> attribute_texts(const metadata::Blob& value) {
  const BlobBytes bytes(value);
  SignatureReader reader(bytes.span(), value.begin());
  std::vector<std::string> texts;
  if (!has_prolog(reader) || reader.remaining() < 4) return texts;
  const std::uint32_t count = fixed_u32(reader);
  if (count > reader.remaining() || count > max_attribute_texts) return texts; // of null, or damaged
  for (std::uint32_t i = 0; i < count && !reader.at_end(); ++i) {
    std::string& text = texts.emplace_back();
    if (reader.peek() == null_text) {
      reader.u8();
      continue;
    }
    for (std::uint32_t left = reader.compressed_unsigned(); left != 0; --left)
      text += static_cast<char>(reader.u8());
  }
  return texts;
}

} // namespace clr
