// Types and methods of a runtime in the format of .NET 11.
#include "core/types/slot_method.h"
#include "tests/support/faults.h"
#include "tests/types/runtime_types.h"

#include <catch2/catch.hpp>

using namespace clr;
using namespace clr::test;

TEST_CASE("net11: of two methods with one token the user's is named as written, the thunk as a thunk",
          "[types]") {
  for (const Platform& platform : all_platforms()) {
    DYNAMIC_SECTION(to_string(platform)) {
      RuntimeTypes runtime(platform);
      runtime.describe_net11_async();
      MetadataBuilder metadata;
      metadata.type("Ns", "C");
      metadata.method("Run", bytes_of({0x20, 0, 0x1c})); // instance object Run()
      const Address module = runtime.module(
          {.path = "/srv/app.dll", .metadata = metadata.build(), .place = MetadataPlace::flat});
      const auto method_with = [&](std::uint32_t flags, const Bytes& signature) {
        const Address type = runtime.type({.module = module, .rid = 2});
        const Address method = runtime.method(type, {.rid = 1, .flags = 0x40});
        runtime.net11_async_data(method, flags, signature);
        return method;
      };
      const Bytes returns_int = bytes_of({0x20, 0, 0x08});
      const Address variant = method_with(0x5, returns_int), thunk = method_with(0x12, {}),
                    dropping = method_with(0x20, {}), dropping_variant = method_with(0x35, returns_int),
                    converted = method_with(0x15, returns_int), ordinary = method_with(0, {}),
                    untold = method_with(0x5, {});
      const Target target = runtime.target.target();
      ExecutionManager code(target);
      MethodNames names(target, code, nullptr);
      const auto described = [&](Address method) { return names.describe(method); };
      CHECK(described(variant).kind == MethodKind::il);
      CHECK(described(variant).runtime_async);
      CHECK(described(variant).full_name == "Ns.C.Run()");
      CHECK(described(variant).shown_name() == "Ns.C.Run() [async]");
      CHECK(described(variant).perf_map_name() == "instance int32 [test] Ns.C::Run()");
      for (const Address made : {thunk, dropping, dropping_variant}) {
        CHECK(described(made).kind == MethodKind::async_thunk);
        CHECK_FALSE(described(made).runtime_async);
        CHECK(described(made).shown_name() == "Ns.C.Run() [async thunk]");
      }
      // Of a method that is not async, but whose task is awaited: its own IL.
      CHECK(described(converted).kind == MethodKind::il);
      CHECK(described(converted).runtime_async);
      CHECK(described(converted).converted_to_async);
      CHECK_FALSE(described(variant).converted_to_async);
      CHECK(described(converted).shown_name() == "Ns.C.Run() [async]");
      CHECK(described(converted).perf_map_name() == "instance int32 [test] Ns.C::Run()");
      CHECK(described(ordinary).kind == MethodKind::il);
      CHECK_FALSE(described(ordinary).runtime_async);
      CHECK(described(ordinary).shown_name() == "Ns.C.Run()");
      // The metadata's signature is not the variant's.
      CHECK_FALSE(described(untold).signature_known);
      CHECK_FALSE(described(untold).degraded.empty());
      for (const char* missing : {"AsyncMethodData", "Signature"}) {
        ContractDescriptor without = runtime.target.contract_descriptor();
        without.types.erase(missing);
        const Target poorer(runtime.target.memory(), without, platform);
        ExecutionManager poorer_code(poorer);
        MethodNames poorer_names(poorer, poorer_code, nullptr);
        CHECK_FALSE(poorer_names.describe(variant).degraded.empty());
        CHECK(poorer_names.describe(variant).shown_name().find("Run") != std::string::npos);
      }
    }
  }
}

TEST_CASE("of .NET 10's async methods, a number says what each is", "[types]") {
  RuntimeTypes runtime(Platform{});
  MetadataBuilder metadata;
  metadata.type("Ns", "C");
  metadata.method("Run", bytes_of({0x20, 0, 0x1c}));
  const Address module =
      runtime.module({.path = "/srv/app.dll", .metadata = metadata.build(), .place = MetadataPlace::flat});
  struct Expected {
    std::uint32_t kind;
    MethodKind described;
    bool runtime_async;
  };
  for (const auto& [kind, described, runtime_async] : {Expected{1, MethodKind::il, false},
                                                       {2, MethodKind::async_thunk, false},
                                                       {3, MethodKind::il, true},
                                                       {4, MethodKind::async_thunk, false},
                                                       {5, MethodKind::il, true}}) {
    INFO(kind);
    const Address method =
        runtime.method(runtime.type({.module = module, .rid = 2}), {.rid = 1, .flags = 0x40});
    const Address data = method + MethodDescs(runtime.target.target()).size(0).value();
    const Bytes signature = bytes_of({0x20, 0, 0x08});
    runtime.target.set(data, "AsyncMethodData", "Kind", kind);
    runtime.target.set(data, "AsyncMethodData", "Sig", runtime.target.memory().place(signature));
    runtime.target.set(data, "AsyncMethodData", "cSig", signature.size());
    const Target target = runtime.target.target();
    ExecutionManager code(target);
    MethodNames names(target, code, nullptr);
    const Method read = names.describe(method);
    CHECK(read.degraded.empty());
    CHECK(read.kind == described);
    CHECK(read.runtime_async == runtime_async);
    CHECK(read.perf_map_name() ==
          (kind >= 3 ? "instance int32 [test] Ns.C::Run()" : "instance object [test] Ns.C::Run()"));
  }
}

TEST_CASE("net11: continuation types share one class, and are named like their base", "[types]") {
  for (const Platform& platform : all_platforms()) {
    DYNAMIC_SECTION(to_string(platform)) {
      RuntimeTypes runtime(platform);
      runtime.target.as_net11();
      MetadataBuilder metadata;
      metadata.assembly("System.Private.CoreLib");
      metadata.type("System.Runtime.CompilerServices", "Continuation");
      const Address module = runtime.module({.path = "/fx/System.Private.CoreLib.dll",
                                             .metadata = metadata.build(),
                                             .place = MetadataPlace::flat});
      const Address base = runtime.type({.module = module, .rid = 2});
      const Address one = runtime.type({.module = module}), two = runtime.type({.module = module});
      const Address shared = runtime.ee_class_of(one);
      runtime.target.set(two, "MethodTable", "EEClassOrCanonMT", shared);
      for (const Address table : {one, two})
        runtime.target.set(table, "MethodTable", "ParentMethodTable", base);
      const Address class_variable = runtime.target.variable("ContinuationSingletonEEClass", 0);
      const Address base_variable = runtime.target.variable("ContinuationMethodTable", 0);
      const Target target = runtime.target.target();
      const MethodTables tables(target);
      CHECK(fault_of([&] { tables.read(two); })->kind() == ErrorKind::corrupt);
      // The runtime makes the first one later.
      runtime.target.memory().at(base_variable).pointer(base);
      CHECK(fault_of([&] { tables.read(two); })->kind() == ErrorKind::corrupt);
      runtime.target.memory().at(class_variable).pointer(shared);
      CHECK(tables.read(two).continuation);
      ExecutionManager code(target);
      MethodNames names(target, code, nullptr);
      CHECK(names.type_name(two) == "System.Runtime.CompilerServices.Continuation");
      // Another base, or another class: no continuation.
      runtime.target.set(two, "MethodTable", "ParentMethodTable", one);
      CHECK(fault_of([&] { tables.read(two); })->kind() == ErrorKind::corrupt);
      runtime.target.set(two, "MethodTable", "ParentMethodTable", base);
      runtime.target.set(two, "MethodTable", "EEClassOrCanonMT", runtime.ee_class_of(base));
      CHECK(fault_of([&] { tables.read(two); })->kind() == ErrorKind::corrupt);
    }
  }
}

TEST_CASE("net11: the tier of a default version is stored", "[types]") {
  RuntimeTypes runtime(Platform{});
  runtime.target.as_net11();
  runtime.target.type("MethodDescCodeData", {{"OptimizationTier", Width::u32}});
  MetadataBuilder metadata;
  metadata.type("Ns", "C");
  metadata.method("Run", bytes_of({0, 0, 1}));
  const Address module =
      runtime.module({.path = "/srv/app.dll", .metadata = metadata.build(), .place = MetadataPlace::flat});
  const Address method = runtime.method(runtime.type({.module = module, .rid = 2}), {.rid = 1, .flags3 = 8});
  const Address data = runtime.target.record("MethodDescCodeData");
  runtime.target.set(method, "MethodDesc", "CodeData", data);
  for (const auto& [stored, tier] : {std::pair{0u, Tier::tier0},
                                     {1u, Tier::tier1},
                                     {5u, Tier::instrumented_optimized},
                                     {6u, Tier::unknown},
                                     {0xFFFF'FFFFu, Tier::unknown}}) {
    runtime.target.set(data, "MethodDescCodeData", "OptimizationTier", stored);
    const Target target = runtime.target.target();
    ExecutionManager code(target);
    MethodNames names(target, code, nullptr);
    CHECK(names.tier(method, 0x1000, CodeKind::jitted) == tier);
  }
}

TEST_CASE("the method in a slot is the type's own, else its base type's", "[types]") {
  for (const Platform& platform : all_platforms()) {
    RuntimeTypes runtime(platform);
    const Address base = runtime.type({.module = 0x10, .rid = 2}),
                  derived = runtime.type({.module = 0x10, .rid = 3});
    runtime.target.set(derived, "MethodTable", "ParentMethodTable", base);
    const auto of_base = runtime.chunk(base, {{.rid = 1, .slot = 4}, {.rid = 2, .slot = 5}});
    const auto of_derived = runtime.chunk(derived, {{.rid = 3, .slot = 4}});
    const Target target = runtime.target.target();
    CHECK(method_in_slot(target, derived, 4) == of_derived[0]);
    CHECK(method_in_slot(target, derived, 5) == of_base[1]);
    CHECK(method_in_slot(target, derived, 6) == 0);
  }
}
