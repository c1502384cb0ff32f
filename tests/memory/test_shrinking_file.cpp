// Files that somebody cuts while they are used. A mapping would end the process at the next look.
#include "core/memory/elf_core.h"
#include "core/memory/elf_file.h"
#include "core/memory/file_bytes.h"
#include "core/memory/loaded_file.h"
#include "core/memory/own_pages.h"
#include "core/memory/partial_file.h"
#include "tests/memory/temporary_directory.h"
#include "tests/support/elf_core_builder.h"
#include "tests/support/faults.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <vector>

using namespace clr;
using namespace clr::test;

TEST_CASE("what was read of a file stays when the file is cut", "[shrinking]") {
  const TemporaryDirectory folder;
  const std::vector<std::byte> content = pattern(100'000);
  const std::string path = folder.write("app.dll", content);
  const LoadedFile file = LoadedFile::open(path);
  std::filesystem::resize_file(path, 10);
  REQUIRE(file.bytes().size() == content.size());
  CHECK(std::ranges::equal(file.bytes(), content));
  CHECK(file.path() == path);
  CHECK(reinterpret_cast<std::uintptr_t>(file.bytes().data()) % 64 == 0);
}

TEST_CASE("a file beyond the limit is refused before it is read", "[shrinking]") {
  const TemporaryDirectory folder;
  const std::string path = folder.write("huge.dll", pattern(10));
  std::filesystem::resize_file(path, LoadedFile::max_target_file + 1); // a hole: it takes no room
  const auto fault = fault_of([&] { LoadedFile::open(path, NamedBy::target); });
  REQUIRE(fault);
  CHECK(fault->kind() == ErrorKind::io);
  CHECK_THAT(fault->what(), Catch::Contains("more than 402653184 bytes"));
  std::filesystem::resize_file(path, LoadedFile::max_user_file + 1);
  CHECK(fault_of([&] { LoadedFile::open(path); }).has_value());
}

TEST_CASE("the holes of a large file are zero, and take no memory", "[shrinking]") {
  const TemporaryDirectory folder;
  const std::vector<std::byte> content = pattern(3 * 4096 + 5);
  const std::string path = folder.write("holes.dll", content);
  constexpr std::uint64_t size = 300u << 20, middle = 100u << 20;
  {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(middle);
    file.write(reinterpret_cast<const char*>(content.data()), static_cast<std::streamsize>(content.size()));
  }
  std::filesystem::resize_file(path, size);
  const auto resident = [] {
    std::ifstream statm("/proc/self/statm");
    std::uint64_t all = 0, pages = 0;
    statm >> all >> pages;
    return pages * 4096;
  };
  const std::uint64_t before = resident();
  const LoadedFile file = LoadedFile::open(path, NamedBy::target);
  CHECK(resident() < before + (100u << 20));
  REQUIRE(file.bytes().size() == size);
  CHECK(std::ranges::equal(file.bytes().first(content.size()), content));
  CHECK(std::ranges::equal(file.bytes().subspan(middle, content.size()), content));
  CHECK(file.bytes()[content.size()] == std::byte{0});
  CHECK(file.bytes().back() == std::byte{0});
}

TEST_CASE("a long run of a file is read into large pages of its own", "[shrinking]") {
  const TemporaryDirectory folder;
  const std::vector<std::byte> content = pattern(2 * PartialFile::large_run + 100);
  const std::span<const std::byte> all = content;
  PartialFile file(HostFile::open(folder.write("app.dll", content)));
  // The end first, so that what lies beside the run was written before.
  CHECK(std::ranges::equal(file.bytes(content.size() - 10, 10), all.last(10)));
  CHECK(std::ranges::equal(file.bytes(5, 2 * PartialFile::large_run - 5),
                           all.subspan(5, 2 * PartialFile::large_run - 5)));
  CHECK(std::ranges::equal(file.bytes(0, content.size()), all));
}

TEST_CASE("addresses that take memory where they are written", "[shrinking]") {
  CHECK(OwnPages().data() == nullptr);
  CHECK(OwnPages(0).data() == nullptr);
  CHECK(OwnPages(~std::uint64_t{0}).data() == nullptr);
  OwnPages pages(OwnPages::large_page + 1); // two large pages
  REQUIRE(pages.data() != nullptr);
  CHECK(reinterpret_cast<std::uintptr_t>(pages.data()) % OwnPages::large_page == 0);
  pages.prefer_large(OwnPages::large_page, 1);
  pages.make(0, 4096);
  pages.data()[0] = std::byte{1};
  CHECK(pages.data()[2 * OwnPages::large_page - 1] == std::byte{});
  OwnPages taken = std::move(pages);
  CHECK(taken.data()[0] == std::byte{1});
  CHECK(pages.data() == nullptr);
}

TEST_CASE("a file of which parts are read when they are needed", "[shrinking]") {
  constexpr std::uint64_t block = PartialFile::block_size;
  const TemporaryDirectory folder;
  const std::vector<std::byte> content = pattern(5 * block + 100);
  const std::span<const std::byte> all = content;
  const std::string path = folder.write("app.dll", content);
  PartialFile file(HostFile::open(path)), memory(all), whole(LoadedFile::open(path));
  CHECK(file.is_open());
  CHECK_FALSE(whole.is_open());
  for (PartialFile* parts : {&file, &memory, &whole}) {
    CHECK(parts->size() == content.size());
    CHECK(std::ranges::equal(parts->bytes(block - 10, 20), all.subspan(block - 10, 20)));
    CHECK(std::ranges::equal(parts->bytes(5 * block + 99, 1), all.last(1)));
    CHECK(parts->bytes(5 * block + 99, 2).empty());
    CHECK(parts->bytes(~std::uint64_t{0}, 8).empty());
    CHECK(parts->bytes(8, ~std::uint64_t{0}).empty());
  }
  CHECK(memory.bytes(7, 1).data() == content.data() + 7);
  const auto known = file.bytes(0, 100);
  std::filesystem::resize_file(path, 4 * block);
  CHECK(std::ranges::equal(known, all.first(100)));
  CHECK(std::ranges::equal(file.bytes(0, 2 * block), all.first(2 * block)));
  CHECK(file.bytes(2 * block, 1).empty()); // another file by now, as far as one can tell
  CHECK(file.bytes(0, 5 * block).empty());
  CHECK(std::ranges::equal(whole.bytes(0, 5 * block), all.first(5 * block)));
}

TEST_CASE("bytes of a file are lent before they are read", "[shrinking]") {
  constexpr std::uint64_t block = PartialFile::block_size;
  const TemporaryDirectory folder;
  const std::vector<std::byte> content = pattern(4 * block + 100);
  const std::span<const std::byte> all = content;
  const std::string path = folder.write("app.dll", content);
  PartialFile file(HostFile::open(path)), memory(all);
  const LentBytes lent = file.lend(block - 8, 3 * block);
  REQUIRE(lent.bytes.size() == 3 * block);
  REQUIRE(lent.file == &file);
  CHECK(lent.offset == block - 8);
  CHECK_FALSE(std::ranges::equal(lent.bytes.first(16), all.subspan(block - 8, 16))); // nothing is there yet
  CHECK(file.provide(block - 8, 16));
  CHECK(std::ranges::equal(lent.bytes.first(16), all.subspan(block - 8, 16)));
  CHECK(lent.bytes[block + 8] == std::byte{}); // the block behind them was not asked for
  CHECK(file.provide(0, 4 * block + 100));
  CHECK(std::ranges::equal(lent.bytes, all.subspan(block - 8, 3 * block)));
  CHECK_FALSE(file.provide(4 * block + 99, 2));
  CHECK(file.lend(4 * block + 99, 2).bytes.empty());
  CHECK(file.lend(~std::uint64_t{0}, 8).bytes.empty());
  // What lies in memory needs no provider.
  CHECK(memory.lend(5, 10).file == nullptr);
  CHECK(memory.lend(5, 10).bytes.data() == content.data() + 5);

  PartialFile cut(HostFile::open(path));
  CHECK(cut.provide(0, 1));
  std::filesystem::resize_file(path, 2 * block);
  CHECK(cut.provide(1, 10));
  CHECK_FALSE(cut.provide(block, 1));
}

TEST_CASE("parts of a file that is written to are missing", "[shrinking]") {
  const TemporaryDirectory folder;
  const std::string path = folder.write("app.dll", pattern(3 * PartialFile::block_size));
  PartialFile file(HostFile::open(path));
  CHECK(file.bytes(0, 1).size() == 1);
  std::filesystem::last_write_time(path, std::filesystem::last_write_time(path) + std::chrono::seconds(1));
  CHECK(file.bytes(0, 1).size() == 1);
  CHECK(file.bytes(2 * PartialFile::block_size, 1).empty());
}

TEST_CASE("parts of a file, and of bytes that stand for one", "[shrinking]") {
  const TemporaryDirectory folder;
  const std::vector<std::byte> content = pattern(1000);
  const std::string path = folder.write("core", content);
  FileBytes file(HostFile::open(path)), memory(content);
  for (FileBytes* bytes : {&file, &memory}) {
    CHECK(bytes->size() == 1000);
    CHECK(std::ranges::equal(bytes->read(990, 100), std::span(content).subspan(990)));
    CHECK(bytes->read(1000, 1).empty());
    CHECK(bytes->read(~std::uint64_t{0}, 8).empty());
    std::vector<std::byte> out(8);
    CHECK(bytes->read_some(500, out) == 8);
    CHECK(std::ranges::equal(out, std::span(content).subspan(500, 8)));
    CHECK(std::ranges::equal(bytes->lend(990, 10), std::span(content).subspan(990)));
    CHECK(bytes->lend(990, 11).empty());
    CHECK(bytes->lend(~std::uint64_t{0}, 8).empty());
  }
  CHECK(memory.lend(990, 10).data() == content.data() + 990);
  std::filesystem::resize_file(path, 300);
  std::vector<std::byte> out(200);
  CHECK(file.size() == 1000);
  CHECK(file.read_some(200, out) == 100);
  CHECK(file.read_some(400, out) == 0);
  CHECK(std::ranges::equal(file.lend(0, 1000), content)); // it was read before
}

TEST_CASE("blocks of a file are read when they are asked for, and lie as in the file", "[shrinking]") {
  const TemporaryDirectory folder;
  constexpr std::size_t block = FileBlocks::block_size;
  const std::vector<std::byte> content = pattern(80 * block + 100);
  const std::string path = folder.write("core", content);
  FileBytes file(HostFile::open(path));
  const auto same = [&](std::size_t offset, std::size_t size) {
    const auto lent = file.lend(offset, size);
    return lent.size() == size && std::ranges::equal(lent, std::span(content).subspan(offset, size));
  };
  CHECK(same(3 * block + 5, 8));
  CHECK(same(2 * block, 3 * block)); // unknown, known, unknown
  CHECK(same(80 * block - 1, 101));  // up to the end
  CHECK(file.lend(4 * block, 1).data() - file.lend(2 * block, 1).data() == 2 * block);
  CHECK(file.lend(0, FileBlocks::max_lent + 1).empty());
  CHECK(same(0, FileBlocks::max_lent));
  CHECK(file.lend(0, 0).empty());

  // Blocks 65 and 66 are in nobody's memory yet; half of 65 is left in the file.
  std::filesystem::resize_file(path, 65 * block + block / 2);
  CHECK(file.lend(65 * block, 1).empty());
  std::vector<std::byte> out(block);
  CHECK(file.read_some(65 * block, out) == block / 2);
  CHECK(same(64 * block - 1, 1));
}

TEST_CASE("the first blocks of a file are read alone, later ones with those beside them", "[shrinking]") {
  const TemporaryDirectory folder;
  constexpr std::size_t block = FileBlocks::block_size, together = FileBlocks::read_together,
                        alone = FileBlocks::read_alone;
  const std::vector<std::byte> content = pattern((alone + 3 * together + 2) * block);
  const std::string path = folder.write("core", content);
  FileBytes file(HostFile::open(path));
  const auto same = [&](std::size_t number, std::size_t count = 1) {
    const auto lent = file.lend(number * block, count * block);
    return lent.size() == count * block &&
           std::ranges::equal(lent, std::span(content).subspan(number * block, lent.size()));
  };
  for (std::size_t i = 0; i < alone; ++i) REQUIRE(same(i));
  CHECK(same(alone + 1));                      // with its neighbours
  CHECK(same(alone + together + 1, together)); // 1 to 3, and the first of the next ones
  CHECK(same(alone + 3 * together + 1));       // the last of the file, with the one before
  std::filesystem::resize_file(path, alone * block);
  for (std::size_t i = 0; i < 3 * together; ++i) {
    INFO(i);
    CHECK(same(alone + i));
  }
  CHECK(same(alone + 3 * together, 2));
  CHECK(same(alone - 2, 4)); // known ones are copied

  // A neighbour that is cut costs nothing.
  const std::string cut = folder.write("cut", content);
  FileBytes shorter(HostFile::open(cut));
  for (std::size_t i = 0; i < alone; ++i) REQUIRE_FALSE(shorter.lend(i * block, 1).empty());
  std::filesystem::resize_file(cut, (alone + 2) * block);
  CHECK(std::ranges::equal(shorter.lend((alone + 1) * block, block),
                           std::span(content).subspan((alone + 1) * block, block)));
  CHECK(shorter.lend((alone + 2) * block, 1).empty());
}

TEST_CASE("blocks that were lent apart are lent in one piece, too, when the file is gone", "[shrinking]") {
  const TemporaryDirectory folder;
  constexpr std::size_t block = FileBlocks::block_size;
  constexpr std::size_t count = 160;
  const std::vector<std::byte> content = pattern(count * block);
  const std::string path = folder.write("core", content);
  FileBytes file(HostFile::open(path));
  std::vector<std::span<const std::byte>> apart(count);
  for (std::size_t i = count - 1; i < count; i -= 2) apart[i] = file.lend(i * block + 7, 8);
  for (std::size_t i = 0; i < count; i += 2) apart[i] = file.lend(i * block + 7, 8);
  std::filesystem::resize_file(path, 10);
  for (const std::size_t at : {std::size_t{0}, 3 * block + 1, 24 * block}) {
    const auto lent = file.lend(at, FileBlocks::max_lent);
    REQUIRE(lent.size() == FileBlocks::max_lent);
    CHECK(std::ranges::equal(lent, std::span(content).subspan(at, lent.size())));
    CHECK(file.lend(at, FileBlocks::max_lent).data() == lent.data());
  }
  for (std::size_t i = 0; i < count; ++i)
    CHECK(std::ranges::equal(apart[i], std::span(content).subspan(i * block + 7, 8)));
}

TEST_CASE("blocks begin where pages of the target do", "[shrinking]") {
  const TemporaryDirectory folder;
  constexpr std::size_t block = FileBlocks::block_size, page = 4096;
  const std::vector<std::byte> content = pattern(5 * block + 1000);
  for (const std::size_t begin : {std::size_t{0}, std::size_t{0xd80}, page - 1}) {
    INFO(begin);
    const std::string path = folder.write("core", content);
    FileBytes file(HostFile::open(path));
    file.set_page_begin(begin);
    const auto same = [&](std::size_t offset, std::size_t size) {
      const auto lent = file.lend(offset, size);
      return lent.size() == size && std::ranges::equal(lent, std::span(content).subspan(offset, size));
    };
    CHECK(same(begin + block, page));
    // The other pages of that block were read with it, and no more.
    std::filesystem::resize_file(path, 0);
    for (std::size_t i = 0; i < block / page; ++i) CHECK(same(begin + block + i * page, page));
    CHECK(file.lend(begin + 2 * block, page).empty());
    CHECK(file.lend(begin + block - 1, 1).empty());
    std::filesystem::resize_file(path, content.size());
    folder.write("core", content);
    CHECK(same(0, begin + block)); // the first block, and what lies in front of it
    CHECK(same(content.size() - 1001, 1001));
    CHECK(same(0, content.size()));
    CHECK(file.lend(content.size() - 1, 2).empty());
  }
}

TEST_CASE("a file beyond the limit is read and not lent", "[shrinking]") {
  const TemporaryDirectory folder;
  const std::string path = folder.write("core", pattern(100));
  std::filesystem::resize_file(path, FileBlocks::max_size + 1); // a hole: it takes no room
  FileBytes file(HostFile::open(path));
  CHECK(file.lend(0, 10).empty());
  CHECK(std::ranges::equal(file.read(0, 100), pattern(100)));
  std::filesystem::resize_file(path, FileBlocks::max_kept + 2 * FileBlocks::max_lent);
  FileBytes smaller(HostFile::open(path));
  std::uint64_t kept = 0;
  while (!smaller.lend(kept, FileBlocks::max_lent).empty()) kept += FileBlocks::max_lent;
  CHECK(kept == FileBlocks::max_kept);
}

TEST_CASE("memory of a core that is cut while it is open is missing", "[shrinking]") {
  const TemporaryDirectory folder;
  ElfCoreBuilder builder({.pointer_size = 8, .byte_order = ByteOrder::little, .cpu = Cpu::x64});
  const std::vector<std::byte> content = pattern(0x4000);
  builder.segment(0x10000, content);
  const std::vector<std::byte> image = builder.build();
  const std::string path = folder.write("core", image);
  const auto core = ElfCore::open(path);
  std::vector<std::byte> out(0x4000);
  CHECK(core->read_some(0x10000, out) == out.size());
  CHECK(std::ranges::equal(out, content));
  const auto at = std::ranges::search(image, content).begin() - image.begin();
  std::filesystem::resize_file(path, static_cast<std::uintmax_t>(at) + 0x1000);
  CHECK(core->read_some(0x10000, out) == 0x1000);
  CHECK(core->read_some(0x12000, out) == 0);
}
