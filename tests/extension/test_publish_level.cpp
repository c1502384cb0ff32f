// How much each of LLDB's commands needs, and who gets everything without asking.
#include "extension/publish/publish_level.h"

#include <catch2/catch.hpp>

#include <initializer_list>
#include <vector>

using namespace clr::lldb_plugin;

namespace {

using Words = std::initializer_list<std::string_view>;

PublishLevel level(Words words, bool breakpoints = false) {
  const std::vector<std::string_view> all(words);
  return level_of_command(all, breakpoints);
}

Driver driver_of(std::initializer_list<Words> commands, bool reads = true) {
  Driver driver;
  for (const Words& words : commands) driver.command(std::vector<std::string_view>(words), reads);
  return driver;
}

} // namespace

TEST_CASE("commands that show the selected thread need what stands on its stack", "[publish_level]") {
  for (const Words words : {Words{"thread", "backtrace"}, Words{"thread", "backtrace", "-c", "5"},
                            Words{"thread", "backtrace", "--start", "2", "-e", "true"},
                            Words{"thread", "info"}, Words{"frame", "variable", "x"},
                            Words{"frame", "select", "3"}, Words{"frame", "info"}, Words{"register", "read"}})
    for (const bool breakpoints : {false, true}) CHECK(level(words, breakpoints) == PublishLevel::stack);
}

TEST_CASE("commands that show other threads need what stands on all stacks", "[publish_level]") {
  for (const Words words :
       {Words{"thread", "backtrace", "all"}, Words{"thread", "backtrace", "3"},
        Words{"thread", "backtrace", "-c", "5", "3"}, Words{"thread", "backtrace", "--unique"},
        Words{"thread", "backtrace", "-c"}, Words{"thread", "info", "all"}, Words{"thread", "list"},
        Words{"thread", "select", "2"}, Words{"process", "status"}})
    for (const bool breakpoints : {false, true}) CHECK(level(words, breakpoints) == PublishLevel::stacks);
}

TEST_CASE("who leaves the process needs nothing of it", "[publish_level]") {
  CHECK(level({"process", "detach"}) == PublishLevel::nothing);
  CHECK(level({"process", "detach"}, true) == PublishLevel::nothing);
}

TEST_CASE("commands that are not known to need less need everything", "[publish_level]") {
  for (const Words words :
       {Words{"breakpoint", "set", "-n", "Main"}, Words{"target", "modules", "lookup", "-n", "Main"},
        Words{"disassemble"}, Words{"expression", "1"}, Words{"thread", "step-in"}, Words{"source", "list"},
        Words{"thread"}, Words{}, Words{"frame"}, Words{"memory", "read"}, Words{"script"}})
    CHECK(level(words) == PublishLevel::everything);
}

TEST_CASE("breakpoints and searches need the code that they ask for", "[publish_level]") {
  using Texts = std::vector<std::string>;
  const auto names = [](Words words) {
    const std::vector<std::string_view> all(words);
    CHECK(code_of_command(all).files.empty());
    return code_of_command(all).names;
  };
  CHECK(names({"breakpoint", "set", "--name", "Ns.Type.Run"}) == Texts{"Ns.Type.Run"});
  CHECK(names({"breakpoint", "set", "-n", "Run", "-n", "Walk"}) == Texts{"Run", "Walk"});
  CHECK(names({"breakpoint", "set", "--one-shot", "1", "--name", "Run", "--shlib", "app.dll"}) ==
        Texts{"Run"});
  CHECK(names({"target", "modules", "lookup", "-n", "Run"}) == Texts{"Run"});
  CHECK(names({"target", "modules", "lookup", "--verbose", "-A", "--function", "Ns.Type.Run"}) ==
        Texts{"Ns.Type.Run"});
  const auto files = [](Words words) {
    const std::vector<std::string_view> all(words);
    CHECK(code_of_command(all).names.empty());
    return code_of_command(all).files;
  };
  CHECK(files({"breakpoint", "set", "--file", "Run.cs", "--line", "3"}) == Texts{"Run.cs"});
  CHECK(files({"breakpoint", "set", "-l", "3", "-u", "5", "-f", "/src/Run.cs", "-s", "app.dll", "-o", "1"}) ==
        Texts{"/src/Run.cs"});
  for (const Words words : {Words{},
                            Words{"breakpoint"},
                            Words{"breakpoint", "set"},
                            Words{"breakpoint", "set", "-n"},
                            Words{"breakpoint", "list", "-n", "Run"},
                            Words{"breakpoint", "set", "-r", "Run"},
                            Words{"breakpoint", "set", "-n", "Run", "-r", "x"},
                            Words{"breakpoint", "set", "-l", "3"},
                            Words{"breakpoint", "set", "-f", "Run.cs"},
                            Words{"breakpoint", "set", "-f", "Run.cs", "-n", "Run"},
                            Words{"breakpoint", "set", "-f", "Run.cs", "-l", "3", "-n", "Run"},
                            Words{"breakpoint", "set", "-f", "Run.cs", "-p", "text"},
                            Words{"breakpoint", "set", "-n", "Run", "-c", "--name"},
                            Words{"breakpoint", "set", "-s", "app.dll"},
                            Words{"breakpoint", "set", "-F", "Run"},
                            Words{"target", "modules", "lookup"},
                            Words{"target", "modules", "lookup", "-n"},
                            Words{"target", "modules", "lookup", "-n", "Run", "app.dll"},
                            Words{"target", "modules", "lookup", "-f", "Run.cs", "-l", "3"},
                            Words{"target", "modules", "lookup", "-r", "-n", "Run"},
                            Words{"target", "modules", "lookup", "-a", "0x1000"},
                            Words{"target", "modules", "list", "-n", "Run"}}) {
    const std::vector<std::string_view> all(words);
    CHECK(code_of_command(all).empty());
  }
}

TEST_CASE("who lets the process run needs names for breakpoints only", "[publish_level]") {
  for (const Words words :
       {Words{"process", "continue"}, Words{"process", "launch"}, Words{"process", "attach"},
        Words{"thread", "continue"}, Words{"breakpoint", "list"}}) {
    CHECK(level(words, false) == PublishLevel::stack);
    CHECK(level(words, true) == PublishLevel::everything);
  }
}

TEST_CASE("commands that name code beside the stacks", "[publish_level]") {
  const auto shows = [](Words words) {
    const std::vector<std::string_view> all(words);
    return std::pair(shows_instructions(all), shows_registers(all));
  };
  CHECK(shows({"frame", "select", "3"}) == std::pair(true, false));
  CHECK(shows({"thread", "select", "2"}) == std::pair(true, false));
  CHECK(shows({"process", "status"}) == std::pair(true, false));
  CHECK(shows({"register", "read"}) == std::pair(false, true));
  CHECK(shows({"thread", "backtrace"}) == std::pair(false, false));
  CHECK(shows({"frame"}) == std::pair(false, false));
}

TEST_CASE("LLDB's gui draws stacks that no command asks for", "[publish_level]") {
  CHECK(driver_of({{"thread", "list"}}).shows_by_commands());
  const Driver drawn = driver_of({{"gui"}, {"thread", "list"}});
  CHECK(drawn.by_commands());
  CHECK_FALSE(drawn.shows_by_commands());
  CHECK_FALSE(driver_of({{"script", "1"}}).shows_by_commands());
}

TEST_CASE("a stop that nobody asked anything at", "[publish_level]") {
  const Driver nobody, typed = driver_of({{"thread", "list"}}),
                       program = driver_of({{"thread", "list"}}, false),
                       scripted = driver_of({{"thread", "list"}, {"script", "1"}, {"thread", "list"}}),
                       imported = driver_of({{"command", "script", "import", "x.py"}});
  CHECK(typed.by_commands());
  CHECK(driver_of({{"command", "alias", "x", "bt"}}).by_commands());
  for (const Driver& driver : {nobody, program, scripted, imported}) {
    CHECK_FALSE(driver.by_commands());
    CHECK(level_of_stop(PublishTime::automatic, driver, false) == PublishLevel::everything);
    CHECK(level_of_stop(PublishTime::asked, driver, false) == PublishLevel::stacks);
  }
  CHECK(level_of_stop(PublishTime::automatic, typed, false) == PublishLevel::stack);
  CHECK(level_of_stop(PublishTime::asked, driver_of({{"thread", "list"}, {"gui"}}), false) ==
        PublishLevel::stacks);
  CHECK(level_of_stop(PublishTime::automatic, typed, true) == PublishLevel::everything);
  CHECK(level_of_stop(PublishTime::asked, typed, true) == PublishLevel::everything);
  CHECK(level_of_stop(PublishTime::stop, typed, false) == PublishLevel::everything);
  Driver loaded;
  loaded.loaded(true);
  CHECK(loaded.by_commands());
}

TEST_CASE("levels and times have names", "[publish_level]") {
  CHECK(to_string(PublishLevel::nothing) == "nothing");
  CHECK(to_string(PublishLevel::stack) == "stack");
  CHECK(to_string(PublishLevel::stacks) == "stacks");
  CHECK(to_string(PublishLevel::everything) == "everything");
  CHECK(is_partial(PublishLevel::stack));
  CHECK(is_partial(PublishLevel::stacks));
  CHECK_FALSE(is_partial(PublishLevel::nothing));
  CHECK_FALSE(is_partial(PublishLevel::everything));
  CHECK(to_string(PublishTime::automatic) == "auto");
  CHECK(to_string(PublishTime::stop) == "stop");
}
