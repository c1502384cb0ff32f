#include "tests/support/net11_builder.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <fstream>
#include <random>
#include <stdexcept>

namespace clr::test {
namespace {

using nlohmann::json;

// A CONTEXT is the largest of the embedded structures.
constexpr std::size_t context_bytes = 0xC00, structure_bytes = 0x100;

Width width_of(const std::string& type) {
  if (type == "uint8" || type == "bool") return Width::u8;
  if (type == "uint16" || type == "int16") return Width::u16;
  if (type == "uint32" || type == "int32") return Width::u32;
  if (type == "uint64" || type == "int64") return Width::u64;
  if (type == "pointer" || type == "nuint" || type == "nint" || type == "CodePointer" ||
      type == "ObjectHandle" || type == "TypeHandle")
    return Width::pointer;
  return Width::bytes;
}

void add_type(TargetBuilder& builder, const std::string& name, const json& described, std::mt19937& random) {
  std::vector<FieldSpec> fields;
  for (const auto& [field, type] : described["fields"].items()) {
    const std::string text = type.get<std::string>();
    const Width width = width_of(text);
    fields.push_back({.name = field,
                      .width = width,
                      .count = width != Width::bytes ? 0
                               : text == "Context"   ? context_bytes
                                                     : structure_bytes});
  }
  std::ranges::shuffle(fields, random);
  const json& size = described["size"];
  builder.type(name, fields, size.is_boolean() ? std::optional<std::uint32_t>(0) : std::nullopt);
}

} // namespace

void add_net11(TargetBuilder& builder, const std::string& file, const Net11Options& options) {
  std::ifstream in(file);
  if (!in) throw std::logic_error("cannot open " + file);
  const json frozen = json::parse(in);
  std::mt19937 random(options.seed);
  json types = frozen["types"], globals = frozen["globals"];
  if (builder.platform().cpu == Cpu::arm64)
    for (const auto& [name, type] : frozen["linux_arm64"]["types"].items()) types[name] = type;
  if (options.interpreter) {
    for (const auto& [name, type] : frozen["with_interpreter"]["types"].items()) types[name] = type;
    for (const auto& [name, type] : frozen["with_interpreter"]["globals"].items()) globals[name] = type;
  }
  for (const auto& [name, type] : types.items())
    if (!type.is_null()) add_type(builder, name, type, random);
  std::uint64_t identifier = 100;
  for (const auto& [name, type] : globals.items())
    if (name.ends_with("Identifier")) builder.global(name, identifier++, "nuint");
  for (const auto& [name, version] : frozen["contracts"].items())
    builder.contract(name, version.get<std::string>());
  builder.descriptor().version = frozen["version"].get<unsigned>();
  builder.global("OperatingSystem", "Unix").global("RuntimeFlavor", "Coreclr");
  builder.global("ObjectToMethodTableUnmask", 7, "uint8");
}

void shuffle_fields(TargetBuilder& builder, const std::string& type, const std::vector<std::string>& fields,
                    unsigned seed) {
  if (seed == 0) return;
  std::vector<std::int64_t> offsets;
  for (const std::string& field : fields) offsets.push_back(builder.offset(type, field));
  std::mt19937 random(seed);
  std::ranges::shuffle(offsets, random);
  for (std::size_t i = 0; i < fields.size(); ++i)
    builder.descriptor().types.at(type).fields.find(fields[i])->second.offset = offsets[i];
}

} // namespace clr::test
