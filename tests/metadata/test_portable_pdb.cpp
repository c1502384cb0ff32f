#include "core/metadata/portable_pdb.h"
#include "tests/memory/temporary_directory.h"
#include "tests/support/faults.h"
#include "tests/support/pdb_builder.h"

#include <catch2/catch.hpp>
#include <fmt/format.h>

using namespace clr;
using namespace clr::test;

namespace {

constexpr std::uint32_t method(std::uint32_t rid) {
  return token_of(MetadataTable::method_def, rid);
}

std::unique_ptr<PortablePdb> read(const PdbBuilder& builder) {
  return PortablePdb::of_bytes(builder.build(), "test.pdb");
}

std::optional<ErrorKind> kind_of(const std::function<void()>& act) {
  const auto fault = fault_of(act);
  return fault ? std::optional(fault->kind()) : std::nullopt;
}

// The kinds as the file stores them.
const Bytes async_kind = bytes_of(
    {0xc5, 0x2a, 0xfd, 0x54, 0x25, 0xe9, 0x1a, 0x40, 0x9c, 0x2a, 0xf9, 0x4f, 0x17, 0x10, 0x72, 0xf8});
const Bytes hoisted_kind = bytes_of(
    {0x1e, 0xa6, 0xa9, 0x6d, 0xc7, 0xf8, 0x74, 0x48, 0xbe, 0x62, 0x68, 0xbc, 0x56, 0x30, 0xdf, 0x71});
const Bytes tuple_names_kind = bytes_of(
    {0x71, 0xdf, 0x9f, 0xed, 0x79, 0x88, 0x47, 0x47, 0x8e, 0xd3, 0xfe, 0x5e, 0xde, 0x3c, 0xe7, 0x10});
const Bytes source_kind = bytes_of(
    {0x1b, 0x57, 0x8a, 0x0e, 0x26, 0x69, 0x6e, 0x46, 0xb4, 0xad, 0x8a, 0xb0, 0x46, 0x11, 0xf5, 0xfe});
const Bytes link_kind = bytes_of(
    {0x56, 0x05, 0x11, 0xcc, 0x91, 0xa0, 0x38, 0x4d, 0x9f, 0xec, 0x25, 0xab, 0x9a, 0x35, 0x1a, 0x6a});

} // namespace

TEST_CASE("signed integers of sequence points are written as the format's description shows") {
  const std::pair<std::int32_t, Bytes> vectors[] = {{3, bytes_of({0x06})},
                                                    {-3, bytes_of({0x7b})},
                                                    {64, bytes_of({0x80, 0x80})},
                                                    {-64, bytes_of({0x01})},
                                                    {8192, bytes_of({0xc0, 0, 0x40, 0})},
                                                    {-8192, bytes_of({0x80, 0x01})}};
  for (const auto& [value, expected] : vectors) {
    Bytes bytes;
    append_compressed_signed(bytes, value);
    CHECK(bytes == expected);
  }
}

TEST_CASE("a PDB tells its id, entry point and the rows of its assembly") {
  PdbBuilder builder;
  builder.metadata.pdb->entry_point = method(2);
  builder.assembly_rows(MetadataTable::param) = 6674; // makes coded parents wide
  builder.method();
  builder.method();
  const auto pdb = read(builder);
  CHECK(pdb->id() == builder.id());
  CHECK(to_string(pdb->id()) == "a3a2a1a0-a5a4-a7a6-a8a9-aaabacadaeaf/b3b2b1b0");
  CHECK(pdb->entry_point() == method(2));
  CHECK(pdb->assembly_rows(MetadataTable::method_def) == 2);
  CHECK(pdb->assembly_rows(MetadataTable::param) == 6674);
  CHECK(pdb->assembly_rows(MetadataTable::type_def) == 0);
  CHECK(pdb->name() == "test.pdb");
}

TEST_CASE("sequence points come with their lines, hidden ones and documents") {
  PdbBuilder builder;
  const std::uint32_t one = builder.document("/src/One.cs"), two = builder.document("/src/Two.cs");
  builder.method(one, PointsBlob(7)
                          .at(0, 10, 5, 10, 6)
                          .at(1, 11, 9, 13, 4) // ends left of where it begins
                          .hidden(0x20)
                          .at(0x21, 9, 13, 9, 40) // backwards, relative to the point before the hidden one
                          .document(two)
                          .at(0x4321, 70'000, 300, 70'000, 301)
                          .hidden(0x4330)
                          .bytes);
  builder.method(); // no points
  // The document stands in the blob when the row has none; the first point is hidden.
  builder.method(0, PointsBlob(0, two).hidden(0).document(one).at(4, 1, 1, 1, 2).bytes);
  builder.method(one, PointsBlob(0x1100'0007).at(0, 10, 5, 10, 6).bytes); // a token, as F# writes it
  const auto pdb = read(builder);

  const std::vector<SequencePoint> expected{{0, one, 10, 5, 10, 6, false},
                                            {1, one, 11, 9, 13, 4, false},
                                            {0x20, one, 0, 0, 0, 0, true},
                                            {0x21, one, 9, 13, 9, 40, false},
                                            {0x4321, two, 70'000, 300, 70'000, 301, false},
                                            {0x4330, two, 0, 0, 0, 0, true}};
  CHECK(pdb->sequence_points(method(1)) == expected);
  CHECK(pdb->local_signature(method(1)) == 7);
  CHECK(pdb->sequence_points(method(2)).empty());
  CHECK(pdb->local_signature(method(2)) == 0);
  CHECK(pdb->local_signature(method(4)) == 7);
  CHECK(pdb->sequence_points(method(3)) ==
        std::vector<SequencePoint>{{0, two, 0, 0, 0, 0, true}, {4, one, 1, 1, 1, 2, false}});
  // Unknown tokens and tokens of other tables are methods without points.
  for (const std::uint32_t token : {method(0), method(5), 0x0200'0001u, 0x3100'0001u, 0xffff'ffffu})
    CHECK(pdb->sequence_points(token).empty());
}

TEST_CASE("the point of an IL offset is the last visible one at or before it") {
  PdbBuilder builder;
  const std::uint32_t doc = builder.document("/a.cs");
  builder.method(doc,
                 PointsBlob().hidden(0).at(2, 10, 1, 10, 9).hidden(5).at(9, 12, 1, 12, 9).hidden(12).bytes);
  builder.method(doc, PointsBlob().hidden(0).bytes);
  const auto pdb = read(builder);
  const auto line = [&](std::uint32_t il_offset) -> std::uint32_t {
    const auto point = pdb->sequence_point(method(1), il_offset);
    return point ? point->start_line : 0;
  };
  CHECK(line(0) == 0); // only hidden ones before
  CHECK(line(1) == 0);
  CHECK(line(2) == 10);
  CHECK(line(4) == 10);
  CHECK(line(5) == 10); // a hidden point does not end the one before
  CHECK(line(8) == 10);
  CHECK(line(9) == 12);
  CHECK(line(0xffff'ffff) == 12);
  CHECK_FALSE(pdb->sequence_point(method(2), 100));
  CHECK_FALSE(pdb->sequence_point(method(3), 0));
}

TEST_CASE("questions about a long method go on from where others have ended") {
  // 100,000 points; of every 1,000 the first is visible.
  constexpr std::uint32_t count = 100'000, lines_apart = 1'000;
  PdbBuilder builder;
  builder.metadata.heap_widths.blob = 4;
  const std::uint32_t one = builder.document("/one.cs"), two = builder.document("/two.cs");
  const auto points_from = [](PointsBlob points) {
    for (std::uint32_t i = 0; i < count; ++i)
      if (i % lines_apart == 0)
        points.at(2 * i, static_cast<std::int32_t>(1 + i / lines_apart), 1,
                  static_cast<std::int32_t>(1 + i / lines_apart), 9);
      else
        points.hidden(2 * i);
    return points.bytes;
  };
  const std::uint32_t blob = builder.metadata.blob(points_from(PointsBlob(3)));
  builder.method(one);
  builder.method(two);
  for (const std::uint32_t rid : {1u, 2u})
    builder.metadata.set(MetadataTable::method_debug_information, rid, 1, blob);
  builder.method(0, points_from(PointsBlob(3, two)));
  Bytes cut = points_from(PointsBlob(3));
  cut.push_back(std::byte{0xff});
  builder.method(one, cut);
  const auto pdb = read(builder);
  // Back and forth, so that each question but the first would begin anew.
  std::size_t wrong = 0;
  for (std::uint32_t i = 0; i < 30'000; ++i) {
    const std::uint32_t rid = 1 + i % 4;
    const std::uint32_t index = i % 2 == 0 ? count - 1 - i : i;
    const auto point = pdb->sequence_point(method(rid), 2 * index + 1);
    if (!point || point->start_line != 1 + index / lines_apart || point->hidden ||
        point->document != (rid == 1 || rid == 4 ? one : two))
      ++wrong;
  }
  CHECK(wrong == 0);
  CHECK(pdb->sequence_point(method(1), 0xffff'ffff)->start_line == count / lines_apart);
  for (int i = 0; i < 2; ++i)
    CHECK(kind_of([&] { pdb->sequence_point(method(4), 0xffff'ffff); }) == ErrorKind::corrupt);
  CHECK(pdb->sequence_point(method(4), 2 * count - 3)->start_line == count / lines_apart);
}

TEST_CASE("the first point may begin above 0, and equal offsets only announce documents") {
  PdbBuilder builder;
  const std::uint32_t a = builder.document("/a.cs"), b = builder.document("/b.cs"),
                      c = builder.document("/c.cs");
  builder.method(a, PointsBlob().at(6, 1, 1, 1, 5).document(b).document(c).at(7, 2, 1, 2, 5).bytes);
  // Records of documents may end a blob only with a point behind them.
  builder.method(a, PointsBlob().at(0, 1, 1, 1, 5).document(b).bytes);
  const auto pdb = read(builder);
  CHECK(pdb->sequence_points(method(1)) ==
        std::vector<SequencePoint>{{6, a, 1, 1, 1, 5, false}, {7, c, 2, 1, 2, 5, false}});
  CHECK(kind_of([&] { pdb->sequence_points(method(2)); }) == ErrorKind::corrupt);
}

TEST_CASE("document names are joined from their parts") {
  PdbBuilder builder;
  builder.document("/home/user/App/Programm-\xc3\xa4.cs");
  builder.document("C:\\src\\App\\Program.cs", '\\');
  Bytes whole = bytes_of({0});
  append_compressed(whole, builder.metadata.blob(text_bytes("generated/")));
  append_compressed(whole, builder.metadata.blob(text_bytes("by hand.cs")));
  builder.document_of_blob(builder.metadata.blob(whole));
  builder.document_of_blob(0);
  builder.document_of_blob(builder.metadata.blob(bytes_of({'/', 0, 0})));
  const auto pdb = read(builder);
  CHECK(pdb->documents() == 5);
  CHECK(pdb->document_name(0).empty());
  CHECK(pdb->document_name(1) == "/home/user/App/Programm-\xc3\xa4.cs");
  CHECK(pdb->document_name(2) == "C:\\src\\App\\Program.cs");
  CHECK(pdb->document_name(3) == "generated/by hand.cs"); // no separator
  CHECK(pdb->document_name(4).empty());
  CHECK(pdb->document_name(5) == "/"); // two empty parts
  CHECK(kind_of([&] { pdb->document_name(6); }) == ErrorKind::corrupt);
}

TEST_CASE("scopes name the locals that live at an offset, outer ones first") {
  PdbBuilder builder;
  for (int i = 0; i < 4; ++i) builder.method();
  builder.scope(2, 0, 0x50);
  builder.variable(0, "total");
  builder.variable(3, "CS$1$0000", 1);
  builder.constant("limit", bytes_of({0x08, 0x0a, 0, 0, 0}));
  builder.scope(2, 0x10, 0x20);
  builder.variable(1, "i");
  builder.scope(2, 0x40, 0x8);
  builder.variable(1, "j");
  builder.scope(4, 0, 4);
  const auto pdb = read(builder);
  const auto names = [&](std::uint32_t rid, std::uint32_t il_offset) {
    std::string text;
    for (const LocalVariable& local : pdb->locals(method(rid), il_offset))
      text += fmt::format("{}={} ", local.slot, local.name);
    return text;
  };
  CHECK(names(2, 0) == "0=total 3=CS$1$0000 ");
  CHECK(names(2, 0x10) == "0=total 3=CS$1$0000 1=i ");
  CHECK(names(2, 0x2f) == "0=total 3=CS$1$0000 1=i ");
  CHECK(names(2, 0x30) == "0=total 3=CS$1$0000 ");
  CHECK(names(2, 0x40) == "0=total 3=CS$1$0000 1=j ");
  CHECK(names(2, 0x50).empty());
  CHECK(names(1, 0).empty());
  CHECK(names(3, 0).empty());
  CHECK(names(4, 0).empty());
  CHECK(pdb->local_scopes(0x0200'0002).empty());

  const auto scopes = pdb->local_scopes(method(2));
  REQUIRE(scopes.size() == 3);
  CHECK(scopes[1].range == IlRange{0x10, 0x30});
  const auto outer = pdb->variables(scopes[0]);
  REQUIRE(outer.size() == 2);
  CHECK_FALSE(outer[0].debugger_hidden);
  CHECK(outer[1].debugger_hidden);
  CHECK(outer[1].row == 2);
  CHECK(outer[0].scope == IlRange{0, 0x50});
  const auto constants = pdb->constants(scopes[0]);
  REQUIRE(constants.size() == 1);
  CHECK(constants[0].name == "limit");
  CHECK(constants[0].signature == bytes_of({0x08, 0x0a, 0, 0, 0}));
  CHECK(pdb->constants(scopes[1]).empty());
}

TEST_CASE("a state machine leads to the method that the user wrote") {
  PdbBuilder builder;
  for (int i = 0; i < 9; ++i) builder.method();
  builder.state_machine(3, 1);
  builder.state_machine(5, 9);
  builder.state_machine(6, 2);
  Bytes steps;
  append_u32(steps, 0x90 + 1);
  append_u32(steps, 0x21);
  append_u32(steps, 0x30);
  append_compressed(steps, 5);
  append_u32(steps, 0x41);
  append_u32(steps, 0x50);
  append_compressed(steps, 300);
  Bytes hoisted;
  for (const unsigned value : {0u, 0x80u, 0u, 0u}) append_u32(hoisted, value);
  Bytes no_handler;
  append_u32(no_handler, 0);
  builder.information(0, 3, hoisted_kind, hoisted); // an iterator
  builder.information(0, 5, hoisted_kind, {});
  builder.information(0, 5, async_kind, steps);
  builder.information(0, 6, async_kind, no_handler);
  const auto pdb = read(builder);

  CHECK(pdb->kickoff_method(method(3)) == method(1));
  CHECK(pdb->kickoff_method(method(5)) == method(9));
  CHECK(pdb->kickoff_method(method(6)) == method(2));
  for (const std::uint32_t rid : {0u, 1u, 2u, 4u, 7u, 9u, 10u}) CHECK_FALSE(pdb->kickoff_method(method(rid)));
  CHECK_FALSE(pdb->kickoff_method(0x0200'0003));
  CHECK(pdb->kickoff_methods() == std::vector<std::uint32_t>{method(1), method(2), method(9)});

  CHECK_FALSE(pdb->async_method(method(3)));
  CHECK(pdb->hoisted_scopes(method(3)) == std::vector<IlRange>{{0, 0x80}, {0, 0}});
  const auto async = pdb->async_method(method(5));
  REQUIRE(async);
  CHECK(async->catch_handler == 0x90u);
  REQUIRE(async->awaits.size() == 2);
  CHECK(async->awaits[0].yield_offset == 0x21);
  CHECK(async->awaits[0].resume_offset == 0x30);
  CHECK(async->awaits[0].resume_method == method(5));
  CHECK(async->awaits[1].resume_method == method(300));
  CHECK(pdb->hoisted_scopes(method(5)).empty());
  REQUIRE(pdb->async_method(method(6)));
  CHECK_FALSE(pdb->async_method(method(6))->catch_handler);
  CHECK_FALSE(pdb->async_method(0x7f00'0005));
}

TEST_CASE("the names of a tuple's elements, those without a name included") {
  constexpr unsigned local_variable = 24; // the tag of such a parent
  Bytes names;
  for (const char c : std::string_view("Id\0\0inner\0", 10)) names.push_back(static_cast<std::byte>(c));
  Bytes cut = names;
  cut.pop_back();
  PdbBuilder builder;
  builder.method();
  builder.information(local_variable, 1, tuple_names_kind, names);
  builder.information(local_variable, 2, tuple_names_kind, {});
  builder.information(local_variable, 3, tuple_names_kind, cut);
  const auto pdb = read(builder);
  CHECK(pdb->tuple_names(1) == std::vector<std::string>{"Id", "", "inner"});
  CHECK(pdb->tuple_names(2).empty());
  CHECK_THROWS_AS(pdb->tuple_names(3), Error);
  CHECK(pdb->tuple_names(4).empty());
}

TEST_CASE("sources inside the PDB are read, compressed or not") {
  PdbBuilder builder;
  builder.document("/plain.cs");
  builder.document("/packed.cs");
  builder.document("/elsewhere.cs");
  builder.document("/lies.cs");
  const Bytes text = text_bytes("class A { }\n");
  Bytes plain, packed, lies;
  append_u32(plain, 0);
  detail::append(plain, text);
  append_u32(packed, static_cast<std::uint32_t>(text.size()));
  detail::append(packed, deflate_raw(text));
  append_u32(lies, 0x8000'0000);
  builder.information(7, 1, link_kind, text_bytes("{\"documents\":{}}"));
  builder.information(22, 1, source_kind, plain);
  builder.information(22, 2, source_kind, packed);
  builder.information(22, 4, source_kind, lies);
  const auto pdb = read(builder);
  CHECK(pdb->embedded_source(1) == text);
  CHECK(pdb->embedded_source(2) == text);
  CHECK_FALSE(pdb->embedded_source(3));
  CHECK(kind_of([&] { pdb->embedded_source(4); }) == ErrorKind::corrupt);
  CHECK(pdb->source_link() == "{\"documents\":{}}");
}

TEST_CASE("wide heaps and tables of more than 65,535 rows read the same") {
  PdbBuilder builder;
  builder.metadata.heap_widths = {.strings = 4, .guid = 4, .blob = 4};
  const std::uint32_t doc = builder.document("/a.cs");
  builder.assembly_rows(MetadataTable::method_def) = 0;
  for (unsigned i = 0; i < 70'000; ++i) builder.method();
  builder.metadata.set(MetadataTable::method_debug_information, 69'999, 0, doc);
  builder.metadata.set(MetadataTable::method_debug_information, 69'999, 1,
                       builder.metadata.blob(PointsBlob().at(0, 42, 3, 42, 4).bytes));
  builder.scope(69'999, 0, 9);
  builder.variable(0, "x");
  builder.state_machine(69'999, 65'540);
  const auto pdb = read(builder);
  CHECK(pdb->sequence_point(method(69'999), 3)->start_line == 42);
  CHECK(pdb->document_name(pdb->sequence_point(method(69'999), 3)->document) == "/a.cs");
  CHECK(pdb->locals(method(69'999), 8).at(0).name == "x");
  CHECK(pdb->kickoff_method(method(69'999)) == method(65'540));
}

TEST_CASE("what is no portable PDB is refused by its name") {
  const TemporaryDirectory directory;
  const auto why = [&](const Bytes& bytes) {
    const auto fault = fault_of([&] { PortablePdb::of_bytes(bytes, "a.pdb"); });
    return fault ? std::string(fault->what()) : std::string();
  };
  CHECK(why(text_bytes("Microsoft C/C++ MSF 7.00\r\n\x1a"
                       "DS")) ==
        "a.pdb: a Windows PDB (Microsoft C/C++ MSF); only portable PDBs are supported");
  CHECK(why(text_bytes("#!/bin/sh")) == "a.pdb: not a PDB");
  CHECK(why({}) == "a.pdb: not a PDB");
  CHECK(why(MetadataBuilder().build()) == "a.pdb: metadata without the stream #Pdb, not a PDB");
  PdbBuilder builder;
  builder.method();
  builder.assembly_rows(MetadataTable::method_def) = 5;
  CHECK(why(builder.build()) == "a.pdb: 1 methods with debug information, but the assembly has 5");
  CHECK(kind_of([&] { PortablePdb::open(directory.path("none.pdb")); }) == ErrorKind::io);
  CHECK(kind_of([&] { PortablePdb::open(directory.path()); }) == ErrorKind::io);
}
