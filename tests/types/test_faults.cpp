// Every read may fail. The answer is then a fault, or says that something is missing; it is never a wrong
// name.
#include "core/memory/failing_reader.h"
#include "tests/types/sample_runtime.h"

#include <catch2/catch.hpp>

using namespace clr;
using namespace clr::test;

TEST_CASE("a failing read never makes a wrong name", "[types][faults]") {
  for (const Platform& platform : all_platforms()) {
    for (const bool stays : {false, true}) {
      DYNAMIC_SECTION(to_string(platform) << (stays ? ", all later reads fail too" : ", one read fails")) {
        SampleRuntime sample(platform);
        const ContractDescriptor descriptor = sample.runtime.target.contract_descriptor();
        for (const SampleMethod& method : sample.methods) {
          for (std::uint64_t k = 1;; ++k) {
            FailingReader failing(sample.runtime.target.memory(), k, stays);
            const Target target(failing, descriptor, platform);
            ExecutionManager code(target);
            MethodNames names(target, code, nullptr);
            CAPTURE(method.full_name, k);
            std::string name, sos_name;
            try {
              const Method& got = names.describe(method.address);
              // The SOS form may lack the assembly of a type argument, which it then leaves out.
              const bool whole = got.full_name == method.full_name;
              name = got.full_name;
              sos_name = got.sos_name();
              if (!whole) {
                // Less is known, and it says so: by token, or with the parts that are missing.
                CAPTURE(got.full_name, got.sos_name());
                const bool told = !got.degraded.empty() || got.module == "?" ||
                                  got.full_name.find('?') != std::string::npos;
                CHECK(told);
                if (got.name_from != NameSource::token && got.signature_known)
                  CHECK_THAT(got.full_name, Catch::Contains("?"));
              }
            } catch (const Error& fault) {
              CHECK(fault.kind() == ErrorKind::memory_missing);
            }
            if (failing.reads() < k) {
              CHECK(name == method.full_name);
              CHECK(sos_name == method.sos_name);
              break;
            }
            REQUIRE(k < 2'000);
          }
        }
      }
    }
  }
}

TEST_CASE("a failing read never makes a wrong tier", "[types][faults]") {
  for (const Platform& platform : all_platforms()) {
    DYNAMIC_SECTION(to_string(platform)) {
      SampleRuntime sample(platform);
      sample.runtime.call_counting({{sample.tiered, 1}, {sample.switched, 4}});
      sample.runtime.versions(sample.versioned, {{0x1000, 1}, {0x2000, 4}});
      const ContractDescriptor descriptor = sample.runtime.target.contract_descriptor();
      struct Case {
        Address method, start;
        Tier tier;
      };
      for (const Case& expected :
           {Case{sample.tiered, 0x1000, Tier::tier0}, Case{sample.switched, 0x1000, Tier::optimized},
            Case{sample.versioned, 0x2000, Tier::instrumented}}) {
        for (std::uint64_t k = 1;; ++k) {
          FailingReader failing(sample.runtime.target.memory(), k);
          const Target target(failing, descriptor, platform);
          ExecutionManager code(target);
          MethodNames names(target, code, nullptr);
          CAPTURE(k);
          Tier got = Tier::unknown;
          try {
            got = names.tier(expected.method, expected.start, CodeKind::jitted);
            CHECK((got == expected.tier || got == Tier::unknown));
          } catch (const Error& fault) {
            CHECK(fault.kind() == ErrorKind::memory_missing);
          }
          if (failing.reads() < k) {
            CHECK(got == expected.tier);
            break;
          }
        }
      }
    }
  }
}

TEST_CASE("a failing read leaves a hole among the modules", "[types][faults]") {
  for (const Platform& platform : all_platforms()) {
    DYNAMIC_SECTION(to_string(platform)) {
      SampleRuntime sample(platform);
      sample.runtime.app_domain({sample.core_lib, sample.app});
      const ContractDescriptor descriptor = sample.runtime.target.contract_descriptor();
      for (std::uint64_t k = 1;; ++k) {
        FailingReader failing(sample.runtime.target.memory(), k);
        const Target target(failing, descriptor, platform);
        ExecutionManager code(target);
        MethodNames names(target, code, nullptr);
        CAPTURE(k);
        const std::vector<ModuleDescription> modules = names.modules();
        for (const ModuleDescription& module : modules) {
          const bool known = module.module == sample.core_lib || module.module == sample.app;
          CHECK(known);
          if (module.module == sample.app) CHECK((module.name == "app.dll" || module.name == "app"));
          CHECK((!module.method_count || *module.method_count > 0));
        }
        if (failing.reads() < k) {
          CHECK(modules.size() == 2);
          break;
        }
      }
    }
  }
}
