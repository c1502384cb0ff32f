#include "core/memory/path_map.h"
#include "core/types/module_metadata.h"
#include "tests/types/runtime_types.h"

#include <catch2/catch.hpp>

using namespace clr;
using namespace clr::test;

namespace {

Bytes some_metadata(std::uint8_t mvid, std::string_view type = "C") {
  MetadataBuilder metadata;
  metadata.set(MetadataTable::module, 1, 2, metadata.guid(mvid));
  metadata.assembly("app");
  metadata.type("Ns", type);
  metadata.method("Run", bytes_of({0, 0, 1}));
  return metadata.build();
}

class OneFile final : public AssemblyFiles {
public:
  explicit OneFile(Bytes content) : content_(std::move(content)) {}
  std::unique_ptr<MemoryReader> open(const std::string& path, const std::string& file_name) override {
    asked = path + "|" + file_name;
    if (content_.empty()) return nullptr;
    return std::make_unique<HostMemory>(content_);
  }
  std::string asked;

private:
  Bytes content_;
};

std::string first_method(ModuleMetadata& metadata) {
  return metadata.with(
      [](MetadataNames& names) { return names.metadata().string(names.metadata().method_def(1).name); });
}

std::string reason(ModuleMetadata& metadata) {
  try {
    first_method(metadata);
  } catch (const Error& fault) {
    return fault.what();
  }
  return "";
}

// Sets the sizes of the maps that the runtime made for a module of this metadata.
void set_maps(RuntimeTypes& runtime, Address module, unsigned types, unsigned methods, unsigned fields) {
  const auto set = [&](std::string_view map, unsigned rows) {
    runtime.overlay(module + static_cast<Address>(runtime.target.offset("Module", map)), "ModuleLookupMap",
                    {{"Count", rows + 1}});
  };
  set("TypeDefToMethodTableMap", types);
  set("MethodDefToDescMap", methods);
  set("FieldDefToDescMap", fields);
}

} // namespace

TEST_CASE("a module's strings and flags", "[types]") {
  for (const Platform& platform : all_platforms()) {
    DYNAMIC_SECTION(to_string(platform)) {
      RuntimeTypes runtime(platform);
      const Address address =
          runtime.module({.path = "/srv/app.dll", .file_name = "app.dll", .simple_name = "app"});
      const Target target = runtime.target.target();
      const Module module = read_module(target, address);
      CHECK(module.path == "/srv/app.dll");
      CHECK(module.display_name() == "app.dll");
      CHECK(module.simple_name == "app");
      CHECK_FALSE(module.jit_optimization_disabled());
      CHECK_FALSE(module.reflection_emit());
      // A single file has no path, a module made at run time only its assembly's name.
      CHECK(read_module(target, runtime.module({.file_name = "in.dll"})).display_name() == "in.dll");
      CHECK(read_module(target, runtime.module({.file_name = "x", .simple_name = "Emit"})).display_name() ==
            "x");
      CHECK(read_module(target, runtime.module({.simple_name = "Emit"})).display_name() == "Emit");
      CHECK(file_name_of("C:\\srv\\app.dll") == "app.dll");
      // The assembly names another module.
      const Address other = runtime.module({.path = "/srv/other.dll"});
      runtime.target.set(module.assembly, "Assembly", "Module", other);
      CHECK_THROWS_AS(read_module(target, address), Error);
      CHECK_THROWS_AS(read_module(target, 0), Error);
    }
  }
}

TEST_CASE("the app domain lists its modules, with holes", "[types]") {
  for (const Platform& platform : all_platforms()) {
    DYNAMIC_SECTION(to_string(platform)) {
      RuntimeTypes runtime(platform);
      const Address a = runtime.module({.path = "/a.dll", .metadata = some_metadata(1)}),
                    b = runtime.module({.path = "/b.dll", .metadata = some_metadata(2)}),
                    c = runtime.module({.path = "/c.dll", .metadata = some_metadata(3)});
      runtime.app_domain({a, 0, b, c});
      const Target target = runtime.target.target();
      CHECK(modules_of_app_domain(target).modules == std::vector<Address>{a, b, c});
      CHECK(modules_of_app_domain(target).holes == 0);

      ExecutionManager code(target);
      MethodNames names(target, code, nullptr);
      const auto described = names.modules();
      REQUIRE(described.size() == 3);
      CHECK(described[1].name == "b.dll");
      CHECK(described[1].method_count == 1);
      CHECK(described[1].mvid == "02020202-0202-0202-0202-020202020202");
      CHECK(described[1].metadata_from == NameSource::memory);

      // A module that does not lead back is a hole; the others stand.
      runtime.target.set(b, "Module", "Assembly", 0);
      CHECK(modules_of_app_domain(target).modules == std::vector<Address>{a, c});
      CHECK(modules_of_app_domain(target).holes == 1);
      // Blocks that follow each other in a circle hold no more than the count says.
      const Address list = target.field_address(target.read_pointer(target.global("AppDomain")), "AppDomain",
                                                "DomainAssemblyList");
      runtime.target.set(list, "ArrayListBase", "Count", 50);
      const Address first = target.field_address(list, "ArrayListBase", "FirstBlock");
      runtime.target.set(first, "ArrayListBlock", "Next", first);
      CHECK(modules_of_app_domain(target).modules == std::vector<Address>{a});
      runtime.target.set(list, "ArrayListBase", "Count", 0xffff'ffff);
      CHECK_THROWS_AS(modules_of_app_domain(target), Error);
    }
  }
}

TEST_CASE("metadata is read in the layout that the module has", "[types]") {
  for (const Platform& platform : all_platforms()) {
    for (const MetadataPlace place : {MetadataPlace::dynamic, MetadataPlace::flat, MetadataPlace::mapped}) {
      DYNAMIC_SECTION(to_string(platform) << " place " << static_cast<int>(place)) {
        RuntimeTypes runtime(platform);
        const Address address =
            runtime.module({.path = "/srv/app.dll", .metadata = some_metadata(1), .place = place});
        const Target target = runtime.target.target();
        const Module module = read_module(target, address);
        ModuleMetadata metadata(target, module, nullptr);
        CHECK(first_method(metadata) == "Run");
        CHECK(metadata.source() == NameSource::memory);
        CHECK(metadata.reservation().empty());
      }
    }
  }
}

TEST_CASE("metadata that memory lacks comes from the file that is provably the same", "[types]") {
  RuntimeTypes runtime(Platform{});
  const auto open = [&](Address address, AssemblyFiles* files, auto check) {
    const Target target = runtime.target.target();
    const Module module = read_module(target, address);
    ModuleMetadata metadata(target, module, files);
    check(metadata);
  };
  const Bytes content = some_metadata(1);
  const Address missing =
      runtime.module({.path = "/srv/app.dll", .metadata = content, .place = MetadataPlace::missing});

  SECTION("no files at all") {
    open(missing, nullptr, [](ModuleMetadata& metadata) {
      CHECK_THAT(reason(metadata), Catch::Contains("app.dll") && Catch::Contains("not on this host"));
    });
  }
  SECTION("nothing in memory speaks for the file") {
    OneFile file(pe_file(content));
    open(missing, &file, [](ModuleMetadata& metadata) {
      CHECK_THAT(reason(metadata), Catch::Contains("identity cannot be checked"));
    });
    CHECK(file.asked == "/srv/app.dll|app.dll");
  }
  SECTION("the runtime's maps have the file's sizes") {
    set_maps(runtime, missing, 2, 1, 0);
    OneFile file(pe_file(content));
    open(missing, &file, [](ModuleMetadata& metadata) {
      CHECK(first_method(metadata) == "Run");
      CHECK(metadata.source() == NameSource::assembly);
      CHECK_THAT(metadata.reservation(), Catch::Contains("MVID is not in the target's memory"));
    });
  }
  SECTION("files are read as far as there is room, right or not") {
    set_maps(runtime, missing, 2, 1, 0);
    OneFile file(pe_file(content));
    file.room().keep(AssemblyFiles::max_all_metadata - content.size() + 1);
    open(missing, &file, [](ModuleMetadata& metadata) {
      CHECK_THAT(reason(metadata), Catch::Contains("more than 268435456 bytes"));
    });
    OneFile enough(pe_file(content));
    enough.room().keep(AssemblyFiles::max_all_metadata - content.size());
    open(missing, &enough, [](ModuleMetadata& metadata) { CHECK(first_method(metadata) == "Run"); });
    CHECK(enough.room().left() == 0);
    OneFile other(pe_file(some_metadata(9)));
    other.room().waste(AssemblyFiles::max_all_metadata * ByteRoom::max_wasted);
    open(missing, &other, [](ModuleMetadata& metadata) {
      CHECK_THAT(reason(metadata), Catch::Contains("more than 268435456 bytes"));
    });
  }
  SECTION("the maps have other sizes: another build") {
    set_maps(runtime, missing, 2, 9, 0);
    OneFile file(pe_file(content));
    open(missing, &file,
         [](ModuleMetadata& metadata) { CHECK_THAT(reason(metadata), Catch::Contains("another build")); });
  }
  SECTION("a page of the metadata is missing, the MVID is not") {
    const Address torn =
        runtime.module({.path = "/srv/app.dll", .metadata = content, .place = MetadataPlace::mapped});
    const Target target = runtime.target.target();
    const Module module = read_module(target, torn);
    // The string heap goes; the tables and the GUID stay.
    const Metadata whole(ByteRange(runtime.target.memory(), module.base + pe_metadata_rva, content.size()));
    const auto strings = whole.stream("#Strings");
    REQUIRE(strings);
    runtime.target.memory().erase(strings->begin(), static_cast<std::size_t>(strings->size()));
    OneFile same(pe_file(content)), other(pe_file(some_metadata(9))), damaged(bytes_of({1, 2, 3}));
    ModuleMetadata from_same(target, module, &same), from_other(target, module, &other),
        from_damaged(target, module, &damaged), alone(target, module, nullptr);
    CHECK(first_method(from_same) == "Run");
    CHECK(from_same.source() == NameSource::assembly);
    CHECK(from_same.reservation().empty());
    CHECK_FALSE(reason(from_other).empty());
    CHECK_FALSE(reason(from_damaged).empty());
    CHECK_FALSE(reason(alone).empty());
  }
  SECTION("what was made at run time has no file") {
    const Address emitted =
        runtime.module({.simple_name = "Emit", .place = MetadataPlace::missing, .flags = 0x851});
    OneFile file(pe_file(content));
    open(emitted, &file,
         [](ModuleMetadata& metadata) { CHECK_THAT(reason(metadata), Catch::Contains("made at run time")); });
    CHECK(file.asked.empty());
  }
}
