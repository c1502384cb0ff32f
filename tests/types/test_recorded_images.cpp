// Names of real compiled assemblies: tests/metadata/data/names.dll and its ReadyToRun images for four CPUs,
// compared with the names from System.Reflection.Metadata and from the compiler's own maps.
#include "core/memory/counting_reader.h"
#include "core/memory/failing_reader.h"
#include "core/memory/page_cache.h"
#include "core/metadata/pe_image.h"
#include "core/types/r2r_methods.h"
#include "tests/support/metadata_builder.h"
#include "tests/types/recorded_images.h"

#include <catch2/catch.hpp>
#include <fmt/format.h>
#include <fstream>
#include <iterator>
#include <random>
#include <set>

using namespace clr;
using namespace clr::test;

namespace {

std::vector<std::string> lines_of(const std::string& name) {
  std::ifstream file(recorded_path(name));
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  REQUIRE(!lines.empty());
  return lines;
}

// RVA -> name of a map; the lines that describe the image itself have RVAs above.
std::map<std::uint32_t, std::string> map_of(const std::string& name) {
  std::map<std::uint32_t, std::string> entries;
  for (const std::string& line : lines_of(name)) {
    const std::size_t first = line.find(' '), second = line.find(' ', first + 1);
    const std::uint32_t rva = static_cast<std::uint32_t>(std::stoul(line.substr(0, first), nullptr, 16));
    if (rva < 0xffff'ff00) entries[rva] = line.substr(second + 1);
  }
  return entries;
}

struct Image {
  const char* name;
  unsigned function_size;
};
const Image images[] = {
    {"names-x64", 12}, {"names-arm64", 8}, {"names-arm", 8}, {"names-x86", 8}, {"composite.r2r", 12}};

} // namespace

TEST_CASE("every method of an assembly is named as System.Reflection.Metadata names it") {
  RecordedAssembly assembly("names.dll");
  std::uint32_t rid = 0;
  for (const std::string& line : lines_of("names.il")) {
    if (line.starts_with('#')) continue;
    ++rid;
    CHECK(fmt::format("{:06x} {}", rid, format_perf_map_name(assembly.names.method(rid))) == line);
  }
  CHECK(rid == assembly.metadata.rows(MetadataTable::method_def));
}

TEST_CASE("the C#-like form of what a compiler emits") {
  RecordedAssembly assembly("names.dll");
  std::map<std::string, std::string> by_short_name;
  for (std::uint32_t rid = 1; rid <= assembly.metadata.rows(MetadataTable::method_def); ++rid) {
    const QualifiedMethodName name = assembly.names.method(rid);
    by_short_name[format_short_name(name)] = format_full_name(name);
  }
  const std::string s = "Shapes.Deep.Signatures.";
  CHECK(by_short_name[s + "Arrays"] ==
        s + "Arrays(int[], int[][], int[,], int[][,], int[,,][], Shapes.Deep.Point[])");
  CHECK(by_short_name[s + "Pointers"] == s + "Pointers(int*, void*, Shapes.Deep.Point**, byte*[])");
  CHECK(by_short_name[s + "Unmanaged"] ==
        s + "Unmanaged(delegate* unmanaged<int, void>, delegate* unmanaged[Cdecl]<Shapes.Deep.Point*, byte>, "
            "delegate* unmanaged<void>)");
  CHECK(by_short_name[s + "VarArgs"] == s + "VarArgs(int, __arglist)");
  CHECK(by_short_name[s + "Ünïcödé"] == s + "Ünïcödé(string)");
  CHECK(by_short_name["Shapes.Deep.Outer`1+Inner`1.Run"] ==
        "Shapes.Deep.Outer<T>.Inner<U>.Run<V>(T, U, V, "
        "System.Collections.Generic.List<System.Collections.Generic.Dictionary<T, U[]>>)");
  CHECK(by_short_name["Shapes.Deep.Outer`1+Plain.Count"] ==
        "Shapes.Deep.Outer<T>.Plain.Count(Shapes.Deep.Outer<T>.Plain, Shapes.Deep.Outer<T>.Inner<int>)");
  CHECK(by_short_name["NoNamespace.Method"] == "NoNamespace.Method()");
}

TEST_CASE("every entry of the compiler's map gets its name from the image's tables") {
  RecordedAssembly assembly("names.dll");
  for (const Image& image : images) {
    const Bytes file = recorded_image(std::string(image.name) + ".dll");
    const Bytes laid_out = map_pe(file);
    constexpr Address base = 0x7f00'1234'0000;
    HostMemory memory(laid_out, base);
    const PeImage pe(memory, base, true);
    MappedR2RImage bytes(memory, base);
    const bool composite = std::string(image.name) == "composite.r2r";
    // The metadata of a composite image is its manifest: it must not be taken for that of the methods.
    const Metadata own(pe.range_of(pe.metadata()));
    MetadataNames own_names(own);
    R2RMethods methods(bytes, r2r_header_of(pe), &own_names, &assembly);
    CAPTURE(image.name);
    CHECK(methods.composite() == composite);
    CHECK(methods.components().size() == (composite ? 1 : 0));
    if (composite) CHECK(methods.components()[0].simple_name == "names");

    const auto functions = methods.header().find(R2RSection::runtime_functions);
    REQUIRE(functions);
    const ByteRange table = bytes.range(functions->rva, functions->size);
    std::map<std::uint32_t, std::string> named;
    for (const R2REntry& entry : methods.entries()) {
      constexpr std::uint32_t thumb_bit = 1;
      const std::uint32_t begin = table.u32(std::uint64_t{entry.function_index} * image.function_size);
      named[std::string(image.name) == "names-arm" ? begin & ~thumb_bit : begin] =
          format_r2r_map_name(methods.name(entry));
      CHECK(methods.entry_of(entry.function_index)->function_index == entry.function_index);
      CHECK(methods.owner(entry).names == (composite ? &assembly.names : &own_names));
    }
    auto expected = map_of(std::string(image.name) + ".ni.r2rmap");
    for (auto& [rva, name] : expected)
      while (name.ends_with(' ')) name.pop_back();
    CHECK(named == expected);
    CHECK(methods.damaged() == 0);
    // Funclets belong to the method before them.
    const std::uint32_t count = functions->size / image.function_size;
    CHECK(methods.entry_of(count - 1) == &methods.entries().back());
  }
}

TEST_CASE("arguments of generic methods and types show in the names of instances") {
  RecordedAssembly assembly("names-x64.dll");
  struct Flat final : R2RImageBytes {
    explicit Flat(const PeImage& image) : pe(image) {}
    ByteRange range(std::uint32_t rva, std::uint32_t size) override { return pe.range_of({rva, size}); }
    const PeImage& pe;
  } flat(assembly.pe);
  R2RMethods methods(flat, r2r_header_of(assembly.pe), &assembly.names, nullptr);
  std::set<std::string> names;
  for (const R2REntry& entry : methods.entries()) names.insert(format_full_name(methods.name(entry)));
  for (const std::string expected :
       {"Shapes.Deep.Outer<int>.Inner<Shapes.Deep.Point>.Run<Shapes.Deep.Colour>(int, Shapes.Deep.Point, "
        "Shapes.Deep.Colour, System.Collections.Generic.List<System.Collections.Generic.Dictionary<int, "
        "Shapes.Deep.Point[]>>)",
        "Shapes.Deep.Outer<System.__Canon>.Inner<System.__Canon>..ctor(System.__Canon, System.__Canon)",
        "Shapes.Deep.Uses.Everything()"}) {
    INFO(expected);
    CHECK(names.contains(expected));
  }
}

TEST_CASE("a cold name costs few page fills") {
  RecordedAssembly assembly("names.dll");
  const Bytes laid_out = map_pe(assembly.bytes);
  constexpr Address base = 0x7f00'0000'0000;
  HostMemory memory(laid_out, base);
  for (std::uint32_t rid = 1; rid <= assembly.metadata.rows(MetadataTable::method_def); ++rid) {
    CountingReader fills(memory);
    PageCache cache(fills);
    const PeImage pe(cache, base, true);
    const Metadata metadata(pe.range_of(pe.metadata()));
    MetadataNames names(metadata);
    CHECK(format_full_name(names.method(rid)) == format_full_name(assembly.names.method(rid)));
    CHECK(fills.reads() < 25);
  }
}

TEST_CASE("the k-th read of an image fails: a fault or a smaller answer, never a wrong name") {
  const Bytes laid_out = map_pe(recorded_image("names-arm64.dll"));
  HostMemory memory(laid_out);
  std::set<std::string> right;
  const auto walk = [&](MemoryReader& reader) {
    std::vector<std::string> names;
    const PeImage pe(reader, 0, true);
    const Metadata metadata(pe.range_of(pe.metadata()));
    MetadataNames own(metadata);
    MappedR2RImage bytes(reader, 0);
    R2RMethods methods(bytes, r2r_header_of(pe), &own, nullptr);
    for (const R2REntry& entry : methods.entries()) try {
        const QualifiedMethodName name = methods.name(entry);
        if (name.signature_known)
          names.push_back(format_full_name(name));
        else
          CHECK_FALSE(name.signature_fault.empty());
      } catch (const Error&) {
      }
    return names;
  };
  FailingReader failing(memory);
  for (std::string& name : walk(failing)) right.insert(std::move(name));
  REQUIRE(right.size() > 40);
  const std::uint64_t reads = failing.reads();
  for (std::uint64_t k = 1; k <= reads; k += k < 400 ? 1 : 7) {
    FailingReader torn(memory, k, k % 2 == 0);
    std::vector<std::string> names;
    try {
      names = walk(torn);
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::memory_missing);
    }
    for (const std::string& name : names) {
      INFO("read " << k << " failed: " << name);
      CHECK(right.contains(name));
    }
  }
}

TEST_CASE("damaged images neither crash nor hang") {
  RecordedAssembly assembly("names.dll");
  std::mt19937 random(42); // NOLINT: the same damage each time
  std::size_t named = 0;
  for (const Image& image : images) {
    const Bytes laid_out = map_pe(recorded_image(std::string(image.name) + ".dll"));
    for (unsigned round = 0; round < 150; ++round) {
      Bytes damaged = laid_out;
      for (unsigned i = 0; i <= random() % 200; ++i)
        damaged[0x400 + random() % (damaged.size() - 0x400)] = static_cast<std::byte>(random());
      HostMemory memory(damaged);
      try {
        const PeImage pe(memory, 0, true);
        const Metadata own(pe.range_of(pe.metadata()));
        MetadataNames own_names(own);
        MappedR2RImage bytes(memory, 0);
        R2RMethods methods(bytes, r2r_header_of(pe), &own_names, &assembly);
        for (const R2REntry& entry : methods.entries()) try {
            format_full_name(methods.name(entry));
            ++named;
          } catch (const Error&) {
          }
      } catch (const Error&) {
      }
    }
  }
  CHECK(named > 1000);
}
