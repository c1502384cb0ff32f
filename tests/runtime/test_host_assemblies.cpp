#include "core/runtime/host_assemblies.h"

#include <catch2/catch.hpp>

#include <filesystem>
#include <fstream>

using namespace clr;

TEST_CASE("an assembly is read whole from the first place that has it") {
  const auto folder = std::filesystem::temp_directory_path() / "lldb-clr-host-assemblies-test";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "a.dll", std::ios::binary) << "MZ12";
  PathMap paths;
  paths.directories = {"/does/not/exist", folder.string()};
  HostAssemblies assemblies(paths);
  const auto bytes = assemblies.open("/elsewhere/a.dll", "a.dll");
  REQUIRE(bytes);
  CHECK(bytes->size() == 4);
  CHECK((*bytes)[2] == std::byte{'1'});
  CHECK(assemblies.open("", "a.dll").has_value());
  CHECK_FALSE(assemblies.open("/elsewhere/b.dll", "b.dll").has_value());
  // A folder is no assembly.
  CHECK_FALSE(assemblies.open(folder.string(), "").has_value());
  std::filesystem::remove_all(folder);
}
