#include "core/runtime/call_shapes.h"

#include "core/metadata/signature.h"
#include "core/objects/object_reader.h"

#include <fmt/format.h>

#include <algorithm>

namespace clr {
namespace {

constexpr std::uint32_t word_size = 8, words_with_kinds = 2;
// More equal reals are passed as any other structure. [AAPCS64, homogeneous aggregates]
constexpr unsigned max_equal_reals = 4;
constexpr std::uint32_t interface_category = 0x000c'0000;

[[noreturn]] void not_known(std::string text) {
  throw Error(ErrorKind::unsupported_contract, std::move(text));
}

bool is_real(ElementType number) {
  return number == ElementType::r4 || number == ElementType::r8;
}

ArgumentShape reference_shape(bool interior) {
  return {.size = word_size, .references = {{.offset = 0, .interior = interior}}};
}

// Types that the JIT passes in vector registers: not by what their fields are.
bool is_vector(std::string_view name) {
  return name.starts_with("System.Runtime.Intrinsics.Vector") || name.starts_with("System.Numerics.Vector<");
}

} // namespace

MethodCallShapes::MethodCallShapes(Runtime& runtime) : runtime_(&runtime) {}

void MethodCallShapes::add_fields(ArgumentShape& shape, const TypeLayout& layout, std::uint32_t at,
                                  unsigned depth) {
  if (depth > max_part_depth) not_known(fmt::format("{} nests too deeply", layout.text));
  if (!layout.problem.empty()) not_known(fmt::format("{}: {}", layout.text, layout.problem));
  const FieldLayout* only = nullptr;
  std::size_t count = 0;
  for (const FieldLayout& field : layout.fields) {
    if (field.is_static) continue;
    only = &field;
    ++count;
    add_parts(shape, *field.type, at + field.offset, depth + 1);
  }
  // An inline array has the layout of its one field as often as its size tells.
  if (count != 1) return;
  const std::uint32_t size = runtime_->objects()->layouts().size_of(*only->type);
  if (size == 0 || layout.size % size != 0) return;
  for (std::uint32_t next = size; next < layout.size; next += size)
    add_parts(shape, *only->type, at + next, depth + 1);
}

void MethodCallShapes::add_parts(ArgumentShape& shape, const TypeUse& type, std::uint32_t at,
                                 unsigned depth) {
  if (++parts_ > max_parts) not_known(fmt::format("a structure with more than {} fields", max_parts));
  TypeLayouts& layouts = runtime_->objects()->layouts();
  const auto add = [&](std::uint32_t size, bool real) {
    if (size == 0)
      not_known(fmt::format("the size of a field of type {} is not known", format_type(*type.name)));
    if (at % size != 0) shape.memory_only = true;
    if (at / word_size < words_with_kinds && !real) integer_words_ |= 1u << at / word_size;
    if (real && (real_size_ == 0 || real_size_ == size)) {
      real_size_ = size;
      ++reals_;
    } else {
      all_reals_ = false;
    }
  };
  switch (type.kind) {
  case TypeUse::Kind::reference:
  case TypeUse::Kind::array:
  case TypeUse::Kind::byref:
    shape.references.push_back({.offset = at, .interior = type.kind == TypeUse::Kind::byref});
    return add(word_size, false);
  case TypeUse::Kind::pointer:
    return add(word_size, false);
  case TypeUse::Kind::number:
    return add(size_of_number(type.number, word_size), is_real(type.number));
  case TypeUse::Kind::value: {
    const TypeLayout& layout = layouts.of(type.method_table);
    if (layout.kind == TypeLayout::Kind::enumeration || layout.kind == TypeLayout::Kind::number)
      return add(layout.size, layout.kind == TypeLayout::Kind::number && is_real(layout.number));
    if (is_vector(layout.text)) not_known(fmt::format("how {} is passed is not known", layout.text));
    return add_fields(shape, layout, at, depth);
  }
  default:
    not_known(fmt::format("the type {} of a field is not known", format_type(*type.name)));
  }
}

ArgumentShape MethodCallShapes::shape_of(const TypeUse& type) {
  switch (type.kind) {
  case TypeUse::Kind::reference:
  case TypeUse::Kind::array:
    return reference_shape(false);
  case TypeUse::Kind::byref:
    return reference_shape(true);
  case TypeUse::Kind::pointer:
    return {.size = word_size};
  case TypeUse::Kind::number:
    return {.kind = is_real(type.number) ? ArgumentShape::Kind::real : ArgumentShape::Kind::integer,
            .size = word_size};
  case TypeUse::Kind::value:
    break;
  default:
    not_known(fmt::format("the type {} is not known", format_type(*type.name)));
  }
  const TypeLayout& layout = runtime_->objects()->layouts().of(type.method_table);
  if (layout.kind == TypeLayout::Kind::enumeration) return {.size = word_size};
  ArgumentShape shape{.kind = ArgumentShape::Kind::structure, .size = layout.size};
  parts_ = 0;
  real_size_ = 0;
  reals_ = integer_words_ = 0;
  all_reals_ = true;
  add_parts(shape, type, 0, 0);
  for (unsigned i = 0; i < words_with_kinds && i * word_size < shape.size; ++i)
    if ((integer_words_ >> i & 1) == 0 && reals_ != 0) shape.real_words |= 1u << i;
  if (all_reals_ && reals_ >= 1 && reals_ <= max_equal_reals) shape.equal_reals = reals_;
  return shape;
}

// Shared generic code that cannot ask `this` which instantiation it runs.
bool MethodCallShapes::takes_context(const MethodDesc& desc, const MethodTable& owner) const {
  if (desc.classification() == MethodClassification::instantiated) {
    const MethodInstantiation::Kind kind = descs_->instantiation(desc).kind;
    if (kind == MethodInstantiation::Kind::stub) return false;
    if (kind == MethodInstantiation::Kind::shared) return true;
  }
  return owner.generic() == MethodTable::Generic::shared && !desc.is_unboxing_stub() &&
         (desc.is_static() || owner.is_value_type() || owner.category() == interface_category);
}

std::vector<ArgumentShape> MethodCallShapes::read(Address method_desc, bool dispatched) {
  if (runtime_->target()->pointer_size() != word_size) not_known("arguments of 32-bit CPUs are not read");
  if (!descs_) descs_.emplace(*runtime_->target());
  MethodNames& names = *runtime_->names();
  TypeFinder& finder = runtime_->objects()->finder();
  const Method method = names.describe(method_desc);
  const MethodDesc desc = names.method_desc(method_desc);
  const MethodTable& owner = names.types().type(desc.method_table).table;
  const std::vector<Address> class_arguments = names.types().tables().generic_arguments(owner);
  const std::vector<Address> method_arguments = names.method_arguments(method_desc);
  const TypeScope scope{.module = method.runtime_module,
                        .class_arguments = class_arguments,
                        .method_arguments = method_arguments};
  const auto async = descs_->async_data(desc);
  StoredSignature stored;
  if (async && async->signature.address != 0)
    stored = async->signature;
  else if (desc.rid == 0)
    stored = descs_->stored_signature(desc);
  TypeFinder::Signature signature;
  if (stored.address != 0) {
    if (stored.size > MethodDescs::max_signature) throw_corrupt(stored.address, "a signature too long");
    std::vector<std::byte> bytes(stored.size);
    runtime_->target()->read_bytes(stored.address, bytes);
    SignatureReader reader(bytes, stored.address);
    signature = finder.method(reader, scope);
  } else {
    signature = finder.method(desc.rid, scope);
  }

  std::vector<ArgumentShape> shapes;
  const bool of_value = owner.is_value_type();
  if (signature.has_this) {
    // The constructor of a string makes its object itself.
    const bool makes_object = owner.is_string() && method.name.ends_with(".ctor");
    if (!makes_object) shapes.push_back(reference_shape(of_value && !desc.is_unboxing_stub()));
  }
  if (signature.return_type->kind == TypeUse::Kind::value &&
      returned_in_buffer(architecture_of(runtime_->target()->platform().cpu),
                         shape_of(*signature.return_type)))
    shapes.push_back({.size = word_size});
  if (!dispatched && takes_context(desc, owner)) shapes.push_back({.size = word_size});
  if (async && async->variant) shapes.push_back(reference_shape(false)); // what to go on with
  for (const TypeUsePtr& parameter : signature.parameters) shapes.push_back(shape_of(*parameter));
  return shapes;
}

const std::vector<ArgumentShape>& MethodCallShapes::of(Address method_desc, bool dispatched) {
  const std::pair key(method_desc, dispatched);
  if (const auto known = known_.find(key); known != known_.end()) return known->second;
  std::vector<ArgumentShape> shapes = read(method_desc, dispatched);
  if (known_.size() >= max_kept_calls) known_.clear();
  return known_.emplace(key, std::move(shapes)).first->second;
}

} // namespace clr
