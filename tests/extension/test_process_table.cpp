// One entry for each target and process.
#include "extension/process/process_table.h"

#include <catch2/catch.hpp>

#include <map>

using namespace clr::lldb_plugin;

namespace {

struct FakeProcess {
  int target = 0, made_after = 0, number = 0;
  std::uint32_t of = 0; // the number of its target
  bool retired = false;
  std::function<void()> at_retirement;
  void retire() {
    retired = true;
    if (at_retirement) at_retirement();
  }
};

struct Debugger {
  std::map<int, std::uint32_t> processes; // by target; a target that is not there is gone
  int made = 0, asked = 0;                // whether a target is gone
  ProcessTable<int, FakeProcess> table{{
      .is_gone = [this](int& target) { return ++asked, !processes.contains(target); },
      .process_of = [this](int& target) { return processes.contains(target) ? processes.at(target) : 0; },
      .make =
          [this](const int& target, std::uint32_t number, FakeProcess* before) {
            auto process = std::make_shared<FakeProcess>();
            process->target = target;
            process->number = ++made;
            process->of = number;
            process->made_after = before != nullptr ? before->number : 0;
            if (before != nullptr) CHECK(before->retired);
            return process;
          },
  }};
};

} // namespace

TEST_CASE("a process has one entry", "[process_table]") {
  Debugger debugger{.processes = {{1, 10}, {2, 20}}};
  const auto first = debugger.table.at(1), second = debugger.table.at(2);
  CHECK(first != second);
  CHECK(debugger.table.at(1) == first);
  CHECK(debugger.table.find(2) == second);
  CHECK(debugger.table.all().size() == 2);
  CHECK(debugger.table.at(3) == nullptr);
}

TEST_CASE("an entry is found, not made, for a callback", "[process_table]") {
  Debugger debugger{.processes = {{1, 10}}};
  CHECK(debugger.table.find(1) == nullptr);
  CHECK(debugger.made == 0);
  const auto made = debugger.table.at(1);
  CHECK(debugger.table.find(1) == made);
}

TEST_CASE("a callback of a process that is there asks of no target whether it is gone", "[process_table]") {
  Debugger debugger{.processes = {{1, 10}, {2, 20}}};
  const auto first = debugger.table.at(1), second = debugger.table.at(2);
  debugger.asked = 0;
  CHECK(debugger.table.find(1) == first);
  CHECK(debugger.asked == 0);
  debugger.processes.erase(2);
  CHECK(debugger.table.find(1) == first);
  CHECK_FALSE(second->retired);
  CHECK(debugger.table.find(2) == nullptr);
  CHECK(second->retired);
  debugger.processes[1] = 0; // it has ended
  CHECK(debugger.table.find(1) != first);
  CHECK(first->retired);
}

TEST_CASE("what was kept of a target before it had a process is the process's", "[process_table]") {
  Debugger debugger{.processes = {{1, 0}}};
  const auto waiting = debugger.table.at(1);
  debugger.processes[1] = 10;
  CHECK(debugger.table.find(1) == waiting);
  CHECK(debugger.table.at(1) == waiting);
  CHECK_FALSE(waiting->retired);
}

TEST_CASE("a process that ended, and another one, get entries of their own", "[process_table]") {
  Debugger debugger{.processes = {{1, 10}}};
  const auto first = debugger.table.at(1);
  debugger.processes[1] = 0;
  const auto between = debugger.table.at(1);
  CHECK(first->retired);
  CHECK(between != first);
  CHECK(between->made_after == first->number);
  debugger.processes[1] = 11;
  CHECK(debugger.table.at(1) == between);
  debugger.processes[1] = 12; // run again while it ran
  const auto last = debugger.table.find(1);
  CHECK(between->retired);
  REQUIRE(last != nullptr);
  CHECK(last->made_after == between->number);
  CHECK(debugger.table.size() == 1);
}

TEST_CASE("an entry goes with its target", "[process_table]") {
  Debugger debugger{.processes = {{1, 10}, {2, 20}}};
  const auto first = debugger.table.at(1);
  debugger.table.at(2);
  debugger.processes.erase(1);
  CHECK(debugger.table.all().size() == 1);
  CHECK(first->retired); // and is still there for who works with it
  CHECK(debugger.table.find(1) == nullptr);
}

TEST_CASE("what retires may come back to the table", "[process_table]") {
  Debugger debugger{.processes = {{1, 10}, {2, 20}}};
  const auto first = debugger.table.at(1);
  std::size_t seen = 0;
  first->at_retirement = [&] {
    seen = debugger.table.all().size() + (debugger.table.at(2) != nullptr ? 1 : 0);
  };
  debugger.processes[1] = 11;
  const auto second = debugger.table.at(1);
  CHECK(seen == 1); // target 2 alone
  CHECK(second->made_after == first->number);
  debugger.processes.erase(1);
  second->at_retirement = [&] { seen = debugger.table.all().size(); };
  debugger.table.at(2);
  CHECK(seen == 1);
}

TEST_CASE("a target has one number as long as it is there", "[process_table]") {
  Debugger debugger{.processes = {{1, 10}, {2, 20}}};
  CHECK(debugger.table.at(1)->of == 1);
  CHECK(debugger.table.at(2)->of == 2);
  CHECK(debugger.table.target_of(1) == 1);
  CHECK(debugger.table.target_of(2) == 2);
  CHECK_FALSE(debugger.table.target_of(0));
  CHECK_FALSE(debugger.table.target_of(3));
  debugger.processes[1] = 11; // run again
  CHECK(debugger.table.at(1)->of == 1);
  CHECK(debugger.table.target_of(1) == 1);
  debugger.processes.erase(1);
  CHECK_FALSE(debugger.table.target_of(1));
  debugger.processes[1] = 12; // another target
  CHECK(debugger.table.at(1)->of == 3);
  CHECK_FALSE(debugger.table.target_of(1));
}
