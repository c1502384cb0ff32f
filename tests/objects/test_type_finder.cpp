// Signatures and type arguments that a damaged target multiplies.
#include "core/objects/type_finder.h"
#include "tests/objects/object_runtime.h"
#include "tests/support/faults.h"

#include <catch2/catch.hpp>

using namespace clr;
using namespace clr::test;

namespace {

std::uint32_t add_locals(MetadataBuilder& metadata, const Bytes& types, unsigned count) {
  Bytes signature = bytes_of({0x07, count});
  append(signature, types);
  return metadata.add(MetadataTable::stand_alone_sig, {metadata.blob(signature)});
}

Bytes spec_token(unsigned rid) {
  return bytes_of({0x12, rid << 2 | 2});
}

} // namespace

TEST_CASE("type specifications of locals that multiply are refused", "[objects]") {
  ObjectRuntime r(all_platforms().front());
  MetadataBuilder metadata;
  metadata.assembly("specs");
  metadata.type("Ns", "Wide`100");
  // Each names the one before it a hundred times: 100^8 types.
  constexpr unsigned levels = 8;
  for (unsigned level = 0; level < levels; ++level) {
    Bytes spec = bytes_of({0x15, 0x12, 2u << 2, 100});
    for (unsigned i = 0; i < 100; ++i) append(spec, level == 0 ? bytes_of({0x08}) : spec_token(level));
    metadata.add(MetadataTable::type_spec, {metadata.blob(spec)});
  }
  constexpr std::uint32_t wide = 40'000;
  Bytes long_spec = bytes_of({0x15, 0x12, 2u << 2});
  append_compressed(long_spec, wide);
  long_spec.insert(long_spec.end(), wide, std::byte{0x08});
  const std::uint32_t long_rid = metadata.add(MetadataTable::type_spec, {metadata.blob(long_spec)});
  Bytes twice = spec_token(long_rid);
  append(twice, spec_token(long_rid));
  const std::uint32_t few = add_locals(metadata, spec_token(2), 1),
                      many = add_locals(metadata, spec_token(levels), 1),
                      one = add_locals(metadata, spec_token(long_rid), 1),
                      both = add_locals(metadata, twice, 2);
  const Address module =
      r.runtime.module({.path = "/srv/specs.dll", .simple_name = "specs", .metadata = metadata.build()});
  ObjectView view(r);
  TypeFinder& finder = view.objects.finder();
  const TypeScope scope{.module = module};
  CHECK(finder.locals(few, scope).at(0)->name->arguments.size() == 100);
  CHECK(fault_of([&] { finder.locals(many, scope); })->kind() == ErrorKind::corrupt);
  // All locals of a method share the room.
  CHECK(finder.locals(one, scope).at(0)->name->arguments.size() == wide);
  CHECK(fault_of([&] { finder.locals(both, scope); })->kind() == ErrorKind::corrupt);
  CHECK(finder.locals(few, scope).size() == 1);
}

TEST_CASE("an instance over a type that is its own argument twice is looked for once", "[objects]") {
  ObjectRuntime r(all_platforms().front());
  MetadataBuilder metadata;
  metadata.assembly("cycle");
  const std::uint32_t list = metadata.type_ref("System.Collections.Generic", "List`1",
                                               metadata.assembly_ref("System.Private.CoreLib"));
  metadata.type("Ns", "Pair`2");
  // List<!!0>
  const std::uint32_t locals = add_locals(metadata, bytes_of({0x15, 0x12, list << 2 | 1, 1, 0x1e, 0}), 1);
  const Address module =
      r.runtime.module({.path = "/srv/cycle.dll", .simple_name = "cycle", .metadata = metadata.build()});
  const Address pair = r.runtime.type(
      {.module = module, .rid = 2, .generic = MethodTable::Generic::exact, .arguments = {0, 0}});
  const Target target = r.runtime.target.target();
  const Address dictionary =
      target.read_pointer(target.read_pointer(target.field_address(pair, "MethodTable", "PerInstInfo")));
  r.memory.at(dictionary).pointer(pair).pointer(pair);
  ObjectView view(r);
  const Address arguments[] = {pair};
  const auto found = view.objects.finder().locals(locals, {.module = module, .method_arguments = arguments});
  REQUIRE(found.size() == 1);
  CHECK(found[0]->method_table == 0);
  CHECK(found[0]->kind == TypeUse::Kind::reference);
}

TEST_CASE("a type that another module forwards is found by its name, and damaged rows are passed",
          "[objects]") {
  ObjectRuntime r(all_platforms().front());
  MetadataBuilder facade;
  facade.assembly("facade");
  const std::uint32_t core = facade.assembly_ref("System.Private.CoreLib");
  facade.nested("Loop", 2); // within itself
  constexpr std::uint32_t assembly_ref_tag = 1;
  const auto forward = [&](std::string_view name, std::uint32_t implementation) {
    facade.add(MetadataTable::exported_type,
               {0, 0, facade.string(name), facade.string("System"), implementation});
  };
  forward("TimeSpan", 0);
  forward("DateTime", core << 2 | assembly_ref_tag);
  forward("TimeSpan", core << 2 | assembly_ref_tag);
  const Address facade_module =
      r.runtime.module({.path = "/fx/facade.dll", .simple_name = "facade", .metadata = facade.build()});
  MetadataBuilder user;
  user.assembly("user");
  const std::uint32_t scope = user.assembly_ref("facade");
  const std::uint32_t date = user.type_ref("System", "DateTime", scope),
                      span = user.type_ref("System", "TimeSpan", scope),
                      none = user.type_ref("System", "Nothing", scope);
  const Address user_module =
      r.runtime.module({.path = "/srv/user.dll", .simple_name = "user", .metadata = user.build()});
  r.runtime.app_domain({r.core_lib, r.app, facade_module, user_module});
  ObjectView view(r);
  const auto loaded = [&](std::uint32_t rid) {
    return view.objects.finder().loaded(user_module, token_of(MetadataTable::type_ref, rid));
  };
  CHECK(loaded(date) == r.date_type);
  CHECK(loaded(span) == r.time_span_type);
  CHECK(loaded(none) == 0);
}
