#include "capi/row_stream.h"
#include "tests/capi/fake_inspection.h"

#include <catch2/catch.hpp>

using namespace clr;
using namespace clr::capi;
using namespace clr::test;

namespace {

// `count` rows {"n": i}; `last` is the row up to which somebody asked.
RowStream::Producer numbers(int count, int* last = nullptr, bool* left = nullptr) {
  return [=](Inspection&, const RowStream::Emit& emit) {
    struct Leaving {
      bool* left;
      ~Leaving() {
        if (left != nullptr) *left = true;
      }
    } leaving{left};
    for (int n = 0; n < count; ++n) {
      if (last != nullptr) *last = n;
      if (!emit(dump(Json{{"n", n}}))) break;
    }
    return Json{{"count", count}};
  };
}

std::vector<std::size_t> batch_sizes(RowStream& stream, std::size_t* rows = nullptr) {
  std::vector<std::size_t> sizes;
  std::size_t expected = 0;
  while (const std::string* batch = stream.next()) {
    const Json json = Json::parse(*batch);
    for (const auto& row : json["rows"])
      if (row.contains("n")) CHECK(row["n"] == expected++);
    sizes.push_back(json["rows"].size());
  }
  if (rows != nullptr) *rows = expected;
  return sizes;
}

} // namespace

TEST_CASE("rows: batches grow from one row to the largest, and the last has the end") {
  const auto inspection = std::make_shared<FakeInspection>();
  RowStream stream(SharedInspection(inspection), numbers(5));
  CHECK(*stream.next() == R"({"rows":[{"n":0}]})");
  CHECK(*stream.next() == R"({"rows":[{"n":1},{"n":2}]})");
  CHECK(*stream.next() == R"({"rows":[{"n":3},{"n":4}],"end":{"count":5}})");
  CHECK(stream.next() == nullptr);
  CHECK(stream.next() == nullptr);

  RowStream many(SharedInspection(inspection), numbers(5000));
  std::size_t rows = 0;
  const std::vector<std::size_t> sizes = batch_sizes(many, &rows);
  CHECK(rows == 5000);
  CHECK(std::vector(sizes.begin(), sizes.begin() + 4) == std::vector<std::size_t>{1, 2, 4, 8});
  CHECK(*std::max_element(sizes.begin(), sizes.end()) == RowStream::largest_batch);
}

TEST_CASE("rows: a batch of large rows ends early") {
  const auto inspection = std::make_shared<FakeInspection>();
  RowStream stream(SharedInspection(inspection), [](Inspection&, const RowStream::Emit& emit) {
    const std::string text(100'000, 'x');
    for (int n = 0; n < 12; ++n) emit(dump(Json{{"n", n}, {"text", text}}));
    return Json();
  });
  CHECK(batch_sizes(stream) == std::vector<std::size_t>{1, 2, 3, 3, 3, 0}); // the last has the end only
}

TEST_CASE("rows: an answer without rows has its end all the same") {
  RowStream stream(SharedInspection(std::make_shared<FakeInspection>()), numbers(0));
  CHECK(*stream.next() == R"({"rows":[],"end":{"count":0}})");
  CHECK(stream.next() == nullptr);
}

TEST_CASE("rows: nothing is made before it is asked for") {
  int last = -1;
  const auto inspection = std::make_shared<FakeInspection>();
  RowStream stream(SharedInspection(inspection), numbers(10, &last));
  CHECK(last == -1);
  CHECK(inspection->questions == 0);
  stream.next();
  CHECK(last == 0);
  stream.next();
  CHECK(last == 2);
}

TEST_CASE("rows: who stops asking lets the producer leave by its own way") {
  int last = -1;
  bool left = false;
  {
    RowStream stream(SharedInspection(std::make_shared<FakeInspection>()), numbers(1000, &last, &left));
    stream.next();
    CHECK_FALSE(left);
  }
  CHECK(left);
  CHECK(last == 0); // it made no further row
}

TEST_CASE("rows: a producer that goes on after it was stopped gets no row through") {
  int refused = 0;
  {
    RowStream stream(SharedInspection(std::make_shared<FakeInspection>()),
                     [&](Inspection&, const RowStream::Emit& emit) {
                       for (int n = 0; n < 4; ++n) refused += emit(dump(Json{{"n", n}})) ? 0 : 1;
                       return Json();
                     });
    stream.next();
  }
  CHECK(refused == 4);
}

TEST_CASE("rows: what the producer throws comes out, and then there are no more") {
  RowStream stream(SharedInspection(std::make_shared<FakeInspection>()),
                   [](Inspection&, const RowStream::Emit& emit) -> Json {
                     emit(dump(Json{{"n", 0}}));
                     throw Error(ErrorKind::corrupt, "a broken list");
                   });
  CHECK(stream.next() != nullptr);
  CHECK_THROWS_WITH(stream.next(), "a broken list");
  CHECK(stream.next() == nullptr);

  // The same when nobody waits for it any more.
  RowStream dropped(SharedInspection(std::make_shared<FakeInspection>()),
                    [](Inspection&, const RowStream::Emit& emit) -> Json {
                      emit(dump(Json{{"n", 0}}));
                      throw Error(ErrorKind::corrupt, "a broken list");
                    });
  CHECK(dropped.next() != nullptr);
}

TEST_CASE("rows: a process that has run in between gives no more") {
  const auto inspection = std::make_shared<FakeInspection>();
  int last = -1;
  RowStream stream(SharedInspection(inspection), numbers(10, &last));
  stream.next();
  inspection->stale = true;
  CHECK_THROWS_AS(stream.next(), Stale);
  CHECK(last == 0);
  inspection->stale = false;
  CHECK(stream.next() == nullptr);
}
