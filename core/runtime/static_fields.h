// The static fields of all loaded types that hold references: names for the places in which they are kept.
#pragma once

#include "core/runtime/runtime.h"

#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

namespace clr {

struct StaticField {
  std::string name;   // "Ns.Type.Field"
  Address slot = 0;   // the word that holds the reference
  bool boxed = false; // the field is a value type, and the reference leads to a box of it
};

class StaticFields {
public:
  // `runtime` must have a target, and outlive this. No reads.
  explicit StaticFields(Runtime& runtime) : runtime_(&runtime) {}

  // Parts that cannot be read are left out. `go_on` is asked for each type: false leaves out the rest, and
  // the next call begins anew. Kept. Cost: that of search_types, and of TypeLayouts::of for each loaded type
  // with static fields.
  const std::vector<StaticField>& all(const std::function<bool()>& go_on = {});
  // The field at this place; null when none is known. Cost: that of all().
  const StaticField* at(Address slot);

  static constexpr std::size_t max_fields = 1 << 20;
  // Bytes of all their names: 128 for each, where 60 are usual. One name can have 16 KB.
  static constexpr std::size_t max_name_bytes = 128u << 20;

private:
  bool is_full() const { return fields_.size() >= max_fields || name_bytes_ >= max_name_bytes; }
  void add_type(Address table, const std::string& text);

  Runtime* runtime_;
  bool whole_ = false;
  std::size_t name_bytes_ = 0;
  std::vector<StaticField> fields_;
  std::unordered_map<Address, std::size_t> by_slot_;
};

} // namespace clr
