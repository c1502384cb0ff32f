// A descriptor with all types, globals and contracts of .NET 11, and offsets that no runtime has: the fields
// of each type stand in an order of the test's choice.
#pragma once

#include "tests/support/target_builder.h"

#include <string>
#include <vector>

namespace clr::test {

struct Net11Options {
  unsigned seed = 1; // of the order of fields
  bool interpreter = false;
};

// Adds them to `builder`, whose platform says which CPU. `file`: tests/target/data/net11-frozen.json. Globals
// of type pointer are left to the test; identifiers of Frames are numbered from 100 in the order of their
// names.
void add_net11(TargetBuilder& builder, const std::string& file, const Net11Options& options = {});

// Gives the fields of `type` each other's places, in an order that `seed` chooses; 0 leaves them. They must
// be of one width, and no record of the type written yet.
void shuffle_fields(TargetBuilder& builder, const std::string& type, const std::vector<std::string>& fields,
                    unsigned seed);

} // namespace clr::test
