// Trees of exceptions, and what they may take together.
#include "core/report/exception_report.h"
#include "tests/objects/object_runtime.h"

#include <catch2/catch.hpp>

using namespace clr;
using namespace clr::test;

namespace {

constexpr Platform platform{
    .pointer_size = 8, .byte_order = ByteOrder::little, .cpu = Cpu::x64, .os = Os::unix_like};
constexpr Address message_at = 8, inner_at = 16, trace_at = 24, remote_at = 32, size = 48;

// Exceptions, each the inner one of the one before it, which share what the test gives them.
struct Thrown {
  explicit Thrown(std::size_t count) {
    target
        .type("Exception", {{"_message", Width::pointer, 0, message_at},
                            {"_innerException"},
                            {"_stackTrace"},
                            {"_remoteStackTraceString"},
                            {"_HResult", Width::u32}})
        .variable("ExceptionMethodTable", objects.exception_type);
    for (std::size_t i = 0; i < count; ++i) {
      exceptions.push_back(objects.instance(objects.exception_type, size));
      if (i != 0) set(exceptions[i - 1], inner_at, exceptions[i]);
    }
  }
  void set(Address exception, Address field, Address value) const {
    objects.memory.at(exception + field).pointer(value);
  }
  void all(Address field, Address value) const {
    for (const Address exception : exceptions) set(exception, field, value);
  }
  // A trace of frames of code that nobody knows.
  Address trace(std::uint32_t frames) {
    constexpr std::uint32_t header = 16, element = 32;
    const Address array =
        objects.array(objects.ints_type, header + element * frames, header + std::size_t{element} * frames);
    objects.memory.at(objects.elements_of(array)).u32(frames);
    return array;
  }
  Runtime& runtime() {
    if (!runtime_)
      runtime_ = std::make_unique<Runtime>(
          objects.memory,
          std::vector<LoadedModule>{{.path = "/usr/lib/libcoreclr.so",
                                     .base = 0x20'0000,
                                     .size = 0x1'0000,
                                     .build_id = {},
                                     .contract_descriptor = target.write_descriptor()}},
          platform, nullptr);
    return *runtime_;
  }

  ObjectRuntime objects{platform};
  TargetBuilder& target = objects.runtime.target;
  std::vector<Address> exceptions;

private:
  std::unique_ptr<Runtime> runtime_;
};

} // namespace

TEST_CASE("the traces of a tree of exceptions have one limit, and those of all trees, too") {
  Thrown thrown(4);
  thrown.all(trace_at, thrown.trace(30));
  ExceptionReporter reporter(thrown.runtime(), {.tree_trace = 100, .all_trace = 110});
  const std::vector<ExceptionReport> tree = reporter.tree(thrown.exceptions[0]);
  REQUIRE(tree.size() == 4);
  for (const std::size_t i : {0u, 1u, 2u}) {
    CHECK(tree[i].trace.size() == 30);
    CHECK(tree[i].exception.trace_left_out == 0);
  }
  CHECK(tree[3].trace.size() == 10);
  CHECK_THAT(
      tree[3].exception.fault,
      Catch::Contains("20 more frames of its stack trace are left out: it and the exceptions around it "
                      "have more than 100"));
  // Another tree has what this one left.
  const std::vector<ExceptionReport> next = reporter.tree(thrown.exceptions[3]);
  REQUIRE(next.size() == 1);
  CHECK(next[0].trace.size() == 10);
  CHECK_THAT(next[0].exception.fault, Catch::Contains("20 more frames of its stack trace are left out: all "
                                                      "exceptions have more than 110"));
}

TEST_CASE("the texts of a tree of exceptions have one limit, and the rest keeps its beginning") {
  constexpr std::size_t length = 3000;
  Thrown thrown(4);
  const Address text = thrown.objects.string(std::u16string(length, u'n'));
  thrown.all(message_at, text);
  thrown.all(remote_at, text);
  ExceptionReporter reporter(thrown.runtime(), {.tree_text = 4 * length, .all_text = 5 * length});
  const std::string all(length, 'n'), cut = std::string(ExceptionReader::max_summary_units, 'n') + " ...";
  const auto check = [&](const std::vector<ExceptionReport>& tree, std::size_t whole) {
    for (std::size_t i = 0; i < tree.size(); ++i) {
      INFO(i);
      CHECK(tree[i].exception.message == (i < whole ? all : cut));
      CHECK(tree[i].exception.remote_trace == (i < whole ? all : cut));
    }
  };
  const std::vector<ExceptionReport> tree = reporter.tree(thrown.exceptions[0]);
  REQUIRE(tree.size() == 4);
  check(tree, 2);
  check(reporter.tree(thrown.exceptions[0]), 0);
}

TEST_CASE("inner exceptions of all trees have one limit") {
  Thrown thrown(4);
  ExceptionReporter reporter(thrown.runtime(), {.all_inner = 5});
  CHECK(reporter.tree(thrown.exceptions[0]).size() == 4);
  const std::vector<ExceptionReport> tree = reporter.tree(thrown.exceptions[0]);
  REQUIRE(tree.size() == 3);
  CHECK_THAT(tree[2].exception.fault, Catch::Contains("all exceptions have more than 5 inner exceptions"));
  CHECK(reporter.tree(thrown.exceptions[0]).size() == 1);
}
