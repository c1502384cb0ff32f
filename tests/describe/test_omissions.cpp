#include "core/describe/omissions.h"

#include <catch2/catch.hpp>

using namespace clr;

namespace {

Omission omission(OmittedPart part, OmissionCause cause, std::string of, std::string_view reading = {}) {
  return {.part = part, .cause = cause, .of = std::move(of), .reading = reading, .text = "text"};
}

} // namespace

TEST_CASE("omissions: grouped by part, cause and what was read; examples are bounded, all are counted") {
  Omissions missing;
  CHECK(missing.empty());
  CHECK(missing.sentences().empty());
  for (unsigned i = 0; i < 100; ++i)
    missing.add(OmittedPart::variables, "Ns.Type.Run" + std::to_string(i), "the signature",
                Error(ErrorKind::memory_missing, 0x1000 + i, "memory at " + std::to_string(i)));
  missing.add(OmittedPart::variables, "Ns.Type.Run", "the signature", Error(ErrorKind::corrupt, "bad"));
  missing.add(omission(OmittedPart::members, OmissionCause::no_place, "Ns.Union"));
  REQUIRE(missing.groups().size() == 3);
  const Omissions::Group& first = missing.groups()[0];
  CHECK(first.count == 100);
  REQUIRE(first.examples.size() == Omissions::max_examples);
  CHECK(first.examples[3].of == "Ns.Type.Run3");
  CHECK(first.examples[3].text == "memory at 3");
  CHECK(missing.count() == 102);
  CHECK(missing.sentences() ==
        std::vector<std::string>{"102 variables and types are not described: memory is missing while reading "
                                 "the signature (100), the data are corrupt while reading the signature (1), "
                                 "fields overlap others (1)"});
}

TEST_CASE("omissions: ranges of code have a sentence of their own") {
  Omissions missing;
  missing.add(omission(OmittedPart::range, OmissionCause::not_ours, "stubs at 0x1000"));
  CHECK(missing.sentences() ==
        std::vector<std::string>{"1 range of code is not published: it reaches into a native module (1)"});
  Omissions all;
  all.add(omission(OmittedPart::type, OmissionCause::limit, "Ns.T"));
  all.add(missing);
  all.add(missing);
  CHECK(all.sentences() ==
        std::vector<std::string>{"1 variable or type is not described: a limit is exceeded (1)",
                                 "2 ranges of code are not published: it reaches into a native module (2)"});
  for (unsigned i = 0; i < 10; ++i) all.add(missing);
  CHECK(all.groups()[1].count == 12);
  CHECK(all.groups()[1].examples.size() == Omissions::max_examples);
}

TEST_CASE("omissions: long texts are cut between characters") {
  Omissions missing;
  std::string name(Omissions::max_text - 1, 'a');
  name += "\xC3\xA4\xC3\xA4"; // the limit is inside of the first
  missing.add(omission(OmittedPart::type, OmissionCause::corrupt, name));
  CHECK(missing.groups()[0].examples[0].of == std::string(Omissions::max_text - 1, 'a') + "...");
}
