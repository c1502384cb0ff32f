// Stacks of so many frames that runs of the same one are written as one.
#include "core/report/folded_frames.h"

#include <catch2/catch.hpp>

#include <nlohmann/json.hpp>

using namespace clr;

namespace {

FrameRow row(unsigned index, Address ip) {
  FrameRow frame;
  frame.index = index;
  frame.ip = ip;
  frame.sp = 0x7000'0000 + 16 * Address{index};
  frame.found_by = "cfi";
  return frame;
}

nlohmann::json written(const std::vector<FrameRow>& rows, std::size_t count) {
  FrameJson frames;
  FoldedFrames folded(frames);
  std::string text;
  JsonWriter json(text);
  json.begin_array();
  for (const FrameRow& frame : rows) folded.add(json, frame);
  folded.end(json);
  json.end_array();
  CHECK(folded.written() == count);
  return nlohmann::json::parse(text);
}

} // namespace

TEST_CASE("frames are folded far from the top only", "[report]") {
  constexpr unsigned first = FoldedFrames::one_by_one;
  std::vector<FrameRow> rows;
  for (unsigned i = 0; i < first + 5; ++i) rows.push_back(row(i, 0x1000)); // five are one
  rows.push_back(row(first + 5, 0x2000));
  rows.push_back(row(first + 6, 0x1000));
  rows.push_back(row(first + 7, 0x1000));
  rows.back().fault = "memory is gone";
  const nlohmann::json list = written(rows, first + 4);
  REQUIRE(list.size() == first + 4);
  CHECK(list[first - 1]["repeat"] == 1);
  CHECK(list[first - 1]["index"] == first - 1);
  CHECK(list[first]["index"] == first);
  CHECK(list[first]["repeat"] == 5);
  CHECK(list[first]["sp"] == "0x70027100");
  CHECK(list[first + 1]["ip"] == "0x2000");
  CHECK(list[first + 1]["repeat"] == 1);
  CHECK(list[first + 2]["index"] == first + 6);
  CHECK(list[first + 2]["repeat"] == 1);
  CHECK(list[first + 3]["fault"] == "memory is gone");
}

TEST_CASE("frames with registers are not folded, and a short stack is as it is", "[report]") {
  constexpr unsigned first = FoldedFrames::one_by_one;
  std::vector<FrameRow> rows{row(first, 0x1000), row(first + 1, 0x1000)};
  for (FrameRow& frame : rows) frame.registers = std::make_shared<const RegisterContext>();
  CHECK(written(rows, 2).size() == 2);
  CHECK(written({row(0, 0x1000), row(1, 0x1000)}, 2).size() == 2);
  CHECK(written({}, 0).empty());
}
