// The way from the debug directory of an assembly to its PDB.
#include "core/memory/counting_reader.h"
#include "core/metadata/inflate.h"
#include "core/metadata/pdb_locator.h"
#include "tests/memory/temporary_directory.h"
#include "tests/support/faults.h"
#include "tests/support/pdb_builder.h"

#include <catch2/catch.hpp>
#include <concepts>
#include <fmt/format.h>

using namespace clr;
using namespace clr::test;

namespace {

constexpr Address base = 0x7f12'3456'0c80;

PdbBuilder sample(unsigned build = 0) {
  PdbBuilder builder;
  builder.metadata.pdb->id[0] = static_cast<std::byte>(build);
  builder.method(builder.document("/src/App.cs"), PointsBlob().at(0, 7, 1, 7, 9).bytes);
  return builder;
}

Bytes assembly(const std::vector<PeOptions::DebugEntry>& entries) {
  MetadataBuilder metadata;
  metadata.assembly("App");
  return pe_file(metadata.build(), {.debug_entries = entries});
}

// A host with an assembly and its debug directory.
struct Host {
  template<std::same_as<PeOptions::DebugEntry>... Entry>
  explicit Host(const Entry&... entries)
      : image(assembly({entries...})), memory(image, base), pe(memory, base, false),
        debug(read_debug_directory(pe)) {}

  PdbResult find() const { return locate_pdb(debug, path, search); }

  TemporaryDirectory directory;
  Bytes image;
  HostMemory memory;
  PeImage pe;
  PeDebugDirectory debug;
  PdbSearch search;
  std::string path = directory.path("app/App.dll");
};

std::uint32_t line_of(const PdbResult& result) {
  if (result.pdb == nullptr) return 0;
  const auto point = result.pdb->sequence_point(token_of(MetadataTable::method_def, 1), 0);
  return point ? point->start_line : 0;
}

} // namespace

TEST_CASE("the debug directory tells id, path, checksum and what is embedded") {
  const Bytes pdb = sample().build();
  PeOptions::DebugEntry checksum{.type = 19, .major = 1, .data = text_bytes("SHA256")};
  checksum.data.push_back(std::byte{0});
  detail::append(checksum.data, bytes_of({1, 2, 3}));
  const PdbId native{.guid = {std::byte{9}}, .stamp = 0};
  // A ReadyToRun image names the PDB of its native code first.
  const Bytes file = assembly({code_view_entry(native, "App.ni.pdb", false),
                               code_view_entry(sample().id(), "C:\\build\\App.pdb"),
                               {.type = 16},
                               checksum,
                               embedded_entry(pdb),
                               {.type = 21, .major = 1}});
  for (const bool mapped : {false, true}) {
    CAPTURE(mapped);
    const Bytes image = mapped ? map_pe(file) : file;
    HostMemory memory(image, base);
    const PeDebugDirectory debug = read_debug_directory(PeImage(memory, base, mapped));
    CHECK(debug.faults.empty());
    REQUIRE(debug.code_view.size() == 2);
    CHECK_FALSE(debug.code_view[0].portable);
    CHECK(debug.code_view[0].path == "App.ni.pdb");
    REQUIRE(debug.portable() == &debug.code_view[1]);
    CHECK(debug.portable()->id == sample().id());
    CHECK(debug.portable()->age == 1);
    CHECK(debug.portable()->path == "C:\\build\\App.pdb");
    CHECK(debug.reproducible);
    REQUIRE(debug.checksums.size() == 1);
    CHECK(debug.checksums[0].algorithm == "SHA256");
    CHECK(debug.checksums[0].digest == bytes_of({1, 2, 3}));
    REQUIRE(debug.embedded);
    CHECK(debug.embedded->size == pdb.size());
    CHECK(expand(*debug.embedded) == pdb);
  }
}

TEST_CASE("data without an RVA is read from a file and missing in memory") {
  PeOptions::DebugEntry entry = code_view_entry(sample().id(), "App.pdb");
  entry.has_rva = false;
  const Bytes file = assembly({entry, {.type = 16}});
  HostMemory memory(file, base);
  CHECK(read_debug_directory(PeImage(memory, base, false)).portable()->path == "App.pdb");
  const Bytes image = map_pe(file);
  HostMemory mapped_memory(image, base);
  const PeDebugDirectory mapped = read_debug_directory(PeImage(mapped_memory, base, true));
  CHECK(mapped.portable() == nullptr);
  CHECK(mapped.reproducible); // the other entries stay
  CHECK(mapped.faults ==
        std::vector<std::string>{"debug directory entry of type 2: its data is in the file only"});
}

TEST_CASE("a damaged entry is a fault of its own") {
  auto wrong_magic = code_view_entry(sample().id(), "App.pdb");
  wrong_magic.data[0] = std::byte{'N'};
  auto no_end = code_view_entry(sample().id(), "App.pdb");
  no_end.data.pop_back();
  PeOptions::DebugEntry short_embedded{.type = 17, .data = text_bytes("MPDB")};
  PeOptions::DebugEntry no_pdb{.type = 17, .data = text_bytes("XPDB1234")};
  const Host host(wrong_magic, no_end, short_embedded, no_pdb, PeOptions::DebugEntry{.type = 2});
  CHECK(host.debug.faults.size() == 5);
  CHECK(host.debug.code_view.empty());
  CHECK_FALSE(host.debug.embedded);
  CHECK(host.find().reason() == "debug directory entry of type 2: its format is not RSDS");
}

TEST_CASE("every failing read of a debug directory is a fault, never a wrong id") {
  const Bytes file = assembly({code_view_entry(sample().id(), "App.pdb"), embedded_entry(sample().build())});
  HostMemory memory(file, base);
  const auto reads = for_each_failing_read(memory, [&](MemoryReader& reader, std::uint64_t k) {
    try {
      const PeDebugDirectory debug = read_debug_directory(PeImage(reader, base, false));
      if (const CodeViewEntry* entry = debug.portable()) CHECK(entry->id == sample().id());
      CHECK((k == 0 || !debug.faults.empty() || debug.embedded));
      if (debug.embedded) {
        const Bytes expanded = expand(*debug.embedded); // fails or is right
        CHECK(expanded == sample().build());
      }
    } catch (const Error& fault) {
      CHECK(fault.kind() == ErrorKind::memory_missing);
    }
  });
  CHECK(reads > 8);
}

TEST_CASE("a PDB is found beside the assembly") {
  Host host(code_view_entry(sample().id(), "/build/obj/App.pdb"));
  host.directory.write("app/App.pdb", sample().build());
  const PdbResult result = host.find();
  REQUIRE(result.pdb);
  CHECK(result.path == host.directory.path("app/App.pdb"));
  CHECK_FALSE(result.embedded);
  CHECK(result.refusals.empty());
  CHECK(result.reason().empty());
  CHECK(line_of(result) == 7);
}

TEST_CASE("the name of the build and the name of the assembly are both tried") {
  Host host(code_view_entry(sample().id(), "/build/obj/Original.pdb"));
  host.directory.write("app/App.pdb", sample().build());
  CHECK(host.find().path == host.directory.path("app/App.pdb"));
  host.directory.write("app/Original.pdb", sample().build());
  CHECK(host.find().path == host.directory.path("app/Original.pdb"));
}

TEST_CASE("a PDB is found where the build left it, also through the map of paths") {
  const TemporaryDirectory elsewhere;
  const std::string built = elsewhere.write("obj/App.pdb", sample().build());
  Host host(code_view_entry(sample().id(), built));
  CHECK(host.find().path == built);
  Host other(code_view_entry(sample().id(), "/builder/obj/App.pdb"));
  CHECK(other.find().reason() ==
        "its PDB is not at " + other.directory.path("app/App.pdb") + " nor in 1 other places");
  other.search.paths.prefixes = {{"/builder", elsewhere.path()}};
  CHECK(other.find().path == built);
  // The last part of another system's path, in the directories of the map.
  Host windows(code_view_entry(sample().id(), "C:\\builder\\obj\\App.pdb"));
  windows.search.paths.directories = {elsewhere.path("obj")};
  CHECK(windows.find().path == built);
  // An assembly that the target has below another root.
  Host rooted(code_view_entry(sample().id(), "App.pdb"));
  rooted.path = "/obj/App.dll";
  rooted.search.paths.sysroot = elsewhere.path();
  CHECK(rooted.find().path == built);
}

TEST_CASE("search places are folders, symbol caches and files") {
  const PdbId id = sample().id();
  std::string guid = to_string(id.guid);
  std::erase(guid, '-');
  std::string upper_guid = guid;
  for (char& c : upper_guid) c = static_cast<char>(std::toupper(c));
  for (const std::string& name :
       {std::string("App.pdb"), "app.pdb/" + guid + "FFFFFFFF/app.pdb",
        "app.pdb/" + guid + "ffffffff/app.pdb", "App.pdb/" + upper_guid + "FFFFFFFF/App.pdb",
        "App.pdb/" + guid + "FFFFFFFF/App.pdb"}) {
    CAPTURE(name);
    Host host(code_view_entry(id, "C:\\obj\\App.pdb"));
    const TemporaryDirectory cache;
    const std::string path = cache.write(name, sample().build());
    CHECK_FALSE(host.find().pdb);
    host.search.places = {"/nowhere/at/all", cache.path()};
    CHECK(host.find().path == path);
    host.search.places = {cache.path() + "/"};
    CHECK(host.find().pdb);
    host.search.places = {path};
    CHECK(host.find().path == path);
  }
}

TEST_CASE("PDBs that there is no room for are mapped and not copied") {
  const PdbId id = sample().id();
  Host host(code_view_entry(id, "App.pdb"));
  const TemporaryDirectory place, wrong;
  const Bytes right = sample().build(), other = sample(1).build();
  place.write("App.pdb", right);
  wrong.write("App.pdb", other);
  host.search.places = {place.path()};
  ByteRoom room(right.size() + other.size() - 1);
  const auto find = [&] { return locate_pdb(host.debug, host.path, host.search, {}, &room); };
  CHECK(find().pdb->copied() == right.size());
  CHECK(room.left() == other.size() - 1);
  const PdbResult mapped = find();
  CHECK(line_of(mapped) == 7);
  CHECK(mapped.pdb->copied() == 0);

  // What is refused was read as well.
  host.search.places = {wrong.path()};
  ByteRoom little(other.size());
  for (std::uint64_t k = 0; k < 2 * ByteRoom::max_wasted; ++k) {
    CHECK_FALSE(locate_pdb(host.debug, host.path, host.search, {}, &little).pdb);
    CHECK((little.left() == 0) == (k + 1 >= ByteRoom::max_wasted));
  }
}

TEST_CASE("PDBs of other builds and damaged ones are refused and the next is tried") {
  const TemporaryDirectory first, second, third, last;
  Host host(code_view_entry(sample().id(), "App.pdb"));
  const std::string other = host.directory.write("app/App.pdb", sample(1).build());
  Bytes cut = sample().build();
  cut.resize(cut.size() - 40);
  const std::string truncated = first.write("App.pdb", cut);
  const std::string windows = second.write("App.pdb", text_bytes("Microsoft C/C++ MSF 7.00\r\n"));
  std::filesystem::create_directories(third.path("App.pdb"));
  host.search.places = {first.path(), second.path(), third.path()};

  PdbResult result = host.find();
  CHECK_FALSE(result.pdb);
  REQUIRE(result.refusals.size() == 4);
  CHECK(result.refusals[0].path == other);
  CHECK(result.refusals[0].why ==
        other + " belongs to another build: its id is a3a2a101-a5a4-a7a6-a8a9-aaabacadaeaf/b3b2b1b0, the "
                "assembly's a3a2a100-a5a4-a7a6-a8a9-aaabacadaeaf/b3b2b1b0");
  CHECK(result.refusals[1].why.starts_with(truncated + ": "));
  CHECK(result.refusals[2].why ==
        windows + ": a Windows PDB (Microsoft C/C++ MSF); only portable PDBs are supported");
  CHECK(result.refusals[3].why ==
        "cannot open " + third.path("App.pdb") + ": not a regular file but a folder");
  CHECK(result.reason() == result.refusals[0].why + " (and 3 more refused)");

  const std::string right = last.write("App.pdb", sample().build());
  host.search.places.push_back(last.path());
  result = host.find();
  CHECK(result.path == right);
  CHECK(result.refusals.size() == 4);
}

TEST_CASE("only the stamp tells two builds of the same source apart") {
  PdbBuilder other = sample();
  other.metadata.pdb->id[19] = std::byte{0};
  Host host(code_view_entry(sample().id(), "App.pdb"));
  host.directory.write("app/App.pdb", other.build());
  CHECK(host.find().refusals.size() == 1);
}

TEST_CASE("an embedded PDB is taken, and a damaged one gives way to a file") {
  const Bytes pdb = sample().build();
  const auto code_view = code_view_entry(sample().id(), "App.pdb");
  {
    Host host(code_view, embedded_entry(pdb));
    const PdbResult result = host.find();
    CHECK(line_of(result) == 7);
    CHECK(result.embedded);
    CHECK(result.path == host.path);
    CHECK(result.pdb->name() == "PDB embedded in " + host.path);
  }
  CHECK(line_of(Host(embedded_entry(pdb)).find()) == 7); // without CodeView there is nothing to compare
  const auto damaged = [&](const std::function<void(Bytes&)>& change) {
    auto entry = embedded_entry(pdb);
    change(entry.data);
    Host host(code_view, entry);
    CHECK(host.find().pdb == nullptr);
    host.directory.write("app/App.pdb", pdb);
    const PdbResult result = host.find();
    CHECK(result.path == host.directory.path("app/App.pdb"));
    REQUIRE(result.refusals.size() == 1);
    return result.refusals[0].why;
  };
  const auto size_is = [](std::uint32_t size) { return [size](Bytes& data) { put_u32(data, 4, size); }; };
  const auto size = static_cast<std::uint32_t>(pdb.size());
  CHECK(damaged(size_is(size - 1)) ==
        fmt::format("a compressed part expands to more than its {} bytes", size - 1));
  CHECK(damaged(size_is(size + 1)) ==
        fmt::format("a compressed part expands to {} bytes instead of {}", size, size + 1));
  CHECK(damaged(size_is(0x7fff'ffff)) ==
        "a compressed part of 2147483647 bytes is larger than 536870912 bytes");
  CHECK(damaged(size_is(0x1000'0000)).find("bytes cannot expand to 268435456 bytes") != std::string::npos);
  CHECK(damaged([](Bytes& data) { data.resize(data.size() / 2); }) == "a compressed part is cut short");
  CHECK(damaged([](Bytes& data) { data[8] = std::byte{0x07}; }) == "a compressed part is damaged");
  // The PDB of another build has no business in this assembly.
  Host foreign(code_view, embedded_entry(sample(1).build()));
  CHECK(foreign.find().refusals.at(0).why.find("belongs to another build") != std::string::npos);
}

TEST_CASE("an assembly without a portable PDB says so") {
  const PeOptions::DebugEntry reproducible{.type = 16};
  CHECK(Host().find().reason() == "it names no PDB");
  CHECK(Host(reproducible).find().reason() == "it names no PDB");
  Host windows(code_view_entry(sample().id(), "App.pdb", false));
  windows.directory.write("app/App.pdb", sample().build());
  CHECK(windows.find().reason() == "it was made with a Windows PDB; only portable PDBs are supported");
  CHECK(windows.find().pdb == nullptr);
  Host nameless(code_view_entry(sample().id(), ""));
  nameless.path = "";
  CHECK(nameless.find().reason() == "no place to look for its PDB is known");
}

TEST_CASE("an embedded PDB is read from target memory only when it is wanted") {
  Bytes noise(200'000);
  std::uint32_t state = 1;
  for (std::byte& b : noise) b = static_cast<std::byte>((state = state * 1664525 + 1013904223) >> 24);
  PeOptions::DebugEntry entry{.type = 17, .data = text_bytes("MPDB")};
  append_u32(entry.data, static_cast<std::uint32_t>(noise.size()));
  detail::append(entry.data, deflate_raw(noise));
  const Bytes file = assembly({entry});
  HostMemory memory(file, base);
  FailingReader reader(memory); // lends nothing
  const PeDebugDirectory debug = read_debug_directory(PeImage(reader, base, false));
  CHECK(reader.reads() < 12);
  const auto before = reader.reads();
  CHECK(expand(*debug.embedded) == noise);
  CHECK(reader.reads() == before + 1);
}
