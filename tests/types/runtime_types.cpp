#include "tests/types/runtime_types.h"

#include "tests/support/net11_builder.h"

#include <stdexcept>

namespace clr::test {
namespace {

constexpr std::uint64_t no_virtuals = 4; // slots that every type inherits from Object

std::u16string widen(std::string_view text) {
  return {text.begin(), text.end()};
}

} // namespace

RuntimeTypes::RuntimeTypes(Platform platform, unsigned seed)
    : execution(platform), target(execution.types()) {
  describe();
  if (seed == 0) return;
  target.as_net11();
  const std::pair<const char*, std::vector<std::string>> orders[] = {
      {"MethodDesc", {"Flags3AndTokenRemainder", "Slot", "Flags"}},
      {"MethodDesc", {"ChunkIndex", "EntryPointFlags"}},
      {"MethodDescChunk", {"MethodTable", "Next"}},
      {"MethodDescChunk", {"Size", "Count"}},
      {"MethodTable", {"MTFlags", "BaseSize", "MTFlags2"}},
      {"MethodTable", {"NumVirtuals", "NumInterfaces"}},
      {"MethodTable", {"ParentMethodTable", "Module", "AuxiliaryData", "EEClassOrCanonMT", "PerInstInfo"}},
      {"EEClass", {"GuidInfo", "OptionalFields", "MethodTable", "FieldDescList", "MethodDescChunk"}},
      {"EEClass", {"NumMethods", "NumNonVirtualSlots"}},
      {"MethodDescCodeData", {"VersioningState", "TemporaryEntryPoint"}},
      {"NativeCodeVersionNode", {"NativeCode", "MethodDesc", "ILVersionId", "Next", "PatchpointInfo"}},
      {"NativeCodeVersionNode", {"Id", "OptimizationTier", "ILOffset", "Flags"}},
      {"Module", {"Assembly", "SimpleName", "Path", "FileName", "PEAssembly", "Base", "DynamicMetadata"}},
      {"ModuleLookupMap", {"Next", "TableData", "SupportedFlagsMask"}}};
  for (const auto& [type, fields] : orders) shuffle_fields(target, type, fields, seed);
}

void RuntimeTypes::describe() {
  const unsigned p = pointer();
  const std::int64_t base = 8 + p; // size of a MethodDesc
  using W = Width;
  target
      .type("MethodDesc", {{"Flags3AndTokenRemainder", W::u16},
                           {"ChunkIndex", W::u8},
                           {"EntryPointFlags", W::u8},
                           {"Slot", W::u16},
                           {"Flags", W::u16},
                           {"CodeData"}})
      .type("MethodDescChunk",
            {{"MethodTable"}, {"Next"}, {"Size", W::u8}, {"Count", W::u8}, {"FlagsAndTokenRange", W::u16}})
      .type("InstantiatedMethodDesc",
            {{"PerInstInfo", W::pointer, 0, base + 8}, {"Flags2", W::u16}, {"NumGenericArgs", W::u16}})
      .type("StoredSigMethodDesc",
            {{"Sig", W::pointer, 0, base}, {"cSig", W::u32}, {"ExtendedFlags", W::u32}})
      .type("DynamicMethodDesc", {{"MethodName", W::pointer, 0, base + 8 + p}, {"Resolver"}})
      .type("FCallMethodDesc", {{"ECallID", W::u32, 0, base}})
      .type("PInvokeMethodDesc", {{"Target", W::pointer, 0, base}})
      .type("EEImplMethodDesc", {}, static_cast<std::uint32_t>(base + 8 + p))
      .type("ArrayMethodDesc", {}, static_cast<std::uint32_t>(base + 8 + p))
      .type("NonVtableSlot", {{"Slot"}})
      .type("MethodImpl", {{"Slots"}, {"Methods"}})
      .type("NativeCodeSlot", {{"Code"}})
      .type("AsyncMethodData", {{"Kind", W::u32}, {"Sig"}, {"cSig", W::u32}})
      .type("MethodDescCodeData", {{"VersioningState"}, {"TemporaryEntryPoint"}})
      .type("MethodDescVersioningState", {{"NativeCodeVersionNode"}, {"Flags", W::u8}})
      .type("NativeCodeVersionNode", {{"NativeCode"},
                                      {"MethodDesc"},
                                      {"ILVersionId"},
                                      {"Next"},
                                      {"Id", W::u32},
                                      {"OptimizationTier", W::u32},
                                      {"PatchpointInfo"},
                                      {"ILOffset", W::u32},
                                      {"Flags", W::u32}})
      .type("MethodTable", {{"MTFlags", W::u32},
                            {"BaseSize", W::u32},
                            {"MTFlags2", W::u32},
                            {"NumVirtuals", W::u16},
                            {"NumInterfaces", W::u16},
                            {"ParentMethodTable"},
                            {"Module"},
                            {"AuxiliaryData"},
                            {"EEClassOrCanonMT"},
                            {"PerInstInfo"}})
      .type("EEClass", {{"GuidInfo"},
                        {"OptionalFields"},
                        {"MethodTable"},
                        {"FieldDescList"},
                        {"MethodDescChunk"},
                        {"CorTypeAttr", W::u32},
                        {"NumMethods", W::u16},
                        {"NumNonVirtualSlots", W::u16}})
      .type("ArrayClass", {{"Rank", W::u8, 0, 8 * p}})
      .type("GenericsDictInfo", {{"NumDicts", W::u16, 0, p == 8 ? 4 : 0}, {"NumTypeArgs", W::u16}})
      .type("TypeDesc", {{"TypeAndFlags", W::u32}})
      .type("ParamTypeDesc", {{"TypeArg", W::pointer, 0, 2 * p}})
      .type("TypeVarTypeDesc", {{"Module", W::pointer, 0, 2 * p}, {"Token", W::u32}})
      .type("FnPtrTypeDesc",
            {{"NumArgs", W::u32, 0, 2 * p}, {"CallConv", W::u32}, {"RetAndArgTypes", W::bytes, 16 * 8}})
      .type("Module", {{"Assembly"},
                       {"SimpleName"},
                       {"Path"},
                       {"FileName"},
                       {"PEAssembly"},
                       {"Base"},
                       {"Flags", W::u32},
                       {"DynamicMetadata"},
                       {"TypeDefToMethodTableMap", W::bytes, 4 * p},
                       {"MethodDefToDescMap", W::bytes, 4 * p},
                       {"FieldDefToDescMap", W::bytes, 4 * p}})
      .type("ModuleLookupMap", {{"Next"}, {"TableData"}, {"Count", W::u32}, {"SupportedFlagsMask"}})
      .type("Assembly", {{"Module"}})
      .type("DynamicMetadata", {{"Size", W::u32}, {"Data", W::bytes, 1, 4}})
      .type("PEAssembly", {{"PEImage"}})
      .type("PEImage", {{"LoadedImageLayout"}})
      .type("PEImageLayout", {{"Base"}, {"Size", W::u32}, {"Flags", W::u32}})
      .type("AppDomain", {{"DomainAssemblyList", W::bytes, 16 * p}})
      .type("ArrayListBase", {{"Count", W::u32}, {"FirstBlock"}})
      .type("ArrayListBlock", {{"Next"}, {"Size", W::u32}, {"ArrayStart", W::pointer, 0, 2 * p}})
      .type("SystemDomain", {{"GlobalLoaderAllocator", W::pointer, 0, 2 * p}})
      .type("LoaderAllocator", {{"ReferenceCount", W::u32}, {"CallCountingManager"}})
      .type("CallCountingManager", {{"InfoByCodeVersion", W::bytes, 16 + p}})
      .type("SHash", {{"Table"},
                      {"TableSize", W::u32},
                      {"TableCount", W::u32},
                      {"TableOccupied", W::u32},
                      {"TableMax", W::u32}})
      .type("CallCountingInfo",
            {{"StorageKind", W::u32}, {"MethodDesc"}, {"Stub"}, {"Count", W::u16}, {"Stage", W::u8}});
  target.global("MethodDescAlignment", p, "uint64").global("MethodDescTokenRemainderBitCount", 12, "uint8");
}

Address RuntimeTypes::module(const ModuleSpec& spec) {
  MemoryBuilder& memory = target.memory();
  const Address module = target.record("Module", {{"Flags", spec.flags}});
  const Address assembly = target.record("Assembly", {{"Module", module}});
  target.set(module, "Module", "Assembly", assembly);
  if (!spec.path.empty()) target.set(module, "Module", "Path", memory.place_utf16(widen(spec.path)));
  if (!spec.file_name.empty())
    target.set(module, "Module", "FileName", memory.place_utf16(widen(spec.file_name)));
  if (!spec.simple_name.empty())
    target.set(module, "Module", "SimpleName", memory.place_utf8(spec.simple_name));
  if (spec.place == MetadataPlace::dynamic) {
    const Address blob = memory.allocate(4 + spec.metadata.size());
    memory.at(blob).u32(spec.metadata.size()).bytes(spec.metadata);
    target.set(module, "Module", "DynamicMetadata", blob);
  } else {
    const Bytes file = pe_file(spec.metadata);
    const bool mapped = spec.place == MetadataPlace::mapped;
    const Address image =
        spec.place == MetadataPlace::missing ? 0x7000'0000 : memory.place(mapped ? map_pe(file) : file, 4096);
    const Address layout =
        target.record("PEImageLayout", {{"Base", image}, {"Size", file.size()}, {"Flags", mapped ? 1u : 0u}});
    const Address pe_image = target.record("PEImage", {{"LoadedImageLayout", layout}});
    target.set(module, "Module", "PEAssembly", target.record("PEAssembly", {{"PEImage", pe_image}}));
    target.set(module, "Module", "Base", image);
  }
  return module;
}

Address RuntimeTypes::type(const TypeSpec& spec) {
  const unsigned p = pointer();
  const std::uint32_t flags = spec.category | static_cast<std::uint32_t>(spec.generic) << 4 |
                              (spec.element != 0 ? 0x8000'0000u + p : 0u);
  const Address table =
      target.record("MethodTable", {{"MTFlags", flags},
                                    {"BaseSize", 2 * p + (spec.element ? p + 8 * spec.rank : 0)},
                                    {"MTFlags2", std::uint64_t{spec.rid} << 8},
                                    {"NumVirtuals", no_virtuals},
                                    {"Module", spec.module}});
  if (spec.canonical != 0) {
    target.set(table, "MethodTable", "EEClassOrCanonMT", spec.canonical | 1);
  } else {
    const Address cls = target.record("EEClass", {{"MethodTable", table}, {"NumNonVirtualSlots", 2}}, 32);
    target.memory().write_integer(cls + static_cast<Address>(target.offset("ArrayClass", "Rank")), spec.rank,
                                  1);
    target.set(table, "MethodTable", "EEClassOrCanonMT", cls);
  }
  if (spec.element != 0) target.set(table, "MethodTable", "PerInstInfo", spec.element);
  if (!spec.arguments.empty()) {
    MemoryBuilder& memory = target.memory();
    const Address dictionary = memory.allocate(spec.arguments.size() * p);
    MemoryCursor words = memory.at(dictionary);
    for (const Address argument : spec.arguments) words.pointer(argument);
    // GenericsDictInfo, then one dictionary per generic class of the chain, the own one last.
    const unsigned dictionaries = spec.inherited_dictionaries + 1;
    const Address info = memory.allocate(p * (1 + dictionaries));
    overlay(info, "GenericsDictInfo", {{"NumDicts", dictionaries}, {"NumTypeArgs", spec.arguments.size()}});
    MemoryCursor slots = memory.at(info + p);
    for (unsigned i = 0; i < spec.inherited_dictionaries; ++i) slots.pointer(Address{0xdead'0000});
    slots.pointer(dictionary);
    target.set(table, "MethodTable", "PerInstInfo", info + p);
  }
  return table;
}

Address RuntimeTypes::array_of(Address element, unsigned rank) {
  return type({.module = 0x10,
               .category = rank == 0 ? 0x000a'0000u : 0x0008'0000u,
               .element = element,
               .rank = rank == 0 ? 1 : rank});
}

Address RuntimeTypes::type_desc(unsigned element_type, Address argument) {
  const Address desc = target.memory().allocate(6 * 8);
  overlay(desc, "TypeDesc", {{"TypeAndFlags", element_type | 0x300u}});
  if (argument != 0) overlay(desc, "ParamTypeDesc", {{"TypeArg", argument}});
  return desc | 2;
}

void RuntimeTypes::overlay(Address at, std::string_view type, const FieldValues& values) {
  for (const auto& [field, value] : values) target.set(at, type, field, value);
}

Address RuntimeTypes::ee_class_of(Address type) {
  return target.target().read_pointer(type +
                                      static_cast<Address>(target.offset("MethodTable", "EEClassOrCanonMT")));
}

std::vector<Address> RuntimeTypes::chunk(Address type, const std::vector<MethodSpec>& methods) {
  const unsigned p = pointer();
  const Target view = target.target();
  const MethodDescs sizes(view);
  const std::uint64_t header = target.size_of("MethodDescChunk");
  std::vector<std::uint64_t> offsets;
  std::uint64_t payload = 0;
  for (const MethodSpec& spec : methods) {
    offsets.push_back(payload);
    payload += sizes.size(static_cast<std::uint16_t>(spec.flags | static_cast<unsigned>(spec.kind))).value();
  }
  const Address chunk = target.memory().allocate(header + payload, p);
  const std::uint32_t range = methods.front().rid >> 12;
  overlay(chunk, "MethodDescChunk",
          {{"MethodTable", type},
           {"Size", payload / p - 1},
           {"Count", methods.size() - 1},
           {"FlagsAndTokenRange", range | 0x4000}});
  // To the end of the chain.
  const Address cls = ee_class_of(type);
  Address link = cls + static_cast<Address>(target.offset("EEClass", "MethodDescChunk"));
  while (const Address next = view.read_pointer(link))
    link = next + static_cast<Address>(target.offset("MethodDescChunk", "Next"));
  target.memory().at(link).pointer(chunk);

  std::vector<Address> addresses;
  for (std::size_t i = 0; i < methods.size(); ++i) {
    const MethodSpec& spec = methods[i];
    const Address at = chunk + header + offsets[i];
    overlay(at, "MethodDesc",
            {{"Flags3AndTokenRemainder", (spec.rid & 0xfff) | spec.flags3 << 12},
             {"ChunkIndex", offsets[i] / p},
             {"Slot", spec.slot},
             {"Flags", spec.flags | static_cast<unsigned>(spec.kind)}});
    if (spec.kind == MethodClassification::instantiated) {
      const Address arguments =
          spec.arguments.empty() ? 0 : target.memory().allocate(spec.arguments.size() * p);
      MemoryCursor words = target.memory().at(arguments);
      for (const Address argument : spec.arguments) words.pointer(argument);
      overlay(at, "InstantiatedMethodDesc",
              {{"PerInstInfo", arguments},
               {"Flags2", spec.instantiation},
               {"NumGenericArgs", spec.arguments.size()}});
    }
    if (!spec.signature.empty())
      overlay(at, "StoredSigMethodDesc",
              {{"Sig", target.memory().place(spec.signature)},
               {"cSig", spec.signature.size()},
               {"ExtendedFlags", spec.extended_flags}});
    if (!spec.name.empty())
      overlay(at, "DynamicMethodDesc", {{"MethodName", target.memory().place_utf8(spec.name)}});
    addresses.push_back(at);
  }
  return addresses;
}

void RuntimeTypes::keep_code(Address method, Address start) {
  const Target built = target.target();
  const MethodDescs descs(built);
  target.memory().at(descs.native_code_slot(descs.read(method)).value()).pointer(start);
}

std::vector<Address> RuntimeTypes::versions(Address method, const std::vector<VersionSpec>& specs) {
  std::vector<Address> nodes;
  for (const VersionSpec& spec : specs)
    nodes.push_back(target.record("NativeCodeVersionNode", {{"NativeCode", spec.code},
                                                            {"MethodDesc", method},
                                                            {"OptimizationTier", spec.tier},
                                                            {"Flags", nodes.empty() ? 1 : 0}}));
  for (std::size_t i = 1; i < nodes.size(); ++i)
    target.set(nodes[i - 1], "NativeCodeVersionNode", "Next", nodes[i]);
  const Address state = target.record("MethodDescVersioningState",
                                      {{"NativeCodeVersionNode", nodes.empty() ? 0 : nodes.front()}});
  target.set(method, "MethodDesc", "CodeData",
             target.record("MethodDescCodeData", {{"VersioningState", state}}));
  return nodes;
}

void RuntimeTypes::app_domain(const std::vector<Address>& modules, unsigned per_block) {
  const Address domain = target.record("AppDomain");
  target.variable("AppDomain", domain);
  const Address list = domain + static_cast<Address>(target.offset("AppDomain", "DomainAssemblyList"));
  overlay(list, "ArrayListBase", {{"Count", modules.size()}});
  const Target view = target.target();
  Address block = list + static_cast<Address>(target.offset("ArrayListBase", "FirstBlock"));
  for (std::size_t i = 0; i < modules.size(); ++i) {
    const std::size_t slot = i % per_block;
    if (slot == 0 && i != 0) {
      const Address next = target.memory().allocate((2 + per_block) * pointer());
      target.set(block, "ArrayListBlock", "Next", next);
      block = next;
    }
    if (slot == 0) target.set(block, "ArrayListBlock", "Size", per_block);
    // A DomainAssembly begins with its Assembly; 0 stands for an assembly that was unloaded.
    Address element = 0;
    if (modules[i] != 0) {
      element = target.memory().allocate(pointer());
      target.memory().at(element).pointer(
          view.read_pointer(modules[i] + static_cast<Address>(target.offset("Module", "Assembly"))));
    }
    target.memory()
        .at(block + static_cast<Address>(target.offset("ArrayListBlock", "ArrayStart")) + slot * pointer())
        .pointer(element);
  }
}

void RuntimeTypes::call_counting(const std::vector<std::pair<Address, unsigned>>& methods) {
  const std::uint32_t size = static_cast<std::uint32_t>(methods.size()) * 2 + 3;
  std::vector<Address> slots(size);
  for (const auto& [method, stage] : methods) {
    const auto hash = static_cast<std::uint32_t>(method);
    std::uint32_t at = hash % size;
    while (slots[at] != 0) at = (at + hash % (size - 1) + 1) % size;
    slots[at] =
        target.record("CallCountingInfo", {{"StorageKind", 2}, {"MethodDesc", method}, {"Stage", stage}});
  }
  const Address table = target.memory().allocate(std::size_t{size} * pointer());
  MemoryCursor words = target.memory().at(table);
  for (const Address slot : slots) words.pointer(slot);
  const Address manager = target.record("CallCountingManager");
  overlay(manager, "SHash",
          {{"Table", table},
           {"TableSize", size},
           {"TableCount", methods.size()},
           {"TableOccupied", methods.size()},
           {"TableMax", size - 1}});
  const Address domain = target.record("SystemDomain", {}, 64);
  overlay(domain + static_cast<Address>(target.offset("SystemDomain", "GlobalLoaderAllocator")),
          "LoaderAllocator", {{"CallCountingManager", manager}});
  target.variable("SystemDomain", domain);
}

Bytes RuntimeTypes::handle_bytes(Address handle) const {
  Bytes out(pointer());
  for (unsigned i = 0; i < pointer(); ++i) {
    const unsigned shift = target.platform().byte_order == ByteOrder::little ? i : pointer() - 1 - i;
    out[i] = static_cast<std::byte>(handle >> (8 * shift));
  }
  return out;
}

Address RuntimeTypes::chunk_of(Address method) {
  const Target view = target.target();
  return MethodDescs(view).read(method).chunk;
}

void RuntimeTypes::describe_net11_async() {
  const unsigned p = pointer();
  target.as_net11();
  target.descriptor().types["AsyncMethodData"] = {
      .size = 3 * p, .fields = {{"Flags", {.offset = 0}}, {"Signature", {.offset = p}}}};
  target.descriptor().types["Signature"] = {
      .size = 2 * p, .fields = {{"SignatureLength", {.offset = p}}, {"SignaturePointer", {.offset = 0}}}};
}

void RuntimeTypes::net11_async_data(Address method, std::uint32_t flags, const Bytes& signature) {
  const Address data = method + MethodDescs(target.target()).size(0).value();
  target.memory().write_integer(data, flags, 4);
  if (!signature.empty())
    target.memory()
        .at(data + pointer())
        .pointer(target.memory().place(signature))
        .u32(static_cast<std::uint32_t>(signature.size()));
}

} // namespace clr::test
