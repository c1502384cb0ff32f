// Compressed cores become cores again: by each format, with several frames, and where the data is cut or
// damaged.
#include "core/report/packed_core.h"
#include "core/report/stream_decoder.h"
#include "tests/memory/temporary_directory.h"
#include "tests/support/faults.h"
#include "tests/support/skip.h"

#include <catch2/catch.hpp>
#include <fstream>
#include <sstream>
#include <vector>
#include <zlib.h>

using namespace clr;
using namespace clr::test;

namespace {

using Bytes = std::vector<std::uint8_t>;

// "core " 1,000 times, as the tools of zstd and lz4 write it.
const Bytes zstd_sample = {0x28, 0xb5, 0x2f, 0xfd, 0x04, 0x68, 0x6d, 0x00, 0x00, 0x28, 0x63, 0x6f, 0x72,
                           0x65, 0x20, 0x01, 0x00, 0x80, 0x83, 0xbe, 0x68, 0x01, 0xbc, 0x90, 0x6a, 0x65};
const Bytes lz4_sample = {0x04, 0x22, 0x4d, 0x18, 0x64, 0x40, 0xa7, 0x22, 0x00, 0x00, 0x00, 0x5f, 0x63, 0x6f,
                          0x72, 0x65, 0x20, 0x05, 0x00, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
                          0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7e, 0x50, 0x63, 0x6f,
                          0x72, 0x65, 0x20, 0x00, 0x00, 0x00, 0x00, 0x79, 0xda, 0x88, 0x2e};

std::string thousand_cores() {
  std::string text;
  for (int n = 0; n < 1000; ++n) text += "core ";
  return text;
}

Bytes gzip_of(const std::string& text) {
  z_stream stream{};
  constexpr int with_gzip_header = MAX_WBITS + 16;
  REQUIRE(::deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, with_gzip_header, 8,
                         Z_DEFAULT_STRATEGY) == Z_OK);
  Bytes packed(::deflateBound(&stream, static_cast<uLong>(text.size())));
  stream.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = packed.data();
  stream.avail_out = static_cast<uInt>(packed.size());
  REQUIRE(::deflate(&stream, Z_FINISH) == Z_STREAM_END);
  packed.resize(packed.size() - stream.avail_out);
  ::deflateEnd(&stream);
  return packed;
}

// Packed files in a folder of their own, and what is unpacked there.
struct Folder {
  TemporaryDirectory folder;
  std::string packed(const Bytes& bytes) const {
    return folder.write("core.packed", std::as_bytes(std::span(bytes)));
  }
  std::string to() const { return folder.path("core"); }
  std::string content() const {
    std::ostringstream text;
    text << std::ifstream(to(), std::ios::binary).rdbuf();
    return text.str();
  }
  bool exists() const { return std::filesystem::exists(to()); }
};

constexpr std::uint64_t any_room = 0;

Bytes twice(Bytes bytes) {
  bytes.insert(bytes.end(), bytes.begin(), bytes.end());
  return bytes;
}

} // namespace

TEST_CASE("A file's packing is told by its first bytes") {
  const Folder folder;
  CHECK(packing_of(folder.packed(gzip_of("x"))) == Packing::gzip);
  CHECK(packing_of(folder.packed(zstd_sample)) == Packing::zstd);
  CHECK(packing_of(folder.packed(lz4_sample)) == Packing::lz4);
  CHECK(packing_of(folder.packed({0xfd, '7', 'z', 'X', 'Z', 0})) == Packing::xz);
  CHECK(packing_of(folder.packed({'B', 'Z', 'h', '9'})) == Packing::bzip2);
  CHECK(packing_of(folder.packed({0x7f, 'E', 'L', 'F'})) == Packing::none);
  CHECK(packing_of(folder.packed({})) == Packing::none);
  CHECK(packing_of(folder.packed({0x28, 0xb5, 0x2f})) == Packing::zstd); // cut within what tells it
  CHECK(packing_of(folder.packed({0x28})) == Packing::none);
  CHECK(fault_of([&] { packing_of(folder.folder.path("nowhere")); })->kind() == ErrorKind::io);
}

TEST_CASE("A file that is taken for lines of text is refused when it is none") {
  const Folder folder;
  const auto refusal = [&](const Bytes& bytes) {
    const auto fault = fault_of([&] { require_text(folder.packed(bytes)); });
    return fault ? std::string(fault->what()) : std::string();
  };
  CHECK_THAT(refusal(gzip_of("7f0012345678\n")), Catch::EndsWith("is compressed (gzip): unpack it first"));
  CHECK_THAT(refusal(zstd_sample), Catch::EndsWith("is compressed (zstd): unpack it first"));
  CHECK_THAT(refusal({'7', 'f', 0, 'E'}), Catch::EndsWith("is no text: it holds zero bytes"));
  CHECK(refusal({'7', 'f', '\n', '0', '\n'}).empty());
  CHECK(refusal({}).empty());
}

TEST_CASE("A core that is compressed by gzip is unpacked, also of several members") {
  const Folder folder;
  const UnpackedCore core =
      unpack_core(folder.packed(gzip_of(thousand_cores())), folder.to(), {.spare = any_room});
  CHECK(core.size == 5000);
  CHECK(core.cut.empty());
  CHECK(folder.content() == thousand_cores());
  CHECK(unpack_core(folder.packed(twice(gzip_of("core"))), folder.to(), {.spare = any_room}).size == 8);
  CHECK(folder.content() == "corecore");
}

TEST_CASE("A core that is larger than the pieces in which it is unpacked is whole") {
  const Folder folder;
  std::string text(5'000'001,
                   'a'); // much more than its compressed form, so that the last piece waits in the decoder
  text.back() = 'b';
  const UnpackedCore core = unpack_core(folder.packed(gzip_of(text)), folder.to(), {.spare = any_room});
  CHECK(core.size == text.size());
  CHECK(core.cut.empty());
  CHECK(folder.content() == text);
}

// Of a format whose library the host may lack: whole, twice, and a whole frame before one that is cut.
void unpack_by_host(const char* test_case, const Bytes& sample) {
  const Folder folder;
  const std::string packed = folder.packed(sample);
  const auto fault = fault_of([&] { unpack_core(packed, folder.to(), {.spare = any_room}); });
  if (fault && fault->kind() == ErrorKind::unsupported_contract) return skip(test_case, fault->what());
  REQUIRE(!fault);
  CHECK(folder.content() == thousand_cores());
  CHECK(unpack_core(folder.packed(twice(sample)), folder.to(), {.spare = any_room}).size == 10000);
  Bytes behind = twice(sample);
  behind.resize(behind.size() - 3);
  const UnpackedCore cut = unpack_core(folder.packed(behind), folder.to(), {.spare = any_room});
  CHECK(cut.cut == "the file ends within its compressed data");
  CHECK(cut.size >= 5000);
}

TEST_CASE("A core that is compressed by zstd is unpacked by the host's library") {
  unpack_by_host("zstd", zstd_sample);
}

TEST_CASE("A core that is compressed by lz4 is unpacked by the host's library") {
  unpack_by_host("lz4", lz4_sample);
}

TEST_CASE("What stands before a cut or damaged place is kept, and the place is told") {
  const Folder folder;
  std::string text;
  for (unsigned n = 0; text.size() < 100'000; ++n)
    text += std::to_string(n * 2654435761u); // does not shrink to nothing
  const Bytes whole = gzip_of(text);
  Bytes cut = whole;
  cut.resize(whole.size() / 2);
  const UnpackedCore half = unpack_core(folder.packed(cut), folder.to(), {.spare = any_room});
  CHECK(half.cut == "the file ends within its compressed data");
  CHECK(half.size > 0);
  CHECK(half.size < text.size());
  CHECK(folder.content() == text.substr(0, half.size));

  Bytes two = gzip_of("whole");
  const std::size_t second = two.size();
  const Bytes more = gzip_of("damaged");
  two.insert(two.end(), more.begin(), more.end());
  two[second] ^= 0xff; // no header of a member any more
  const UnpackedCore first = unpack_core(folder.packed(two), folder.to(), {.spare = any_room});
  CHECK(folder.content() == "whole");
  CHECK_THAT(first.cut, Catch::Contains("the gzip data is damaged") &&
                            Catch::Contains("of " + std::to_string(two.size())));
}

TEST_CASE("Where nothing can be unpacked no file is left") {
  const Folder folder;
  const auto fault = [&](const Bytes& bytes, const UnpackOptions& options) {
    const auto found = fault_of([&] { unpack_core(folder.packed(bytes), folder.to(), options); });
    REQUIRE(found);
    CHECK_FALSE(folder.exists());
    return found;
  };
  CHECK(fault({0x1f, 0x8b, 1, 2, 3, 4}, {.spare = any_room})->kind() == ErrorKind::corrupt);
  CHECK(fault({0x1f, 0x8b}, {.spare = any_room})->kind() == ErrorKind::corrupt);
  const auto cut = fault(Bytes(zstd_sample.begin(), zstd_sample.begin() + 3), {.spare = any_room});
  if (cut->kind() != ErrorKind::unsupported_contract) // the host has no such library
    CHECK_THAT(cut->what(),
               Catch::EndsWith("holds nothing of a core: the file ends within its compressed data"));
  CHECK(fault({0x7f, 'E', 'L', 'F'}, {.spare = any_room})->kind() == ErrorKind::invalid_argument);
  const auto xz = fault({0xfd, '7', 'z', 'X', 'Z', 0}, {.spare = any_room});
  CHECK(xz->kind() == ErrorKind::unsupported_contract);
  CHECK_THAT(xz->what(), Catch::Contains("unxz"));
  const auto crowded = fault(gzip_of("core"), {.spare = std::uint64_t{1} << 62});
  CHECK(crowded->kind() == ErrorKind::io);
  CHECK_THAT(crowded->what(), Catch::Contains("must stay so"));
  CHECK(fault(gzip_of("core"), {.stop = [](std::uint64_t, std::uint64_t) { return true; }, .spare = any_room})
            ->kind() == ErrorKind::interrupted);
  // Few bytes may hold many: the user is asked for each megabyte of either.
  unsigned asked = 0;
  CHECK(fault(gzip_of(std::string(4u << 20, 'x')),
              {.stop = [&](std::uint64_t, std::uint64_t) { return ++asked == 4; }, .spare = any_room})
            ->kind() == ErrorKind::interrupted);
}
