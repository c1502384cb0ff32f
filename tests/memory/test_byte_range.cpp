#include "core/memory/byte_range.h"
#include "core/memory/counting_reader.h"
#include "tests/memory/temporary_directory.h"
#include "tests/support/metadata_builder.h"

#include <catch2/catch.hpp>

using namespace clr;
using namespace clr::test;

namespace {

constexpr Address base = 0x7f00'0000'1000;

std::optional<Address> fault_address(const std::function<void()>& act, ErrorKind kind) {
  try {
    act();
  } catch (const Error& error) {
    CHECK(error.kind() == kind);
    return error.address();
  }
  return std::nullopt;
}

} // namespace

TEST_CASE("a range reads little-endian integers, lent or not") {
  const Bytes bytes = bytes_of({1, 2, 3, 4, 5, 6, 7, 8, 'a', 'b', 0, 'c'});
  HostMemory memory(bytes, base);
  CountingReader counting(memory);
  for (MemoryReader* reader : std::initializer_list<MemoryReader*>{&memory, &counting}) {
    const ByteRange range(*reader, base, bytes.size());
    CHECK(range.lent().empty() == (reader == &counting));
    CHECK(range.u8(0) == 1);
    CHECK(range.u16(1) == 0x0302);
    CHECK(range.u32(0) == 0x04030201);
    CHECK(range.u64(0) == 0x0807060504030201);
    CHECK(range.c_string(8, 100) == "ab");
    CHECK(range.slice(4, 4).u32(0) == 0x08070605);
    CHECK(range.from(8).size() == 4);
    CHECK(range.bytes(1, 3) == bytes_of({2, 3, 4}));
  }
  CHECK(counting.reads() != 0);
}

namespace {

// A file as memory at `base`, which lends its bytes and reads none by itself.
class FileMemory final : public MemoryReader {
public:
  explicit FileMemory(const std::string& path) : file_(HostFile::open(path)) {}
  std::size_t read_some(Address, std::span<std::byte>) override { return 0; }
  LentBytes view_in_parts(Address address, std::size_t size) override {
    return file_.lend(address - base, size);
  }

private:
  PartialFile file_;
};

} // namespace

TEST_CASE("a range of a file reads what is looked at") {
  constexpr std::uint64_t block = PartialFile::block_size;
  const TemporaryDirectory folder;
  Bytes content(4 * block, std::byte{'x'});
  for (const std::uint64_t at : {block - 2, 2 * block + 3}) content[at] = std::byte{1};
  content[block + 70] = content[3 * block + 5] = std::byte{0};
  const std::string path = folder.write("app.dll", content);
  FileMemory memory(path);
  const ByteRange range(memory, base, content.size());
  CHECK(range.is_lent());
  CHECK(range.u32(block - 2) == 0x78787801);
  CHECK(range.c_string(block - 1, 100) == std::string(71, 'x'));
  CHECK(range.slice(2 * block, 8).lent()[3] == std::byte{1});
  const ByteRange later = range.from(3 * block);
  std::filesystem::resize_file(path, 3 * block);
  CHECK(range.u32(block - 2) == 0x78787801);
  // What the file has lost is missing, whoever looks at it.
  CHECK(later.is_lent());
  CHECK(later.lent().empty());
  CHECK(fault_address([&] { later.u8(0); }, ErrorKind::memory_missing) == base + 3 * block);
  CHECK(fault_address([&] { later.c_string(0, 100).clear(); }, ErrorKind::memory_missing) ==
        base + 3 * block);
  CHECK(fault_address([&] { later.bytes(1, 8); }, ErrorKind::memory_missing) == base + 3 * block + 1);
}

TEST_CASE("bytes outside a range are corrupt data, whatever the memory holds there") {
  const Bytes bytes(64);
  HostMemory memory(bytes, base);
  const ByteRange range(memory, base, 8);
  const auto outside = [&](const std::function<void()>& act) {
    return fault_address(act, ErrorKind::corrupt).has_value();
  };
  CHECK(outside([&] { range.u8(8); }));
  CHECK(outside([&] { range.u32(5); }));
  CHECK(outside([&] { range.u64(1); }));
  CHECK(outside([&] { range.u32(0xffff'ffff'ffff'fffe); }));
  CHECK(outside([&] { range.slice(4, 5); }));
  CHECK(outside([&] { range.slice(9, 0); }));
  CHECK(outside([&] { range.slice(1, 0xffff'ffff'ffff'ffff); }));
  CHECK(outside([&] {
    range.c_string(0, 100).clear();
    range.c_string(8, 1);
  }));
  CHECK(outside([&] { ByteRange(memory, 0xffff'ffff'ffff'fff0, 0x20); }));
}

TEST_CASE("a string without an end within its limit or range is corrupt") {
  const Bytes bytes(100, std::byte{'x'});
  HostMemory memory(bytes, base);
  CountingReader counting(memory);
  for (MemoryReader* reader : std::initializer_list<MemoryReader*>{&memory, &counting}) {
    const ByteRange range(*reader, base, bytes.size());
    CHECK(fault_address([&] { range.c_string(0, 1000); }, ErrorKind::corrupt) == base);
    CHECK(fault_address([&] { range.c_string(10, 20); }, ErrorKind::corrupt) == base + 10);
  }
}

TEST_CASE("missing memory is a fault at its first byte") {
  const Bytes bytes(10, std::byte{'x'});
  HostMemory memory(bytes, base);
  const ByteRange range(memory, base, 100); // claims more than there is
  CHECK(range.lent().empty());
  CHECK(range.u64(0) == 0x7878'7878'7878'7878);
  CHECK(fault_address([&] { range.u32(8); }, ErrorKind::memory_missing) == base + 10);
  CHECK(fault_address([&] { range.c_string(0, 50); }, ErrorKind::memory_missing) == base + 10);
}

TEST_CASE("bytes of a size that lies are not made before memory is found to be missing", "[byte_range]") {
  struct Missing final : MemoryReader {
    std::size_t asked = 0;
    std::size_t read_some(Address, std::span<std::byte> out) override {
      asked = std::max(asked, out.size());
      return 0;
    }
  } memory;
  constexpr std::size_t size = std::size_t{1} << 26;
  CHECK_THROWS_AS(ByteRange(memory, 0x1000, size).bytes(0, size), Error);
  CHECK(memory.asked != 0);
  CHECK(memory.asked <= size / 64);
}
