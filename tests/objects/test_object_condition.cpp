#include "core/memory/counting_reader.h"
#include "core/objects/object_condition.h"
#include "tests/objects/object_runtime.h"
#include "tests/support/faults.h"

#include <catch2/catch.hpp>

using namespace clr;
using namespace clr::test;

namespace {

// A dog named Ada with a friend named Rex, who has no friend, at (7, -8), with scores 5 and 6.
struct Kennel {
  explicit Kennel(const Platform& platform) : r(platform), view(r) {
    const unsigned p = r.runtime.pointer();
    friend_ = r.instance(r.dog_type, 3 * p + 16);
    r.memory.at(r.fields_of(friend_)).pointer(r.string(u"Rex")).pointer(Address{0}).pointer(Address{0});
    const Address items = r.array(r.ints_type, 4, 16);
    r.memory.at(r.elements_of(items)).u32(5).u32(6);
    const Address scores = r.instance(r.list_of_int, p + 4);
    r.memory.at(r.fields_of(scores)).pointer(items).u32(2);
    dog = r.instance(r.dog_type, 3 * p + 16);
    r.memory.at(r.fields_of(dog))
        .pointer(r.string(u"Ada"))
        .pointer(friend_)
        .pointer(scores)
        .u32(7)
        .u32(0xffff'fff8)
        .u64(0x489f'7ff5'f7b5'8000);
  }
  // '1', '0', or '?' where nothing can be said.
  char holds(std::string_view condition) {
    why.clear();
    const std::optional<bool> found = ObjectCondition(condition).holds(view.objects, dog, why);
    CHECK(found.has_value() == why.empty());
    return !found ? '?' : *found ? '1' : '0';
  }

  ObjectRuntime r;
  ObjectView view;
  Address friend_ = 0, dog = 0;
  std::string why;
};

} // namespace

TEST_CASE("a condition on a field of an object", "[objects]") {
  for (const Platform& platform : all_platforms()) {
    DYNAMIC_SECTION(to_string(platform)) {
      Kennel k(platform);
      const std::pair<const char*, char> cases[] = {// numbers, as numbers
                                                    {"Place.X=7", '1'},
                                                    {"Place.X==7", '1'},
                                                    {"Place.X = 7", '1'},
                                                    {"Place.X=8", '0'},
                                                    {"Place.X!=8", '1'},
                                                    {"Place.X!=7", '0'},
                                                    {"Place.X<8", '1'},
                                                    {"Place.X<7", '0'},
                                                    {"Place.X<=7", '1'},
                                                    {"Place.X>=7", '1'},
                                                    {"Place.X>7", '0'},
                                                    {"Place.X>6", '1'},
                                                    {"Place.X<6.5", '0'},
                                                    {"Place.X>6.5", '1'},
                                                    {"Place.X=7.0", '1'},
                                                    {"Place.X=0x7", '1'},
                                                    {"Place.X<10", '1'},
                                                    {"Place.Y=-8", '1'},
                                                    {"Place.Y<-7", '1'},
                                                    {"Place.Y>-9", '1'},
                                                    {"Place.Y<18446744073709551615", '1'},
                                                    {"Place.X>-9223372036854775808", '1'},
                                                    {"Place.X<1e300", '1'},
                                                    {"Scores[1]=6", '1'},
                                                    {"Scores[1]<6", '0'},
                                                    {"<Place>k__BackingField.X=7", '1'},
                                                    // texts, by their bytes
                                                    {"Name=Ada", '1'},
                                                    {"Name=\"Ada\"", '1'},
                                                    {"Name='Ada'", '1'},
                                                    {"Name=Ad", '0'},
                                                    {"Name=Adam", '0'},
                                                    {"Name!=Rex", '1'},
                                                    {"Name<Adb", '1'},
                                                    {"Name>Ad", '1'},
                                                    {"Name=", '0'},
                                                    {"Name!=", '1'},
                                                    {"Friend.Name=Rex", '1'},
                                                    {"Name=null", '0'},
                                                    {"Name!=null", '1'},
                                                    {"Name='null'", '0'},
                                                    // references
                                                    {"Friend=null", '0'},
                                                    {"Friend!=null", '1'},
                                                    {"Friend.Friend=null", '1'},
                                                    {"Friend.Friend!=null", '0'},
                                                    {"Friend.Friend=0x10", '0'},
                                                    {"Friend.Friend!=Ada", '1'},
                                                    {"Friend.Friend<Ada", '0'},
                                                    {"Friend=0x10", '0'},
                                                    // what has a text of its own
                                                    {"Born=x", '0'},
                                                    {"Born!=x", '1'},
                                                    {"Born=1970-01-01", '1'},
                                                    {"Born=1970-01-01T00:00", '1'},
                                                    {"Born=1970-01-01 00:00:00 UTC", '1'},
                                                    {"Born=1970-01-0", '0'},
                                                    {"Born=1970-01-02", '0'},
                                                    {"Born<1970-01-02", '1'},
                                                    {"Born>=1970-01-01", '1'},
                                                    {"Born>1969-12-31T23:59", '1'},
                                                    {"Name=1970-01-01", '0'},
                                                    // nothing to compare with
                                                    {"Nothing=1", '?'},
                                                    {"Friend.Friend.Name=Rex", '?'},
                                                    {"Scores[2]=1", '?'},
                                                    {"Place.X=Ada", '?'},
                                                    {"Place.X='7'", '?'},
                                                    {"Place.X=null", '?'},
                                                    {"Friend=Rex", '?'},
                                                    {"Friend<Rex", '?'},
                                                    {"Place.X=", '?'}};
      for (const auto& [condition, expected] : cases) {
        CAPTURE(condition);
        CHECK(k.holds(condition) == expected);
      }
      CHECK(k.holds("Place.X=Ada") == '?');
      CHECK(k.why == "Place.X is a number, and 'Ada' is none");
      CHECK(k.holds("Friend=Rex") == '?');
      CHECK(k.why == "Friend holds a Ns.Dog, which is compared with null or an address only");
    }
  }
}

TEST_CASE("a text that is no condition is refused", "[objects]") {
  for (const char* const text : {"", "Id", "=4", "Id 4", "!Id", "[\"a=b\"]", "<Id=3>k"}) {
    CAPTURE(text);
    CHECK_THROWS_WITH(ObjectCondition(text), Catch::Contains("is no condition: it takes a field, one of"));
  }
}

TEST_CASE("a condition on memory that is missing says so, and holds nowhere", "[objects]") {
  Kennel k(Platform{});
  std::string why;
  CHECK_FALSE(ObjectCondition("Name=Ada").holds(k.view.objects, 0xdead'0000, why));
  CHECK(why.find("0xdead0000") != std::string::npos);
}

TEST_CASE("of a text no more is read than tells its order", "[objects]") {
  Kennel k(Platform{});
  const std::u16string long_name = u"Ad\u00e4" + std::u16string(60'000, u'x');
  k.r.memory.at(k.r.fields_of(k.dog)).pointer(k.r.string(long_name));
  CountingReader reads(k.r.memory);
  ObjectView view(k.r, reads);
  std::string why;
  const auto holds = [&](std::string_view condition) {
    return ObjectCondition(condition).holds(view.objects, k.dog, why).value();
  };
  CHECK(holds("Name!=Ada"));
  reads.reset();
  CHECK(holds("Name>Ada"));
  CHECK(holds("Name>Ad\xc3\xa4"));
  CHECK(holds("Name>Ad\xc3\xa4xxx"));
  CHECK(holds("Name<Ad\xc3\xa4y"));
  CHECK(holds("Name>Ad"));
  CHECK(holds("Name!="));
  CHECK(holds("Name!=Ad\xc3\xa4"));
  CHECK_FALSE(holds("Name=Ad\xc3\xa4"));
  CHECK(reads.bytes() < 1'000);
  // A pair of surrogates that is cut is behind what is compared.
  k.r.memory.at(k.r.fields_of(k.dog)).pointer(k.r.string(u"Ada\U0001f600"));
  CHECK(holds("Name>Ada"));
  CHECK(holds("Name!=Ada"));
  CHECK(holds("Name=Ada\xf0\x9f\x98\x80"));
}

TEST_CASE("a path that leads nowhere is followed once for each type", "[objects]") {
  Kennel k(Platform{});
  CountingReader reads(k.r.memory);
  ObjectView view(k.r, reads);
  std::string first, second;
  for (const char* const text : {"Nothing=1", "Nothing.Name=Rex"}) {
    CAPTURE(text);
    ObjectCondition condition(text);
    CHECK_FALSE(condition.holds(view.objects, k.dog, first));
    CHECK(first.find("has no field Nothing, and no property") != std::string::npos);
    reads.reset();
    CHECK_FALSE(condition.holds(view.objects, k.friend_, second));
    CHECK(second == first);
    CHECK(reads.reads() == 1); // the type of the object
  }
  // Behind its first step a path leads elsewhere for each object.
  ObjectCondition name("Friend.Name=Rex");
  CHECK_FALSE(name.holds(view.objects, k.friend_, first));
  CHECK(name.holds(view.objects, k.dog, first) == true);
}
