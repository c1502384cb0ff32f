#include "core/types/module.h"

#include "core/memory/path_map.h"

#include <algorithm>

namespace clr {
namespace {

// Reads a name; empty when it cannot be read, because nothing about a method depends on it.
template<typename Read>
std::string name_or_empty(Read read) {
  try {
    return read();
  } catch (const Error&) {
    return {};
  }
}

std::optional<Address> optional_pointer(const Target& target, Address base, std::string_view type,
                                        std::string_view field) {
  if (!target.find_offset(type, field)) return std::nullopt;
  return target.read_pointer(target.field_address(base, type, field));
}

std::string utf16_field(const Target& target, Address module, std::string_view field) {
  return name_or_empty([&]() -> std::string {
    const Address text = optional_pointer(target, module, "Module", field).value_or(0);
    return text == 0 ? std::string{} : target.read_utf16(text);
  });
}

} // namespace

std::string Module::display_name() const {
  if (!file_name.empty()) return std::string(file_name_of(file_name));
  if (!path.empty()) return std::string(file_name_of(path));
  if (!simple_name.empty()) return simple_name;
  return "?";
}

Module read_module(const Target& target, Address address) {
  Module module;
  module.address = target.platform().wrap(address);
  if (module.address == 0 || module.address % target.pointer_size() != 0)
    throw_corrupt(module.address, "no Module can lie");
  module.assembly = target.read_pointer(target.field_address(module.address, "Module", "Assembly"));
  // Since .NET Core an assembly has one module, so the pointer back from the assembly proves both.
  if (target.find_offset("Assembly", "Module") &&
      target.read_pointer(target.field_address(module.assembly, "Assembly", "Module")) != module.address)
    throw_corrupt(module.address, "Module whose Assembly names another");
  module.base = optional_pointer(target, module.address, "Module", "Base").value_or(0);
  module.flags = target.read_u32(target.field_address(module.address, "Module", "Flags"));
  module.dynamic_metadata = optional_pointer(target, module.address, "Module", "DynamicMetadata").value_or(0);
  module.r2r_info = optional_pointer(target, module.address, "Module", "ReadyToRunInfo").value_or(0);
  module.path = utf16_field(target, module.address, "Path");
  module.file_name = utf16_field(target, module.address, "FileName");
  // The supplement for SimpleName was measured on the release whose descriptor first had FileName.
  if (target.find_offset("Module", "FileName"))
    module.simple_name = name_or_empty([&]() -> std::string {
      const Address text = optional_pointer(target, module.address, "Module", "SimpleName").value_or(0);
      return text == 0 ? std::string{} : target.read_utf8(text);
    });
  if (module.file_name.empty()) module.file_name = file_name_of(module.path);
  return module;
}

ImageMapping image_mapping(const Target& target, const Module& module) {
  ImageMapping mapping{.base = module.base, .size = 0, .mapped = std::nullopt};
  const auto pe_assembly = optional_pointer(target, module.address, "Module", "PEAssembly");
  if (!pe_assembly) return mapping;
  if (*pe_assembly == 0) return {};
  const Address image = target.read_pointer(target.field_address(*pe_assembly, "PEAssembly", "PEImage"));
  if (image == 0) return {};
  const Address layout = target.read_pointer(target.field_address(image, "PEImage", "LoadedImageLayout"));
  if (layout == 0) return mapping;
  mapping.base = target.read_pointer(target.field_address(layout, "PEImageLayout", "Base"));
  mapping.size = target.read_u32(target.field_address(layout, "PEImageLayout", "Size"));
  // [rt] vm/peimagelayout.h, FLAG_MAPPED
  mapping.mapped = (target.read_u32(target.field_address(layout, "PEImageLayout", "Flags")) & 1) != 0;
  return mapping;
}

namespace {

// The module of an element of the app domain's list. The element is the Assembly itself, or a DomainAssembly
// whose first word points to the Assembly. The pointers Assembly.Module and Module.Assembly must lead to each
// other, which tells the two apart.
std::optional<Address> module_of_element(const Target& target, Address element) {
  const auto module_of = [&](Address assembly) -> std::optional<Address> {
    if (assembly == 0 || assembly % target.pointer_size() != 0) return std::nullopt;
    const Address module = target.read_pointer(target.field_address(assembly, "Assembly", "Module"));
    if (module == 0 || module % target.pointer_size() != 0) return std::nullopt;
    if (target.read_pointer(target.field_address(module, "Module", "Assembly")) != assembly)
      return std::nullopt;
    return module;
  };
  const auto attempt = [&](auto assembly) -> std::optional<Address> {
    try {
      return module_of(assembly());
    } catch (const Error&) {
      return std::nullopt; // not readable in this form: try the other one, or it is a hole
    }
  };
  if (auto module = attempt([&] { return target.read_pointer(element); })) return module;
  return attempt([&] { return element; });
}

} // namespace

bool is_composite(const Target& target, const Module& module) {
  if (module.r2r_info == 0 || !target.find_offset("ReadyToRunInfo", "CompositeInfo")) return false;
  return target.read_pointer(target.field_address(module.r2r_info, "ReadyToRunInfo", "CompositeInfo")) !=
         module.r2r_info;
}

AppDomainModules modules_of_app_domain(const Target& target) {
  AppDomainModules result;
  const Address domain = target.read_pointer(target.global("AppDomain"));
  if (domain == 0) return result; // the runtime has not created its app domain yet
  const std::string_view field =
      target.find_offset("AppDomain", "AssemblyList") ? "AssemblyList" : "DomainAssemblyList";
  const Address list = target.field_address(domain, "AppDomain", field);
  const std::uint32_t count = target.read_u32(target.field_address(list, "ArrayListBase", "Count"));
  if (count > max_assemblies) throw_corrupt(list, "list of assemblies beyond the limit");
  Address block = target.field_address(list, "ArrayListBase", "FirstBlock");
  std::uint32_t seen = 0;
  for (std::uint32_t blocks = 0; seen < count && block != 0; ++blocks) {
    // Blocks grow, so the runtime never makes a chain with more blocks than elements.
    if (blocks > count) throw_corrupt(block, "chain of assembly list blocks does not end");
    try {
      const std::uint32_t size = target.read_u32(target.field_address(block, "ArrayListBlock", "Size"));
      const Address elements = target.field_address(block, "ArrayListBlock", "ArrayStart");
      for (std::uint32_t i = 0; i < size && seen < count; ++i, ++seen) {
        std::optional<Address> module;
        try {
          const Address element = target.read_pointer(elements + Address{i} * target.pointer_size());
          if (element == 0) continue; // unloaded
          module = module_of_element(target, element);
        } catch (const Error&) {
        }
        if (!module)
          ++result.holes;
        else if (std::find(result.modules.begin(), result.modules.end(), *module) == result.modules.end())
          result.modules.push_back(*module);
      }
      block = target.read_pointer(target.field_address(block, "ArrayListBlock", "Next"));
    } catch (const Error&) {
      result.holes += count - seen; // the rest of the list is out of reach
      break;
    }
  }
  return result;
}

} // namespace clr
