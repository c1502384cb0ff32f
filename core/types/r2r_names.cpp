#include "core/types/r2r_names.h"

#include <limits>
#include <utility>

namespace clr {

struct R2RNames::Image {
  Image(MemoryReader& memory, ExecutionManager::R2RImage of, NamedModule* owner)
      : info(of), bytes(memory, of.base), module(owner) {}

  ExecutionManager::R2RImage info;
  MappedR2RImage bytes;
  NamedModule* module;            // null for a composite image
  MetadataNames* names = nullptr; // the names that `methods` was made with
  std::unique_ptr<R2RMethods> methods;
  std::unique_ptr<R2RImports> imports;
  std::unordered_map<std::uint32_t, Method> by_index;
  std::optional<std::vector<std::uint32_t>> entry_points;
};

R2RNames::R2RNames(const Target& target, ExecutionManager& code, NamedModules& modules,
                   ModulesBySimpleName by_name)
    : target_(&target), code_(&code), modules_(&modules), find_module_(std::move(by_name)) {}

R2RNames::~R2RNames() = default;

R2RNames::Image& R2RNames::image(const RangeSection& section) {
  auto& slot = images_[section.begin];
  if (!slot) {
    const ExecutionManager::R2RImage info = code_->r2r_image(section);
    NamedModule* owner = info.composite() ? nullptr : &modules_->at(info.module);
    slot = std::make_unique<Image>(target_->memory(), info, owner);
  }
  return *slot;
}

// The tables of the image. They are made again when the module's metadata has changed from memory to the
// file.
R2RMethods& R2RNames::methods(Image& image) {
  const auto rva = static_cast<std::uint32_t>(target_->platform().wrap(image.info.header - image.info.base));
  const auto make = [&](MetadataNames* own) {
    if (image.methods && image.names == own) return;
    image.imports.reset();
    image.methods = std::make_unique<R2RMethods>(image.bytes, rva, own, static_cast<AssemblyMetadata*>(this));
    image.names = own;
  };
  if (image.module)
    image.module->metadata.with([&](MetadataNames& names) { make(&names); });
  else
    make(nullptr);
  return *image.methods;
}

MetadataNames* R2RNames::by_simple_name(const std::string& simple_name) {
  const auto [entry, is_new] = by_name_.try_emplace(simple_name, nullptr);
  if (is_new) entry->second = find_module_(simple_name);
  if (entry->second == nullptr) return nullptr;
  try {
    return entry->second->metadata.with([](MetadataNames& names) { return &names; });
  } catch (const Error&) {
    return nullptr;
  }
}

UnspelledMethod R2RNames::describe(Image& image, const R2REntry& entry, MethodParts parts) {
  UnspelledMethod method;
  NamedModule* module = image.module;
  const auto name_with = [&](R2RMethods& methods) {
    const R2RMethods::Owner owner = methods.owner(entry);
    method.token = owner.method_token;
    if (owner.names != nullptr && owner.names != image.names) {
      by_simple_name(owner.names->assembly_name());
      module = by_name_[owner.names->assembly_name()];
      method.module = owner.names->assembly_name() + ".dll";
    }
    auto name = std::make_shared<QualifiedMethodName>(
        parts == MethodParts::all ? methods.name(entry) : methods.name_without_signature(entry));
    method.signature_known = name->signature_known;
    method.kind = name->method_arguments.empty() ? MethodKind::il : MethodKind::instantiated;
    method.qualified = std::move(name);
  };
  try {
    if (image.module)
      image.module->metadata.with([&](MetadataNames&) { name_with(methods(image)); });
    else
      name_with(methods(image));
    method.name_from = module ? module->metadata.source() : NameSource::memory;
    if (module && method.name_from == NameSource::assembly) method.degraded = module->metadata.reservation();
  } catch (const Error& fault) {
    method.degraded = fault.what();
  }
  if (module) {
    method.module = module->name;
    method.module_path = module->path;
    method.runtime_module = module->module.address;
  }
  if (method.module.empty()) method.module = "?";
  if (!method.qualified) {
    method.name_from = NameSource::token;
  } else if (parts == MethodParts::all && !method.signature_known && method.degraded.empty()) {
    method.degraded = "the signature could not be read";
  }
  return method;
}

void R2RNames::for_each(const RangeSection& section, MethodParts parts,
                        const std::function<bool(std::uint32_t, UnspelledMethod)>& visit) {
  Image& of = image(section);
  const std::vector<R2REntry> entries = methods(of).entries(); // a copy: the tables may be replaced
  for (const R2REntry& entry : entries)
    if (!visit(entry.function_index, describe(of, entry, parts))) return;
}

const Method* R2RNames::method(const RangeSection& section, std::uint32_t function_index) {
  Image& of = image(section);
  const R2REntry* found = methods(of).entry_of(function_index);
  if (found == nullptr) return nullptr;
  const R2REntry entry = *found;
  if (const auto known = of.by_index.find(entry.function_index); known != of.by_index.end())
    return &known->second;
  return &(of.by_index[entry.function_index] = describe(of, entry).spell());
}

std::optional<R2RImport> R2RNames::import_at(const RangeSection& section, Address address) {
  Image& of = image(section);
  const auto find = [&]() -> std::optional<R2RImport> {
    R2RMethods& tables = methods(of);
    if (!of.imports)
      of.imports =
          std::make_unique<R2RImports>(of.bytes, tables.header(), tables.signatures(), tables.own_names());
    const Address rva = target_->platform().wrap(address - of.info.base);
    if (rva > std::numeric_limits<std::uint32_t>::max()) return std::nullopt;
    return of.imports->at(static_cast<std::uint32_t>(rva), target_->pointer_size());
  };
  if (of.module == nullptr) return find();
  return of.module->metadata.with([&](MetadataNames&) { return find(); });
}

const std::vector<std::uint32_t>* R2RNames::entry_points(const RangeSection& section) {
  try {
    Image& of = image(section);
    if (!of.entry_points) {
      std::vector<std::uint32_t> indices;
      for (const R2REntry& entry : methods(of).entries()) indices.push_back(entry.function_index);
      of.entry_points = std::move(indices);
    }
    return &*of.entry_points;
  } catch (const Error&) {
    return nullptr;
  }
}

} // namespace clr
