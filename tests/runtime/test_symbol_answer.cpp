#include "core/runtime/symbol_answer.h"

#include <catch2/catch.hpp>

using namespace clr;

namespace {

AddedSymbolFile file_of(std::initializer_list<std::pair<Address, std::string_view>> functions,
                        SymbolFileKind kind = SymbolFileKind::perf_map,
                        const std::string& path = "/tmp/perf-7.map", SymbolSpace space = SymbolSpace::process,
                        const std::string& identity = {}) {
  SymbolTableBuilder builder(space, "test", identity);
  for (const auto& [address, name] : functions) builder.add(address, 0x10, name);
  return {.path = path, .kind = kind, .symbols = builder.build()};
}

AddedSymbols added(const std::vector<AddedSymbolFile>& files, std::vector<SymbolImage> images = {}) {
  return {files, [&] { return images; }};
}

runtime::Answer ask(const AddedSymbols& symbols, Address address,
                    decltype(runtime::Answer::result) before = MissAnswer{}) {
  runtime::Answer answer{address, std::move(before)};
  name_by_symbols(answer, symbols);
  return answer;
}

} // namespace

TEST_CASE("an address that memory does not explain becomes the method that a file names") {
  const AddedSymbols symbols = added({file_of({{0x1000, "void [app] Ns.Type::Run(int32)[OptimizedTier1]"}})});
  for (const MissReason reason : {MissReason::outside, MissReason::no_runtime, MissReason::not_started}) {
    const runtime::Answer answer = ask(symbols, 0x1008, MissAnswer{.reason = reason, .text = "nothing"});
    const auto& found = std::get<MethodAnswer>(answer.result);
    CHECK(found.method.name == "Ns.Type.Run");
    CHECK(found.method.full_name == "Ns.Type.Run(int32)");
    CHECK(found.method.module == "app");
    CHECK(found.method.name_from == NameSource::symbols);
    CHECK(found.method.degraded == "named by perf-7.map");
    CHECK(found.code.kind == CodeKind::jitted);
    CHECK(found.code.tier == Tier::tier1);
    CHECK(found.code.start == 0x1000);
    CHECK(found.code.offset == 8);
    CHECK(found.code.regions.front().size == 0x10);
  }
  // Behind its end nothing is known.
  CHECK(std::holds_alternative<MissAnswer>(ask(symbols, 0x1010).result));
}

TEST_CASE("a fault keeps its reason beside the name") {
  const AddedSymbols symbols = added({file_of({{0x1000, "void [app] Ns.Type::Run()[PreJIT]"}})});
  const runtime::Answer answer =
      ask(symbols, 0x1000, FaultAnswer{.kind = ErrorKind::memory_missing, .at = 0x99, .text = "no page"});
  const auto& found = std::get<MethodAnswer>(answer.result);
  CHECK(found.code.kind == CodeKind::ready_to_run);
  CHECK(found.code.tier == Tier::r2r);
  CHECK(found.method.degraded == "named by perf-7.map; runtime memory: no page");
}

TEST_CASE("what memory knows stays") {
  const AddedSymbols symbols = added({file_of({{0x1000, "void [app] Ns.Wrong::Name()[Optimized]"}})});
  for (const MissReason reason : {MissReason::precode, MissReason::stub, MissReason::gap, MissReason::thunk,
                                  MissReason::no_method, MissReason::being_deleted})
    CHECK(std::get<MissAnswer>(ask(symbols, 0x1000, MissAnswer{.reason = reason}).result).reason == reason);
  MissAnswer native{.reason = MissReason::native, .text = "native code of libc.so.6", .symbol = "read + 8"};
  CHECK(std::get<MissAnswer>(ask(symbols, 0x1000, native).result).symbol == "read + 8");
  MethodAnswer method;
  method.method.name = "Ns.Type.Right";
  method.method.qualified = std::make_shared<QualifiedMethodName>();
  CHECK(std::get<MethodAnswer>(ask(symbols, 0x1000, method).result).method.name == "Ns.Type.Right");
  // A method that is a token only gets the name.
  MethodAnswer token;
  token.method.name = "app.dll!0x06000001";
  token.method.module = "app.dll";
  const runtime::Answer named = ask(symbols, 0x1000, token);
  CHECK(std::get<MethodAnswer>(named.result).method.name == "Ns.Wrong.Name");
  CHECK(std::get<MethodAnswer>(named.result).method.module == "app.dll");
}

TEST_CASE("stubs and native functions are symbols, not methods") {
  const AddedSymbols symbols = added(
      {file_of({{0x1000, "stub PRECODE<FixupPrecode>"}, {0x2000, "std::sort(int*)"}, {0x3000, "memcpy"}})});
  CHECK(std::get<MissAnswer>(ask(symbols, 0x1004).result).symbol == "stub PRECODE<FixupPrecode> + 4");
  const auto native = std::get<MissAnswer>(ask(symbols, 0x3000, MissAnswer{.text = "nothing"}).result);
  CHECK(native.symbol == "memcpy");
  CHECK(native.text == "nothing (named by perf-7.map)");
  CHECK(symbol_text(symbols, 0x3002) == "memcpy + 2 (by perf-7.map)");
  CHECK(symbol_text(symbols, 0x5000).empty());
}

TEST_CASE("the file that was added last is asked first") {
  const AddedSymbols symbols =
      added({file_of({{0x1000, "old"}, {0x2000, "only old"}}), file_of({{0x1000, "new"}})});
  CHECK(symbols.find(0x1000)->function == "new");
  CHECK(symbols.find(0x2000)->function == "only old");
}

TEST_CASE("tables of an image are found by identity, then by name") {
  const std::vector<SymbolImage> images{{"app.dll", 0x7f0000, {"AB12"}}, {"libx.so", 0x6f0000, {}}};
  const auto map = [](const std::string& path, const std::string& identity) {
    return file_of({{0x100, "f"}}, SymbolFileKind::r2r_perf_map, path, SymbolSpace::image, identity);
  };
  const AddedSymbols by_identity = added({map("other.ni.r2rmap", "AB12")}, images);
  CHECK(by_identity.sources()[0].base == 0x7f0000);
  CHECK(by_identity.sources()[0].image == "app.dll");
  CHECK(by_identity.find(0x7f0108)->start == 0x7f0100);
  CHECK_FALSE(by_identity.find(0x108));
  const AddedSymbols by_name = added({map("/maps/libx.so.debug", "")}, images);
  CHECK(by_name.sources()[0].base == 0x6f0000);
  const AddedSymbols other_build = added({map("app.ni.r2rmap", "CD34")}, images);
  CHECK(other_build.sources()[0].problem ==
        "app.dll in the process is another build: AB12 against CD34 here");
  CHECK_FALSE(other_build.find(0x7f0108));
  const AddedSymbols stranger = added({map("none.ni.r2rmap", "CD34")}, images);
  CHECK(stranger.sources()[0].problem == "its image (CD34) is not in this process");
  AddedSymbolFile placed = map("app.ni.r2rmap", "CD34");
  placed.base = 0x5000;
  CHECK(added({placed}, images).find(0x5108)->function == "f");
}
