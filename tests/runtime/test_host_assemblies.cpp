#include "core/runtime/host_assemblies.h"

#include <catch2/catch.hpp>

#include <array>
#include <filesystem>
#include <fstream>

using namespace clr;

TEST_CASE("an assembly is read from the first place that has it") {
  const auto folder = std::filesystem::temp_directory_path() / "lldb-clr-host-assemblies-test";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "a.dll", std::ios::binary) << "MZ12";
  PathMap paths;
  paths.directories = {"/does/not/exist", folder.string()};
  HostAssemblies assemblies(paths);
  const auto file = assemblies.open("/elsewhere/a.dll", "a.dll");
  REQUIRE(file);
  std::array<std::byte, 8> bytes{};
  CHECK(file->read_some(0, bytes) == 4);
  CHECK(bytes[2] == std::byte{'1'});
  CHECK(file->read_some(5, bytes) == 0);
  CHECK(assemblies.open("", "a.dll"));
  CHECK_FALSE(assemblies.open("/elsewhere/b.dll", "b.dll"));
  // A folder is no assembly.
  CHECK_FALSE(assemblies.open(folder.string(), ""));
  std::filesystem::remove_all(folder);
}
