// Damaged and huge PDBs. Nothing may crash, hang, or allocate the size that a wrong count claims. Every fault
// must be an Error with the name of the PDB. Parts that nobody asks for must not be read.
#include "core/metadata/portable_pdb.h"
#include "tests/memory/temporary_directory.h"
#include "tests/support/faults.h"
#include "tests/support/pdb_builder.h"

#include <catch2/catch.hpp>
#include <ctime>
#include <fmt/format.h>
#include <fstream>
#include <random>
#include <unistd.h>

using namespace clr;
using namespace clr::test;

namespace {

constexpr std::uint32_t method(std::uint32_t rid) {
  return token_of(MetadataTable::method_def, rid);
}

PdbBuilder rich() {
  PdbBuilder builder;
  const std::uint32_t one = builder.document("/src/One.cs"), two = builder.document("C:\\src\\Two.cs", '\\');
  builder.method(one, PointsBlob(1).at(0, 1, 2, 3, 4).hidden(9).document(two).at(10, 9, 9, 9, 10).bytes);
  builder.method();
  builder.method(0, PointsBlob(0, two).at(0, 5, 1, 6, 1).bytes);
  builder.scope(1, 0, 20);
  builder.variable(0, "a");
  builder.constant("c", bytes_of({8, 1, 0, 0, 0}));
  builder.scope(1, 4, 8);
  builder.variable(1, "b");
  builder.scope(3, 0, 9);
  builder.state_machine(3, 1);
  Bytes steps;
  for (const unsigned value : {5u, 6u, 7u}) append_u32(steps, value);
  append_compressed(steps, 3);
  builder.information(0, 3,
                      bytes_of({0xc5, 0x2a, 0xfd, 0x54, 0x25, 0xe9, 0x1a, 0x40, 0x9c, 0x2a, 0xf9, 0x4f, 0x17,
                                0x10, 0x72, 0xf8}),
                      steps);
  return builder;
}

// Asks everything; the number of answers that were not faults. Every fault must carry the name.
unsigned touch_everything(const Bytes& bytes) {
  unsigned answers = 0;
  const auto attempt = [&](const auto& act) {
    try {
      act();
      ++answers;
    } catch (const Error& fault) {
      if (!std::string_view(fault.what()).starts_with("x.pdb: ")) FAIL(fault.what());
      if (fault.address()) FAIL("a file has no address in the target");
    }
  };
  std::unique_ptr<PortablePdb> pdb;
  attempt([&] { pdb = PortablePdb::of_bytes(bytes, "x.pdb"); });
  if (pdb == nullptr) return 0;
  for (std::uint32_t row = 0; row < 5; ++row) {
    attempt([&] { pdb->document_name(row); });
    attempt([&] { pdb->embedded_source(row); });
    attempt([&] { pdb->sequence_points(method(row)); });
    attempt([&] { pdb->sequence_point(method(row), 9); });
    attempt([&] { pdb->local_signature(method(row)); });
    attempt([&] { pdb->locals(method(row), 5); });
    attempt([&] {
      for (const LocalScope& scope : pdb->local_scopes(method(row))) pdb->constants(scope);
    });
    attempt([&] { pdb->kickoff_method(method(row)); });
    attempt([&] { pdb->kickoff_methods(); });
    attempt([&] { pdb->async_method(method(row)); });
    attempt([&] { pdb->hoisted_scopes(method(row)); });
  }
  attempt([&] { pdb->source_link(); });
  return answers;
}

std::size_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::size_t all = 0, resident = 0;
  statm >> all >> resident;
  return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

// Processor time, in units of its own: for ratios.
double work_of(const std::function<void()>& act) {
  const std::clock_t begin = std::clock();
  act();
  return static_cast<double>(std::clock() - begin);
}

} // namespace

TEST_CASE("a PDB cut short at any length is refused or answers with faults") {
  const Bytes whole = rich().build();
  const unsigned all = touch_everything(whole);
  CHECK(all == 1 + 5 * 11 + 1 - 2); // two of the questions are for documents that do not exist
  for (std::size_t size = 0; size < whole.size(); ++size) {
    CAPTURE(size);
    // The padding of the last stream is nobody's.
    const unsigned answers = touch_everything(Bytes(whole.begin(), whole.begin() + static_cast<long>(size)));
    CHECK((answers == 0 || size + 4 > whole.size()));
  }
}

TEST_CASE("changed bytes never crash the reader of PDBs") {
  const Bytes whole = rich().build();
  std::mt19937 random(20261121);
  unsigned answers = 0;
  for (int round = 0; round < 4000; ++round) {
    Bytes bytes = whole;
    for (unsigned i = 0, count = 1 + random() % 4; i < count; ++i)
      bytes[random() % bytes.size()] = static_cast<std::byte>(random() % 3 == 0 ? 0xff : random());
    answers += touch_everything(bytes);
  }
  CHECK(answers > 4000);
}

TEST_CASE("counts that lie are refused") {
  const Bytes whole = rich().build();
  // Row counts stand behind the header of #~, whose offset is in the first stream header.
  const std::size_t tables = get_u32(whole, 16 + get_u32(whole, 12) + 4);
  for (const std::uint32_t rows : {0x7fffu, 0xff'ffffu, 0x100'0000u, 0xffff'ffffu})
    for (unsigned table = 0; table < 8; ++table) {
      CAPTURE(rows, table);
      Bytes bytes = whole;
      if (table == 5) continue; // the sample has no ImportScope
      const unsigned place = table > 5 ? table - 1 : table;
      put_u32(bytes, tables + 24 + 4 * place, rows);
      CHECK(fault_of([&] { PortablePdb::of_bytes(bytes, "x.pdb"); }));
    }
}

TEST_CASE("damage in a blob is a fault of its own method") {
  const auto points_of = [](const Bytes& blob) {
    PdbBuilder builder;
    builder.document("/a.cs");
    builder.method(1, PointsBlob().at(0, 3, 1, 3, 2).bytes);
    builder.method(1, blob);
    const auto pdb = PortablePdb::of_bytes(builder.build(), "x.pdb");
    CHECK(pdb->sequence_point(method(1), 0)->start_line == 3);
    return fault_of([&] { pdb->sequence_points(method(2)); });
  };
  const auto with = [](std::uint32_t offset_delta, std::initializer_list<unsigned> rest) {
    Bytes blob = PointsBlob().at(0, 1, 1, 1, 2).bytes;
    append_compressed(blob, offset_delta);
    detail::append(blob, bytes_of(rest));
    return blob;
  };
  CHECK_FALSE(points_of(with(1, {0, 5, 0, 0})));
  CHECK(points_of(with(1, {0, 5, 0})));                                 // cut
  CHECK(points_of(with(1, {0, 5, 0x7b, 0})));                           // line 1 - 3
  CHECK(points_of(with(1, {0, 5, 0, 0x7b})));                           // column 1 - 3
  CHECK(points_of(with(1, {0xff})));                                    // no compressed integer begins so
  CHECK(points_of(with(0x1fff'ffff, {0, 0, 0x81, 0x01, 0, 0})));        // offset past the format's limit
  CHECK(points_of(PointsBlob().at(0, 0xfeefee, 1, 0xfeefee, 2).bytes)); // says hidden without being so
  CHECK(points_of(PointsBlob().at(0, 1, 0xffff, 1, 0x1'0000).bytes));

  // A point behind the one asked for is not looked at.
  PdbBuilder builder;
  builder.method(0, PointsBlob(0, 1).at(0, 1, 1, 1, 2).at(8, 2, 1, 2, 2).bytes);
  Bytes cut = PointsBlob(0, 1).at(0, 1, 1, 1, 2).at(8, 2, 1, 2, 2).bytes;
  cut.push_back(std::byte{0xff});
  builder.method(0, cut);
  const auto pdb = PortablePdb::of_bytes(builder.build(), "x.pdb");
  CHECK(pdb->sequence_point(method(2), 7)->start_line == 1);
  CHECK(fault_of([&] { pdb->sequence_point(method(2), 8); }));
}

TEST_CASE("scopes and state machines that contradict themselves are faults") {
  PdbBuilder builder;
  for (int i = 0; i < 4; ++i) builder.method();
  builder.scope(1, 8, 0xffff'fff8); // wraps
  builder.scope(2, 0, 9);
  builder.variable(0, "x");
  builder.scope(3, 0, 9);
  builder.metadata.set(MetadataTable::local_scope, 2, 2, 2);
  builder.metadata.set(MetadataTable::local_scope, 3, 2, 1); // the list of the scope before runs backwards
  builder.variable(0, "y");
  builder.state_machine(1, 0);
  builder.state_machine(2, 5); // of 4
  const auto pdb = PortablePdb::of_bytes(builder.build(), "x.pdb");
  for (const std::uint32_t rid : {1u, 2u}) {
    CHECK(fault_of([&] { pdb->local_scopes(method(rid)); }));
    CHECK(fault_of([&] { pdb->kickoff_method(method(rid)); }));
  }
  CHECK(pdb->local_scopes(method(3)).size() == 1);
}

TEST_CASE("names of documents have a limit") {
  PdbBuilder builder;
  const std::uint32_t part = builder.metadata.blob(Bytes(10'000, std::byte{'a'}));
  Bytes name = bytes_of({'/'});
  for (int i = 0; i < 1000; ++i) append_compressed(name, part);
  builder.document_of_blob(builder.metadata.blob(name));
  builder.document_of_blob(builder.metadata.blob(bytes_of({0x80, 1})));
  // Empty parts are nothing but separators.
  const auto separators = [&](std::size_t count) {
    Bytes empty(count + 2);
    empty[0] = std::byte{'/'};
    builder.document_of_blob(builder.metadata.blob(empty));
  };
  separators(PortablePdb::max_document_name);
  separators(PortablePdb::max_document_name + 1);
  const auto pdb = PortablePdb::of_bytes(builder.build(), "x.pdb");
  CHECK(fault_of([&] { pdb->document_name(1); }));
  CHECK(fault_of([&] { pdb->document_name(2); }));
  CHECK(pdb->document_name(3) == std::string(PortablePdb::max_document_name, '/'));
  CHECK(fault_of([&] { pdb->document_name(4); }));
}

TEST_CASE("scopes and locals of a method have a limit") {
  PdbBuilder builder;
  builder.metadata.heap_widths.strings = 4;
  for (int i = 0; i < 3; ++i) builder.method();
  for (std::size_t i = 0; i <= PortablePdb::max_scopes; ++i) builder.scope(1, 0, 9);
  for (std::size_t i = 0; i < PortablePdb::max_scopes; ++i) builder.scope(2, 0, 9);
  builder.scope(3, 0, 9);
  for (std::size_t i = 0; i <= PortablePdb::max_locals; ++i) builder.variable(0, "x");
  const auto pdb = PortablePdb::of_bytes(builder.build(), "x.pdb");
  CHECK(fault_of([&] { pdb->local_scopes(method(1)); }));
  CHECK(pdb->local_scopes(method(2)).size() == PortablePdb::max_scopes);
  const LocalScope scope = pdb->local_scopes(method(3)).at(0);
  CHECK(pdb->variables(scope).size() == PortablePdb::max_locals);
  CHECK(pdb->variables(scope, 2).size() == 2);
  CHECK(pdb->locals(method(3), 0).size() == PortablePdb::max_locals);
  // Each scope of a method may have the same rows: all of them share the limit.
  PdbBuilder shared;
  shared.method();
  for (int i = 0; i < 7; ++i) shared.scope(1, 0, 9);
  for (int i = 0; i < 10'000; ++i) shared.variable(0, "x");
  for (std::uint32_t row = 1; row <= 7; ++row)
    shared.metadata.set(MetadataTable::local_scope, row, 2, row % 2 == 1 ? 1 : 10'001);
  const auto both = PortablePdb::of_bytes(shared.build(), "x.pdb");
  CHECK(both->locals(method(1), 0).size() == 40'000);
}

TEST_CASE("a PDB with 100,000 documents opens at once and reads only what is asked") {
  PdbBuilder builder;
  builder.metadata.heap_widths.blob = 4;
  for (unsigned i = 0; i < 100'000; ++i)
    builder.document(fmt::format("/source/folder{}/NameOfClass{}.cs", i / 100, i));
  builder.document_of_blob(0x0fff'fff0); // one whose name is outside the heap
  builder.method(100'000, PointsBlob().at(0, 12, 3, 12, 9).bytes);
  const TemporaryDirectory directory;
  const std::string path = directory.write("many.pdb", builder.build());
  CHECK(std::filesystem::file_size(path) > (4u << 20));

  double best = 1e9;
  for (int i = 0; i < 5; ++i)
    best = std::min(best, work_of([&] {
                      const auto pdb = PortablePdb::open(path);
                      const auto point = pdb->sequence_point(method(1), 4);
                      REQUIRE(point);
                      CHECK(point->start_line == 12);
                      CHECK(pdb->document_name(point->document) == "/source/folder999/NameOfClass99999.cs");
                    }));
  const auto pdb = PortablePdb::open(path);
  const double all = work_of([&] {
    for (std::uint32_t rid = 1; rid <= 100'000; ++rid) pdb->document_name(rid);
  });
  CAPTURE(best, all);
  CHECK(best * 5 < all); // to open it and read one name: a small part of reading all names
  CHECK(pdb->documents() == 100'001);
  CHECK(pdb->document_name(1) == "/source/folder0/NameOfClass0.cs");
  CHECK(fault_of([&] { pdb->document_name(100'001); }));
}

TEST_CASE("the first line of a method of a 100 MB PDB costs little memory") {
  const TemporaryDirectory directory;
  std::string path;
  constexpr std::uint32_t methods = 20'000;
  {
    PdbBuilder builder;
    builder.metadata.heap_widths.blob = 4;
    const std::uint32_t document = builder.document("/src/Large.cs");
    PointsBlob points;
    for (unsigned i = 0; i < 1000; ++i)
      points.at(3 * i, 10 + static_cast<int>(i), 5, 10 + static_cast<int>(i), 9);
    for (std::uint32_t i = 0; i < methods; ++i) builder.method(document, points.bytes);
    path = directory.write("large.pdb", builder.build());
  }
  CHECK(std::filesystem::file_size(path) > 95'000'000);
  const std::size_t before = resident_bytes();
  std::unique_ptr<PortablePdb> pdb;
  std::uint32_t line = 0;
  pdb = PortablePdb::open(path);
  line = pdb->sequence_point(method(methods / 2), 1500)->start_line;
  CHECK(line == 510);
  const std::size_t after = resident_bytes();
  CHECK(after < before + (20u << 20));
}
