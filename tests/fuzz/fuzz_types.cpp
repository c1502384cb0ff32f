// Names in a damaged runtime: MethodDesc, MethodTable, Module, code versions, metadata as a process holds it.
#include "core/memory/byte_range.h"
#include "core/memory/loaded_file.h"
#include "core/metadata/pe_image.h"
#include "core/stack/argument_map.h"
#include "core/stack/filter_funclets.h"
#include "core/stack/frame_references.h"
#include "core/types/code_claims.h"
#include "core/types/method_names.h"
#include "core/types/r2r_format.h"
#include "core/types/slot_method.h"
#include "core/types/type_names.h"
#include "tests/fuzz/laid_out_image.h"
#include "tests/fuzz/recorded_core.h"
#include "tests/types/sample_runtime.h"

#include <algorithm>

using namespace clr;
using namespace clr::fuzz;

namespace {

// Of an image or a type: what a longer walk would find, a shorter finds sooner.
constexpr std::size_t most_methods = 20;
constexpr std::uint32_t most_functions = 256; // each may look for its method 4,096 functions back

void name_method(MethodNames& names, Address method_desc, Address start) {
  attempt([&] {
    Method method = names.describe(method_desc);
    names.add_user_method(method);
    method.shown_name();
    method.sos_name();
    method.event_name();
    method.perf_map_name();
    if (method.qualified) format_r2r_map_name(*method.qualified);
    for (const std::string* name : {&method.name, &method.full_name})
      require(name->size() < 4 * max_name_length, "a name has an end");
  });
  attempt([&] { names.describe_once(method_desc).spell(); });
  attempt([&] { names.tier(method_desc, start, CodeKind::jitted); });
  attempt([&] { names.method_arguments(method_desc); });
  attempt([&] { CodeClaims(names.code().target()).check(method_desc, start, start, BodyFound::by_address); });
  attempt([&] {
    UnspelledMethod method = names.describe_once(method_desc);
    names.add_user_method(method);
    method.spell();
  });
  attempt([&] {
    const Address table = names.method_desc(method_desc).method_table;
    names.type_name(table);
    names.types().type_of_handle(table);
    attempt([&] { names.describe_in(method_desc, table); });
    names.types().tables().generic_arguments(names.types().type(table).table);
    std::size_t left = most_methods;
    MethodDescs(names.code().target())
        .for_each(names.types().tables().method_chunks(names.types().type(table).table),
                  [&](const MethodDesc&) { return --left != 0; });
  });
}

class BuiltTypes final : public Scene {
public:
  explicit BuiltTypes(Platform platform) : sample_(platform) {
    sample_.runtime.versions(sample_.versioned, {{.code = 0x7000, .tier = 1}, {.code = 0x8000, .tier = 2}});
    // It keeps the address of its first body; its versions have the second, too.
    sample_.runtime.keep_code(sample_.versioned, 0x7000);
    sample_.runtime.app_domain({sample_.core_lib, sample_.app});
    sample_.runtime.call_counting({{sample_.tiered, 0}, {sample_.switched, 4}});
    describe_types();
    add_methods();
    test::TargetBuilder& built = sample_.runtime.target;
    set_up(built.memory(), built.contract_descriptor(), built.platform());
  }

  unsigned parts() const override { return 1; }
  void ask(const Target& target, unsigned) override {
    ExecutionManager code(target);
    MethodNames names(target, code, nullptr);
    for (const test::SampleMethod& method : sample_.methods) name_method(names, method.address, 0x7000);
    for (const Address method : {sample_.tiered, sample_.switched, sample_.versioned})
      name_method(names, method, 0x8000);
    attempt([&] { names.modules(); });
    names.module_addresses();
    attempt([&] { names.type_name(sample_.list_of_int); });
    attempt([&] { names.types().argument(sample_.list_of_int); });
    for (const Address handle : handles_)
      attempt([&] {
        const TypeNamePtr type = names.types().type_of_handle(handle);
        format_type(*type);
        format_sos_type(*type);
      });
    for (const Address method : more_methods_) name_method(names, method, 0x8000);
    for (const test::SampleMethod& method : sample_.methods)
      attempt([&] {
        const MethodDesc found = names.method_desc(method.address);
        for (const std::uint32_t slot : {std::uint32_t{found.slot}, 0xffffU})
          method_in_slot(target, found.method_table, slot);
      });
  }

private:
  // A TypeDesc of every kind.
  void describe_types() {
    test::RuntimeTypes& runtime = sample_.runtime;
    for (const unsigned over : {0x0fu, 0x10u, 0x11u})
      handles_.push_back(runtime.type_desc(over, sample_.list_of_int));
    for (const unsigned variable : {0x13u, 0x1eu}) {
      handles_.push_back(runtime.type_desc(variable, 0));
      runtime.overlay(handles_.back() & ~Address{2}, "TypeVarTypeDesc",
                      {{"Module", sample_.app}, {"Token", 0x2a00'0001}});
    }
    const Address function = runtime.target.memory().allocate(256);
    runtime.overlay(function, "TypeDesc", {{"TypeAndFlags", 0x1b}});
    runtime.overlay(function, "FnPtrTypeDesc", {{"NumArgs", 2}, {"CallConv", 0x05}});
    runtime.target.memory()
        .at(function + static_cast<Address>(runtime.target.offset("FnPtrTypeDesc", "RetAndArgTypes")))
        .pointer(sample_.list_of_int)
        .pointer(handles_.front())
        .pointer(handles_.back());
    handles_.push_back(function | 2);
    const Address list = runtime.type({.module = sample_.core_lib,
                                       .rid = 5,
                                       .generic = MethodTable::Generic::exact,
                                       .arguments = {handles_.back()}});
    handles_.push_back(list);
  }

  // Those of an async method: what returns a task, and what the compiler made of it.
  void add_methods() {
    test::RuntimeTypes& runtime = sample_.runtime;
    using C = MethodClassification;
    const Address type = runtime.type({.module = sample_.app, .rid = 3});
    for (const C kind : {C::fcall, C::com_interop})
      if (runtime.target.descriptor().types.contains(kind == C::fcall ? "FCallMethodDesc"
                                                                      : "CLRToCOMCallMethodDesc"))
        more_methods_.push_back(runtime.method(type, {.rid = 1, .kind = kind}));
    const Target target = runtime.target.target();
    const MethodDescs sizes(target);
    const test::Bytes signature = test::bytes_of({0x20, 0, 0x01});
    constexpr unsigned thunk = 2, variant = 3;
    for (const unsigned kind : {thunk, variant}) {
      const Address method = runtime.method(type, {.rid = 1, .flags = 0x60});
      runtime.overlay(
          method + sizes.size(0x20).value(), "AsyncMethodData",
          {{"Kind", kind}, {"Sig", runtime.target.memory().place(signature)}, {"cSig", signature.size()}});
      more_methods_.push_back(method);
    }
  }

  test::SampleRuntime sample_;
  std::vector<Address> handles_, more_methods_;
};

// Async methods as .NET 11 describes them, chunks whose first method is damaged, and methods of kinds that
// have no size; also without what says where the signature of an async method is.
class AsyncMethods final : public Scene {
public:
  explicit AsyncMethods(Platform platform) : runtime_(platform) {
    runtime_.describe_net11_async();
    test::MetadataBuilder metadata;
    metadata.type("Ns", "C");
    for (const char* const name : {"Run", "Go"}) metadata.method(name, test::bytes_of({0x20, 0, 0x1c}));
    const Address module = runtime_.module(
        {.path = "/srv/app.dll", .metadata = metadata.build(), .place = test::MetadataPlace::flat});
    const auto type = [&] { return runtime_.type({.module = module, .rid = 2}); };
    const test::Bytes returns_int = test::bytes_of({0x20, 0, 0x08});
    for (const std::uint32_t flags : {0x05u, 0x12u, 0x35u, 0x15u, 0u}) {
      methods_.push_back(runtime_.method(type(), {.rid = 1, .flags = 0x40}));
      runtime_.net11_async_data(methods_.back(), flags, returns_int);
    }
    methods_.push_back(runtime_.method(type(), {.rid = 1, .flags = 0x40}));
    runtime_.net11_async_data(methods_.back(), 0x05, {});
    constexpr std::uint16_t no_kind_of_that_size = 0xf41f, com_interop = 6;
    for (const std::uint16_t flags : {no_kind_of_that_size, com_interop}) {
      const auto chunk = runtime_.chunk(type(), {{.rid = 1}, {.rid = 2}, {.rid = 2}});
      runtime_.target.set(chunk.front(), "MethodDesc", "Flags", flags);
      methods_.insert(methods_.end(), chunk.begin(), chunk.end());
    }
    // In front of it there is no room for a chunk.
    methods_.push_back(platform.pointer_size);
    runtime_.target.memory().at(methods_.back()).fill(64);
    runtime_.app_domain({module});
    test::TargetBuilder& built = runtime_.target;
    set_up(built.memory(), built.contract_descriptor(), platform);
  }

  unsigned parts() const override { return static_cast<unsigned>(std::size(missing)); }
  void ask(const Target& target, unsigned part) override {
    ContractDescriptor poorer = target.descriptor();
    poorer.types.erase(missing[part]);
    const Target asked(target.memory(), poorer, target.platform());
    ExecutionManager code(asked);
    MethodNames names(asked, code, nullptr);
    for (const Address method : methods_) name_method(names, method, 0x7000);
  }

private:
  static constexpr const char* missing[] = {"", "AsyncMethodData", "Signature"};
  test::RuntimeTypes runtime_;
  std::vector<Address> methods_;
};

class OneFile final : public AssemblyFiles {
public:
  explicit OneFile(test::Bytes content) : content_(std::move(content)) {}
  std::unique_ptr<MemoryReader> open(const std::string&, const std::string&) override {
    return std::make_unique<HostMemory>(content_);
  }

private:
  test::Bytes content_;
};

test::Bytes small_metadata(std::uint8_t mvid) {
  test::MetadataBuilder metadata;
  metadata.set(MetadataTable::module, 1, 2, metadata.guid(mvid));
  metadata.assembly("app");
  metadata.type("Ns", "C");
  metadata.method("Run", test::bytes_of({0, 0, 1}));
  return metadata.build();
}

// Modules whose metadata is in memory in every way, in part, or not at all; the files of this host are the
// same, others, or damaged.
class BuiltModules final : public Scene {
public:
  explicit BuiltModules(Platform platform) : runtime_(platform) {
    using Place = test::MetadataPlace;
    const test::Bytes content = small_metadata(1);
    for (const Place place : {Place::dynamic, Place::flat, Place::mapped, Place::missing, Place::missing}) {
      const Address module = runtime_.module(
          {.path = "/srv/app.dll", .simple_name = "app", .metadata = content, .place = place});
      modules_.push_back(module);
      methods_.push_back(runtime_.method(runtime_.type({.module = module, .rid = 2}), {.rid = 1}));
    }
    set_maps(modules_.back(), {2, 1, 0});
    // Of this one the names are missing.
    const Address torn =
        runtime_.module({.path = "/srv/app.dll", .metadata = content, .place = Place::mapped});
    methods_.push_back(runtime_.method(runtime_.type({.module = torn, .rid = 2}), {.rid = 1}));
    const Target target = runtime_.target.target();
    const Module module = read_module(target, torn);
    const Metadata whole(
        ByteRange(runtime_.target.memory(), module.base + test::pe_metadata_rva, content.size()));
    if (const auto strings = whole.stream("#Strings"))
      runtime_.target.memory().erase(strings->begin(), static_cast<std::size_t>(strings->size()));
    runtime_.app_domain(modules_);
    test::TargetBuilder& built = runtime_.target;
    set_up(built.memory(), built.contract_descriptor(), platform);
  }

  unsigned parts() const override { return static_cast<unsigned>(files_.size()) + 1; }
  void ask(const Target& target, unsigned part) override {
    ExecutionManager code(target);
    MethodNames names(target, code, part < files_.size() ? &files_[part] : nullptr);
    for (const Address method : methods_) name_method(names, method, 0x7000);
    attempt([&] { names.modules(); });
  }

private:
  void set_maps(Address module, const std::array<unsigned, 3>& rows) {
    constexpr std::array<std::string_view, 3> maps{"TypeDefToMethodTableMap", "MethodDefToDescMap",
                                                   "FieldDefToDescMap"};
    for (std::size_t i = 0; i < maps.size(); ++i)
      runtime_.overlay(module + static_cast<Address>(runtime_.target.offset("Module", maps[i])),
                       "ModuleLookupMap", {{"Count", rows[i] + 1}});
  }

  test::RuntimeTypes runtime_;
  std::vector<Address> modules_, methods_;
  std::array<OneFile, 3> files_{OneFile(test::pe_file(small_metadata(1))),
                                OneFile(test::pe_file(small_metadata(9))),
                                OneFile(test::bytes_of({1, 2, 3}))};
};

// The ReadyToRun image of an assembly in a runtime, all of it in memory.
class BuiltImage final : public Scene {
public:
  BuiltImage(const std::string& name, Cpu cpu) : runtime_({.pointer_size = 8, .cpu = cpu}) {
    const LoadedFile file = LoadedFile::open(std::string(CLR_TEST_DATA "/metadata/data/") + name);
    const auto layout = PeLayout::parse(file.bytes());
    if (!layout) throw Error(ErrorKind::corrupt, name + " is no image");
    const std::vector<std::byte> laid_out = lay_out(*layout, file.bytes());
    test::TargetBuilder& types = runtime_.target;
    const Address base = types.memory().place(laid_out, 4096);
    const PeImage image(types.memory(), base, true);
    const std::uint32_t header_rva = image.managed_native_header().rva != 0
                                         ? image.managed_native_header().rva
                                         : image.find_export("RTR_HEADER").value_or(0);
    MappedR2RImage bytes(types.memory(), base);
    const R2RHeader header = read_r2r_header(bytes, header_rva);
    const auto functions = header.find(R2RSection::runtime_functions);
    const Address info = types.record(
        "ReadyToRunInfo", {{"ReadyToRunHeader", base + header_rva},
                           {"RuntimeFunctions", base + functions->rva},
                           {"NumRuntimeFunctions", functions->size / types.size_of("RuntimeFunction")}});
    types.set(info, "ReadyToRunInfo", "CompositeInfo", info);
    runtime_.execution.hash_map(
        info + static_cast<Address>(types.offset("ReadyToRunInfo", "EntryPointToMethodDescMap")), {});
    const Address module = runtime_.module(
        {.path = "/srv/names.dll", .simple_name = "names", .place = test::MetadataPlace::missing});
    types.set(module, "Module", "Base", base);
    types.set(module, "Module", "ReadyToRunInfo", info);
    const Address placed =
        types.record("PEImageLayout", {{"Base", base}, {"Size", laid_out.size()}, {"Flags", 1}});
    types.set(
        module, "Module", "PEAssembly",
        types.record("PEAssembly", {{"PEImage", types.record("PEImage", {{"LoadedImageLayout", placed}})}}));
    // Assemblies to which it refers, whose metadata is nowhere.
    std::vector<Address> modules{module};
    for (const char* const name : {"System.Runtime", "System.Private.CoreLib", "names"})
      modules.push_back(runtime_.module({.path = "/fx/" + std::string(name) + ".dll",
                                         .simple_name = name,
                                         .place = test::MetadataPlace::missing}));
    runtime_.app_domain(modules);
    runtime_.execution.section({.begin = base,
                                .end = base + ((laid_out.size() + 0xfff) & ~std::size_t{0xfff}),
                                .flags = 0,
                                .r2r_module = module});
    if (const auto imports = header.find(R2RSection::import_sections))
      for (std::uint32_t at = 0; at + 20 <= imports->size; at += 20) {
        const ByteRange row = bytes.range(imports->rva + at, 20);
        for (std::uint32_t cell = 0; cell < row.u32(4); cell += 8) cells_.push_back(base + row.u32(0) + cell);
      }
    call_cells();
    set_up(types.memory(), types.contract_descriptor(), types.platform());
  }

  unsigned parts() const override { return 3; }
  void ask(const Target& target, unsigned part) override {
    ExecutionManager code(target);
    MethodNames names(target, code, nullptr);
    for (const RangeSection& section : code.sections()) attempt([&] { ask_of(names, section, part); });
  }

private:
  void ask_of(MethodNames& names, const RangeSection& section, unsigned part) {
    if (part == 0) {
      names.for_each_r2r_method(section, [&](MethodNames::R2RMethod& method) {
        method.method.spell();
        return true;
      });
    } else if (part == 1) {
      for (std::uint32_t index = 0; index < 3 * most_methods; ++index)
        attempt([&] { names.r2r_method(section, index); });
      // Where the map of entry points lacks a method, the image's own tables tell where methods begin.
      for (std::uint32_t index = 0; index < most_methods; ++index)
        attempt([&] {
          const CodeBlock block = names.code().r2r_block(section, index);
          names.code().find(block.start + 1);
        });
      FilterFunclets filters(names.code());
      // The images have fewer; a count that lies is no more than the reason why the next one is refused.
      const std::uint32_t functions =
          std::min(names.code().r2r_image(section).function_count, most_functions);
      for (std::uint32_t index = 0; index < functions; ++index)
        attempt([&] { filters.is_filter(names.code().r2r_block(section, index)); });
    } else {
      FrameReferences references(names.code(), nullptr);
      for (std::size_t i = 0; i < cells_.size(); ++i) {
        attempt([&] { names.import_at(cells_[i]); });
        attempt([&] {
          const auto held =
              references.of({.address = calls_ + call_bytes * i, .kind = FrameKind::external_method});
          require(held.size() <= max_map_bytes * 4, "a map of arguments is bounded");
        });
      }
    }
  }

  // A Frame for each cell, as a call through it leaves one.
  void call_cells() {
    test::TargetBuilder& types = runtime_.target;
    types.type("FramedMethodFrame", {{"TransitionBlockPtr", test::Width::pointer, 0, 16}}, 32);
    types.type("ExternalMethodFrame", {{"Indirection", test::Width::pointer, 0, 32}}, call_bytes);
    types.type("TransitionBlock", {{"FirstGCRefMapSlot", test::Width::pointer, 0, 16}}, 104);
    const Address block = types.memory().allocate(0x400);
    calls_ = types.memory().allocate(call_bytes * cells_.size());
    for (std::size_t i = 0; i < cells_.size(); ++i)
      types.memory().at(calls_ + call_bytes * i).u64(0).u64(0).u64(block).u64(0).u64(cells_[i]);
  }

  static constexpr std::size_t call_bytes = 48;
  test::RuntimeTypes runtime_;
  std::vector<Address> cells_;
  Address calls_ = 0;
};

class RecordedTypes final : public RecordedScene {
public:
  explicit RecordedTypes(const std::string& name) : RecordedScene(name) {
    const Target target(*recorded_.core, recorded_.descriptor, recorded_.platform);
    ExecutionManager code(target);
    for (const RangeSection& section : code.sections())
      if (section.r2r_module != 0) images_.push_back(section);
  }

  unsigned parts() const override { return groups + 2; }
  void ask(const Target& target, unsigned part) override {
    ExecutionManager code(target);
    MethodNames names(target, code, nullptr);
    if (part == groups) {
      attempt([&] { names.modules(); });
    } else if (part == groups + 1) {
      for (std::size_t i = 0; i < std::min<std::size_t>(images_.size(), 4); ++i)
        ask_image(code, names, images_[i]);
    } else {
      for (std::size_t i = part; i < recorded_.bodies.size() && i < 8 * groups; i += groups)
        name_method(names, recorded_.bodies[i].method_desc, recorded_.bodies[i].start);
    }
  }

private:
  static void ask_image(ExecutionManager& code, MethodNames& names, const RangeSection& section) {
    attempt([&] {
      std::size_t left = most_methods;
      names.for_each_r2r_method(section, [&](MethodNames::R2RMethod& method) {
        method.method.spell();
        return --left != 0;
      });
    });
    attempt([&] {
      const ExecutionManager::R2RImage image = code.r2r_image(section);
      for (const Address cell : {image.base + 0x1000, image.header + 0x100}) names.import_at(cell);
    });
  }

  static constexpr unsigned groups = 16;
  std::vector<RangeSection> images_;
};

} // namespace

std::vector<std::unique_ptr<Scene>> clr::fuzz::make_scenes() {
  std::vector<std::unique_ptr<Scene>> all;
  for (const Platform& platform : test::all_platforms(Cpu::x64))
    all.push_back(std::make_unique<BuiltTypes>(platform));
  for (const Platform& platform : test::all_platforms(Cpu::x64))
    all.push_back(std::make_unique<BuiltModules>(platform));
  all.push_back(std::make_unique<BuiltImage>("names-x64.dll", Cpu::x64));
  all.push_back(std::make_unique<BuiltImage>("names-arm64.dll", Cpu::arm64));
  all.push_back(std::make_unique<BuiltImage>("composite.r2r.dll", Cpu::x64));
  all.push_back(std::make_unique<RecordedTypes>("gallery-arm64"));
  all.push_back(std::make_unique<RecordedTypes>("gallery-x64"));
  for (const Platform& platform : test::all_platforms(Cpu::x64))
    all.push_back(std::make_unique<AsyncMethods>(platform));
  return all;
}
