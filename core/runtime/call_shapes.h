// What the methods take, as the calling convention and the collector see it: made from signatures and the
// layouts of types.
#pragma once

#include "core/objects/type_layout.h"
#include "core/runtime/runtime.h"
#include "core/stack/frame_references.h"
#include "core/types/method_desc.h"

#include <map>
#include <utility>

namespace clr {

class MethodCallShapes final : public CallShapes {
public:
  // `runtime` must have a target and outlive this. No reads.
  explicit MethodCallShapes(Runtime& runtime);

  // Kept for the stop. Cost cold: that of the method's name, its signature, and the layouts of the structures
  // among its parameters.
  const std::vector<ArgumentShape>& of(Address method_desc, bool dispatched) override;

  // Methods that are kept, fields of one structure with those of its own structures, and structures in
  // structures.
  static constexpr std::size_t max_kept_calls = 10'000, max_parts = 10'000;
  static constexpr unsigned max_part_depth = 64;

private:
  std::vector<ArgumentShape> read(Address method_desc, bool dispatched);
  bool takes_context(const MethodDesc& desc, const MethodTable& owner) const;
  ArgumentShape shape_of(const TypeUse& type);
  void add_parts(ArgumentShape& shape, const TypeUse& type, std::uint32_t at, unsigned depth);
  void add_fields(ArgumentShape& shape, const TypeLayout& layout, std::uint32_t at, unsigned depth);

  Runtime* runtime_;
  std::optional<MethodDescs> descs_; // with the first method
  std::map<std::pair<Address, bool>, std::vector<ArgumentShape>> known_;
  // Of the structure that is read.
  std::size_t parts_ = 0;
  std::uint32_t real_size_ = 0; // of its real numbers, when all have one size
  bool all_reals_ = true;
  unsigned reals_ = 0, integer_words_ = 0;
};

} // namespace clr
