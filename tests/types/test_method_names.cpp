#include "core/memory/counting_reader.h"
#include "tests/support/faults.h"
#include "tests/types/sample_runtime.h"

#include <catch2/catch.hpp>

using namespace clr;
using namespace clr::test;

TEST_CASE("methods of every kind have their names", "[types]") {
  const unsigned seed = GENERATE(0u, 1u, 2u, 3u); // 0: .NET 10; else .NET 11, with an order of fields
  for (const Platform& platform : all_platforms()) {
    DYNAMIC_SECTION(to_string(platform) << " order " << seed) {
      SampleRuntime sample(platform, seed);
      const Target target = sample.runtime.target.target();
      ExecutionManager code(target);
      MethodNames names(target, code, nullptr);
      for (const SampleMethod& method : sample.methods) {
        CAPTURE(method.full_name);
        const UnspelledMethod bare = names.describe_once(method.address, MethodParts::without_signature);
        const Method once = names.describe_once(method.address).spell();
        const Method& got = names.describe(method.address);
        CHECK(got.full_name == method.full_name);
        CHECK(once.full_name == got.full_name);
        CHECK(once.token == got.token);
        CHECK(once.name == got.name);
        // What a search by name looks at.
        REQUIRE(bare.qualified);
        CHECK_FALSE(bare.signature_known);
        CHECK(bare.qualified->method == got.qualified->method);
        CHECK(bare.qualified->declaring_type == got.qualified->declaring_type);
        CHECK(bare.qualified->container == got.qualified->container);
        CHECK(bare.token == got.token);
        CHECK(bare.runtime_module == got.runtime_module);
        // Known: the very same.
        CHECK(names.describe_once(method.address).qualified == got.qualified);
        CHECK(got.sos_name() == method.sos_name);
        CHECK(got.kind == method.kind);
        CHECK(got.degraded == "");
        CHECK(got.signature_known);
        CHECK(got.name_from == NameSource::memory);
        CHECK(got.method_desc == method.address);
      }
      const Method& run = names.describe(sample.methods.front().address);
      CHECK(run.name == "Ns.Outer+Inner.Run");
      CHECK(run.module == "app.dll");
      CHECK(run.module_path == "/srv/app.dll");
      CHECK(run.token == 0x0600'0001);
      CHECK(run.perf_map_name() == "instance void [app] Ns.Outer+Inner::Run(int32,string[])");
      CHECK(names.type_name(sample.list_of_int) == "System.Collections.Generic.List<int>");
      CHECK_THROWS_AS(names.type_name(sample.list_of_int + 8), Error);
    }
  }
}

TEST_CASE("a method is described once and then read no more", "[types]") {
  SampleRuntime sample(Platform{});
  CountingReader counting(sample.runtime.target.memory());
  const Target target(counting, sample.runtime.target.contract_descriptor(), Platform{});
  ExecutionManager code(target);
  MethodNames names(target, code, nullptr);
  for (const SampleMethod& method : sample.methods) names.describe(method.address);
  const auto reads = counting.reads();
  for (const SampleMethod& method : sample.methods) names.describe(method.address);
  CHECK(counting.reads() == reads);
}

TEST_CASE("methods without their metadata are module and token, and say why", "[types]") {
  for (const Platform& platform : all_platforms()) {
    DYNAMIC_SECTION(to_string(platform)) {
      RuntimeTypes runtime(platform);
      const Address gone = runtime.module({.path = "/srv/gone.dll", .place = MetadataPlace::missing});
      MetadataBuilder small;
      small.type("Ns", "C");
      small.method("Only", bytes_of({0, 0, 1}));
      const Address emitted =
          runtime.module({.simple_name = "Emit", .metadata = small.build(), .flags = 0x851});
      const Address image =
          runtime.module({.path = "/srv/image.dll", .metadata = small.build(), .place = MetadataPlace::flat});
      const Address in_gone = runtime.method(runtime.type({.module = gone, .rid = 2}), {.rid = 0x123});
      const Address fresh = runtime.method(runtime.type({.module = emitted, .rid = 2}), {.rid = 2});
      const Address lying = runtime.method(runtime.type({.module = image, .rid = 2}), {.rid = 0xffff});
      const Address nameless =
          runtime.method(runtime.type({.module = emitted, .rid = 2}), {.kind = MethodClassification::dynamic,
                                                                       .name = "\xff\xfe",
                                                                       .signature = bytes_of({0, 0, 1}),
                                                                       .extended_flags = 0x4000});
      const Address bad_signature =
          runtime.method(runtime.type({.module = emitted, .rid = 2}), {.kind = MethodClassification::dynamic,
                                                                       .name = "Odd",
                                                                       .signature = bytes_of({0, 9, 1}),
                                                                       .extended_flags = 0x4000});
      const Address orphan = runtime.method(runtime.type({.module = 0x40, .rid = 2}), {.rid = 7});
      const Target target = runtime.target.target();
      ExecutionManager code(target);
      MethodNames names(target, code, nullptr);

      const Method& without = names.describe(in_gone);
      CHECK(without.full_name == "gone.dll!0x06000123");
      CHECK(without.name == without.full_name);
      CHECK(without.sos_name() == without.full_name);
      CHECK(without.event_name() == without.full_name);
      CHECK(without.name_from == NameSource::token);
      CHECK_FALSE(without.signature_known);
      CHECK_THAT(without.degraded, Catch::Contains("no metadata of gone.dll"));

      const Method& newer = names.describe(fresh);
      CHECK(newer.full_name == "Emit!0x06000002");
      CHECK_THAT(newer.degraded, Catch::Contains("older than the method"));
      // The metadata of an image cannot grow: this is no MethodDesc.
      CHECK_THROWS_AS(names.describe(lying), Error);

      CHECK_THAT(names.describe(nameless).degraded, Catch::Contains("no text"));
      CHECK(names.describe(nameless).name_from == NameSource::token);
      const Method& odd = names.describe(bad_signature);
      CHECK(odd.full_name == "DynamicClass.Odd(?\?\?)");
      CHECK_FALSE(odd.signature_known);
      CHECK_FALSE(odd.degraded.empty());
      CHECK(names.describe(orphan).full_name == "?!0x06000007");
    }
  }
}

TEST_CASE("a token that is that of another type's method is no name", "[types]") {
  for (const Platform& platform : all_platforms()) {
    DYNAMIC_SECTION(to_string(platform)) {
      RuntimeTypes runtime(platform);
      MetadataBuilder two;
      two.type("Ns", "C");
      two.method("Own", bytes_of({0, 0, 1}));
      two.type("Ns", "D");
      two.method("Other", bytes_of({0, 0, 1}));
      const Address image =
          runtime.module({.path = "/srv/image.dll", .metadata = two.build(), .place = MetadataPlace::flat});
      const Address emitted =
          runtime.module({.simple_name = "Emit", .metadata = two.build(), .flags = 0x851});
      const Address own = runtime.method(runtime.type({.module = image, .rid = 2}), {.rid = 1});
      const Address damaged = runtime.method(runtime.type({.module = image, .rid = 2}), {.rid = 2});
      const Address added = runtime.method(runtime.type({.module = emitted, .rid = 2}), {.rid = 2});
      const Target target = runtime.target.target();
      ExecutionManager code(target);
      MethodNames names(target, code, nullptr);
      CHECK(names.describe(own).full_name == "Ns.C.Own()");
      CHECK_THROWS_AS(names.describe(damaged), Error);
      // Metadata that grows may list a type's later methods elsewhere.
      CHECK(names.describe(added).full_name == "Ns.C.Other()");
    }
  }
}

TEST_CASE("a token that the methods beside it contradict is no name", "[types]") {
  for (const Platform& platform : all_platforms()) {
    DYNAMIC_SECTION(to_string(platform)) {
      RuntimeTypes runtime(platform);
      MetadataBuilder metadata;
      metadata.type("Ns", "C"); // 2
      for (const char* name : {"A", "B", "C", "D"}) metadata.method(name, bytes_of({0, 0, 1}));
      const Address module = runtime.module(
          {.path = "/srv/image.dll", .metadata = metadata.build(), .place = MetadataPlace::flat});
      constexpr std::uint32_t struct_bits = 0x0004'0000;
      constexpr unsigned unboxes = 4;
      const auto with_async = [](std::uint32_t rid) { return MethodSpec{.rid = rid, .flags = 0x60}; };
      // The names of the methods of one chunk; "-" where one is refused.
      const auto names_of = [&](const std::vector<MethodSpec>& specs, std::uint32_t category = 0,
                                bool damage_first = false) {
        const auto methods =
            runtime.chunk(runtime.type({.module = module, .rid = 2, .category = category}), specs);
        // No kind of method has that number, so that its size is not known.
        if (damage_first) runtime.target.set(methods.front(), "MethodDesc", "Flags", 0xf41f);
        const Target target = runtime.target.target();
        ExecutionManager code(target);
        MethodNames names(target, code, nullptr);
        std::string result;
        for (const Address method : methods) {
          const auto fault = fault_of([&] { result += names.describe(method).name.back(); });
          if (!fault) continue;
          CHECK(fault->kind() == ErrorKind::corrupt);
          if (!damage_first) CHECK(fault->address() == method);
          result += '-';
        }
        return result;
      };
      CHECK(names_of({{.rid = 1}, {.rid = 2}, {.rid = 3}, {.rid = 4}}) == "ABCD");
      CHECK(names_of({{.rid = 1}, {.rid = 4}, {.rid = 3}, {.rid = 4}}) == "--CD");
      CHECK(names_of({{.rid = 2}, {.rid = 2}, {.rid = 3}, {.rid = 4}}) == "-BCD");
      CHECK(names_of({{.rid = 1}, {.rid = 2}, {.rid = 3}, {.rid = 1}}) == "ABC-");
      CHECK(names_of({{.rid = 1}, {.rid = 3}}) == "--"); // one of them lies
      CHECK(names_of({{.rid = 1}, {.rid = 3}, {.rid = 3}, {.rid = 4}}, 0, true).substr(1, 2) == "-C");
      // A virtual method of a value type, and the stub before it that unboxes.
      CHECK(names_of({{.rid = 1}, {.rid = 2, .flags3 = unboxes}, {.rid = 2}, {.rid = 3}}, struct_bits) ==
            "ABBC");
      CHECK(names_of({{.rid = 1, .flags3 = unboxes}, {.rid = 1}}, struct_bits) == "AA");
      CHECK(names_of({{.rid = 1, .flags3 = unboxes}, {.rid = 1}}) == "--");
      // A method and its async variant.
      CHECK(names_of({{.rid = 1}, with_async(2), with_async(2), {.rid = 3}}) == "ABBC");
    }
  }
}

TEST_CASE("the token of a method that is alone in its chunk is compared with all of its type", "[types]") {
  using C = MethodClassification;
  for (const Platform& platform : all_platforms()) {
    DYNAMIC_SECTION(to_string(platform)) {
      RuntimeTypes runtime(platform);
      MetadataBuilder metadata;
      metadata.type("Ns", "C"); // 2
      for (const char* name : {"A", "B"}) metadata.method(name, bytes_of({0x10, 1, 0, 1}));
      metadata.method("D", bytes_of({0, 0, 1}));
      const Address module = runtime.module(
          {.path = "/srv/image.dll", .metadata = metadata.build(), .place = MetadataPlace::flat});
      const Address type = runtime.type({.module = module, .rid = 2});
      runtime.chunk(type, {{.rid = 1, .kind = C::instantiated, .slot = 5, .instantiation = 1},
                           {.rid = 2, .kind = C::instantiated, .slot = 6, .instantiation = 1},
                           {.rid = 3, .slot = 7}});
      const auto instance = [&](std::uint32_t rid, unsigned slot) {
        return runtime.method(type, {.rid = rid, .kind = C::instantiated, .slot = slot, .instantiation = 2});
      };
      const Address a = instance(1, 5), not_b = instance(2, 5);
      const Address stub = instance(3, 7); // passes a method that is not generic its type's arguments
      const Address copy = runtime.method(type, {.rid = 3, .slot = 7});
      const Target target = runtime.target.target();
      ExecutionManager code(target);
      MethodNames names(target, code, nullptr);
      CHECK(names.describe(a).name == "Ns.C.A");
      CHECK(names.describe(stub).name == "Ns.C.D");
      CHECK(fault_of([&] { names.describe(not_b); })->kind() == ErrorKind::corrupt);
      CHECK(fault_of([&] { names.describe(copy); })->kind() == ErrorKind::corrupt);
    }
  }
}

TEST_CASE("types that contain themselves end", "[types]") {
  for (const Platform& platform : all_platforms()) {
    DYNAMIC_SECTION(to_string(platform)) {
      SampleRuntime sample(platform);
      RuntimeTypes& runtime = sample.runtime;
      // A vector of itself, and a list of itself.
      const Address vector = runtime.array_of(sample.list_of_int);
      runtime.target.set(vector, "MethodTable", "PerInstInfo", vector);
      runtime.target.set(vector, "MethodTable", "Module", sample.app);
      const Target target = runtime.target.target();
      const Address arguments = target.read_pointer(
          target.read_pointer(target.field_address(sample.list_of_int, "MethodTable", "PerInstInfo")));
      runtime.target.memory().at(arguments).pointer(sample.list_of_int);
      ExecutionManager code(target);
      MethodNames names(target, code, nullptr);
      CHECK(names.type_name(vector) == "?[]");
      CHECK_NOTHROW(names.type_name(sample.list_of_int));
    }
  }
}

TEST_CASE("a module that several range sections name is listed once, and only images have import cells",
          "[types]") {
  for (const Platform& platform : all_platforms(Cpu::unknown)) {
    INFO(to_string(platform));
    RuntimeTypes types(platform);
    const auto section = [&](Address begin, Address module) {
      types.execution.section({.begin = begin,
                               .end = begin + 0x1000,
                               .flags = module == 0 ? RangeSection::code_heap : 0,
                               .r2r_module = module});
    };
    constexpr Address listed = 0x7777'1000, other = 0x7777'2000;
    types.app_domain({});
    section(0x60'0000, other);
    section(0x60'2000, listed);
    section(0x60'4000, other);
    section(0x60'6000, 0);
    const Target target = types.target.target();
    ExecutionManager code(target);
    MethodNames names(target, code, nullptr);
    CHECK(names.module_addresses() == std::vector<Address>{other, listed});
    CHECK_FALSE(names.import_at(0x5F'FFFF));
    CHECK_FALSE(names.import_at(0x60'1000));
    CHECK_FALSE(names.import_at(0x60'6010));
    CHECK_THROWS_AS(names.import_at(0x60'4FFF), Error); // an image whose module is missing
  }
}
