// Names of TypeHandles that a damaged target multiplies.
#include "core/memory/failing_reader.h"
#include "core/types/type_names.h"
#include "tests/types/runtime_types.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <string_view>

using namespace clr;
using namespace clr::test;

namespace {

// The TypeHandle of a function pointer over these types.
Address function_pointer(RuntimeTypes& runtime, const std::vector<Address>& types) {
  MemoryBuilder& memory = runtime.target.memory();
  const auto list = static_cast<Address>(runtime.target.offset("FnPtrTypeDesc", "RetAndArgTypes"));
  const Address desc = memory.allocate(list + types.size() * runtime.pointer());
  runtime.overlay(desc, "TypeDesc", {{"TypeAndFlags", 0x1b}});
  runtime.overlay(desc, "FnPtrTypeDesc", {{"NumArgs", types.size() - 1}, {"CallConv", 0}});
  MemoryCursor at = memory.at(desc + list);
  for (const Address type : types) at.pointer(type);
  return desc | 2;
}

} // namespace

TEST_CASE("a TypeHandle that cannot be read is not read again before the process ran", "[types]") {
  RuntimeTypes runtime(all_platforms().front());
  FailingReader memory(runtime.target.memory());
  const Target target(memory, runtime.target.contract_descriptor(), runtime.target.platform());
  NamedModules modules(target, nullptr);
  TypeNames names(target, modules);
  for (const Address handle : {Address{0x6660'0000'1000}, Address{0x6660'0000'1002}}) {
    CHECK(names.type_of_handle(handle)->shape == TypeShape::unknown);
    const std::uint64_t reads = memory.reads();
    CHECK(names.type_of_handle(handle)->shape == TypeShape::unknown);
    CHECK(memory.reads() == reads);
    names.forget_faults(); // the process may have made the type since
    CHECK(names.type_of_handle(handle)->shape == TypeShape::unknown);
    CHECK(memory.reads() > reads);
  }
}

TEST_CASE("a name has a limited number of parts, and each part a name of its own", "[types]") {
  RuntimeTypes runtime(all_platforms().front());
  MetadataBuilder metadata;
  metadata.assembly("app");
  metadata.type("Ns", "C");
  const Address module = runtime.module({.path = "/srv/app.dll", .metadata = metadata.build()});
  const Address type = runtime.type({.module = module, .rid = 2});
  constexpr std::size_t wide = 1'000, functions = 100;
  std::vector<Address> inner;
  for (std::size_t i = 0; i < functions; ++i)
    inner.push_back(function_pointer(runtime, std::vector<Address>(wide, type)));
  const Address outer = function_pointer(runtime, inner);
  const Target target = runtime.target.target();
  NamedModules modules(target, nullptr);
  TypeNames names(target, modules);
  const TypeNamePtr name = names.type_of_handle(outer);
  REQUIRE(name->arguments.size() == functions - 1);
  const auto known = std::ranges::count_if(name->arguments,
                                           [](const TypeNamePtr& part) { return part->element != nullptr; });
  CHECK(known >= 60);
  CHECK(known <= 66);
  CHECK(name->arguments.back()->shape == TypeShape::unknown);
  CHECK(names.type_of_handle(inner.back())->arguments.size() == wide - 1);
}
