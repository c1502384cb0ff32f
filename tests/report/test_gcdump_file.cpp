// A .gcdump, read back by a small reader that was written by the format's documents and not by the writer.
#include "core/report/gcdump_file.h"

#include "core/memory/error.h"

#include <catch2/catch.hpp>

#include <cstring>
#include <map>

using namespace clr;

namespace {

struct Node {
  std::uint32_t type = 0;
  std::uint64_t size = 0;
  Address address = 0;
  std::vector<std::uint32_t> children;
};

struct Read {
  std::vector<std::string> names, modules;
  std::vector<Node> nodes;
  std::int64_t total = 0, ticks = 0;
  std::int32_t root = -1, process_id = 0;
  bool is_64_bit = false;
  std::string log, process, tool;
};

class Reader {
public:
  explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  Read read() {
    CHECK(text() == "!FastSerialization.1");
    begin("GCHeapDump", 10, 8);
    begin("Graphs.MemoryGraph", 1, 0);
    read_.total = integer<std::int64_t>();
    read_.root = integer<std::int32_t>();
    std::vector<std::int32_t> sizes;
    for (auto left = integer<std::int32_t>(); left > 0; --left) {
      read_.names.push_back(text());
      sizes.push_back(integer<std::int32_t>());
      read_.modules.push_back(text());
    }
    std::vector<std::uint32_t> places(integer<std::uint32_t>());
    for (std::uint32_t& place : places) place = integer<std::uint32_t>();
    const auto blob_size = integer<std::uint32_t>();
    const std::size_t blob = at_;
    for (std::size_t i = 0; i < places.size(); ++i) {
      at_ = blob + places[i];
      Node node;
      const std::int32_t type = compressed();
      node.type = static_cast<std::uint32_t>(type) >> 1;
      node.size = static_cast<std::uint64_t>((type & 1) != 0 ? compressed() : sizes.at(node.type));
      for (std::int32_t left = compressed(); left > 0; --left)
        node.children.push_back(static_cast<std::uint32_t>(static_cast<std::int64_t>(i) + compressed()));
      read_.nodes.push_back(node);
    }
    CHECK(at_ == blob + blob_size);
    CHECK(integer<std::uint32_t>() == places.size());
    for (Node& node : read_.nodes) node.address = integer<std::uint64_t>();
    CHECK(integer<std::uint8_t>() == 8); // a byte, with its tag
    read_.is_64_bit = integer<std::uint8_t>() != 0;
    CHECK(integer<std::uint8_t>() == 6);
    CHECK(integer<std::uint8_t>() == (read_.is_64_bit ? 1 : 0));
    CHECK(integer<float>() == 1.0F);
    CHECK(integer<float>() == 1.0F);
    CHECK(integer<std::uint8_t>() == 1);
    CHECK(integer<std::uint8_t>() == 1);
    read_.log = text();
    read_.ticks = integer<std::int64_t>();
    CHECK(text() == "(null)");
    read_.process = text();
    read_.process_id = integer<std::int32_t>();
    CHECK(integer<std::int64_t>() == 0);
    CHECK(integer<std::int64_t>() == 0);
    CHECK(integer<std::int32_t>() == 0);
    CHECK(integer<std::uint8_t>() == 13); // a text, with its tag
    read_.tool = text();
    CHECK(integer<std::uint8_t>() == 6);
    const std::size_t end = at_;
    CHECK(integer<std::int32_t>() == 0);
    CHECK(integer<std::uint32_t>() == end);
    CHECK(at_ == bytes_.size());
    return read_;
  }

private:
  template<typename Value>
  Value integer() {
    REQUIRE(bytes_.size() - at_ >= sizeof(Value));
    Value value;
    std::memcpy(&value, bytes_.data() + at_, sizeof value);
    at_ += sizeof value;
    return value;
  }
  std::string text() {
    const auto size = integer<std::int32_t>();
    if (size < 0) return "(null)";
    std::string text;
    for (std::int32_t i = 0; i < size; ++i) text += integer<char>();
    return text;
  }
  void begin(std::string_view type, std::int32_t version, std::int32_t oldest) {
    for (const int tag : {5, 5, 1}) CHECK(integer<std::uint8_t>() == tag);
    CHECK(integer<std::int32_t>() == version);
    CHECK(integer<std::int32_t>() == oldest);
    CHECK(text() == type);
    CHECK(integer<std::uint8_t>() == 6);
  }
  std::int32_t compressed() {
    auto byte = integer<std::uint8_t>();
    std::int64_t value = (byte & 0x40) != 0 ? -64 + (byte & 0x3f) : byte & 0x3f;
    while ((byte & 0x80) != 0) {
      byte = integer<std::uint8_t>();
      value = value * 128 + (byte & 0x7f);
    }
    return static_cast<std::int32_t>(value);
  }

  std::span<const std::byte> bytes_;
  std::size_t at_ = 0;
  Read read_;
};

struct Made {
  std::vector<Node> nodes;
  GcdumpGraph graph;
  std::vector<std::byte> bytes;
  unsigned visits = 0;

  explicit Made(std::vector<Node> of) : nodes(std::move(of)) {
    graph.types = {
        {"[.NET Roots]", ""}, {"Shop.Order", "shop.dll"}, {"Shop.\xc3\x84pfel[]", ""}, {"Unused", "x"}};
    graph.for_each_node = [this](const auto& visit) {
      ++visits;
      for (const Node& node : nodes) visit({node.type, node.size, node.address, node.children});
    };
  }
  GcdumpCount write(std::uint64_t most = max_gcdump_bytes) {
    const GcdumpFacts facts{.log = "a log", .process = "shop", .process_id = 4711, .unix_seconds = 86'400};
    const auto put = [this](std::span<const std::byte> some) {
      bytes.insert(bytes.end(), some.begin(), some.end());
    };
    return write_gcdump(graph, facts, put, most);
  }
};

} // namespace

TEST_CASE("a .gcdump holds every node with its type, size, address and children") {
  Made made({{.type = 0, .children = {1, 3}},
             {.type = 1, .size = 32, .address = 0x7f00'0000'1000, .children = {2, 3, 3, 1}},
             {.type = 2, .size = 24, .address = 0x7f00'0000'1020},
             {.type = 2, .size = 5'000'000'000, .address = 0x7f00'0000'1038, .children = {0}},
             {.type = 2, .size = 200, .address = 0xffff'ffff'ffff'fff8, .children = {}}});
  const GcdumpCount count = made.write();
  CHECK(count.nodes == 5);
  CHECK(count.references == 7);
  CHECK(count.bytes == 5'000'000'256);
  CHECK(count.cut_sizes == 1);
  CHECK(count.file_bytes == made.bytes.size());
  const Read read = Reader(made.bytes).read();
  CHECK(read.names ==
        std::vector<std::string>{"[.NET Roots]", "Shop.Order", "Shop.\xc3\x84pfel[]", "Unused"});
  CHECK(read.modules == std::vector<std::string>{"(null)", "shop.dll", "(null)", "x"});
  CHECK(read.root == 0);
  CHECK(read.total == 5'000'000'256);
  CHECK(read.is_64_bit);
  CHECK(read.log == "a log");
  CHECK(read.process == "shop");
  CHECK(read.process_id == 4711);
  CHECK(read.ticks == 621'356'832'000'000'000); // the second of January 1970
  CHECK(read.tool == "lldb-clr");
  REQUIRE(read.nodes.size() == made.nodes.size());
  made.nodes[3].size = 0x7fff'ffff; // the largest that the format knows
  for (std::size_t i = 0; i < read.nodes.size(); ++i) {
    CAPTURE(i);
    CHECK(read.nodes[i].type == made.nodes[i].type);
    CHECK(read.nodes[i].size == made.nodes[i].size);
    CHECK(read.nodes[i].address == made.nodes[i].address);
    CHECK(read.nodes[i].children == made.nodes[i].children);
  }
}

TEST_CASE("the numbers of a .gcdump have one to five bytes") {
  // Distances just inside and just outside of what 7, 14, 21 and 28 bits hold, in both directions.
  std::vector<std::int64_t> distances{0};
  for (const unsigned bits : {6u, 13u, 20u, 27u})
    for (const std::int64_t near : {-2, -1, 0, 1})
      for (const std::int64_t sign : {-1, 1}) distances.push_back(sign * ((std::int64_t{1} << bits) + near));
  constexpr std::uint32_t here = 3;
  Made made({{}, {}, {}, {.type = 1, .size = 0x7fff'ffff}, {.type = 1, .size = 0x0800'0000}});
  for (const std::int64_t distance : distances)
    made.nodes[here].children.push_back(static_cast<std::uint32_t>(here + distance));
  made.write();
  const Read read = Reader(made.bytes).read();
  CHECK(read.nodes.at(here).children == made.nodes[here].children);
  CHECK(read.nodes.at(here).size == 0x7fff'ffff);
  CHECK(read.nodes.at(4).size == 0x0800'0000);
}

TEST_CASE("a graph that a .gcdump cannot hold is refused before the first byte") {
  Made made({{.type = 0, .children = {1, 1, 1}}, {.type = 1, .size = 24}}); // 2 + 3 and 2 bytes
  CHECK_NOTHROW(made.write(7));
  made.bytes.clear();
  made.visits = 0;
  try {
    made.write(6);
    FAIL("it was written");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::unsupported_contract);
    CHECK(std::string(error.what()) ==
          "a .gcdump holds 6 bytes of references at most, and the 2 objects with 3 references take 7");
  }
  CHECK(made.bytes.empty());
  CHECK(made.visits == 1);
}

TEST_CASE("a heap that changes while its .gcdump is written is told") {
  for (const unsigned visit : {2u, 3u}) {
    Made made({{.type = 0, .children = {1}}, {.type = 1, .size = 24}});
    made.graph.for_each_node = [&](const auto& see) {
      if (++made.visits == visit) made.nodes.push_back({.type = 1, .size = 24});
      for (const Node& node : made.nodes) see({node.type, node.size, node.address, node.children});
      if (visit == 2 && made.visits == visit) made.nodes.pop_back();
    };
    CHECK_THROWS_AS(made.write(), Error);
  }
}
