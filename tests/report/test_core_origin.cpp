// What a minimal core says that it was made from.
#include "core/report/core_origin.h"
#include "tests/support/elf_core_builder.h"

#include <catch2/catch.hpp>

using namespace clr;
using namespace clr::test;

namespace {

std::string said(const std::vector<CoreNote>& notes) {
  ElfCoreBuilder builder({8, ByteOrder::little, Cpu::x64, Os::unix_like});
  builder.process(17, "app", "app one");
  for (const CoreNote& note : notes) builder.note(note.owner, note.type, note.description);
  return origin_of(ElfCore(builder.build()));
}

} // namespace

TEST_CASE("a core says what it was made from") {
  CHECK(said({origin_note("made by clr savecore of process 17")}) == "made by clr savecore of process 17");
  CHECK(said({}).empty());
  CoreNote other = origin_note("made by hand");
  other.owner = "CORE";
  CHECK(said({other}).empty());
  CHECK(said({other, origin_note("second")}) == "second");
}

TEST_CASE("what a core says of itself has a limit") {
  const std::string text(max_core_origin + 1, 'x');
  CHECK(origin_note(text).description.size() == max_core_origin);
  CoreNote longer = origin_note("");
  longer.description.assign(text.size(), std::byte{'y'});
  CHECK(said({longer}) == std::string(max_core_origin, 'y'));
}
