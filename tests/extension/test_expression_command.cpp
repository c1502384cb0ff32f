#include "extension/process/expression_command.h"

#include <catch2/catch.hpp>

using namespace clr::lldb_plugin;

TEST_CASE("LLDB's commands that evaluate an expression", "[extension]") {
  const auto text = [](std::string_view command) {
    const auto parts = expression_command(command);
    return parts ? parts->text : "none";
  };
  CHECK(text("expression order.Number = 5") == "order.Number = 5");
  CHECK(text("dwim-print -- order ") == "order");
  CHECK(text("dwim-print -O -- -5") == "none"); // or this, too, is an option
  CHECK(text("expression -O  -- --  order") == "order");
  CHECK(text("expression -O order") == "none"); // where the options end only LLDB knows
  CHECK(text("frame variable order") == "none");
  CHECK(expression_command("dwim-print -O -- x")->options == std::vector<std::string>{"-O"});
  CHECK(expression_command("expression -f x -O -- x")->options == std::vector<std::string>{"-f", "x", "-O"});
  CHECK(expression_command("expression x")->options.empty());
}

TEST_CASE("paths of variables", "[extension]") {
  CHECK(is_variable_path("order.Items[3].Name"));
  CHECK(is_variable_path("_x"));
  CHECK_FALSE(is_variable_path("a + b"));
  CHECK_FALSE(is_variable_path("3"));
  CHECK_FALSE(is_variable_path("((Shop::Circle &)shape)"));
  CHECK_FALSE(is_variable_path(""));
}
