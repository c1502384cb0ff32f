// Static fields by their names: those of every loaded type, also of types that no variable has.
#pragma once

#include "core/objects/inspected_object.h"
#include "core/objects/type_layout.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace clr {

// A thread of the runtime, whose own static fields are shown.
struct StaticsThread {
  std::uint64_t os_id = 0;
  Address address = 0; // of the runtime's Thread
};

struct StaticRow {
  std::string name;     // "Ns.Outer<int>.Inner.Field", the field as in metadata
  std::string property; // the whole name that the source has for it, where that is another; else empty
  Address module = 0, method_table = 0;
  std::uint32_t token = 0; // Field
  // The thread of a [ThreadStatic] field, which has a row for each thread that used it.
  std::optional<std::uint64_t> os_id;
  std::optional<Address> address; // nothing: the statics of the type do not exist yet, see value.fault
  InspectedValue value;
  std::vector<InspectedField> fields; // of a structure
};

struct StaticSearch {
  // Whether a field is wanted: called with its whole name, and with that of its type for all of its fields.
  std::function<bool(const std::string& name)> accepts;
  std::vector<StaticsThread> threads;
  InspectionLimits limits;
};

// Calls `visit` for each static field that is wanted, until it returns false. Constants have no storage and
// are left out, as is the initial data that compilers keep in the image. Returns what could not be read.
// Never throws for target data. Cost: the metadata of every module once; some 10 reads for a field.
std::vector<std::string> for_each_static(ObjectReader& objects, const StaticSearch& search,
                                         const std::function<bool(const StaticRow&)>& visit);

} // namespace clr
