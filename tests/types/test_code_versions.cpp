#include "core/types/call_counting.h"
#include "core/types/code_claims.h"
#include "core/types/code_versions.h"
#include "tests/support/faults.h"
#include "tests/types/runtime_types.h"

#include <catch2/catch.hpp>

using namespace clr;
using namespace clr::test;

namespace {

// One module with the methods Plain and Plodding (NoOptimization).
Bytes two_methods() {
  MetadataBuilder metadata;
  metadata.assembly("app");
  metadata.type("Ns", "C");
  metadata.method("Plain", bytes_of({0, 0, 1}));
  const auto plodding = metadata.method("Plodding", bytes_of({0, 0, 1}));
  metadata.set(MetadataTable::method_def, plodding, 1, 0x40);
  return metadata.build();
}

} // namespace

TEST_CASE("a body's version is the node with its code; the tier is the node's", "[types]") {
  const unsigned seed = GENERATE(0u, 1u, 2u, 3u); // 0: .NET 10; else .NET 11, with an order of fields
  for (const Platform& platform : all_platforms()) {
    DYNAMIC_SECTION(to_string(platform) << " order " << seed) {
      RuntimeTypes runtime(platform, seed);
      const Address module = runtime.module({.path = "/srv/app.dll", .metadata = two_methods()});
      const Address type = runtime.type({.module = module, .rid = 2});
      const Address method = runtime.method(type, {.rid = 1, .flags3 = 8});
      runtime.versions(
          method,
          {{0x1000, 0}, {0x2000, 1}, {0x3000, 2}, {0x4000, 3}, {0x5000, 4}, {0x6000, 5}, {0x7000, 77}});
      const Target target = runtime.target.target();
      const Address code_data = MethodDescs(target).read(method).code_data;
      const CodeVersions versions(target);
      REQUIRE(versions.find(code_data, 0x2000));
      CHECK(versions.find(code_data, 0x2000)->method_desc == method);
      CHECK(versions.find(code_data, 0x1000)->active);
      CHECK_FALSE(versions.find(code_data, 0x2000)->active);
      CHECK_FALSE(versions.find(code_data, 0x9000));
      CHECK_FALSE(versions.find(0, 0x1000));

      ExecutionManager code(target);
      MethodNames names(target, code, nullptr);
      const auto tier = [&](Address start) { return names.tier(method, start, CodeKind::jitted); };
      CHECK(tier(0x1000) == Tier::tier0);
      CHECK(tier(0x2000) == Tier::tier1);
      CHECK(tier(0x3000) == Tier::osr);
      CHECK(tier(0x4000) == Tier::optimized);
      CHECK(tier(0x5000) == Tier::instrumented);
      CHECK(tier(0x6000) == Tier::instrumented_optimized);
      CHECK(tier(0x7000) == Tier::unknown);
      CHECK(names.tier(method, 0x1000, CodeKind::ready_to_run) == Tier::r2r);
      CHECK(names.tier(method, 0x1000, CodeKind::interpreted) == Tier::unknown);
    }
  }
}

TEST_CASE("Thumb code starts are found without their mark", "[types]") {
  Platform arm{.pointer_size = 4, .cpu = Cpu::arm, .os = Os::unix_like};
  RuntimeTypes runtime(arm);
  const Address type = runtime.type({.module = 0x1000, .rid = 2});
  const Address method = runtime.method(type, {.rid = 1});
  runtime.versions(method, {{0x2001, 1}});
  const Target target = runtime.target.target();
  CHECK(CodeVersions(target).find(MethodDescs(target).read(method).code_data, 0x2000));
}

TEST_CASE("chains of versions that do not end are corrupt", "[types]") {
  for (const Platform& platform : all_platforms()) {
    DYNAMIC_SECTION(to_string(platform)) {
      RuntimeTypes runtime(platform);
      const Address type = runtime.type({.module = 0x1000, .rid = 2});
      const Address method = runtime.method(type, {.rid = 1});
      const auto nodes = runtime.versions(method, {{0x1000, 0}, {0x2000, 1}});
      const Target target = runtime.target.target();
      const CodeVersions versions(target);
      const Address code_data = MethodDescs(target).read(method).code_data;
      for (const Address back : nodes) {
        runtime.target.set(nodes[1], "NativeCodeVersionNode", "Next", back);
        CHECK(versions.find(code_data, 0x1000));
        CHECK_THROWS_AS(versions.find(code_data, 0x9000), Error);
        unsigned visits = 0;
        CHECK_THROWS_AS(versions.for_each(code_data,
                                          [&](const NativeCodeVersion&) {
                                            ++visits;
                                            return true;
                                          }),
                        Error);
        CHECK(visits <= 4);
      }
    }
  }
}

TEST_CASE("the tier of a default version follows from flags and call counting", "[types]") {
  for (const Platform& platform : all_platforms()) {
    DYNAMIC_SECTION(to_string(platform)) {
      RuntimeTypes runtime(platform);
      const Address shipped = runtime.module({.path = "/srv/app.dll", .metadata = two_methods()});
      const Address debug =
          runtime.module({.path = "/srv/dbg.dll", .metadata = two_methods(), .flags = 0x8011});
      const Address type = runtime.type({.module = shipped, .rid = 2});
      const Address debug_type = runtime.type({.module = debug, .rid = 2});
      const auto methods = runtime.chunk(type, {{.rid = 1, .flags3 = 8},
                                                {.rid = 1, .flags3 = 8},
                                                {.rid = 1, .flags3 = 8},
                                                {.rid = 1},
                                                {.rid = 2}});
      const Address in_debug = runtime.method(debug_type, {.rid = 1});
      const Address stub = runtime.method(type, {.kind = MethodClassification::dynamic,
                                                 .name = "IL_STUB_PInvoke",
                                                 .signature = bytes_of({0, 0, 1}),
                                                 .extended_flags = 0x8001});
      const auto tier = [&](Address method) {
        const Target target = runtime.target.target();
        ExecutionManager code(target);
        MethodNames names(target, code, nullptr);
        return names.tier(method, 0x1000, CodeKind::jitted);
      };
      // Without the table nobody knows whether the JIT switched.
      CHECK(tier(methods[0]) == Tier::unknown);
      CHECK(tier(methods[3]) == Tier::optimized);
      CHECK(tier(methods[4]) == Tier::minopts);
      CHECK(tier(in_debug) == Tier::minopts);
      CHECK(tier(stub) == Tier::optimized);

      runtime.call_counting({{methods[0], 1}, {methods[1], 4}});
      CHECK(tier(methods[0]) == Tier::tier0);
      CHECK(tier(methods[1]) == Tier::optimized);
      CHECK(tier(methods[2]) == Tier::tier0); // not called often enough to be counted

      // A tier that the runtime stores wins over what its flags suggest.
      runtime.versions(methods[1], {});
      runtime.target.type("MethodDescCodeData", {{"OptimizationTier", Width::u32}});
      const Target target = runtime.target.target();
      const Address with_tier = runtime.target.record("MethodDescCodeData", {{"OptimizationTier", 1}});
      runtime.target.set(methods[1], "MethodDesc", "CodeData", with_tier);
      CHECK(tier(methods[1]) == Tier::tier1);
    }
  }
}

TEST_CASE("a call counting table that is none is not believed", "[types]") {
  for (const Platform& platform : all_platforms()) {
    DYNAMIC_SECTION(to_string(platform)) {
      RuntimeTypes runtime(platform);
      const Address type = runtime.type({.module = 0x1000, .rid = 2});
      const Address method = runtime.method(type, {.rid = 1, .flags3 = 8});
      runtime.call_counting({{method, 1}});
      const Target target = runtime.target.target();
      CHECK(CallCounting(target).enabled(method) == true);
      const Address domain = target.read_pointer(target.global("SystemDomain"));
      const Address manager = target.read_pointer(
          target.field_address(target.field_address(domain, "SystemDomain", "GlobalLoaderAllocator"),
                               "LoaderAllocator", "CallCountingManager"));
      const auto with = [&](std::string_view field, std::uint64_t value) {
        const auto was = target.read_u32(target.field_address(manager, "SHash", field));
        runtime.target.set(manager, "SHash", field, value);
        const auto answer = CallCounting(target).enabled(method);
        runtime.target.set(manager, "SHash", field, was);
        return answer;
      };
      CHECK_FALSE(with("TableCount", 0x7fff'ffff));
      CHECK_FALSE(with("TableMax", 0xffff'ffff));
      CHECK_FALSE(with("TableSize", 0xffff'ffff));
      CHECK_FALSE(with("TableSize", 0));
    }
  }
}

TEST_CASE("a body that its method does not keep is not believed", "[types]") {
  for (const Platform& platform : all_platforms()) {
    DYNAMIC_SECTION(to_string(platform)) {
      RuntimeTypes runtime(platform);
      const Address module = runtime.module({.path = "/srv/app.dll", .metadata = two_methods()});
      const Address type = runtime.type({.module = module, .rid = 2});
      const Address method =
          runtime.method(type, {.rid = 1}); // with a slot for the address of its first code
      const Address plain = runtime.method(type, {.rid = 2, .flags = 0});
      runtime.versions(method, {{0x2000, 1}});
      const auto fault = [&](Address of, Address start, BodyFound found = BodyFound::listed) {
        const Target target = runtime.target.target();
        return fault_of([&] { CodeClaims(target).check(of, start, 0x7000, found); });
      };
      runtime.keep_code(method, 0);
      CHECK_FALSE(fault(method, 0x9000)); // it may be compiled at this moment
      // But then nothing runs there.
      const auto running = fault(method, 0x9000, BodyFound::by_address);
      REQUIRE(running);
      CHECK_THAT(running->what(), Catch::Contains("a code header of a method that has no code yet"));
      CHECK_FALSE(fault(method, 0x2000, BodyFound::by_address)); // a version that it keeps
      CHECK_FALSE(fault(plain, 0x9000, BodyFound::by_address));
      runtime.keep_code(method, 0x1000);
      CHECK_FALSE(fault(method, 0x1000));
      CHECK_FALSE(fault(method, 0x2000));
      CHECK_FALSE(fault(plain, 0x9000)); // keeps no record
      // Of two methods in one chunk that are not compiled, the header of a body may name either, until one
      // of them keeps the body.
      const std::vector<Address> pair = runtime.chunk(type, {{.rid = 3}, {.rid = 4}});
      CHECK_FALSE(fault(pair[1], 0xa000));
      runtime.keep_code(pair[0], 0xa000);
      CHECK(fault(pair[1], 0xa000));
      CHECK_FALSE(fault(pair[1], 0xa010));
      CHECK_FALSE(fault(pair[0], 0xa000));
      const auto other = fault(method, 0x9000);
      REQUIRE(other);
      CHECK(other->kind() == ErrorKind::corrupt);
      CHECK(other->address() == 0x7000);
      // Hot reload: a method that was edited keeps its new code, and its old code may still be on a stack.
      const Address editable =
          runtime.module({.path = "/srv/edited.dll", .metadata = two_methods(), .flags = 0x8819});
      const Address edited = runtime.method(runtime.type({.module = editable, .rid = 2}), {.rid = 1});
      runtime.keep_code(edited, 0x1000);
      CHECK_FALSE(fault(edited, 0x9000));
      runtime.keep_code(edited, 0);
      CHECK_FALSE(fault(edited, 0x9000, BodyFound::by_address));
    }
  }
}
