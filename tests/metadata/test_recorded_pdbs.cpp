// PDBs that a minimal core keeps in its notes.
#include "core/metadata/deflate.h"
#include "core/metadata/inflate.h"
#include "core/metadata/pdb_locator.h"
#include "core/metadata/recorded_pdbs.h"
#include "tests/memory/temporary_directory.h"
#include "tests/support/elf_core_builder.h"
#include "tests/support/faults.h"
#include "tests/support/pdb_builder.h"

#include <catch2/catch.hpp>

using namespace clr;
using namespace clr::test;

namespace {

// A PDB whose only method is at `line`.
PdbBuilder sample(unsigned build, std::uint32_t line) {
  PdbBuilder builder;
  builder.metadata.pdb->id[0] = static_cast<std::byte>(build);
  builder.method(builder.document("/src/App.cs"), PointsBlob().at(0, line, 1, line, 9).bytes);
  return builder;
}

CoreNote note_of(PdbBuilder builder) {
  const auto note = RecordedPdbs::note(*PortablePdb::of_bytes(builder.build(), "App.pdb"));
  REQUIRE(note);
  return *note;
}

std::uint32_t line_in(const PortablePdb& pdb) {
  return pdb.sequence_point(token_of(MetadataTable::method_def, 1), 0).value().start_line;
}

} // namespace

TEST_CASE("what is compressed expands to the same bytes") {
  Bytes bytes;
  for (unsigned i = 0; i < 100'000; ++i) bytes.push_back(static_cast<std::byte>(i % 7 == 0 ? i / 7 : 0));
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, bytes.size()}) {
    const auto part = std::span(bytes).first(size);
    const std::vector<std::byte> packed = clr::deflate_raw(part);
    CHECK(packed.size() < size / 2 + 16);
    CHECK(inflate_raw(packed, size, size) == Bytes(part.begin(), part.end()));
  }
}

TEST_CASE("a PDB in a note of a core is found by its id") {
  for (const ByteOrder order : {ByteOrder::little, ByteOrder::big})
    for (const unsigned pointer_size : {4u, 8u}) {
      CAPTURE(order, pointer_size);
      const Platform platform{pointer_size, order, Cpu::unknown, Os::unix_like};
      ElfCoreBuilder builder(platform);
      for (const unsigned build : {1u, 2u}) {
        const CoreNote note = note_of(sample(build, 10 * build));
        builder.note(note.owner, note.type, note.description);
      }
      const ElfCore core(builder.build());
      const RecordedPdbs kept(core);
      const auto second = kept.open(sample(2, 20).id(), "App.pdb in the core");
      REQUIRE(second);
      CHECK(second->name() == "App.pdb in the core");
      CHECK(line_in(*second) == 20);
      CHECK(line_in(*kept.open(sample(1, 10).id(), "")) == 10);
      CHECK_FALSE(kept.open(sample(3, 30).id(), ""));
    }
}

TEST_CASE("notes that hold no PDB are left out, and a damaged one is an error") {
  const CoreNote good = note_of(sample(1, 10));
  const PdbId id = sample(1, 10).id();
  const auto open = [&](const CoreNote& note) {
    return RecordedPdbs(std::span(&note, 1)).open(id, "App.pdb");
  };
  CHECK(open(good));
  CoreNote other = good;
  other.owner = "CORE";
  CHECK_FALSE(open(other));
  other = good;
  ++other.type;
  CHECK_FALSE(open(other));
  other = good;
  other.description.resize(23); // its header has 24 bytes
  CHECK_FALSE(open(other));

  other.description.assign(good.description.begin(), good.description.end() - 1);
  CHECK(std::string(fault_of([&] { open(other); })->what()) == "a compressed part is cut short");
  other = good;
  other.description[23] = std::byte{0x05}; // 64 MB and more
  CHECK(std::string(fault_of([&] { open(other); })->what()).ends_with("is larger than 67108864 bytes"));
}

TEST_CASE("the PDB in the core comes before files, and a damaged one does not stand in their way") {
  TemporaryDirectory directory;
  directory.write("App.pdb", sample(1, 7).build());
  PeDebugDirectory debug;
  debug.code_view.push_back({.id = sample(1, 7).id(), .age = 1, .portable = true, .path = "/build/App.pdb"});
  const std::string assembly = directory.path("App.dll");
  CoreNote note = note_of(sample(1, 10));
  const auto find = [&] { return locate_pdb(debug, assembly, {}, RecordedPdbs(std::span(&note, 1))); };
  const PdbResult kept = find();
  REQUIRE(kept.pdb);
  CHECK(kept.recorded);
  CHECK(kept.path == "App.pdb in the core");
  CHECK(line_in(*kept.pdb) == 10);

  note.description.pop_back();
  const PdbResult file = find();
  REQUIRE(file.pdb);
  CHECK_FALSE(file.recorded);
  CHECK(line_in(*file.pdb) == 7);
  REQUIRE(file.refusals.size() == 1);
  CHECK(file.refusals[0].path == "App.pdb in the core");

  // Another PDB under the id of this one is refused, as a file would be.
  note = note_of(sample(2, 10));
  std::ranges::copy(sample(1, 7).id().guid, note.description.begin());
  CHECK_FALSE(find().recorded);
}

TEST_CASE("a PDB in the core that says it is larger than what is left for all of them is not expanded") {
  PeDebugDirectory debug;
  debug.code_view.push_back({.id = sample(1, 7).id(), .age = 1, .portable = true, .path = "App.pdb"});
  CoreNote note = note_of(sample(1, 10));
  const auto find = [&](ByteRoom& room) {
    return locate_pdb(debug, "App.dll", {}, RecordedPdbs(std::span(&note, 1)), &room);
  };
  const std::uint64_t size = sample(1, 10).build().size();
  ByteRoom enough(size), little(size - 1);
  CHECK(find(enough).recorded);
  const std::string used_up = fmt::format("its PDB and those of other modules have more than {} bytes", size);
  CHECK(find(enough).reason() == used_up);

  note.description.pop_back(); // whoever expands it says so
  const std::string refused =
      fmt::format("its PDB and those of other modules have more than {} bytes", size - 1);
  CHECK(find(little).reason() == refused);

  // What is damaged keeps nothing, and takes time all the same.
  ByteRoom wasted(size);
  for (std::uint64_t k = 0; k < ByteRoom::max_wasted; ++k)
    CHECK(find(wasted).reason() == "a compressed part is cut short");
  CHECK(find(wasted).reason() == used_up);
}

TEST_CASE("of the PDBs in a core no more than a limit are known") {
  std::vector<CoreNote> notes(RecordedPdbs::max_pdbs - 1, note_of(sample(1, 10)));
  notes.push_back(note_of(sample(2, 20)));
  notes.push_back(note_of(sample(3, 30)));
  const RecordedPdbs kept(notes);
  CHECK(kept.open(sample(2, 20).id(), ""));
  CHECK_FALSE(kept.open(sample(3, 30).id(), ""));
  CHECK(RecordedPdbs(std::span(notes).subspan(1)).open(sample(3, 30).id(), ""));
}
