#include "core/objects/field_names.h"

using namespace clr;

TEST_CASE("the property behind a field of a compiler's", "[objects]") {
  CHECK(property_of("<Place>k__BackingField") == "Place");
  CHECK(property_of("<Name>i__Field") == "Name");
  CHECK(property_of("Name@") == "Name"); // F#
  CHECK(property_of("$Name") == "Name"); // VB's anonymous types
  CHECK(property_of("$VB$Local_x").empty());
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

TEST_CASE("types that have no name in the source", "[objects]") {
  CHECK(is_anonymous("<>f__AnonymousType0<int, string>"));
  CHECK(is_anonymous("VB$AnonymousType_0<int>"));
  CHECK_FALSE(is_anonymous("Ns.AnonymousType"));
}

TEST_CASE("the whole name of a static field as somebody wrote it", "[objects]") {
  CHECK(source_name_of_static("Ns.Type", "<Place>k__BackingField") == "Ns.Type.Place");
  CHECK(source_name_of_static("<StartupCode$app>.$Ns.Module", "value@39") == "Ns.Module.value");
  CHECK(source_name_of_static("<StartupCode$app>.$Ns.Module", "ty@568-1").empty());
  CHECK(source_name_of_static("<StartupCode$app>.$Ns.Module", "init").empty());
  CHECK(source_name_of_static("Ns.Type", "value@39").empty());
  CHECK(source_name_of_static("Ns.Type", "plain").empty());
}
