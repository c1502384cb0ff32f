#include "tests/stack/runtime_builder.h"

#include "core/stack/exceptions.h"

using namespace clr;
using namespace clr::test;

namespace {

constexpr Address exception_table = 0x5200, derived_table = 0x5300, byte_array_table = 0x5400,
                  object_array_table = 0x5500;
constexpr Address object = 0x1'0000, inner = 0x1'1000, message = 0x1'2000, array = 0x1'3000,
                  keep_alive = 0x1'4000;

void add_table(StackMemory& memory, Address at, std::uint32_t flags, Address parent) {
  for (Address word = 0; word < 64; word += 8) memory.u64(at + word, 0);
  memory.u32(at, flags);
  memory.u64(at + 16, parent);
}

void add_exception(StackMemory& memory, Address at, Address method_table) {
  for (Address word = 0; word < 120; word += 8) memory.u64(at + word, 0);
  memory.u64(at, method_table);
}

void add_element(StackMemory& memory, unsigned index, Address ip, std::uint32_t flags) {
  const Address at = array + 16 + 16 + 32 * index;
  memory.words(at, {ip, 0x7000 + index, 0xAB00 + index, 0});
  memory.u32(at + 24, flags);
}

// An exception of a derived class, with message, inner exception and a trace of two frames with room for
// more.
void add_all(StackMemory& memory) {
  memory.u64(0x1008, 0x5100);
  memory.u64(0x1010, exception_table);
  add_table(memory, exception_table, 0x0100'0200, 0x5010);
  add_table(memory, 0x5010, 0, 0);
  add_table(memory, derived_table, 0x0100'0200, exception_table);
  add_table(memory, byte_array_table, 0x800A'0001, 0);
  add_table(memory, object_array_table, 0x810A'0008, 0);
  add_exception(memory, object, derived_table);
  add_exception(memory, inner, exception_table);
  memory.u64(object + 16, message);
  memory.u64(object + 32, inner);
  memory.u64(object + 48, array);
  memory.u32(object + 108, 0x8013'1509);
  memory.u64(message, 0x5100);
  memory.u32(message + 8, 2);
  memory.bytes(message + 12, {'n', 0, 'o', 0});
  memory.u64(array, byte_array_table);
  memory.u32(array + 8, 16 + 8 * 32);
  memory.u32(array + 16, 2);
  memory.u32(array + 20, 1);
  memory.u64(array + 24, 0x4444);
  add_element(memory, 0, 0x40'1000, 2);
  add_element(memory, 1, 0x40'2000, 3);
}

struct Fixture {
  Fixture() { add_all(memory); }
  StackMemory memory;
  ContractDescriptor descriptor = runtime_descriptor(Cpu::x64);
};

// Names are the types room's; here there are none.
std::string no_name(Address) {
  throw Error(ErrorKind::corrupt, "no names here");
}

} // namespace

TEST_CASE_METHOD(Fixture, "an exception object with message, inner exception and trace") {
  const Target target(memory, descriptor, {});
  const ExceptionReader reader(target,
                               [](Address table) { return table == derived_table ? "Ns.Oops" : "?"; });
  const ManagedException exception = reader.read(object);
  CHECK(exception.fault.empty());
  CHECK(exception.type == "Ns.Oops");
  CHECK(exception.method_table == derived_table);
  CHECK(exception.message == "no");
  CHECK(exception.inner == inner);
  CHECK(static_cast<std::uint32_t>(exception.hresult.value()) == 0x8013'1509u);
  REQUIRE(exception.trace.size() == 2);
  CHECK(exception.trace[0].ip == 0x40'1000);
  CHECK(exception.trace[0].sp == 0x7000);
  CHECK(exception.trace[0].method_desc == 0xAB00);
  CHECK(exception.trace[0].adjusted());
  CHECK_FALSE(exception.trace[0].ends_foreign());
  CHECK(exception.trace[1].ends_foreign());
}

TEST_CASE_METHOD(Fixture, "the trace may stand behind an array that keeps methods alive") {
  memory.u64(object + 48, keep_alive);
  memory.u64(keep_alive, object_array_table);
  memory.u32(keep_alive + 8, 3);
  memory.u64(keep_alive + 16, array);
  const Target target(memory, descriptor, {});
  CHECK(ExceptionReader(target, no_name).read(object).trace.size() == 2);
}

TEST_CASE_METHOD(Fixture, "an exception that was never thrown has no trace") {
  const Target target(memory, descriptor, {});
  const ManagedException exception = ExceptionReader(target, [](Address) { return "X"; }).read(inner);
  CHECK(exception.trace.empty());
  CHECK_FALSE(exception.message);
  CHECK(exception.inner == 0);
  CHECK(exception.fault.empty());
}

TEST_CASE_METHOD(Fixture, "a lying count is corrupt and costs the trace only") {
  memory.u32(array + 16, 9);
  const Target target(memory, descriptor, {});
  const ManagedException exception = ExceptionReader(target, [](Address) { return "X"; }).read(object);
  CHECK(exception.trace.empty());
  CHECK(exception.fault == "a stack trace array of 272 bytes claims 9 frames at 0x13010");
  CHECK(exception.message == "no");
}

TEST_CASE_METHOD(Fixture, "what is no exception is refused") {
  const Target target(memory, descriptor, {});
  const ExceptionReader reader(target, no_name);
  CHECK_THROWS_WITH(reader.read(message), "no managed exception object at 0x12000");
  CHECK_THROWS_AS(reader.read(0xDEAD'0000), Error);
}

TEST_CASE_METHOD(Fixture, "exceptions in flight, by handle or by object, newest first") {
  memory.words(0x2'0000, {0x2'1000, 0x2'2000});
  memory.u64(0x2'2000, inner);
  memory.words(0x2'1000, {0, object});
  const Target target(memory, descriptor, {});
  ExceptionReader reader(target, no_name);
  CHECK(reader.in_flight(0x2'0000).objects == std::vector<Address>{inner, object});
  CHECK(reader.in_flight(0).objects.empty());
  SECTION("a loop ends with a reason") {
    memory.u64(0x2'1000, 0x2'0000);
    const auto result = reader.in_flight(0x2'0000);
    CHECK(result.objects.size() == 2);
    CHECK(result.problem == "the chain of exceptions in flight comes back to the record at 0x20000");
  }
  SECTION("a torn chain keeps what was read") {
    memory.u64(0x2'0000, 0xDEAD'0000);
    const auto result = reader.in_flight(0x2'0000);
    CHECK(result.objects == std::vector<Address>{inner});
    CHECK(result.problem == "memory at 0xdead0008 is not available");
  }
}

TEST_CASE_METHOD(Fixture, "exceptions in flight are looked for on so many threads together") {
  // Threads whose chains of 200 records are one and the same.
  constexpr std::size_t length = 200;
  for (std::size_t i = 0; i < length; ++i)
    memory.words(0x2'0000 + 16 * i, {i + 1 < length ? 0x2'0000 + 16 * (i + 1) : 0, object});
  const Target target(memory, descriptor, {});
  ExceptionReader reader(target, no_name);
  std::size_t found = 0;
  for (std::size_t thread = 0; thread < 1000; ++thread) {
    const auto result = reader.in_flight(0x2'0000);
    found += result.objects.size();
    if (thread < 200) CHECK(result.objects.size() == length);
    if (thread > 300)
      CHECK(result.problem.starts_with("more than 50000 exceptions in flight on all threads"));
  }
  CHECK(found == ExceptionReader::max_shared_nested);
}

TEST_CASE_METHOD(Fixture, "a summary has the exception without its trace") {
  constexpr Address long_message = 0x3'0000;
  memory.u64(object + 16, long_message);
  memory.u32(long_message + 8, 3000);
  for (unsigned i = 0; i < 3000; ++i) memory.bytes(long_message + 12 + Address{2} * i, {'n', 0});
  const Target target(memory, descriptor, {});
  const ExceptionReader reader(target, no_name);
  const ManagedException summary = reader.summary(object), whole = reader.read(object);
  CHECK(summary.message == std::string(ExceptionReader::max_summary_units, 'n') + " ...");
  CHECK(whole.message == std::string(3000, 'n'));
  CHECK(summary.method_table == whole.method_table);
  CHECK(summary.hresult == whole.hresult);
  CHECK(summary.inner == whole.inner);
  CHECK(summary.trace.empty());
  CHECK_FALSE(whole.trace.empty());
}

TEST_CASE_METHOD(Fixture, "of an exception no more is read than is wanted") {
  memory.u64(object + 72, message); // a trace from elsewhere
  const Target target(memory, descriptor, {});
  const ExceptionReader reader(target, no_name);
  const ManagedException part = reader.read(object, 1, 1), whole = reader.read(object);
  CHECK(whole.trace_left_out == 0);
  CHECK(whole.remote_trace == "no");
  REQUIRE(part.trace.size() == 1);
  CHECK(part.trace[0].ip == whole.trace[0].ip);
  CHECK(part.trace_left_out == 1);
  CHECK(part.message == "n ...");
  CHECK(part.remote_trace == "n ...");
}

TEST_CASE_METHOD(Fixture, "whichever read fails, nothing of an exception is invented") {
  const Target target(memory, descriptor, {});
  const ExceptionReader reader(target, [](Address) { return "X"; });
  memory.reads = 0;
  const ManagedException whole = reader.read(object);
  const std::size_t reads = memory.reads;
  for (std::size_t k = 0; k < reads; ++k) {
    INFO("read " << k << " fails");
    memory.reads = 0;
    memory.fail_at = k;
    try {
      const ManagedException part = reader.read(object);
      CHECK_FALSE(part.fault.empty());
      CHECK((!part.message || part.message == whole.message));
      CHECK((!part.hresult || part.hresult == whole.hresult));
      CHECK((part.inner == 0 || part.inner == whole.inner));
      CHECK((part.trace.empty() || part.trace.size() == whole.trace.size()));
    } catch (const Error&) {
      // The object itself could not be read.
    }
  }
}
