#include "core/target/descriptor_file.h"

#include "core/memory/elf_image.h"
#include "core/memory/host_file.h"
#include "core/target/json_text.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <charconv>

namespace clr {
namespace {

using Json = nlohmann::ordered_json;

// A descriptor has some 40 KiB of text.
constexpr std::size_t max_descriptor_file_bytes = 16 * 1024 * 1024;
constexpr std::size_t max_descriptor_file_values = 1'000'000;
constexpr std::size_t max_build_id_digits = 128;

[[noreturn]] void no_descriptor_file(const std::string& path, std::string_view why) {
  throw Error(ErrorKind::corrupt, fmt::format("{} is no descriptor file: {}", path, why));
}

std::uint64_t parse_hex(std::string_view text, const std::string& path) {
  if (text.starts_with("0x")) text.remove_prefix(2);
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (text.empty() || error != std::errc() || end != text.data() + text.size())
    no_descriptor_file(path, fmt::format("\"{}\" is no hexadecimal number", text));
  return value;
}

std::vector<std::uint8_t> parse_build_id(std::string_view text, const std::string& path) {
  if (text.empty() || text.size() % 2 != 0 || text.size() > max_build_id_digits)
    no_descriptor_file(path, "its build id is no even number of hexadecimal digits");
  std::vector<std::uint8_t> id;
  for (std::size_t at = 0; at < text.size(); at += 2)
    id.push_back(static_cast<std::uint8_t>(parse_hex(text.substr(at, 2), path)));
  return id;
}

const Json& member(const Json& root, const char* name, const std::string& path) {
  const auto found = root.find(name);
  if (found == root.end()) no_descriptor_file(path, fmt::format("it has no \"{}\"", name));
  return *found;
}

std::vector<std::uint8_t> build_id_of(MemoryReader& memory, const LoadedModule& module) {
  return module.build_id.empty() ? ElfImage(memory, module.base).build_id() : module.build_id;
}

DescriptorFile file_of(MemoryReader& memory, const LoadedModule& module, const RawDescriptor& raw) {
  DescriptorFile file{.build_id = build_id_of(memory, module), .platform = raw.platform, .json = raw.json};
  if (file.build_id.empty())
    throw Error(ErrorKind::invalid_argument,
                fmt::format("{} has no build id, by which a file could be told to be its own", module.path));
  const MemoryRange image = ElfImage(memory, module.base).range();
  for (const Address slot : raw.slots)
    file.pointers.push_back(slot >= image.begin && slot < image.end() ? std::optional(slot - module.base)
                                                                      : std::nullopt);
  return file;
}

} // namespace

DescriptorFile read_descriptor_file(const std::string& path) {
  return parse_descriptor_file(HostFile::open(path).read(max_descriptor_file_bytes), path);
}

DescriptorFile parse_descriptor_file(std::string_view text, const std::string& path) {
  Json root;
  try {
    root = parse_json(text, max_descriptor_file_values);
  } catch (const Error& error) {
    no_descriptor_file(path, error.what());
  }
  if (!root.is_object()) no_descriptor_file(path, "it is no JSON object");
  const auto text_of = [&](const char* name) {
    const Json& value = member(root, name, path);
    if (!value.is_string()) no_descriptor_file(path, fmt::format("\"{}\" is no text", name));
    return value.get<std::string>();
  };
  DescriptorFile file{.path = path, .build_id = parse_build_id(text_of("build_id"), path)};
  const Json& pointer_size = member(root, "pointer_size", path);
  if (pointer_size != 4 && pointer_size != 8) no_descriptor_file(path, "\"pointer_size\" is neither 4 nor 8");
  file.platform.pointer_size = pointer_size.get<unsigned>();
  const std::string order = text_of("byte_order");
  if (order != "little" && order != "big")
    no_descriptor_file(path, "\"byte_order\" is neither little nor big");
  file.platform.byte_order = order == "little" ? ByteOrder::little : ByteOrder::big;
  const Json& descriptor = member(root, "descriptor", path);
  if (!descriptor.is_object() && !descriptor.is_string())
    no_descriptor_file(path, "\"descriptor\" is neither an object nor a text");
  file.json = descriptor.is_string() ? descriptor.get<std::string>() : descriptor.dump();
  const Json& pointers = member(root, "pointers", path);
  if (!pointers.is_array()) no_descriptor_file(path, "\"pointers\" is no list");
  for (const Json& pointer : pointers) {
    if (!pointer.is_null() && !pointer.is_string())
      no_descriptor_file(path, "a pointer is neither null nor a hexadecimal offset");
    file.pointers.push_back(pointer.is_null()
                                ? std::nullopt
                                : std::optional(parse_hex(pointer.get_ref<const std::string&>(), path)));
  }
  return file;
}

std::string write_descriptor_file(const DescriptorFile& file) {
  Json root;
  std::string id;
  for (const std::uint8_t byte : file.build_id) id += fmt::format("{:02x}", byte);
  root["build_id"] = id;
  root["pointer_size"] = file.platform.pointer_size;
  root["byte_order"] = file.platform.byte_order == ByteOrder::little ? "little" : "big";
  // A descriptor is JSON; what only the runtime's own parser accepts stays text.
  root["descriptor"] = Json(file.json);
  try {
    if (Json descriptor = parse_json(file.json, max_descriptor_file_values); descriptor.is_object())
      root["descriptor"] = std::move(descriptor);
  } catch (const Error&) {
    // It stays text, too.
  }
  Json& pointers = root["pointers"] = Json::array();
  for (const auto& pointer : file.pointers)
    pointers.push_back(pointer ? Json(fmt::format("{:#x}", *pointer)) : Json(nullptr));
  return root.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

DescriptorFile record_descriptor(MemoryReader& memory, const LoadedModule& module, Address address) {
  const RawDescriptor raw = read_raw_descriptor(memory, address);
  return file_of(memory, module, raw);
}

DescriptorFile record_known_layouts(MemoryReader& memory, const LoadedModule& module,
                                    const ContractDescriptor& descriptor) {
  Json root;
  root["version"] = descriptor.version;
  root["baseline"] = "empty";
  Json& types = root["types"] = Json::object();
  for (const auto& [name, type] : descriptor.types) {
    Json& fields = types[name] = Json::object();
    if (type.size) fields["!"] = *type.size;
    for (const auto& [field, place] : type.fields) fields[field] = place.offset;
  }
  RawDescriptor raw{.platform = descriptor.platform, .slots = {0}};
  Json& globals = root["globals"] = Json::object();
  for (const auto& [name, global] : descriptor.globals) {
    if (global.indirect) {
      globals[name] = Json::array({Json::array({raw.slots.size()}), "pointer"});
      raw.slots.push_back(global.number.value_or(0));
    } else {
      globals[name] = Json::array({global.text ? Json(*global.text) : Json(global.number.value_or(0)),
                                   global.type.empty() ? Json("uint64") : Json(global.type)});
    }
  }
  root["globals"]["Architecture"] = Json::array({std::string(to_string(descriptor.platform.cpu)), "string"});
  Json& contracts = root["contracts"] = Json::object();
  for (const auto& [name, version] : descriptor.contracts) contracts[name] = version;
  raw.json = root.dump();
  return file_of(memory, module, raw);
}

bool is_of_build(MemoryReader& memory, const DescriptorFile& file, const LoadedModule& module) {
  try {
    return build_id_of(memory, module) == file.build_id;
  } catch (const Error&) {
    return false; // no image that could be read
  }
}

ContractDescriptor place_descriptor(MemoryReader& memory, const DescriptorFile& file, Address base) {
  RawDescriptor raw{.platform = file.platform, .json = file.json};
  for (const auto& pointer : file.pointers)
    raw.slots.push_back(pointer ? file.platform.wrap(base + *pointer) : 0);
  return resolve_descriptor(memory, std::move(raw));
}

} // namespace clr
