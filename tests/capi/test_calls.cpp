#include "include/lldb_clr.h"
#include "tests/capi/fake_inspection.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <limits>

using namespace clr;
using namespace clr::test;

namespace {

struct Opened {
  Opened() {
    opened = std::make_shared<FakeInspection>();
    runtime = clr_open_process(1, 0, 1, &error);
    REQUIRE(runtime != nullptr);
  }
  ~Opened() {
    clr_close(runtime);
    opened.reset();
  }
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;

  clr_error error{};
  clr_runtime* runtime = nullptr;
};

struct Rows {
  Json rows = Json::array(), end;
};

// All rows of a query, which is closed.
Rows all(clr_rows* query) {
  REQUIRE(query != nullptr);
  Rows result;
  const char* json = nullptr;
  std::size_t size = 0;
  clr_error error{};
  while (clr_rows_next(query, &json, &size, &error) == 1) {
    const Json batch = Json::parse(std::string_view(json, size));
    for (const auto& row : batch["rows"]) result.rows.push_back(row);
    if (batch.contains("end")) result.end = batch["end"];
  }
  CHECK(error.status == CLR_OK);
  clr_rows_close(query);
  return result;
}

// The status that the first batch of a query ends with.
int status_of_first(clr_rows* query, clr_error& error) {
  REQUIRE(query != nullptr);
  const char* json = nullptr;
  std::size_t size = 0;
  CHECK(clr_rows_next(query, &json, &size, &error) == -1);
  const int status = error.status;
  CHECK(clr_rows_next(query, &json, &size, nullptr) == 0);
  clr_rows_close(query);
  return status;
}

} // namespace

TEST_CASE("calls: a process without a heap answers every question about it with an error") {
  const Opened process;
  clr_error error{};
  CHECK(clr_heap_table(process.runtime, &error) == nullptr);
  CHECK(error.status == CLR_UNSUPPORTED);
  CHECK(std::string(error.text) == "there is no heap here");
  for (clr_rows* const rows :
       {clr_query_heap(process.runtime, nullptr), clr_query_references(process.runtime, 0x10, nullptr),
        clr_query_referrers(process.runtime, 0x10, nullptr), clr_query_heap_roots(process.runtime, nullptr),
        clr_query_paths(process.runtime, 0x10, 1, nullptr),
        clr_query_retained(process.runtime, 0x10, nullptr),
        clr_query_retainers(process.runtime, CLR_RETAINED_BY_STATIC, nullptr, 1, nullptr),
        clr_query_heap_save(process.runtime, "/does/not/exist", nullptr),
        clr_query_objects_where(process.runtime, nullptr, CLR_HEAP_ALL, nullptr, 0, nullptr),
        clr_query_reached_types(process.runtime, nullptr, CLR_HEAP_ALL, 1, nullptr),
        clr_query_strings(process.runtime, nullptr, 0, nullptr),
        clr_query_duplicate_strings(process.runtime, "a*", 0, 1, nullptr),
        clr_query_arrays(process.runtime, nullptr, CLR_HEAP_LOH, 1, 0, 1, nullptr),
        clr_query_free_space(process.runtime, nullptr), clr_query_allocations(process.runtime, nullptr),
        clr_query_handles(process.runtime, nullptr), clr_query_finalizers(process.runtime, nullptr),
        clr_query_verification(process.runtime, nullptr)})
    CHECK(status_of_first(rows, error) == CLR_UNSUPPORTED);
  CHECK(status_of_first(clr_query_heap_difference(process.runtime, "/does/not/exist", nullptr), error) ==
        CLR_IO);
}

TEST_CASE("calls: version, and handles that may be null") {
  CHECK(clr_api_version() == CLR_API_VERSION);
  CHECK(std::string(clr_version()) == CLR_PROJECT_VERSION);
  clr_close(nullptr);
  clr_rows_close(nullptr);
  clr_symbols_close(nullptr);
  CHECK(clr_symbols_owners(nullptr) == nullptr);
  CHECK(clr_symbols_offsets(nullptr) == nullptr);
  CHECK(clr_symbols_places(nullptr) == nullptr);
  CHECK(clr_symbols_json(nullptr, nullptr) == nullptr);
  CHECK(clr_symbols_files(nullptr, nullptr) == nullptr);
  CHECK(clr_is_current(nullptr) == 0);
  clr_table_close(nullptr);
  CHECK(clr_table_count(nullptr) == 0);
  CHECK(clr_table_addresses(nullptr) == nullptr);
  CHECK(clr_table_sizes(nullptr) == nullptr);
  CHECK(clr_table_types(nullptr) == nullptr);
  CHECK(clr_table_generations(nullptr) == nullptr);
  CHECK(clr_table_free(nullptr) == nullptr);
  CHECK(clr_table_json(nullptr, nullptr) == nullptr);
}

TEST_CASE("calls: what is missing in a call is an error, with or without a place for it") {
  clr_error error{};
  CHECK(clr_open_core(nullptr, nullptr, &error) == nullptr);
  CHECK(error.status == CLR_INVALID);
  CHECK(std::string(error.text) == "no path is given");
  CHECK(clr_open_core(nullptr, nullptr, nullptr) == nullptr);
  CHECK(clr_query_modules(nullptr, &error) == nullptr);
  CHECK(error.status == CLR_INVALID);
  CHECK(clr_rows_next(nullptr, nullptr, nullptr, &error) == -1);
  CHECK(error.status == CLR_INVALID);
  Opened process;
  CHECK(clr_symbolize(process.runtime, nullptr, 1, 0, &error) == nullptr);
  CHECK(error.status == CLR_INVALID);
  CHECK(clr_query_save_core(process.runtime, nullptr, 0, &error) == nullptr);
  CHECK(clr_query_gcdump(process.runtime, nullptr, 0, &error) == nullptr);
  CHECK(error.status == CLR_INVALID);
  CHECK(clr_query_heap_save(process.runtime, nullptr, &error) == nullptr);
  CHECK(clr_query_heap_difference(process.runtime, nullptr, &error) == nullptr);
  const char* const bad[] = {"Id", nullptr};
  for (const char* const* const conditions : {bad, bad + 1, static_cast<const char* const*>(nullptr)}) {
    CHECK(clr_query_objects_where(process.runtime, nullptr, CLR_HEAP_ALL, conditions, 1, &error) == nullptr);
    CHECK(error.status == CLR_INVALID);
  }
  CHECK(clr_query_arrays(process.runtime, nullptr, CLR_HEAP_FROZEN + 1, 0, 0, 1, &error) == nullptr);
  CHECK(error.status == CLR_INVALID);
  for (const int by : {-1, 5}) {
    CHECK(clr_query_retainers(process.runtime, by, nullptr, 1, &error) == nullptr);
    CHECK(error.status == CLR_INVALID);
  }
  CHECK(clr_heap_table(nullptr, &error) == nullptr);
  CHECK(error.status == CLR_INVALID);
  CHECK(error.status == CLR_INVALID);
}

TEST_CASE("calls: cores that cannot be opened, and options that cannot be read") {
  clr_error error{};
  CHECK(clr_open_core("/nowhere/core", nullptr, &error) == nullptr);
  CHECK(error.status == CLR_IO);
  for (const char* options :
       {"{", "[]x", R"({"sysroot": 1})", R"({"nonsense": 1})", R"({"path_map": [["a"]]})"}) {
    CAPTURE(options);
    CHECK(clr_open_core("/nowhere/core", options, &error) == nullptr);
    CHECK(error.status == CLR_INVALID);
  }
}

TEST_CASE("calls: an error's text is cut to fit, between characters") {
  // A two-byte character at every place around the cut.
  for (std::size_t more = 0; more < 4; ++more) {
    std::string name = "/" + std::string(900 + more, 'a');
    for (int i = 0; i < 100; ++i) name += "\u00e9";
    clr_error error{};
    CHECK(clr_open_core(name.c_str(), nullptr, &error) == nullptr);
    CHECK(error.status == CLR_IO);
    const std::string text = error.text;
    CHECK(text.size() < sizeof error.text);
    CHECK_NOTHROW(nlohmann::json(text).dump());
  }
}

TEST_CASE("calls: an error's text commands no terminal") {
  clr_error error{};
  CHECK(clr_open_core("/nowhere/\x1b[2J\n\xe2\x80\xae\xff", nullptr, &error) == nullptr);
  CHECK(std::string(error.text).find("/nowhere/\\x1b[2J\\x0a\\u202e\\xff") != std::string::npos);
}

TEST_CASE("calls: a process that is gone, and one that has run") {
  clr_error error{};
  CHECK(clr_open_process(2, 0, 1, &error) == nullptr);
  CHECK(error.status == CLR_STALE);
  CHECK(clr_debugger_known(1) == 1);
  CHECK(clr_debugger_known(2) == 0);
  Opened process;
  CHECK(clr_is_current(process.runtime) == 1);
  clr_rows* rows = clr_query_modules(process.runtime, &error);
  REQUIRE(rows != nullptr);
  opened->stale = true;
  CHECK(clr_is_current(process.runtime) == 0);
  CHECK(clr_query_modules(process.runtime, &error) == nullptr);
  CHECK(error.status == CLR_STALE);
  CHECK(std::string(error.text) == "the process has run");
  const std::uint64_t address = FakeInspection::run;
  CHECK(clr_symbolize(process.runtime, &address, 1, 0, &error) == nullptr);
  CHECK(error.status == CLR_STALE);
  CHECK(status_of_first(rows, error) == CLR_STALE);
  opened->stale = false;
  CHECK(all(clr_query_modules(process.runtime, nullptr)).rows.size() == 1); // it is where it was, after all
}

TEST_CASE("calls: publishing waits for a debugger's process that is where it was") {
  Opened process;
  clr_error error{};
  CHECK(clr_publish(process.runtime, &error) == 1);
  CHECK(error.status == CLR_OK);
  CHECK(opened->published == 1);
  opened->stale = true;
  CHECK(clr_publish(process.runtime, &error) == 0);
  CHECK(error.status == CLR_STALE);
  CHECK(opened->published == 1);
  CHECK(clr_publish(nullptr, &error) == 0);
  CHECK(error.status == CLR_INVALID);
}

TEST_CASE("calls: rows outlive the runtime that they were asked of") {
  opened = std::make_shared<FakeInspection>();
  clr_runtime* runtime = clr_open_process(1, 0, 1, nullptr);
  opened.reset();
  clr_rows* rows = clr_query_modules(runtime, nullptr);
  clr_close(runtime);
  CHECK(all(rows).rows.size() == 1);
}

TEST_CASE("calls: a fault names its address") {
  Opened process;
  clr_error error{};
  const std::string path = (std::filesystem::temp_directory_path() / "lldb-clr-test-capi.core").string();
  CHECK(status_of_first(clr_query_save_core(process.runtime, path.c_str(), 0, &error), error) ==
        CLR_MEMORY_MISSING);
  CHECK(error.has_address == 1);
  CHECK(error.address == 0x1234);
  CHECK(std::string(error.text) == "nothing can be saved of it");
  CHECK(status_of_first(clr_query_frames(process.runtime, 1, 0, 0, &error), error) == CLR_INVALID);
  CHECK(error.has_address == 0);
}

TEST_CASE("calls: methods by kind and pattern") {
  Opened process;
  clr_error error{};
  const auto names = [&](const char* pattern, std::uint32_t kinds) {
    std::vector<std::string> found;
    for (const Json& row : all(clr_query_methods(process.runtime, pattern, kinds, &error)).rows)
      found.push_back(row["method"]["full_name"].is_null() ? "?" : row["method"]["full_name"]);
    return found;
  };
  using Names = std::vector<std::string>;
  CHECK(names(nullptr, CLR_METHODS_JITTED) == Names{"Ns.Outer.Run(int)", "Ns.Outer.Walk()", "?"});
  CHECK(names("Ns.Outer.Walk", CLR_METHODS_JITTED | CLR_METHODS_R2R) == Names{"Ns.Outer.Walk()"});
  CHECK(names("Ns.Outer.*", CLR_METHODS_JITTED) == Names{"Ns.Outer.Run(int)", "Ns.Outer.Walk()"});
  CHECK(names("*", CLR_METHODS_R2R) == Names{});
  CHECK(all(clr_query_methods(process.runtime, "none", CLR_METHODS_JITTED, &error)).end["problems"].empty());
}

TEST_CASE("calls: an address in a method, in a library and nowhere") {
  Opened process;
  const auto answer = [&](Address address) {
    const Json rows = all(clr_query_address(process.runtime, address, nullptr)).rows;
    REQUIRE(rows.size() == 1);
    return rows[0];
  };
  const Json managed = answer(FakeInspection::run + 0x10);
  CHECK(managed["method"]["full_name"] == "Ns.Outer.Run(int)");
  CHECK(managed["code"]["offset"] == 0x10);
  CHECK(answer(FakeInspection::native + 1)["symbol"] == "libnative.so`wait + 1");
  CHECK(answer(0x10).contains("method") == false);
}

TEST_CASE("calls: info with and without counts") {
  Opened process;
  const Json brief = all(clr_query_info(process.runtime, 0, nullptr)).rows.at(0);
  CHECK_FALSE(brief.contains("jitted_methods"));
  CHECK(brief["memory"]["source"] == "fake");
  CHECK_FALSE(brief.contains("absent"));
  const Json whole = all(clr_query_info(process.runtime, 1, nullptr)).rows.at(0);
  CHECK(whole["jitted_methods"] == 3);
}

TEST_CASE("calls: threads of the process, and what the runtime does not know of them is absent") {
  Opened process;
  const Rows threads = all(clr_query_threads(process.runtime, nullptr));
  REQUIRE(threads.rows.size() == 2);
  CHECK(threads.rows[0]["os_id"] == FakeInspection::main_thread);
  CHECK(threads.rows[0]["name"] == "main");
  CHECK(threads.rows[0]["selected"] == true);
  CHECK_FALSE(threads.rows[0].contains("managed_id"));
  CHECK(threads.rows[1]["selected"] == false);
  CHECK_FALSE(threads.rows[1].contains("name"));
}

TEST_CASE("calls: what is the matter, and at which thread to look first") {
  Opened process;
  const Rows found = all(clr_query_analysis(process.runtime, nullptr));
  REQUIRE(found.rows.size() == 1);
  const Json& analysis = found.rows[0];
  CHECK(analysis["verdict"] == "crash");
  CHECK(analysis["sentence"] == "crash: it failed");
  CHECK(analysis["process"] == 4711);
  CHECK(analysis["threads"] == 2);
  CHECK(analysis["thread"] ==
        Json{{"index", 1}, {"os_id", FakeInspection::main_thread}, {"why", "it had the signal"}});
}

TEST_CASE("calls: frames, all or as many as are wanted") {
  Opened process;
  const Rows two = all(clr_query_frames(process.runtime, FakeInspection::main_thread, 0, 0, nullptr));
  REQUIRE(two.rows.size() == 2);
  CHECK(two.rows[0]["symbol"] == "wait");
  CHECK(two.rows[1]["symbol"] == "start");
  CHECK(two.end["end"] == "end");
  CHECK(two.end["notes"] == Json::array({"a note"}));
  const Rows one = all(clr_query_frames(process.runtime, FakeInspection::main_thread, 1, 0, nullptr));
  CHECK(one.rows.size() == 1);
  CHECK(one.end["end"] == "limit");
}

TEST_CASE("calls: versions of a method that has none, and of what is no method") {
  Opened process;
  clr_error error{};
  CHECK(all(clr_query_versions(process.runtime, opened->run_desc(), &error)).rows.empty());
  CHECK(status_of_first(clr_query_versions(process.runtime, 0x10, &error), error) != CLR_OK);
}

TEST_CASE("calls: GC info of a method, and roots of a thread") {
  Opened process;
  clr_error error{};
  const Json rows = all(clr_query_gc_info(process.runtime, FakeInspection::run + 4, nullptr)).rows;
  REQUIRE(rows.size() == 1);
  CHECK(rows[0]["version"] == 4);
  CHECK(rows[0]["offset"] == 4);
  CHECK(rows[0]["code_length"] == FakeInspection::method_size);
  CHECK(rows[0]["method"]["name"] == "Ns.Outer.Run");
  CHECK(status_of_first(clr_query_gc_info(process.runtime, FakeInspection::native, &error), error) ==
        CLR_INVALID);
  const Rows roots = all(clr_query_roots(process.runtime, FakeInspection::main_thread, nullptr));
  CHECK(roots.rows.empty());
  CHECK(roots.end["end"] != "bottom");
  CHECK(status_of_first(clr_query_roots(process.runtime, 1, &error), error) == CLR_INVALID);
}

TEST_CASE("calls: unwind information of a method") {
  Opened process;
  const Json rows = all(clr_query_unwind(process.runtime, FakeInspection::run + 4, nullptr)).rows;
  REQUIRE(rows.size() == 1);
  CHECK(rows[0]["address"] == "0x21004");
  CHECK(rows[0]["name"].get<std::string>().find("Ns.Outer.Run(int)") != std::string::npos);
}

TEST_CASE("calls: an object that cannot be read is an error, not an exception of nothing") {
  Opened process;
  clr_error error{};
  CHECK(status_of_first(clr_query_exception(process.runtime, 0x10, &error), error) != CLR_OK);
}
