// Where the sources may name a CPU: the rooms above core/isa ask the value of the CPU instead of comparing
// it.
#include <catch2/catch.hpp>

#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <string>

namespace {

namespace fs = std::filesystem;

const fs::path root = fs::path(CLR_TEST_DATA).parent_path();

bool is_source(const fs::path& path) {
  return path.extension() == ".h" || path.extension() == ".cpp";
}

bool may_name_cpus(const std::string& name) {
  return name.starts_with("core/isa/") || name.starts_with("core/memory/cpu_table.");
}

// Lines of each source outside of core/isa that match, by the source's path.
std::map<std::string, int> lines_with(const std::regex& pattern, const std::string& folder) {
  std::map<std::string, int> found;
  for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
    if (!entry.is_regular_file() || !is_source(entry.path())) continue;
    const std::string name = fs::relative(entry.path(), root).generic_string();
    if (may_name_cpus(name)) continue;
    std::ifstream file(entry.path());
    for (std::string line; std::getline(file, line);)
      if (std::regex_search(line, pattern)) ++found[name];
  }
  return found;
}

void check_bounds(const std::regex& pattern, const std::map<std::string, int>& allowed) {
  std::size_t seen = 0;
  for (const std::string folder : {"core", "extension", "capi"})
    for (const auto& [name, lines] : lines_with(pattern, folder)) {
      CAPTURE(name, lines);
      const auto bound = allowed.find(name);
      CHECK((bound != allowed.end() && lines <= bound->second));
      ++seen;
    }
  CHECK(seen == allowed.size()); // a place that is gone leaves this list
}

} // namespace

// Each place says in a comment why it names a CPU. A new one is better a member of Architecture.
TEST_CASE("CPUs are named in few places outside of core/isa", "[isa][architecture]") {
  check_bounds(std::regex(R"(\bCpu::(x64|x86|arm64|arm|loongarch64|riscv64|wasm)\b)"),
               {
                   {"core/target/supplements.cpp", 2},                // fields of the runtime's types, by CPU
                   {"core/target/known_layouts.cpp", 3},              // layouts of runtimes that publish none
                   {"core/stack/cfi_row.cpp", 1},                     // a mistake of libdw
                   {"extension/breakpoints/hijacked_returns.cpp", 1}, // where a return pops its slot
                   {"core/dwarf/frames.cpp", 1},                      // what LLDB does on x86 alone
                   {"core/dwarf/guessed_frame.cpp", 1}, // an expression that compares bytes of code
                   {"extension/breakpoints/managed_steps.cpp", 1}, // funclets are told apart by rbp
               });
}

TEST_CASE("what is known of one CPU is used in few places outside of core/isa", "[isa][architecture]") {
  check_bounds(std::regex(R"(#include "core/isa/(x64|arm64)/)"),
               {
                   {"core/describe/exception_handlers.cpp", 1}, // code that names where a handler resumes
                   {"core/describe/unwind_rows.cpp", 4},        // rows of prologues and epilogues
               });
}
