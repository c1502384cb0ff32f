#include "core/memory/byte_room.h"

#include <catch2/catch.hpp>

using namespace clr;

TEST_CASE("Room for bytes: what is kept and what is made in vain have a limit each") {
  ByteRoom room(100);
  CHECK(room.has(100));
  CHECK_FALSE(room.has(101));
  room.keep(60);
  CHECK(room.left() == 40);
  room.waste(100 * ByteRoom::max_wasted - 30);
  CHECK(room.left() == 30);
  room.begin(50);
  CHECK(room.left() == 50);
}

TEST_CASE("Room for bytes: several kinds that keep to their limits keep to that of all of them together") {
  const auto whole = std::make_shared<ByteRoom>(150);
  ByteRoom files(100, whole);
  files.keep(90);
  {
    ByteRoom pdbs(100);
    pdbs.share(whole);
    CHECK(pdbs.left() == 60);
    pdbs.keep(60);
    CHECK(files.left() == 0);
    CHECK_FALSE(files.has(1));
    pdbs.begin(100); // nothing is kept any more
    CHECK(files.left() == 10);
    pdbs.waste(100 * ByteRoom::max_wasted); // takes no room of others
    CHECK(pdbs.left() == 0);
    CHECK(files.left() == 10);
    pdbs.keep(50);
    CHECK(files.left() == 10);
    CHECK(whole->left() == 10);
  }
  CHECK(whole->left() == 60);
}
