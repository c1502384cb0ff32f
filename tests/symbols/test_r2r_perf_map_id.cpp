// Which map belongs to which image.
#include "core/symbols/r2r_perf_map_id.h"
#include "tests/symbols/symbol_samples.h"

#include <catch2/catch.hpp>
#include <fmt/format.h>

using namespace clr;
using namespace clr::test;

namespace {

std::array<std::byte, 16> mvid_of(std::string_view digits) {
  return parse_r2r_signature(digits).value();
}

// MVIDs of recorded assemblies.
const R2rInputAssembly names{"names", mvid_of("8c99f4b0b087c74fa22197b7198a03cf")};
const R2rInputAssembly many{"many", mvid_of("e28fe48bca47d74d95bc1555f26bd18f")};
const R2rInputAssembly linq{"System.Linq", mvid_of("c5fc470c3710654685c5fa36145a3eb4")};

// The contents of the recorded image's debug directory.
std::vector<std::byte> payload_of(const std::string& image) {
  const std::string file = read_text(std::string(CLR_TEST_DATA) + "/metadata/data/" + image);
  const std::size_t begin = file.find("R2RM");
  REQUIRE(begin != std::string::npos);
  return bytes_of_text(std::string_view(file).substr(begin, 284));
}

} // namespace

TEST_CASE("Signatures are those of the compiler", "[r2rmap]") {
  CHECK(digits_of(compute_r2r_signature({names}, 2, 3, 1)) == "0EFFE99B0757A064DA7592946DE32C99");
  CHECK(digits_of(compute_r2r_signature({names}, 2, 2, 1)) == "6A3479C7793AC082130B84DF6416DBC4");
  CHECK(digits_of(compute_r2r_signature({names}, 2, 1, 1)) == "E07FF45380267E448DD2724A19A10BB8");
  CHECK(digits_of(compute_r2r_signature({names}, 1, 4, 1)) == "DEC905AA88904E45C2A2F532727A7B57");
  // A composite image of two: by simple name, whatever the order and the case.
  CHECK(digits_of(compute_r2r_signature({linq, many}, 2, 3, 1)) == "BC294A55C2C1FFB2E47BE82B83AEACD4");
  CHECK(digits_of(compute_r2r_signature({many, linq}, 2, 3, 1)) == "BC294A55C2C1FFB2E47BE82B83AEACD4");
  CHECK(digits_of(compute_r2r_signature({{"MANY", many.mvid}, {"system.linq", linq.mvid}}, 2, 3, 1)) ==
        "BC294A55C2C1FFB2E47BE82B83AEACD4");
}

TEST_CASE("Capitals do not come first", "[r2rmap]") {
  // By bytes "Zoo" would stand before "ant".
  const R2rSignature lower = compute_r2r_signature({{"ant", many.mvid}, {"zoo", linq.mvid}}, 2, 3, 1);
  CHECK(compute_r2r_signature({{"Zoo", linq.mvid}, {"ant", many.mvid}}, 2, 3, 1) == lower);
  CHECK(compute_r2r_signature({{"zoo", many.mvid}, {"ant", linq.mvid}}, 2, 3, 1) != lower);
}

TEST_CASE("Signatures as text", "[r2rmap]") {
  const auto signature = parse_r2r_signature("00112233445566778899aabbccddeeFF");
  REQUIRE(signature);
  CHECK((*signature)[1] == std::byte{0x11});
  CHECK(digits_of(*signature) == "00112233445566778899AABBCCDDEEFF");
  for (const char* bad : {"", "00", "00112233445566778899aabbccddeeFG", "0x112233445566778899aabbccddeeFF",
                          "00112233445566778899aabbccddeeFF0", "00112233-4455-6677-8899-aabbccddeeFF"})
    CHECK_FALSE(parse_r2r_signature(bad));
}

TEST_CASE("The debug directory's entry of real images", "[r2rmap]") {
  const R2rPerfMapId single = parse_r2r_perf_map_id(payload_of("names-arm64.dll"));
  CHECK(digits_of(single.signature) == "6A3479C7793AC082130B84DF6416DBC4");
  CHECK(single.version == 1);
  CHECK(single.file_name == "names.ni.r2rmap");
  const R2rPerfMapId composite = parse_r2r_perf_map_id(payload_of("composite.r2r.dll"));
  CHECK(digits_of(composite.signature) == "0EFFE99B0757A064DA7592946DE32C99");
  CHECK(composite.file_name == "composite.r2r.ni.r2rmap");
}

TEST_CASE("A damaged entry of the debug directory is an error", "[r2rmap]") {
  const std::vector<std::byte> good = payload_of("names-x64.dll");
  const auto why = [](std::vector<std::byte> payload) -> std::string {
    const auto fault = fault_of([&] { parse_r2r_perf_map_id(payload); });
    return fault ? fault->what() : "accepted";
  };
  CHECK(why(good) == "accepted");
  for (std::size_t size = 0; size <= 24; ++size)
    CHECK(why({good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size)}) ==
          fmt::format("the debug directory's entry for the perf map: it has only {} bytes", size));
  CHECK(why({good.begin(), good.begin() + 30}) ==
        "the debug directory's entry for the perf map: its file name has no end");
  std::vector<std::byte> other = good;
  other[0] = std::byte{'X'};
  CHECK(why(other) == "the debug directory's entry for the perf map: it does not begin with R2RM");
  std::vector<std::byte> endless(24 + 5000, std::byte{'x'});
  std::copy(good.begin(), good.begin() + 24, endless.begin());
  CHECK(why(endless) == "the debug directory's entry for the perf map: its file name has no end");
}

TEST_CASE("A file name with folders loses them", "[r2rmap]") {
  std::vector<std::byte> payload = bytes_of_text("R2RM");
  payload.resize(24);
  for (const char c : std::string_view("..\\..\\/etc/passwd")) payload.push_back(static_cast<std::byte>(c));
  payload.push_back(std::byte{0});
  CHECK(parse_r2r_perf_map_id(payload).file_name == "passwd");
}
