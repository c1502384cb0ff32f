#include "core/memory/counting_reader.h"
#include "core/memory/failing_reader.h"
#include "core/metadata/metadata.h"
#include "tests/support/metadata_builder.h"

#include <catch2/catch.hpp>

using namespace clr;
using namespace clr::test;

namespace {

// Metadata over bytes that it owns.
struct Built {
  explicit Built(const MetadataBuilder& builder)
      : bytes(builder.build()), memory(bytes), metadata(ByteRange(memory, 0, bytes.size())) {}
  Bytes bytes;
  HostMemory memory;
  Metadata metadata;
};

bool corrupt(const std::function<void()>& act) {
  try {
    act();
  } catch (const Error& error) {
    return error.kind() == ErrorKind::corrupt;
  }
  return false;
}

// <Module>, Ns.A {M1, M2}, Ns.Empty {}, Ns.A/B {M3}, Ns.A/B/C {M4}
MetadataBuilder small() {
  MetadataBuilder builder;
  builder.assembly("small");
  const std::uint32_t a = builder.type("Ns", "A");
  builder.method("M1", bytes_of({0x20, 0, 1}));
  builder.add(MetadataTable::param, {0, 1, builder.string("first")});
  builder.add(MetadataTable::param, {0, 2, builder.string("second")});
  builder.method("M2", bytes_of({0x00, 0, 1}));
  builder.type("Ns", "Empty");
  const std::uint32_t b = builder.nested("B", a);
  builder.method("M3", bytes_of({0x20, 0, 1}));
  builder.nested("C", b);
  builder.method("M4", bytes_of({0x20, 0, 1}));
  // Sorted by owner, as a coded index: method 1 comes before type 2.
  builder.generic_parameter(MetadataTable::method_def, 1, 0, "U");
  builder.generic_parameter(MetadataTable::type_def, a, 0, "TKey");
  builder.generic_parameter(MetadataTable::type_def, b, 0, "TKey");
  builder.generic_parameter(MetadataTable::type_def, b, 1, "TValue");
  return builder;
}

} // namespace

TEST_CASE("root, streams and heaps") {
  MetadataBuilder builder = small();
  const std::uint32_t text = builder.user_string(u"naïve ☃");
  const std::uint32_t long_blob = builder.blob(Bytes(300, std::byte{7}));
  const std::uint32_t longer_blob = builder.blob(Bytes(0x4001, std::byte{9}));
  const Built built(builder);
  const Metadata& m = built.metadata;
  CHECK(m.version() == "v4.0.30319");
  CHECK_FALSE(m.uncompressed());
  CHECK(m.stream("#Blob").has_value());
  CHECK_FALSE(m.stream("#Pdb").has_value());
  CHECK(to_string(m.mvid()) == "5a5a5a5a-5a5a-5a5a-5a5a-5a5a5a5a5a5a");
  CHECK(m.string(m.module_name()) == "test.dll");
  CHECK(m.string(m.assembly().name) == "small");
  CHECK(m.assembly().revision == 4);
  CHECK(m.string(0).empty());
  CHECK(m.blob(0).size() == 0);
  CHECK(m.blob(long_blob).size() == 300);
  CHECK(m.blob(long_blob).u8(299) == 7);
  CHECK(m.blob(longer_blob).size() == 0x4001);
  CHECK(m.user_string(text) == u"naïve ☃");
}

TEST_CASE("a GUID prints in its usual form") {
  metadata::Guid guid{};
  for (std::size_t i = 0; i < guid.size(); ++i) guid[i] = static_cast<std::byte>(i);
  CHECK(to_string(guid) == "03020100-0504-0706-0809-0a0b0c0d0e0f");
}

TEST_CASE("rows, whatever the widths") {
  for (unsigned variant = 0; variant < 16; ++variant) {
    MetadataBuilder builder = small();
    builder.heap_widths.strings = (variant & 1) != 0 ? 4 : 2;
    builder.heap_widths.blob = builder.heap_widths.guid = (variant & 2) != 0 ? 4 : 2;
    builder.all_wide = (variant & 4) != 0;
    builder.extra_data = (variant & 8) != 0;
    const std::uint32_t runtime = builder.assembly_ref("System.Runtime");
    const std::uint32_t list = builder.type_ref("System.Collections.Generic", "List`1", runtime);
    const std::uint32_t nested = builder.nested_type_ref("Enumerator", list);
    builder.add(MetadataTable::type_spec, {builder.blob(bytes_of({0x1d, 0x08}))});
    builder.add(MetadataTable::method_spec, {1 << 1 | 1, builder.blob(bytes_of({0x0a, 1, 8}))});
    builder.add(MetadataTable::member_ref,
                {list << 3 | 1, builder.string("Add"), builder.blob(bytes_of({0x20, 0, 1}))});
    builder.add(MetadataTable::exported_type,
                {0, 9, builder.string("Moved"), builder.string("Ns"), runtime << 2 | 1});
    builder.add(MetadataTable::module_ref, {builder.string("libc")});
    const Built built(builder);
    const Metadata& m = built.metadata;
    CAPTURE(variant);
    CHECK(m.rows(MetadataTable::type_def) == 5);
    CHECK(m.string(m.type_def(2).name) == "A");
    CHECK(m.string(m.type_def(2).name_space) == "Ns");
    CHECK_FALSE(m.type_def(2).nested());
    CHECK(m.type_def(4).nested());
    CHECK(m.string(m.method_def(3).name) == "M3");
    CHECK(m.blob(m.method_def(1).signature).u8(0) == 0x20);
    CHECK(m.string(m.param(2).name) == "second");
    CHECK(m.param(2).sequence == 2);
    CHECK(m.type_ref(nested).resolution_scope == token_of(MetadataTable::type_ref, list));
    CHECK(m.type_ref(list).resolution_scope == token_of(MetadataTable::assembly_ref, runtime));
    CHECK(m.string(m.assembly_ref(runtime).name) == "System.Runtime");
    CHECK(m.assembly_ref(runtime).major == 10);
    CHECK(m.blob(m.type_spec(1)).u8(0) == 0x1d);
    CHECK(m.method_spec(1).method == 0x0a000001);
    CHECK(m.member_ref(1).parent == token_of(MetadataTable::type_ref, list));
    CHECK(m.exported_type(1).implementation == token_of(MetadataTable::assembly_ref, runtime));
    CHECK(m.exported_type(1).type_def_id == 9);
    CHECK(m.string(m.module_ref_name(1)) == "libc");
    CHECK(m.string(m.generic_param(4).name) == "TValue");
    CHECK(m.generic_param(4).number == 1);
    CHECK(m.cell(MetadataTable::method_def, 2, 3) == m.method_def(2).name);
    CHECK(m.table_bytes(MetadataTable::nested_class).size() == 2u * (builder.all_wide ? 8 : 4));
  }
}

TEST_CASE("rows that do not exist are corrupt, not zero") {
  const Built built(small());
  const Metadata& m = built.metadata;
  CHECK(corrupt([&] { m.method_def(0); }));
  CHECK(corrupt([&] { m.method_def(5); }));
  CHECK(corrupt([&] { m.type_ref(1); }));
  CHECK(corrupt([&] { m.cell(MetadataTable::method_def, 1, 6); }));
  CHECK(corrupt([&] { m.cell(static_cast<MetadataTable>(0x2e), 1, 0); }));
  CHECK(corrupt([&] { m.string(0x00ff'ffff); }));
  CHECK(corrupt([&] { m.blob(0x00ff'ffff); }));
  CHECK(corrupt([&] { m.guid(7); }));
  CHECK(m.valid(0x06000004));
  CHECK_FALSE(m.valid(0x06000005));
  CHECK_FALSE(m.valid(0x06000000));
  CHECK_FALSE(m.valid(0xff000001));
}

TEST_CASE("navigation") {
  const Built built(small());
  const Metadata& m = built.metadata;
  CHECK(m.owner_of_method(1) == 2);
  CHECK(m.owner_of_method(2) == 2);
  CHECK(m.owner_of_method(3) == 4); // not the empty type before it
  CHECK(m.owner_of_method(4) == 5);
  CHECK(m.owner_of_method(0) == 0);
  CHECK(m.owner_of_method(5) == 0);
  CHECK(m.method_range(2) == std::pair(1u, 3u));
  CHECK(m.method_range(3) == std::pair(3u, 3u));
  CHECK(m.method_range(5) == std::pair(4u, 5u));
  CHECK(m.encloser_of(2) == 0);
  CHECK(m.encloser_of(4) == 2);
  CHECK(m.encloser_of(5) == 4);
  CHECK(m.param_range(1) == std::pair(1u, 3u));
  CHECK(m.param_range(2).first == m.param_range(2).second);
  CHECK(m.generic_params(token_of(MetadataTable::method_def, 1)) == std::pair(1u, 2u));
  CHECK(m.generic_params(token_of(MetadataTable::type_def, 2)) == std::pair(2u, 3u));
  CHECK(m.generic_params(token_of(MetadataTable::type_def, 3)) == std::pair(3u, 3u));
  CHECK(m.generic_params(token_of(MetadataTable::type_def, 4)) == std::pair(3u, 5u));
}

TEST_CASE("edited metadata: pointer tables, rows out of order") {
  MetadataBuilder builder;
  builder.uncompressed = true;
  const std::uint32_t a = builder.type("Ns", "A");
  const std::uint32_t b = builder.type("Ns", "B");
  const std::uint32_t n1 = builder.type("", "N1", 2), n2 = builder.type("", "N2", 2);
  for (const char* name : {"M1", "M2", "M3"}) builder.method(name, bytes_of({0, 0, 1}));
  // A owns M2 and M3, B owns M1: the pointers say so.
  for (const unsigned rid : {2u, 3u, 1u}) builder.add(MetadataTable::method_ptr, {rid});
  builder.set(MetadataTable::type_def, a, 5, 1);
  builder.set(MetadataTable::type_def, b, 5, 3);
  for (const std::uint32_t rid : {n1, n2}) builder.set(MetadataTable::type_def, rid, 5, 4);
  builder.add(MetadataTable::nested_class, {n2, b});
  builder.add(MetadataTable::nested_class, {n1, a});
  builder.generic_parameter(MetadataTable::type_def, b, 0, "T");
  builder.generic_parameter(MetadataTable::type_def, a, 0, "U");
  const Built built(builder);
  const Metadata& m = built.metadata;
  CHECK(m.uncompressed());
  CHECK(m.owner_of_method(1) == b);
  CHECK(m.owner_of_method(2) == a);
  CHECK(m.owner_of_method(3) == a);
  CHECK(m.method_range(a) == std::pair(1u, 3u));
  CHECK(m.method_at(1) == 2);
  CHECK(m.method_at(3) == 1);
  CHECK(m.encloser_of(n1) == a);
  CHECK(m.encloser_of(n2) == b);
  CHECK(m.encloser_of(a) == 0);
  CHECK(m.generic_params(token_of(MetadataTable::type_def, a)) == std::pair(2u, 3u));
}

TEST_CASE("tables in any order are read once, however often they are searched") {
  constexpr std::uint32_t count = 20'000;
  MetadataBuilder builder;
  builder.uncompressed = true;
  for (std::uint32_t i = 0; i < count; ++i) {
    builder.add(MetadataTable::field, {0x50, 0, 0});
    builder.add(MetadataTable::method_def, {0, 0, 0, 0, 0, 1});
  }
  const std::uint32_t type = builder.type("Ns", "A");
  builder.set(MetadataTable::type_def, type, 5, 1);
  for (std::uint32_t i = count; i > 0; --i) {
    builder.add(MetadataTable::method_ptr, {i});
    builder.add(MetadataTable::constant, {8, 0, i << 2, i});
    builder.add(MetadataTable::nested_class, {100 + i, 100 + i / 2});
  }
  // Of one type: three rows, one of another, one more.
  const std::uint32_t a = 2 << 5 | 3, b = 3 << 5 | 3;
  for (const std::uint32_t owner : {b, a, a, a, b, a})
    builder.add(MetadataTable::custom_attribute, {owner, 0, 0});
  const Bytes bytes = builder.build();
  HostMemory memory(bytes);
  CountingReader counting(memory);
  const Metadata m(ByteRange(counting, 0, bytes.size()));
  std::uint32_t right = 0;
  counting.reset();
  for (std::uint32_t i = 1; i <= count; ++i)
    right += m.constant_of_field(i)->value == i && m.encloser_of(100 + i) == 100 + i / 2 &&
                     m.owner_of_method(i) == type
                 ? 1
                 : 0;
  CHECK(right == count);
  CHECK(counting.reads() < 100 * count);
  CHECK_FALSE(m.constant_of_field(count + 1));
  CHECK(m.encloser_of(99) == 0);
  CHECK(m.custom_attributes(0x0200'0002) == std::pair(2u, 5u));
  CHECK(m.custom_attributes(0x0200'0003) == std::pair(1u, 2u));
  CHECK(m.custom_attributes(0x0200'0004) == std::pair(7u, 7u));
}

TEST_CASE("a table in any order that cannot be read whole is known up to there, and not tried again") {
  MetadataBuilder builder;
  builder.uncompressed = true;
  for (std::uint32_t i = 0; i < 100; ++i) builder.add(MetadataTable::nested_class, {i, 1});
  const Bytes bytes = builder.build();
  HostMemory memory(bytes);
  FailingReader failing(memory);
  const Metadata m(ByteRange(failing, 0, bytes.size()));
  failing.fail_at(50);
  CHECK_THROWS_AS(m.encloser_of(90), Error); // it may be in one of the rows that are missing
  failing.fail_at(0);
  CHECK(m.encloser_of(7) == 1);
  CHECK(m.encloser_of(47) == 1);
  CHECK_THROWS_AS(m.encloser_of(48), Error); // in the last row before: there may be more of it
  const std::uint64_t before = failing.reads();
  CHECK_THROWS_AS(m.encloser_of(90), Error);
  CHECK(failing.reads() < before + 10); // a search in the index
}

TEST_CASE("an owner of many rows is not walked through for the first") {
  constexpr std::uint32_t count = 30'000;
  MetadataBuilder builder;
  for (std::uint32_t i = 0; i < count; ++i) builder.add(MetadataTable::constant, {8, 0, 5 << 2, i});
  builder.add(MetadataTable::constant, {8, 0, 6 << 2, 7});
  for (std::uint32_t owners = 1; owners < 9; ++owners) // of as many rows as its number
    for (std::uint32_t i = 0; i < owners; ++i)
      builder.add(MetadataTable::custom_attribute, {owners << 5 | 3, 0, 0});
  const Bytes bytes = builder.build();
  HostMemory memory(bytes);
  CountingReader counting(memory);
  const Metadata m(ByteRange(counting, 0, bytes.size()));
  counting.reset();
  CHECK(m.constant_of_field(5)->value == 0);
  CHECK(m.constant_of_field(6)->value == 7);
  CHECK(counting.reads() < 150);
  for (std::uint32_t owner = 1; owner < 9; ++owner) {
    const auto [first, last] = m.custom_attributes(token_of(MetadataTable::type_def, owner));
    CHECK(first == 1 + owner * (owner - 1) / 2);
    CHECK(last == first + owner);
  }
}

TEST_CASE("lists that lie are refused") {
  MetadataBuilder builder = small();
  builder.set(MetadataTable::type_def, 3, 5, 1); // behind the beginning of the type before it
  builder.set(MetadataTable::type_def, 2, 5, 4);
  const Built built(builder);
  CHECK(corrupt([&] { built.metadata.method_range(2); }));
}

TEST_CASE("roots that contradict themselves are refused") {
  const Bytes good = small().build();
  const auto refused = [&](std::size_t at, std::uint32_t value) {
    Bytes changed = good;
    for (unsigned i = 0; i < 4; ++i) changed[at + i] = static_cast<std::byte>(value >> (8 * i));
    HostMemory memory(changed);
    return corrupt([&] { Metadata(ByteRange(memory, 0, changed.size())); });
  };
  CHECK(refused(0, 0));            // magic
  CHECK(refused(12, 0x8000'0000)); // version length
  CHECK(refused(12, 0x1000));
  const std::size_t streams = 16 + 12 + 2;
  CHECK(refused(streams, 0xffff));          // count of streams
  CHECK(refused(streams + 2, 0xffff'ff00)); // offset of #~
  CHECK(refused(streams + 6, 0xffff'ff00)); // size of #~
  CHECK(refused(streams + 6, 4));           // too small for its header
  MetadataBuilder unknown = small();
  unknown.unknown_tables = std::uint64_t{1} << 0x38;
  const Bytes with_unknown = unknown.build();
  HostMemory memory(with_unknown);
  CHECK(corrupt([&] { Metadata(ByteRange(memory, 0, with_unknown.size())); }));
}

TEST_CASE("a row costs one read, a search as many as its steps") {
  const Bytes bytes = small().build();
  HostMemory memory(bytes);
  CountingReader counting(memory);
  const Metadata m(ByteRange(counting, 0, bytes.size()));
  counting.reset();
  m.method_def(1);
  CHECK(counting.reads() == 1);
  counting.reset();
  m.owner_of_method(4);
  CHECK(counting.reads() <= 3);
}

TEST_CASE("the k-th read fails: a fault, never a wrong answer") {
  const Bytes bytes = small().build();
  HostMemory memory(bytes);
  FailingReader failing(memory);
  const auto all = [&] {
    const Metadata m(ByteRange(failing, 0, bytes.size()));
    std::string text = to_string(m.mvid()) + m.string(m.type_def(2).name) + m.string(m.method_def(3).name);
    text += std::to_string(m.owner_of_method(3)) + std::to_string(m.encloser_of(5));
    text += std::to_string(m.generic_params(token_of(MetadataTable::type_def, 4)).second);
    return text + std::to_string(m.blob(m.method_def(1).signature).size());
  };
  const std::string right = all();
  const std::uint64_t reads = failing.reads();
  REQUIRE(reads > 20);
  for (std::uint64_t k = 1; k <= reads; ++k) {
    failing.fail_at(k);
    try {
      all();
      FAIL("read " << k << " failed and nobody noticed");
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::memory_missing);
    }
  }
  failing.fail_at(0);
  CHECK(all() == right);
}
