// Damaged metadata: cut short at every length, bytes changed at random. Nothing may crash, hang or read
// outside; every fault must be an Error.
#include "core/metadata/metadata.h"
#include "core/metadata/pe_image.h"
#include "core/metadata/signature.h"
#include "tests/support/metadata_builder.h"

#include <catch2/catch.hpp>
#include <fstream>
#include <iterator>
#include <random>

using namespace clr;
using namespace clr::test;

namespace {

Bytes recorded(const std::string& name) {
  std::ifstream file(std::string(CLR_TEST_DATA) + "/metadata/data/" + name, std::ios::binary);
  const std::vector<char> content((std::istreambuf_iterator<char>(file)), {});
  REQUIRE(!content.empty());
  Bytes bytes(content.size());
  std::memcpy(bytes.data(), content.data(), content.size());
  return bytes;
}

Bytes metadata_of(const Bytes& file) {
  HostMemory memory(file);
  const PeImage pe(memory, 0, false);
  return pe.range_of(pe.metadata()).bytes(0, pe.metadata().size);
}

struct Skip {
  struct Type {};
  Type primitive(std::uint8_t) { return {}; }
  Type from_token(std::uint32_t, bool) { return {}; }
  Type instance(Type, std::vector<Type>) { return {}; }
  Type szarray(Type) { return {}; }
  Type array(Type, ArrayShape) { return {}; }
  Type pointer(Type) { return {}; }
  Type byref(Type) { return {}; }
  Type pinned(Type) { return {}; }
  Type function_pointer(MethodSignature<Type>) { return {}; }
  Type variable(std::uint32_t, bool) { return {}; }
  Type modified(Type, std::uint32_t, bool) { return {}; }
  Type from_handle(std::uint64_t) { return {}; }
  Type modified_by_handle(Type, std::uint64_t, bool) { return {}; }
  Type canon() { return {}; }
  Type native_value_type(Type) { return {}; }
  Type generic_parameter(std::uint32_t) { return {}; }
  int enter_module(std::uint32_t) { return 0; }
  void leave_module(int) {}
};

// Calls every accessor; the number of answers that were not faults.
unsigned touch_everything(const Bytes& bytes) {
  unsigned answers = 0;
  const auto attempt = [&](const auto& act) {
    try {
      act();
      ++answers;
    } catch (const Error&) {
    }
  };
  HostMemory memory(bytes);
  std::optional<Metadata> opened;
  attempt([&] { opened.emplace(ByteRange(memory, 0, bytes.size())); });
  if (!opened) return answers;
  const Metadata& m = *opened;
  attempt([&] { m.mvid(); });
  attempt([&] { m.string(m.assembly().name); });
  // A row count may claim millions where rows are empty of data: the first and last few are enough.
  const auto rids = [&](MetadataTable table, const auto& act) {
    const std::uint32_t rows = m.rows(table);
    for (std::uint32_t rid = 1; rid <= std::min(rows, 100u); ++rid) attempt([&] { act(rid); });
    if (rows > 100) attempt([&] { act(rows); });
    attempt([&] { act(rows + 1); });
  };
  rids(MetadataTable::type_def, [&](std::uint32_t rid) {
    m.string(m.type_def(rid).name);
    m.method_range(rid);
    m.encloser_of(rid);
    m.generic_params(token_of(MetadataTable::type_def, rid));
  });
  rids(MetadataTable::type_ref, [&](std::uint32_t rid) { m.string(m.type_ref(rid).name); });
  rids(MetadataTable::method_def, [&](std::uint32_t rid) {
    m.string(m.method_def(rid).name);
    m.owner_of_method(rid);
    m.param_range(rid);
    const BlobBytes signature(m.blob(m.method_def(rid).signature));
    Skip skip;
    SignatureReader reader(signature.span());
    SignatureDecoder(skip, reader, {.internal = true, .ready_to_run = true}).method();
  });
  rids(MetadataTable::member_ref, [&](std::uint32_t rid) { m.string(m.member_ref(rid).name); });
  rids(MetadataTable::param, [&](std::uint32_t rid) { m.string(m.param(rid).name); });
  rids(MetadataTable::type_spec, [&](std::uint32_t rid) { m.blob(m.type_spec(rid)); });
  rids(MetadataTable::assembly_ref, [&](std::uint32_t rid) { m.string(m.assembly_ref(rid).name); });
  return answers;
}

} // namespace

TEST_CASE("metadata cut short at any length") {
  const Bytes whole = metadata_of(recorded("names.dll"));
  const unsigned complete = touch_everything(whole);
  CHECK(complete > 100);
  for (std::size_t size = 0; size < whole.size(); size += size < 700 ? 1 : 13)
    CHECK(touch_everything(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size))) <=
          complete);
}

TEST_CASE("metadata with changed bytes") {
  const Bytes whole = metadata_of(recorded("names.dll"));
  std::mt19937 random(20250101); // NOLINT: the same damage each time
  std::size_t answers = 0;
  for (unsigned round = 0; round < 1500; ++round) {
    Bytes damaged = whole;
    // Half of the rounds aim at the headers, where each byte decides much.
    const std::size_t range = round % 2 == 0 ? damaged.size() : 400;
    for (unsigned i = 0; i <= random() % 8; ++i)
      damaged[4 + random() % (range - 4)] = static_cast<std::byte>(random());
    answers += touch_everything(damaged);
  }
  CHECK(answers > 10'000);
}

TEST_CASE("images with changed headers") {
  const Bytes file = recorded("names-x64.dll");
  std::mt19937 random(7); // NOLINT
  unsigned opened = 0;
  for (unsigned round = 0; round < 3000; ++round) {
    Bytes damaged = file;
    for (unsigned i = 0; i <= random() % 6; ++i)
      damaged[2 + random() % 0x500] = static_cast<std::byte>(random());
    HostMemory memory(damaged);
    for (const bool mapped : {false, true}) try {
        const PeImage pe(memory, 0, mapped);
        pe.debug_entries();
        pe.find_export("RTR_HEADER");
        pe.range_of(pe.metadata());
        pe.range_of(pe.managed_native_header());
        ++opened;
      } catch (const Error&) {
      }
  }
  CHECK(opened > 100);
}
