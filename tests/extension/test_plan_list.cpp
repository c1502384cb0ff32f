// The steps of a thread as LLDB prints them.
#include "extension/lldb/plan_list.h"

#include <catch2/catch.hpp>

using namespace clr::lldb_plugin;

namespace {
constexpr const char* begin =
    "thread #1: tid = 0x1070:\n  Active plan stack:\n    Element 0: Base thread plan.\n";
}

TEST_CASE("a thread without a step has its base plan alone", "[plan_list]") {
  CHECK(steps_in_list("").count == 0);
  CHECK(steps_in_list(begin).count == 0);
  CHECK(steps_in_list(begin).asked == StepUnderWay::none);
}

TEST_CASE("the step that somebody asked for is told from those before it and those that it needs",
          "[plan_list]") {
  std::string text = begin;
  text += "    Element 1: Stepping over line Shop.cs:31:9.\n";
  CHECK(steps_in_list(text).asked == StepUnderWay::over);
  CHECK(steps_in_list(text, 1).asked == StepUnderWay::none);
  text += "    Element 2: Stepping in through line Shop.cs:70:13.\n";
  CHECK(steps_in_list(text).count == 2);
  CHECK(steps_in_list(text, 1).asked == StepUnderWay::into);
  text += "    Element 3: Stepping out from shop.dll`Shop.Order.Total() at Shop.cs:9 returning to frame.\n";
  CHECK(steps_in_list(text, 1).asked == StepUnderWay::into);
  CHECK(steps_in_list(text, 2).asked == StepUnderWay::out);
  text += "    Element 4: Stepping one instruction past 0x7fff\n";
  CHECK(steps_in_list(text).count == 4);
  CHECK(steps_in_list(text, 1).asked == StepUnderWay::into);
  CHECK(steps_in_list(text, 3).asked == StepUnderWay::other);
}

TEST_CASE("steps that have ended are under way no more", "[plan_list]") {
  const std::string text = std::string(begin) +
                           "  Completed plan stack:\n    Element 0: Stepping over line Shop.cs:31:9.\n"
                           "    Element 1: Stepping in through line Shop.cs:32:9.\n";
  CHECK(steps_in_list(text).count == 0);
  CHECK(steps_in_list(text).ended == StepUnderWay::into);
  CHECK(steps_in_list(begin).ended == StepUnderWay::none);
  const std::string one =
      std::string(begin) + "    Element 1: Stepping over line Shop.cs:30.\n" +
      "  Discarded plan stack:\n    Element 0: Stepping in.\n    Element 2: Stepping out.\n";
  CHECK(steps_in_list(one).count == 1);
  CHECK(steps_in_list(one).asked == StepUnderWay::over);
  CHECK(steps_in_list(one).ended == StepUnderWay::out);
  CHECK(steps_in_list(std::string(begin) +
                      "  Discarded plan stack:\n    Element 0: Stepping over line A.cs:3.\n" +
                      "    Element 1: Single stepping past breakpoint site 3 at 0x7f00\n")
            .ended == StepUnderWay::over);
}

TEST_CASE("a plan that has ended is told from those under way and those that were given up", "[plan_list]") {
  CHECK_FALSE(names_completed(""));
  CHECK_FALSE(
      names_completed(std::string(begin) + "    Element 1: Stepping in through line Shop.cs:494:32.\n"));
  CHECK_FALSE(names_completed(std::string(begin) + "  Completed plan stack:\n" +
                              "  Discarded plan stack:\n    Element 0: Stepping over line A.cs:3.\n"));
  CHECK(names_completed(std::string(begin) + "    Element 1: Stepping in through line Shop.cs:494:32.\n" +
                        "  Completed plan stack:\n    Element 0: Stepping in through line Shop.cs.\n"));
}
