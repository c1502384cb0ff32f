#include "core/memory/counting_reader.h"
#include "core/memory/failing_reader.h"
#include "core/memory/page_cache.h"
#include "core/metadata/pe_image.h"
#include "tests/support/metadata_builder.h"

#include <catch2/catch.hpp>

using namespace clr;
using namespace clr::test;

namespace {

constexpr Address base = 0x7f12'3456'0c80; // images inside a single file need not be page aligned

Bytes some_metadata() {
  MetadataBuilder builder;
  builder.assembly("test");
  return builder.build();
}

ErrorKind kind_of(const std::function<void()>& act) {
  try {
    act();
  } catch (const Error& error) {
    return error.kind();
  }
  return ErrorKind::invalid_argument;
}

} // namespace

TEST_CASE("flat and mapped images of either format lead to the metadata") {
  const Bytes metadata = some_metadata();
  for (const bool plus : {false, true}) {
    const Bytes file = pe_file(metadata, {.pe32_plus = plus});
    const Bytes image = map_pe(file);
    for (const bool mapped : {false, true}) {
      CAPTURE(plus, mapped);
      HostMemory memory(mapped ? image : file, base);
      const PeImage pe(memory, base, mapped);
      CHECK(pe.pe32_plus() == plus);
      CHECK(pe.mapped() == mapped);
      CHECK(pe.machine() == 0x8664);
      CHECK(pe.preferred_base() == (plus ? 0x1'8000'0000u : 0x1000'0000u));
      CHECK(pe.metadata().rva == pe_metadata_rva);
      CHECK(pe.metadata().size == metadata.size());
      CHECK(pe.managed_native_header().rva == 0);
      const ByteRange range = pe.range_of(pe.metadata());
      CHECK(range.begin() == base + (mapped ? pe_metadata_rva : pe_metadata_offset));
      CHECK(range.bytes(0, metadata.size()) == metadata);
      CHECK(PeImage::detect(memory, base).mapped() == mapped);
    }
  }
}

TEST_CASE("the machine of a ReadyToRun image for Unix is no reason to refuse it") {
  for (const unsigned machine : {0xfd1du, 0xd11du, 0x014cu, 0xc020u, 0u}) {
    const Bytes file = pe_file(some_metadata(), {.machine = static_cast<std::uint16_t>(machine)});
    HostMemory memory(file, base);
    CHECK(PeImage(memory, base, false).machine() == machine);
  }
}

TEST_CASE("an RVA without bytes in a flat image is nowhere, in a mapped one it is zeros") {
  const Bytes metadata = some_metadata();
  const Bytes file = pe_file(metadata);
  HostMemory memory(file, base);
  const PeImage flat(memory, base, false);
  CHECK(flat.address_of(0x10) == base + 0x10);    // headers
  CHECK(flat.address_of(0x1000) == base + 0x200); // first section
  CHECK(flat.address_of(0x2005) == base + 0x605); // second
  CHECK_FALSE(flat.address_of(0x1000 + 0x400));   // between sections
  CHECK_FALSE(flat.address_of(0x2000 + 0x200));   // uninitialised
  CHECK_FALSE(flat.address_of(0xffff'ffff));
  CHECK(kind_of([&] { flat.range_of({0x2000, 0x201}); }) == ErrorKind::corrupt);
  CHECK(kind_of([&] { flat.range_of({0x13ff, 0xc02}); }) == ErrorKind::corrupt);
  CHECK(kind_of([&] { flat.range_of({0x2000, 0xffff'ffff}); }) == ErrorKind::corrupt);
  const Bytes image = map_pe(file);
  HostMemory mapped_memory(image, base);
  const PeImage mapped(mapped_memory, base, true);
  CHECK(mapped.address_of(0x2200) == base + 0x2200);
  CHECK_FALSE(mapped.address_of(0x4000));
  CHECK(mapped.range_from(0x1010).size() == 0x3f0);
}

TEST_CASE("native header, debug directory and exports") {
  const Bytes header = bytes_of({'R', 'T', 'R', 0});
  const Bytes file = pe_file(some_metadata(),
                             {.native_header = header, .debug_types = {2, 17}, .export_name = "RTR_HEADER"});
  HostMemory memory(file, base);
  const PeImage pe(memory, base, false);
  CHECK(pe.range_of(pe.managed_native_header()).u32(0) == 0x00525452);
  const std::vector<PeDebugEntry> entries = pe.debug_entries();
  REQUIRE(entries.size() == 2);
  CHECK(entries[0].type == 2);
  CHECK(entries[1].type == 17);
  CHECK(entries[1].time_stamp == 0x1111'1111);
  CHECK(entries[1].major == 1);
  CHECK(entries[1].minor == 2);
  CHECK(entries[1].data.rva == pe_metadata_rva);
  CHECK(entries[1].data.size == 0x30);
  CHECK(entries[1].file_offset == pe_metadata_offset);
  CHECK(pe.find_export("RTR_HEADER") == 0x1234u);
  CHECK_FALSE(pe.find_export("RTR_HEADE"));
  HostMemory plain_bytes(file, base);
  const Bytes plain = pe_file(some_metadata());
  HostMemory plain_memory(plain, base);
  CHECK_FALSE(PeImage(plain_memory, base, false).find_export("RTR_HEADER"));
  CHECK(PeImage(plain_memory, base, false).debug_entries().empty());
}

TEST_CASE("an image without a COR header has no metadata") {
  const Bytes file = pe_file(some_metadata(), {.cor = false});
  HostMemory memory(file, base);
  const PeImage pe(memory, base, false);
  CHECK(pe.metadata().rva == 0);
  CHECK(pe.managed_native_header().rva == 0);
}

TEST_CASE("what is no PE image is refused") {
  Bytes file = pe_file(some_metadata());
  const auto refused = [&](std::size_t at, unsigned value) {
    Bytes changed = file;
    changed[at] = static_cast<std::byte>(value);
    HostMemory memory(changed, base);
    return kind_of([&] { PeImage(memory, base, false); }) == ErrorKind::corrupt;
  };
  CHECK(refused(0, 'X'));          // MZ
  CHECK(refused(0x3f, 0x7f));      // e_lfanew
  CHECK(refused(0x80, 'X'));       // PE\0\0
  CHECK(refused(0x80 + 24, 0x07)); // optional header magic
  CHECK(refused(0x80 + 6, 97));    // more sections than Windows loads
  CHECK(refused(0x80 + 7, 0xff));
}

TEST_CASE("headers cost few reads and pages") {
  const Bytes file = pe_file(some_metadata());
  HostMemory memory(file, base);
  CountingReader counting(memory);
  const PeImage pe(counting, base, false);
  CHECK(counting.reads() == 4);
}

TEST_CASE("every read that fails is a fault, never an image of zeros") {
  const Bytes file = pe_file(some_metadata(), {.debug_types = {2}, .export_name = "RTR_HEADER"});
  HostMemory memory(file, base);
  FailingReader failing(memory);
  const auto everything = [&] {
    const PeImage pe(failing, base, false);
    pe.debug_entries();
    pe.find_export("RTR_HEADER");
    return pe.range_of(pe.metadata()).u32(0);
  };
  everything();
  const std::uint64_t reads = failing.reads();
  REQUIRE(reads > 6);
  for (std::uint64_t k = 1; k <= reads; ++k) {
    failing.fail_at(k);
    CHECK(kind_of(everything) == ErrorKind::memory_missing);
  }
}
