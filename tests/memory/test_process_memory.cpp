#include "core/memory/page_cache.h"
#include "core/memory/process_memory.h"
#include "tests/memory/sparse_memory.h"

#include <catch2/catch.hpp>

#include <array>
#include <sys/mman.h>
#include <unistd.h>

using namespace clr;

// The process that is read is the test's own: what it holds is known, and whoever runs tests may read it.
namespace {

constexpr std::size_t page = 4096;

Address address_of(const void* at) {
  return reinterpret_cast<Address>(at);
}

std::unique_ptr<ProcessMemory> own_memory() {
  auto memory = ProcessMemory::open("/proc/self");
  REQUIRE(memory);
  return memory;
}

// Pages of a file that are instructions, as a library's.
class MappedCode {
public:
  explicit MappedCode(std::size_t pages) : size_(pages * page) {
    const int file = memfd_create("code", MFD_CLOEXEC);
    REQUIRE(file >= 0);
    REQUIRE(ftruncate(file, static_cast<off_t>(size_)) == 0);
    at_ = mmap(nullptr, size_, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0);
    ::close(file);
    REQUIRE(at_ != MAP_FAILED);
  }
  ~MappedCode() { munmap(at_, size_); }
  MappedCode(const MappedCode&) = delete;
  MappedCode& operator=(const MappedCode&) = delete;

  Address begin() const { return address_of(at_); }
  // As a debugger does it that puts a breakpoint there.
  void write(std::size_t offset, std::byte value) {
    REQUIRE(mprotect(at_, size_, PROT_READ | PROT_WRITE) == 0);
    static_cast<std::byte*>(at_)[offset] = value;
    REQUIRE(mprotect(at_, size_, PROT_READ | PROT_EXEC) == 0);
  }

private:
  std::size_t size_;
  void* at_;
};

constexpr std::byte seen_by_debugger{0x90};

// Says the same everywhere, and counts.
class Debugger final : public MemoryReader {
public:
  std::size_t read_some(Address, std::span<std::byte> out) override {
    ++reads;
    std::ranges::fill(out, seen_by_debugger);
    return out.size();
  }
  int reads = 0;
};

} // namespace

TEST_CASE("memory of a process on this host") {
  const auto memory = own_memory();
  const std::array<char, 8> text{"before"};
  std::array<std::byte, 8> read;
  CHECK(memory->read_some(address_of(text.data()), read) == read.size());
  CHECK(std::memcmp(read.data(), text.data(), text.size()) == 0);

  // Until it is told that the process ran it says the same; then what is there now.
  static volatile int number = 1;
  std::array<std::byte, sizeof(int)> raw;
  const auto value = [&] {
    CHECK(memory->read_some(address_of(const_cast<int*>(&number)), raw) == raw.size());
    return load<int>(raw, ByteOrder::little);
  };
  CHECK(value() == 1);
  number = 2;
  memory->ran();
  CHECK(value() == 2);
  // What a debugger writes while the process stands comes again and again.
  for (const int next : {3, 4, 5, 6}) {
    number = next;
    memory->written();
    CHECK(value() == next);
  }

  CHECK(memory->read_some(0x10, read) == 0);
  CHECK(memory->read_some(~Address{0} - 4, read) == 0);
  CHECK(memory->plain_end(0x10) == 0);
  CHECK(memory->plain_end(address_of(text.data())) > address_of(text.data()));
  CHECK(ProcessMemory::open("/proc/self/none") == nullptr);
}

TEST_CASE("small reads fetch what lies around them once they are close together") {
  const auto memory = own_memory();
  static std::array<volatile int, 16'384> numbers{};
  const auto value = [&](std::size_t at) {
    std::array<std::byte, sizeof(int)> raw;
    CHECK(memory->read_some(address_of(const_cast<int*>(&numbers[at])), raw) == raw.size());
    return load<int>(raw, ByteOrder::little);
  };
  // The start of a block, so that what is close behind lies in it.
  const std::size_t first = (32'768 - address_of(const_cast<int*>(numbers.data())) % 16'384) / sizeof(int);
  CHECK(value(first) == 0);
  numbers[first + 1] = 1;
  CHECK(value(first + 1) == 1); // was not fetched with the first
  numbers[first + 2] = 2;
  CHECK(value(first + 2) == 0); // was fetched with the second
  CHECK(value(first + 1) == 1);
}

TEST_CASE("memory of a process ends at the page that is missing") {
  const auto memory = own_memory();
  void* const at = mmap(nullptr, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(at != MAP_FAILED);
  REQUIRE(munmap(static_cast<char*>(at) + page, page) == 0);
  std::array<std::byte, 64> read;
  CHECK(memory->read_some(address_of(at) + page - 16, read) == 16);
  CHECK(memory->read_some(address_of(at) + page, read) == 0);
  CHECK(memory->read_some(address_of(at) + 2 * page, read) == read.size());
  munmap(at, page);
  munmap(static_cast<char*>(at) + 2 * page, page);
}

TEST_CASE("memory of a process is that of the debugger's, or not") {
  const auto memory = own_memory(), same = own_memory();
  CHECK(memory->is_read_by(*same));
  Debugger other;
  CHECK_FALSE(memory->is_read_by(other));
  test::SparseMemory nothing;
  CHECK_FALSE(memory->is_read_by(nothing));
}

TEST_CASE("a page of instructions is read past the debugger until somebody wrote to it") {
  MappedCode code(3);
  const auto memory = own_memory();
  Debugger debugger;
  DebuggedMemory debugged(memory.get(), debugger);
  std::array<std::byte, 3 * page> all;
  const auto read = [&](std::size_t offset, std::size_t size) {
    const std::span<std::byte> out = std::span(all).first(size);
    CHECK(debugged.read_some(code.begin() + offset, out) == size);
    return out;
  };

  CHECK(memory->plain_end(code.begin()) >= code.begin() + 3 * page);
  CHECK(read(page, 16)[0] == std::byte{0});
  CHECK(debugger.reads == 0);

  code.write(page + 5, std::byte{0xcc});
  memory->ran();
  CHECK(memory->plain_end(code.begin()) == code.begin() + page);
  CHECK(memory->plain_end(code.begin() + page) == 0);
  CHECK(memory->plain_end(code.begin() + 2 * page) >= code.begin() + 3 * page);
  CHECK(read(page, 16)[5] == seen_by_debugger);
  CHECK(debugger.reads == 1);
  const std::span<std::byte> whole = read(0, 3 * page);
  CHECK(whole[page - 1] == std::byte{0});
  CHECK(whole[page] == seen_by_debugger);
}

TEST_CASE("instructions of no file are the debugger's to read") {
  void* const at = mmap(nullptr, page, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(at != MAP_FAILED);
  const auto memory = own_memory();
  CHECK(memory->plain_end(address_of(at)) == 0);
  Debugger debugger;
  DebuggedMemory debugged(memory.get(), debugger), without(nullptr, debugger);
  std::array<std::byte, 16> read;
  CHECK(debugged.read_some(address_of(at), read) == read.size());
  CHECK(read[0] == seen_by_debugger);
  const int number = 7;
  CHECK(without.read_some(address_of(&number), read) == read.size());
  CHECK(debugger.reads == 2);
  // Data is read from there all the same, without a page of the cache.
  PageCache cache(debugged, memory.get());
  CHECK(cache.read_data_some(address_of(at), read) == read.size());
  CHECK(read[0] == std::byte{0});
  CHECK(cache.pages() == 0);
  // A page that is known is not asked for again; where the near reader has nothing the cache does it.
  CHECK(cache.read_some(address_of(at), read) == read.size());
  CHECK(cache.read_data_some(address_of(at), read) == read.size());
  CHECK(read[0] == seen_by_debugger);
  CHECK(cache.read_data_some(0x10, read) == read.size());
  CHECK(read[0] == seen_by_debugger);
  CHECK(PageCache(debugger).read_data_some(address_of(at), read) == read.size());
  munmap(at, page);
}

TEST_CASE("the auxiliary vector of a process") {
  const auto values = auxiliary_vector("/proc/self");
  CHECK(values.at(6) == static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE))); // AT_PAGESZ
  CHECK(auxiliary_vector("/proc/self/none").empty());
}

TEST_CASE("shared instructions are read past the debugger unless they are writable") {
  // As a runtime maps its code that separates writing from execution.
  const int file = memfd_create("code", MFD_CLOEXEC);
  REQUIRE(file >= 0);
  REQUIRE(ftruncate(file, page) == 0);
  void* const at = mmap(nullptr, page, PROT_READ | PROT_EXEC, MAP_SHARED, file, 0);
  ::close(file);
  REQUIRE(at != MAP_FAILED);
  const auto memory = own_memory();
  CHECK(memory->plain_end(address_of(at)) >= address_of(at) + page);
  REQUIRE(mprotect(at, page, PROT_READ | PROT_WRITE | PROT_EXEC) == 0);
  memory->ran();
  CHECK(memory->plain_end(address_of(at)) == 0);
  munmap(at, page);
}

TEST_CASE("the mappings of a process") {
  const std::vector<ProcessMapping> mappings = process_mappings("/proc/self");
  const int number = 0;
  const auto holds = [](Address address) {
    return [=](const ProcessMapping& mapping) { return address >= mapping.begin && address < mapping.end; };
  };
  const auto stack = std::ranges::find_if(mappings, holds(address_of(&number)));
  REQUIRE(stack != mappings.end());
  CHECK(stack->access == "rw-p");
  const auto code = std::ranges::find_if(mappings, holds(reinterpret_cast<Address>(&auxiliary_vector)));
  REQUIRE(code != mappings.end());
  CHECK(code->access == "r-xp");
  CHECK(code->path.starts_with('/'));
  CHECK(code->path.find("test_memory") != std::string::npos);
  CHECK(std::ranges::is_sorted(mappings, {}, &ProcessMapping::begin));
  CHECK(process_mappings("/proc/self/none").empty());
}
