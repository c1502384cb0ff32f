// A pool of TypeNames that are made of others (arrays, instances, pointers), each of them once. The
// signatures of tens of thousands of methods consist of few types, and touching new memory is what costs
// most.
#pragma once

#include "core/types/name_format.h"

#include <vector>

namespace clr {

// The parts of such a type; the members are those of TypeName.
struct TypeParts {
  TypeShape shape = TypeShape::unknown;
  TypeNamePtr element;
  std::vector<TypeNamePtr> arguments = {};
  std::uint32_t index = 0;
  bool method_variable = false;
  SharedText name = {};
  bool required = false;
};

class TypePool {
public:
  // The type that was made before from the same parts (the same nodes, not merely equal ones), else a new
  // one. When max_types are kept already, every further type is new, and one whose hash is that of max_probes
  // others. No reads.
  TypeNamePtr make(TypeParts parts);

  std::size_t size() const { return count_; } // types that are kept

  static constexpr std::size_t max_types = 100'000;
  // Places in the table where a type is looked for. Two or three are usual, some fifty may be.
  static constexpr std::size_t max_probes = 256;

private:
  // Types by the hash of their parts, which is kept: making it again would touch each type.
  struct Slot {
    std::size_t hash = 0;
    TypeNamePtr type; // null: an empty slot
  };
  // False: there is no place for it, and it is not kept.
  bool insert(Slot slot);
  void grow();

  std::vector<Slot> slots_; // open addressing; the size is a power of two
  std::size_t count_ = 0;
};

} // namespace clr
