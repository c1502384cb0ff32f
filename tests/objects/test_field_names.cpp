#include "core/objects/field_names.h"

using namespace clr;

TEST_CASE("the property behind a field of a compiler's", "[objects]") {
  CHECK(property_of("<Place>k__BackingField") == "Place");
  CHECK(property_of("<Name>i__Field") == "Name");
  CHECK(property_of("Name@") == "Name"); // F#
  CHECK(property_of("tree@690").empty());
  CHECK(property_of("<number>5__2").empty());
  CHECK(property_of("<>4__this").empty());
  CHECK(property_of("plain").empty());
  CHECK(property_of("<").empty());
  CHECK(property_of("@").empty());
  CHECK(property_of("").empty());
}

TEST_CASE("the name of a field as somebody wrote it", "[objects]") {
  CHECK(source_name_of_field("<Count>k__BackingField") == "Count");
  CHECK(source_name_of_field("<>k__BackingField") == "<>k__BackingField");
  CHECK(source_name_of_field("Age@") == "Age");
  CHECK(source_name_of_field("count") == "count");
  CHECK(written_name("<i>5__2") == "i");
  CHECK(written_name("<>1__state") == "<>1__state");
  CHECK(written_name("Age@") == "Age");
}
