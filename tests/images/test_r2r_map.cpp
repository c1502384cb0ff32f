// Compares the writer of R2R perf maps with crossgen2's own maps, line by line. The recorded images are
// always tested; CLR_R2R_IMAGES names a folder with more (IMAGE.dll with IMAGE.ni.r2rmap beside it).
#include "core/images/r2r_map.h"

#include "core/symbols/r2r_perf_map.h"
#include "tests/support/more_images.h"

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <random>

using namespace clr;
using namespace clr::test;
namespace fs = std::filesystem;

namespace {

struct Line {
  std::uint64_t size = 0;
  std::string name;
};

struct CompilersMap {
  std::vector<std::string> header;
  std::map<std::uint64_t, Line> lines; // by RVA
};

CompilersMap read_lines(const std::string& text) {
  CompilersMap map;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    const std::size_t first = line.find(' '), second = line.find(' ', first + 1);
    const std::uint64_t rva = std::stoull(line.substr(0, first), nullptr, 16);
    if (rva >= 0xffff'fff0)
      map.header.push_back(line);
    else
      map.lines[rva] = {std::stoull(line.substr(first + 1), nullptr, 16), line.substr(second + 1)};
  }
  return map;
}

std::string text_of(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void check_image(const fs::path& file, bool constants_behind_code) {
  INFO(file.string());
  const CompilersMap theirs = read_lines(text_of(fs::path(file).replace_extension(".ni.r2rmap")));
  const LaidOutImage image(file.string());
  AssemblyFolders others({file.parent_path().string()});
  const R2RMethodMap map = map_methods(image.image(), &others);
  std::string text;
  const std::size_t written =
      write_r2r_perf_map([&](std::string_view part) { text += part; }, map.header, map.rows);
  const CompilersMap ours = read_lines(text);
  CHECK(written == map.rows.size());
  CHECK(map.problems == std::vector<std::string>());
  CHECK(ours.header == theirs.header);
  std::size_t cold = 0, longer = 0, wrong = 0;
  std::string first_wrong;
  for (const auto& [rva, line] : ours.lines) {
    const auto their = theirs.lines.find(rva);
    // The compiler's maps leave cold parts out.
    if (their == theirs.lines.end()) {
      ++cold;
      continue;
    }
    // Where constants follow the code, it counts them in.
    const bool with_constants = constants_behind_code && line.size < their->second.size;
    longer += with_constants ? 1 : 0;
    std::string name = their->second.name;
    while (name.ends_with(' ')) name.pop_back();
    if (name == line.name && (line.size == their->second.size || with_constants)) continue;
    if (wrong++ == 0)
      first_wrong =
          fmt::format("{:x} {:x} {} for {:x} {}", rva, line.size, line.name, their->second.size, name);
  }
  INFO(first_wrong);
  CHECK(wrong == 0);
  CHECK(ours.lines.size() - cold == theirs.lines.size());
  const bool splits = file.string().find("cold") != std::string::npos;
  CHECK((cold != 0) == splits);
  std::cout << fmt::format(
      "  {}: {} lines of the compiler's map, {} with constants behind their code, {} cold parts\n",
      (file.parent_path().filename() / file.filename()).string(), theirs.lines.size(), longer, cold);
}

} // namespace

TEST_CASE("maps of recorded images are those that the compiler wrote") {
  const fs::path data = fs::path(CLR_TEST_DATA);
  for (const std::string name : {"names-x64", "names-x86", "names-arm64", "names-arm", "composite.r2r"})
    check_image(data / "metadata/data" / (name + ".dll"), name == "names-arm64" || name == "names-arm");
  check_image(data / "execution/data/cold-x64.dll", false);
}

TEST_CASE("maps of more images, from a folder") {
  const auto images = more_r2r_images("runtime: maps of more images");
  if (!images) return;
  std::size_t with_map = 0;
  for (const fs::path& image : *images) {
    if (!fs::exists(compilers_map(image))) continue;
    check_image(image, image.parent_path().string().find("arm") != std::string::npos);
    ++with_map;
  }
  CHECK(with_map > 0);
}

TEST_CASE("what is no ReadyToRun image has no map") {
  const fs::path data = fs::path(CLR_TEST_DATA) / "metadata/data";
  const LaidOutImage il((data / "names.dll").string());
  CHECK_THROWS_WITH(map_methods(il.image(), nullptr), "it is no ReadyToRun image");
  CHECK_THROWS_AS(LaidOutImage((data / "names.cs").string()), Error);
  CHECK_THROWS_AS(LaidOutImage((data / "none.dll").string()), Error);
}

TEST_CASE("a small file that claims a large image is refused before the image is made") {
  std::string bytes = text_of(fs::path(CLR_TEST_DATA) / "metadata/data/names-x64.dll");
  // SizeOfImage, behind the offset of the headers that stands at 0x3C.
  const std::size_t headers = static_cast<unsigned char>(bytes[0x3c]);
  const std::size_t size_at = headers + 24 + 56;
  bytes.replace(size_at, 4, std::string("\0\0\xff\x3f", 4)); // a page below the limit of all images
  const fs::path copy = fs::temp_directory_path() / fmt::format("lldb-clr-{}.dll", std::random_device()());
  std::ofstream(copy, std::ios::binary) << bytes;
  CHECK_THROWS_WITH(LaidOutImage(copy.string()), Catch::Contains("claims an image of 1073676288 bytes"));
  fs::remove(copy);
}

TEST_CASE("an image with changed bytes costs an error or rows at most") {
  const std::string original = text_of(fs::path(CLR_TEST_DATA) / "metadata/data/names-x64.dll");
  const fs::path copy = fs::temp_directory_path() / fmt::format("lldb-clr-{}.dll", std::random_device()());
  std::mt19937 random(11);
  for (unsigned round = 0; round < 200; ++round) {
    std::string bytes = original;
    for (unsigned i = 0; i < 20; ++i) bytes[random() % bytes.size()] = static_cast<char>(random());
    std::ofstream(copy, std::ios::binary) << bytes;
    try {
      const LaidOutImage image(copy.string());
      const R2RMethodMap map = map_methods(image.image(), nullptr);
      for (const symbols::MapRow& row : map.rows) CHECK_FALSE(row.name.empty());
    } catch (const Error&) {
      // Says what is wrong.
    }
  }
  fs::remove(copy);
}

TEST_CASE("the system of an image is in its machine") {
  CHECK(system_of_image(0x8664)->os == PerfMapOs::windows);
  CHECK(system_of_image(0x8664 ^ 0x7b79)->os == PerfMapOs::linux_);
  CHECK(system_of_image(0xaa64 ^ 0x4644)->os == PerfMapOs::osx);
  CHECK(system_of_image(0x014c)->platform.pointer_size == 4);
  CHECK(system_of_image(0xaa64 ^ 0x7b79)->architecture == PerfMapArchitecture::arm64);
  CHECK_FALSE(system_of_image(0x1234).has_value());
}
