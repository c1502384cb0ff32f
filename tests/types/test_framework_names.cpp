// Every method of every assembly of a framework, compared with the name that another reader gives. A hidden
// test, because tests/live/metadata_dump/compare.sh makes the file with those names and needs an SDK.
#include "core/metadata/pe_image.h"
#include "core/types/metadata_names.h"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <fmt/format.h>
#include <fstream>
#include <iterator>
#include <memory>

using namespace clr;

namespace {

struct Assembly {
  explicit Assembly(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    const std::vector<char> content((std::istreambuf_iterator<char>(file)), {});
    bytes.resize(content.size());
    std::memcpy(bytes.data(), content.data(), content.size());
    memory = std::make_unique<HostMemory>(bytes);
    const PeImage pe(*memory, 0, false);
    metadata = std::make_unique<Metadata>(pe.range_of(pe.metadata()));
    names = std::make_unique<MetadataNames>(*metadata);
  }
  std::vector<std::byte> bytes;
  std::unique_ptr<HostMemory> memory;
  std::unique_ptr<Metadata> metadata;
  std::unique_ptr<MetadataNames> names;
};

} // namespace

TEST_CASE("all names of a framework as System.Reflection.Metadata has them", "[.oracle]") {
  const char* path = std::getenv("CLR_METADATA_ORACLE");
  REQUIRE(path != nullptr);
  std::ifstream oracle(path);
  std::unique_ptr<Assembly> assembly;
  std::size_t assemblies = 0, methods = 0, different = 0;
  std::uint32_t rid = 0;
  for (std::string line; std::getline(oracle, line);) {
    if (line.starts_with("# ")) {
      if (assembly) CHECK(rid == assembly->metadata->rows(MetadataTable::method_def));
      assembly = std::make_unique<Assembly>(line.substr(2));
      ++assemblies;
      rid = 0;
      continue;
    }
    ++rid;
    ++methods;
    const std::string ours =
        fmt::format("{:06x} {}", rid, format_perf_map_name(assembly->names->method(rid)));
    if (ours != line && ++different <= 10) {
      UNSCOPED_INFO(ours);
      CHECK(line == ours);
    }
  }
  WARN(fmt::format("{} assemblies, {} methods, {} with another name", assemblies, methods, different));
  CHECK(methods > 100'000);
  CHECK(different == 0);
}
