// Custom attributes in metadata, by their names and values. Source: ECMA-335 II.22.10 and II.23.3.
#pragma once

#include "core/types/metadata_names.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace clr {

// The value of the first attribute `name_space`.`name` of a MethodDef, Field, Param or TypeDef token; nothing
// when there is none. Throws Error as Metadata does. Cost: a binary search in the table of attributes, and
// some 3 reads for each attribute of the owner.
std::optional<metadata::Blob> find_attribute(MetadataNames& names, std::uint32_t owner,
                                             std::string_view name_space, std::string_view name);

// The first argument of an attribute: an int, and a string[], in which null is "". Nothing when the value is
// no such thing.
std::optional<std::int32_t> attribute_number(const metadata::Blob& value);
std::vector<std::string> attribute_texts(const metadata::Blob& value);

constexpr std::size_t max_attribute_texts = 4'096; // of one attribute

} // namespace clr
