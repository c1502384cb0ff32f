// Finding the place behind compilations, and keeping to it.
#include "extension/breakpoints/compile_watch.h"
#include "tests/extension/fake_plants.h"

#include <catch2/catch.hpp>

using namespace clr;
using namespace clr::lldb_plugin;

namespace {

constexpr Address compile_method = 0x1000, inner = 0x2010, ready = 0x2020, outer = 0x2030;
constexpr Address code = 0x9000;

struct Thread final : CompileWatch::Visitor {
  Address at = 0, result = 0, method = 0;
  std::vector<Address> returns;
  Address pc() override { return at; }
  Address compiled_method() override { return method; }
  std::vector<Address> return_addresses(std::size_t most) override {
    return {returns.begin(), returns.begin() + static_cast<std::ptrdiff_t>(std::min(most, returns.size()))};
  }
  Address return_value() override { return result; }
};

struct Process {
  FakePlants plants;
  Address jit = compile_method; // where compileMethod is known to be
  bool told = false;
  std::set<Address> unwanted; // methods
  std::map<Address, CompileWatch::Code> known{{code, CompileWatch::Code::jitted}};
  CompileWatch watch{
      plants,
      {.compile_method = [this] { return jit; },
       .code_at =
           [this](Address address) {
             const auto found = known.find(address);
             return found == known.end() ? CompileWatch::Code::none : found->second;
           },
       .told = [this] { return told; },
       .unwanted =
           [this](CompileWatch::Visitor& visitor) { return unwanted.contains(visitor.compiled_method()); }}};

  std::optional<Address> hit(Address pc, Address result = 0) {
    Thread thread;
    thread.at = pc;
    thread.result = result;
    thread.returns = {inner, ready, outer};
    return watch.hit(thread);
  }
  // One whole compilation.
  std::optional<Address> compile() {
    hit(compile_method);
    hit(inner, 1);
    return hit(ready, code);
  }
};

} // namespace

TEST_CASE("the place behind compilations is learned by the first one", "[compile_watch]") {
  Process process;
  process.watch.arm();
  CHECK(process.watch.armed());
  CHECK(process.plants.named.begin()->second == "libclrjit.so`getJit");
  CHECK(process.plants.stops() == std::set<Address>{compile_method});
  CHECK_FALSE(process.hit(compile_method));
  CHECK(process.plants.stops() == std::set<Address>{compile_method, inner, ready, outer});
  CHECK_FALSE(process.hit(inner, 1)); // a status, no code
  CHECK_FALSE(process.watch.learned());
  CHECK(process.hit(ready, code) == code);
  CHECK(process.watch.learned());
  CHECK(process.watch.hits() == 1);
  CHECK(process.plants.stops() == std::set<Address>{compile_method, ready});
  CHECK(process.plants.at.size() == 4); // removed once nobody stands there
  process.watch.tidy();
  CHECK(process.plants.at.size() == 2);
  CHECK(process.watch.was_at(inner));
  CHECK_FALSE(process.watch.was_at(0x5000));
}

TEST_CASE("behind the learned place there is one stop for each method", "[compile_watch]") {
  Process process;
  process.watch.arm();
  process.compile();
  for (unsigned i = 0; i < CompileWatch::wanted_confirmations; ++i) {
    CHECK(process.plants.stops().contains(compile_method));
    process.hit(compile_method);
    CHECK(process.hit(ready, 0x7777) == 0x7777u); // whatever the runtime knows of it
  }
  CHECK(process.plants.stops() == std::set<Address>{ready});
  process.watch.arm(); // again, by the next breakpoint
  CHECK(process.plants.stops() == std::set<Address>{ready});
}

TEST_CASE("a way around the learned place is watched anew", "[compile_watch]") {
  Process process;
  process.watch.arm();
  process.compile();
  Thread other;
  other.at = compile_method;
  other.returns = {0x3000, 0x3010};
  process.watch.hit(other);
  CHECK(process.plants.stops() == std::set<Address>{compile_method, ready, 0x3000, 0x3010});
  other.at = 0x3010;
  other.result = code;
  CHECK(process.watch.hit(other) == code);
  process.watch.tidy();
  CHECK(process.plants.stops() == std::set<Address>{compile_method, 0x3010});
}

TEST_CASE("precompiled code and what is no code teach nothing", "[compile_watch]") {
  Process process;
  process.known[0x8000] = CompileWatch::Code::ready_to_run;
  process.watch.arm();
  process.hit(compile_method);
  CHECK_FALSE(process.hit(ready, 0x8000));
  CHECK_FALSE(process.hit(ready, 0));
  CHECK_FALSE(process.watch.learned());
}

TEST_CASE("a runtime that starts later is watched from then on", "[compile_watch]") {
  Process process;
  process.jit = 0;
  process.watch.arm();
  CHECK(process.plants.stops().empty());
  process.jit = compile_method;
  CHECK_FALSE(process.hit(0x4444)); // the JIT's library is loaded
  CHECK(process.plants.stops() == std::set<Address>{compile_method});
}

TEST_CASE("disarmed there is no stop, and what was learned is kept", "[compile_watch]") {
  Process process;
  process.watch.arm();
  process.compile();
  process.watch.disarm();
  CHECK(process.plants.enabled.empty());
  CHECK_FALSE(process.hit(ready, code)); // one that was on its way
  CHECK(process.watch.hits() == 1);
  process.watch.arm();
  CHECK(process.plants.stops() == std::set<Address>{compile_method, ready});
  CHECK(process.watch.learned());
}

TEST_CASE("no more frames are watched than the limit, and none that cannot be", "[compile_watch]") {
  Process process;
  process.plants.refused = {0x6000};
  process.watch.arm();
  Thread thread;
  thread.at = compile_method;
  for (Address i = 0; i < 20; ++i) thread.returns.push_back(0x6000 + i);
  process.watch.hit(thread);
  CHECK(process.plants.stops().size() == 1 + CompileWatch::watched_frames - 1);
  CHECK_FALSE(process.watch.was_at(0x6000));
}

TEST_CASE("no compilation stops when the code is told of in another way", "[compile_watch]") {
  Process process;
  process.watch.arm();
  process.compile();
  CHECK_FALSE(process.plants.stops().empty());
  process.told = true;
  process.watch.arm();
  CHECK(process.plants.stops().empty());
  CHECK(process.watch.armed());
  process.told = false;
  process.watch.arm();
  CHECK(process.plants.stops().contains(ready));
}

TEST_CASE("what nobody waits for is not followed to its end", "[compile_watch]") {
  Process process;
  process.unwanted = {0x5000};
  process.watch.arm();
  Thread thread;
  thread.at = compile_method;
  thread.method = 0x5000;
  thread.returns = {inner, ready, outer};
  process.watch.hit(thread);
  CHECK(process.plants.stops() == std::set<Address>{compile_method});
  thread.method = 0x5001;
  process.watch.hit(thread);
  CHECK(process.plants.stops() == std::set<Address>{compile_method, inner, ready, outer});
}
