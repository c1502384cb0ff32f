// Tables of ReadyToRun images that no compiler makes: entries that share their bytes.
#include "core/types/r2r_methods.h"

#include "tests/support/metadata_builder.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <optional>

using namespace clr;
using namespace clr::test;

namespace {

constexpr std::uint32_t header_rva = 0x10, functions_rva = 0x8000, table_rva = 0x100;

// An image with a header, a table of runtime functions that only has a size, and one more section.
struct Image {
  Image(std::uint32_t functions, R2RSection kind, const Bytes& section) : laid_out(header_rva) {
    append_u32(laid_out, 0x0052'5452);
    append_u16(laid_out, 9);
    append_u16(laid_out, 0);
    append_u32(laid_out, 0);
    append_u32(laid_out, 2);
    for (const std::uint32_t word :
         {static_cast<std::uint32_t>(R2RSection::runtime_functions), functions_rva, functions * 8,
          static_cast<std::uint32_t>(kind), table_rva, static_cast<std::uint32_t>(section.size())})
      append_u32(laid_out, word);
    laid_out.resize(table_rva);
    append(laid_out, section);
    memory.emplace(laid_out);
    bytes.emplace(*memory, 0);
    metadata_bytes = MetadataBuilder().build();
    metadata_memory.emplace(metadata_bytes);
    metadata.emplace(ByteRange(*metadata_memory, 0, metadata_bytes.size()));
    names.emplace(*metadata);
    methods.emplace(*bytes, header_rva, &*names, nullptr);
  }

  Bytes laid_out, metadata_bytes;
  std::optional<HostMemory> memory, metadata_memory;
  std::optional<MappedR2RImage> bytes;
  std::optional<Metadata> metadata;
  std::optional<MetadataNames> names;
  std::optional<R2RMethods> methods;
};

// A NativeArray of `count` elements in blocks of 16, which are all one block: each element is function 0.
Bytes shared_block(std::uint32_t count) {
  Bytes array = bytes_of({0x0f}); // a native integer of five bytes
  append_u32(array, count << 2);  // with an index of one byte for each block
  const std::uint32_t blocks = (count + 15) / 16;
  const std::size_t start = array.size();
  const std::uint32_t at = std::min(blocks, 200u);
  array.insert(array.end(), blocks, static_cast<std::byte>(at));
  const Bytes block = bytes_of({0x0e, 0x0e, 0x0e, 0x0e, 0}); // nodes with both branches; the number
  array.resize(std::max(array.size(), start + at + block.size()));
  std::ranges::copy(block, array.begin() + static_cast<std::ptrdiff_t>(start + at));
  return array;
}

// A NativeHashtable of one bucket, whose entries are all one method with type arguments.
Bytes shared_signature(unsigned entries, std::uint32_t arguments) {
  constexpr std::uint32_t entry_size = 6, first = 5;
  Bytes table = bytes_of({0x01}); // an index of two bytes for each bucket
  append_u16(table, first - 1);
  append_u16(table, first - 1 + entries * entry_size);
  for (unsigned i = 0; i < entries; ++i) {
    append(table, bytes_of({0x77, 0x0f})); // a hash, and a native integer of five bytes
    append_u32(table, (entries - i) * entry_size - 1);
  }
  append(table, bytes_of({0x04, 1}));
  append_compressed(table, arguments);
  table.insert(table.end(), arguments, std::byte{0x08});
  table.push_back(std::byte{0}); // function 0
  return table;
}

} // namespace

TEST_CASE("no image has more methods than functions") {
  Image image(50, R2RSection::method_def_entry_points, shared_block(1'600));
  CHECK(image.methods->entries().size() == 1);
  CHECK(image.methods->damaged() == 1'550);
}

TEST_CASE("a table of more methods than any program has is not read") {
  Image image(50, R2RSection::method_def_entry_points, shared_block(R2RMethods::max_methods + 1));
  CHECK(image.methods->entries().empty());
  CHECK(image.methods->damaged() == 1);
}

TEST_CASE("instances that share one long signature end the table") {
  constexpr std::uint32_t arguments = 1'000;
  Image few(50, R2RSection::instance_entry_points, shared_signature(3, arguments));
  CHECK(few.methods->entries().size() == 1);
  CHECK(few.methods->damaged() == 0);
  Image many(50, R2RSection::instance_entry_points, shared_signature(500, arguments));
  CHECK(many.methods->entries().size() == 1);
  CHECK(many.methods->damaged() == 1);
  // One more argument than a method may have.
  Image wide(50, R2RSection::instance_entry_points,
             shared_signature(1, R2RSignatures::max_method_arguments + 1));
  CHECK(wide.methods->entries().empty());
  CHECK(wide.methods->damaged() == 1);
}

TEST_CASE("all type arguments of an instance share the room of one signature") {
  MetadataBuilder builder;
  builder.type("Ns", "Wide");
  builder.method("Run", bytes_of({0x10, 1, 0, 1}));
  constexpr std::uint32_t wide = 40'000; // bytes of a TypeSpec
  Bytes spec = bytes_of({0x15, 0x12, 2u << 2});
  append_compressed(spec, wide);
  spec.insert(spec.end(), wide, std::byte{0x08});
  builder.add(MetadataTable::type_spec, {builder.blob(spec)});
  const Bytes bytes = builder.build();
  HostMemory memory(bytes);
  const Metadata metadata(ByteRange(memory, 0, bytes.size()));
  MetadataNames names(metadata);
  MappedR2RImage image(memory, 0);
  const R2RHeader header;
  R2RSignatures signatures(image, header, &names, nullptr);
  const auto arguments = [&](unsigned count) {
    Bytes signature = bytes_of({0x04, 1, count});
    for (unsigned i = 0; i < count; ++i) append(signature, bytes_of({0x12, 1u << 2 | 2}));
    SignatureReader reader(signature);
    return signatures.method(reader, &names).method_arguments.size();
  };
  CHECK(arguments(1) == 1);
  CHECK_THROWS_AS(arguments(2), Error);
  CHECK(arguments(1) == 1);
}
