// Which map belongs to which image.
#include "core/symbols/md5.h"
#include "core/symbols/r2r_perf_map.h"
#include "tests/symbols/symbol_samples.h"

#include <catch2/catch.hpp>
#include <fmt/format.h>

using namespace clr;
using namespace clr::test;

namespace {

std::string md5_text(std::string_view text) {
  return digits_of(md5(as_bytes_of(text)));
}

std::array<std::byte, 16> mvid_of(std::string_view digits) {
  return parse_r2r_signature(digits).value();
}

// MVIDs of recorded assemblies.
const R2rInputAssembly names{"names", mvid_of("8c99f4b0b087c74fa22197b7198a03cf")};
const R2rInputAssembly many{"many", mvid_of("e28fe48bca47d74d95bc1555f26bd18f")};
const R2rInputAssembly linq{"System.Linq", mvid_of("c5fc470c3710654685c5fa36145a3eb4")};

R2rPerfMapHeader header_of(std::string_view signature) {
  return {.signature = parse_r2r_signature(signature),
          .version = 1,
          .os = PerfMapOs::linux_,
          .architecture = PerfMapArchitecture::x64,
          .abi = PerfMapAbi::default_};
}

// What the recorded image's debug directory holds.
std::vector<std::byte> payload_of(const std::string& image) {
  const std::string file = read_text(std::string(CLR_TEST_DATA) + "/metadata/data/" + image);
  const std::size_t begin = file.find("R2RM");
  REQUIRE(begin != std::string::npos);
  return bytes_of_text(std::string_view(file).substr(begin, 284));
}

} // namespace

TEST_CASE("MD5 of RFC 1321's own texts, and around a block's end", "[md5]") {
  CHECK(md5_text("") == "D41D8CD98F00B204E9800998ECF8427E");
  CHECK(md5_text("a") == "0CC175B9C0F1B6A831C399E269772661");
  CHECK(md5_text("abc") == "900150983CD24FB0D6963F7D28E17F72");
  CHECK(md5_text("message digest") == "F96B697D7CB7938D525A2F31AAF161D0");
  CHECK(md5_text("abcdefghijklmnopqrstuvwxyz") == "C3FCD3D76192E4007DFB496CCA67E13B");
  CHECK(md5_text("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789") ==
        "D174AB98D277D9F5A5611C2C9F419D9F");
  CHECK(md5_text("12345678901234567890123456789012345678901234567890123456789012345678901234567890") ==
        "57EDF4A22BE3C955AC49DA2E2107B67A");
  CHECK(md5_text(std::string(55, 'x')) == "04364420E25C512FD958A70738AA8F72");
  CHECK(md5_text(std::string(56, 'x')) == "668A72D5BA17F08E62DABCAFAD6DB14B");
  CHECK(md5_text(std::string(64, 'x')) == "C1BB4F81D892B2D57947682AEB252456");
}

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

TEST_CASE("A map is matched by its signature", "[r2rmap]") {
  const R2rPerfMapId image = parse_r2r_perf_map_id(payload_of("names-x64.dll"));
  using State = R2rMapMatch::State;
  CHECK(match(header_of("0EFFE99B0757A064DA7592946DE32C99"), image).state == State::matches);
  const R2rMapMatch wrong = match(header_of("BC294A55C2C1FFB2E47BE82B83AEACD4"), image);
  CHECK(wrong.state == State::differs);
  CHECK(wrong.reason ==
        "the map is of another image: its signature is BC294A55C2C1FFB2E47BE82B83AEACD4, the image's "
        "0EFFE99B0757A064DA7592946DE32C99");
  CHECK(match({}, image).state == State::unknown);
  CHECK(match({}, image).reason == "the map has no signature: whether it is this image's is not known");

  // The compiler's default is 0, and the map says 1 all the same.
  R2rPerfMapId asked = image;
  asked.version = 0;
  CHECK(match(header_of("0EFFE99B0757A064DA7592946DE32C99"), asked).state == State::matches);
  asked.version = 2;
  CHECK(match(header_of("0EFFE99B0757A064DA7592946DE32C99"), asked).reason ==
        "the image's debug directory names a map of version 2, and this one has version 1");
}

TEST_CASE("A map is matched by the image's assemblies", "[r2rmap]") {
  using State = R2rMapMatch::State;
  CHECK(match(header_of("0EFFE99B0757A064DA7592946DE32C99"), {names}).state == State::matches);
  CHECK(match(header_of("BC294A55C2C1FFB2E47BE82B83AEACD4"), {linq, many}).state == State::matches);
  CHECK(match(header_of("BC294A55C2C1FFB2E47BE82B83AEACD4"), {linq}).state == State::differs);
  R2rPerfMapHeader other = header_of("0EFFE99B0757A064DA7592946DE32C99");
  other.architecture = PerfMapArchitecture::arm64;
  CHECK(match(other, {names}).reason ==
        "the map is of another image: its signature is 0EFFE99B0757A064DA7592946DE32C99, "
        "the image's 6A3479C7793AC082130B84DF6416DBC4");
  other.os.reset();
  CHECK(match(other, {names}).reason ==
        "the map does not say what it was compiled for: whether it is this image's is not known");
}

TEST_CASE("Where a map may lie", "[r2rmap]") {
  const R2rPerfMapId id{.file_name = "names.ni.r2rmap"};
  CHECK(r2r_perf_map_file_names("names.dll", &id, names.mvid) ==
        std::vector<std::string>{"names.ni.r2rmap", "names.ni.{b0f4998c-87b0-4fc7-a221-97b7198a03cf}.map"});
  CHECK(r2r_perf_map_file_names("renamed.dll", &id, names.mvid) ==
        std::vector<std::string>{"renamed.ni.r2rmap", "names.ni.r2rmap",
                                 "renamed.ni.{b0f4998c-87b0-4fc7-a221-97b7198a03cf}.map"});
  CHECK(r2r_perf_map_file_names("framework.r2r.dll", nullptr, std::nullopt) ==
        std::vector<std::string>{"framework.r2r.ni.r2rmap", "framework.r2r.ni.{composite}.map"});
}
