#include "tests/objects/union_types.h"

#include "tests/support/metadata_builder.h"

#include <string_view>

namespace clr::test {
namespace {

class UnionMetadata {
public:
  UnionMetadata() {
    metadata_.assembly("shapes");
    const std::uint32_t core = metadata_.assembly_ref("FSharp.Core");
    mapping_ = metadata_.type_ref("Microsoft.FSharp.Core", "CompilationMappingAttribute", core);
    metadata_.add(MetadataTable::member_ref, {mapping_ << 3 | 1, metadata_.string(".ctor"),
                                              metadata_.blob(bytes_of({0x20, 1, 0x01, 0x08}))});
  }

  // A union, and a type within one. The fields and methods that are added next are its own.
  std::uint32_t sum_type(std::string_view name) {
    const std::uint32_t rid = begins_here(metadata_.type("Ns", name));
    constexpr unsigned sum = 1; // SourceConstructFlags
    metadata_.add(MetadataTable::custom_attribute,
                  {rid << 5 | 3, 1u << 3 | 3, metadata_.blob(bytes_of({1, 0, sum, 0, 0, 0, 0, 0}))});
    return rid;
  }
  std::uint32_t nested(std::string_view name, std::uint32_t owner) {
    return begins_here(metadata_.nested(name, owner));
  }
  std::uint32_t field(std::string_view name) {
    return metadata_.add(MetadataTable::field,
                         {0, metadata_.string(name), metadata_.blob(bytes_of({0x06, 0x08}))});
  }
  // The function that makes a case.
  void maker(std::string_view name, std::initializer_list<std::string_view> parameters) {
    metadata_.method(name, bytes_of({0x00, 0, 0x01}));
    std::uint32_t sequence = 0;
    for (const std::string_view parameter : parameters)
      metadata_.add(MetadataTable::param, {0, ++sequence, metadata_.string(parameter)});
  }
  Bytes build() const { return metadata_.build(); }

private:
  std::uint32_t begins_here(std::uint32_t type) {
    metadata_.set(MetadataTable::type_def, type, 4, metadata_.rows(MetadataTable::field) + 1);
    return type;
  }

  MetadataBuilder metadata_;
  std::uint32_t mapping_ = 0;
};

} // namespace

UnionTypes::UnionTypes(ObjectRuntime& runtime) : r_(&runtime) {
  constexpr std::uint32_t value_category = 0x0004'0000, word = 4;
  UnionMetadata metadata;
  const std::uint32_t shape_row = metadata.sum_type("Shape"), tag = metadata.field("_tag");
  metadata.maker("NewCircle", {"radius"});
  metadata.maker("NewRect", {"width", "height"});
  metadata.maker("get_Empty", {});
  metadata.nested("Tags", shape_row);
  for (const char* const name : {"Circle", "Rect", "Empty"}) metadata.field(name);
  const std::uint32_t circle_row = metadata.nested("Circle", shape_row), radius = metadata.field("_radius");
  const std::uint32_t rect_row = metadata.nested("Rect", shape_row), width = metadata.field("_width"),
                      height = metadata.field("_height");
  const std::uint32_t empty_row = metadata.nested("_Empty", shape_row);
  const std::uint32_t reply_row = metadata.sum_type("Reply"), reply_tag = metadata.field("_tag"),
                      value = metadata.field("_value"), item = metadata.field("item1");
  metadata.maker("NewGood", {"value"});
  metadata.maker("NewBad", {"item1"});
  metadata.nested("Tags", reply_row);
  for (const char* const name : {"Good", "Bad"}) metadata.field(name);

  const Address module =
      r_->runtime.module({.path = "/srv/shapes.dll", .simple_name = "shapes", .metadata = metadata.build()});
  shape = r_->runtime.type({.module = module, .rid = shape_row});
  r_->shape(shape, word, 0, {{tag, 0, 0x08}});
  r_->runtime.target.set(shape, "MethodTable", "ParentMethodTable", r_->object_type);
  const auto case_type = [&](std::uint32_t row, const std::vector<std::uint32_t>& fields) {
    const Address type = r_->runtime.type({.module = module, .rid = row});
    std::vector<ObjectRuntime::Field> own;
    for (const std::uint32_t field : fields)
      own.push_back({field, static_cast<std::uint32_t>(own.size() + 1) * word, 0x08});
    r_->shape(type, word * static_cast<std::uint32_t>(fields.size() + 1), 1, own);
    r_->runtime.target.set(type, "MethodTable", "ParentMethodTable", shape);
    return type;
  };
  circle = case_type(circle_row, {radius});
  rect = case_type(rect_row, {width, height});
  empty = case_type(empty_row, {});
  reply = r_->runtime.type({.module = module, .rid = reply_row, .category = value_category});
  r_->shape(reply, 3 * word, 0, {{reply_tag, 0, 0x08}, {value, word, 0x08}, {item, 2 * word, 0x08}});
  r_->map_types(
      module,
      {{shape_row, shape}, {circle_row, circle}, {rect_row, rect}, {empty_row, empty}, {reply_row, reply}});
}

Address UnionTypes::make(Address type, std::uint32_t tag, std::initializer_list<std::uint32_t> fields) {
  constexpr std::size_t largest = 16;
  const Address object = r_->instance(type, largest);
  MemoryCursor at = r_->memory.at(r_->fields_of(object));
  at.u32(tag);
  for (const std::uint32_t field : fields) at.u32(field);
  return object;
}

std::vector<Address> union_samples(UnionTypes& types) {
  return {types.make(types.circle, 0, {5}), types.make(types.rect, 1, {2, 3}), types.make(types.empty, 2, {}),
          types.make(types.reply, 0, {7, 0}), types.make(types.reply, 1, {0, 9})};
}

} // namespace clr::test
