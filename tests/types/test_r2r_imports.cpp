// Import cells of real images: tests/metadata/data/names.dll compiled for four CPUs.
#include "core/types/r2r_imports.h"

#include "core/metadata/pe_image.h"
#include "core/types/r2r_methods.h"
#include "tests/support/metadata_builder.h"
#include "tests/types/recorded_images.h"

#include <catch2/catch.hpp>

#include <map>
#include <random>

using namespace clr;
using namespace clr::test;

namespace {

constexpr Address base = 0x7f00'1234'0000;

struct Image {
  Image(const std::string& name, AssemblyMetadata* others)
      : laid_out(map_pe(recorded_image(name))), memory(laid_out, base), pe(memory, base, true),
        bytes(memory, base), metadata(pe.range_of(pe.metadata())), names(metadata),
        methods(bytes, r2r_header_of(pe), &names, others) {}

  Bytes laid_out;
  HostMemory memory;
  PeImage pe;
  MappedR2RImage bytes;
  Metadata metadata;
  MetadataNames names;
  R2RMethods methods;

  unsigned pointer_size() const { return pe.pe32_plus() ? 8 : 4; }
  R2RImports imports() { return {bytes, methods.header(), methods.signatures(), methods.own_names()}; }
  // The first cell and the bytes of each import section.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> sections() {
    const auto table = methods.header().find(R2RSection::import_sections);
    const ByteRange rows = bytes.range(table->rva, table->size);
    std::vector<std::pair<std::uint32_t, std::uint32_t>> found;
    for (std::uint32_t at = 0; at < table->size; at += 20) found.emplace_back(rows.u32(at), rows.u32(at + 4));
    return found;
  }
};

} // namespace

TEST_CASE("every cell of an image says what it imports") {
  for (const std::string name : {"names-x64", "names-arm64", "names-arm", "names-x86"}) {
    Image image(name + ".dll", nullptr);
    R2RImports imports = image.imports();
    CAPTURE(name);
    std::map<std::string, unsigned> texts;
    unsigned methods = 0;
    for (const auto& [first, size] : image.sections())
      for (std::uint32_t at = 0; at < size; at += image.pointer_size()) {
        const auto import = imports.at(first + at, image.pointer_size());
        REQUIRE(import);
        CHECK_FALSE(import->text.empty());
        ++texts[import->text];
        methods += import->method ? 1 : 0;
      }
    CHECK(methods == 20);
    for (const std::string expected :
         {"READYTORUN_HELPER_Module", "READYTORUN_HELPER_DelayLoad_MethodCall",
          "READYTORUN_HELPER_RngChkFail", "System.Threading.Tasks.Task.Yield()",
          "System.Environment.get_CurrentManagedThreadId()",
          "Shapes.Deep.Outer<int>.Inner<Shapes.Deep.Point>.Run<Shapes.Deep.Colour>(int, Shapes.Deep.Point, "
          "Shapes.Deep.Colour, System.Collections.Generic.List<System.Collections.Generic.Dictionary<int, "
          "Shapes.Deep.Point[]>>)",
          "new of Shapes.Deep.Square", "new of System.Func<int, int>", "type handle of Shapes.Deep.Colour",
          "a string"}) {
      INFO(expected);
      CHECK(texts[expected] == 1);
    }
    const bool x86 = name == "names-x86";
    CHECK(texts["READYTORUN_HELPER_WriteBarrier"] == (x86 ? 0 : 1));
    CHECK(texts["READYTORUN_HELPER_WriteBarrier_EAX"] == (x86 ? 1 : 0));
    CHECK(texts["READYTORUN_HELPER_PersonalityRoutine"] == (x86 ? 0 : 1));
  }
}

TEST_CASE("cells of a composite image name their module") {
  RecordedAssembly assembly("names.dll");
  Image image("composite.r2r.dll", &assembly);
  R2RImports imports = image.imports();
  std::map<std::string, unsigned> texts;
  unsigned elsewhere = 0;
  for (const auto& [first, size] : image.sections())
    for (std::uint32_t at = 0; at < size; at += 8) {
      try {
        ++texts[imports.at(first + at, 8).value().text];
      } catch (const Error& error) {
        CHECK(error.kind() == ErrorKind::memory_missing); // the framework is not there
        ++elsewhere;
      }
    }
  CHECK(texts["new of Shapes.Deep.Square"] == 1);
  CHECK(texts["READYTORUN_HELPER_DelayLoad_MethodCall"] == 1);
  CHECK(elsewhere > 0);
}

TEST_CASE("an address outside of the import sections is no cell") {
  Image image("names-x64.dll", nullptr);
  R2RImports imports = image.imports();
  for (const auto& [first, size] : image.sections()) {
    if (size == 0) continue;
    CHECK(imports.at(first, 8).has_value());
    CHECK(imports.at(first + size - 1, 8).has_value());
  }
  CHECK_FALSE(imports.at(0, 8).has_value());
  CHECK_FALSE(imports.at(0xffff'fff8, 8).has_value());
}

TEST_CASE("damaged import tables cost an error at most") {
  Image whole("names-x64.dll", nullptr);
  const auto table = *whole.methods.header().find(R2RSection::import_sections);
  std::mt19937 random(5);
  for (unsigned round = 0; round < 700; ++round) {
    Image image("names-x64.dll", nullptr);
    for (unsigned i = 0; i < 4; ++i)
      image.laid_out[table.rva + random() % table.size] = static_cast<std::byte>(random());
    try {
      R2RImports imports = image.imports();
      for (const auto& [first, size] : whole.sections())
        if (const auto import = imports.at(first, 8)) CHECK_FALSE(import->text.empty());
    } catch (const Error&) {
      // Says what is wrong.
    }
  }
}
