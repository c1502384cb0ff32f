// Measures how fast Runtime::resolve answers, for tests/python: bench_resolve CORE FILE. FILE has one
// hexadecimal address per line. Prints addresses per second; the first pass, which reads the target, does not
// count.
#include "core/runtime/core_session.h"

#include <fmt/format.h>

#include <chrono>
#include <fstream>
#include <string>
#include <vector>

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  try {
    const auto session = clr::CoreSession::open(argv[1], {});
    std::vector<clr::Address> addresses;
    std::ifstream in(argv[2]);
    for (std::string line; std::getline(in, line);) addresses.push_back(std::stoull(line, nullptr, 16));
    double best = 0;
    std::size_t methods = 0;
    for (int pass = 0; pass < 4; ++pass) {
      const auto start = std::chrono::steady_clock::now();
      for (const clr::Address address : addresses)
        methods += session->runtime().resolve(address).result.index() == 0 ? 1 : 0;
      const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
      if (pass > 0) best = std::max(best, static_cast<double>(addresses.size()) / passed.count());
    }
    fmt::print("{:.0f} addresses a second, {} answers are methods\n", best, methods);
  } catch (const std::exception& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return 1;
  }
}
