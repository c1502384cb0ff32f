// Signature blobs: a cursor over their bytes, and a decoder that gives the parts to a provider of types. No
// reads of its own. Source: ECMA-335 II.23.2; for forms that only the runtime stores, dotnet/runtime
// src/coreclr/inc/corhdr.h and docs/design/coreclr/botr/readytorun-format.md.
#pragma once

#include "core/memory/byte_range.h"

#include <array>
#include <concepts>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace clr {

// The bytes of a blob in one piece: lent when the memory lends them, else a copy.
class BlobBytes {
public:
  explicit BlobBytes(const ByteRange& blob);
  BlobBytes(const BlobBytes&) = delete; // the span may be of its own bytes
  BlobBytes& operator=(const BlobBytes&) = delete;
  std::span<const std::byte> span() const { return span_; }

  static constexpr std::size_t max_size =
      1024 * 1024; // bytes; the longest of the framework are a few hundred

private:
  std::array<std::byte, 64> few_; // nearly every signature fits here
  std::vector<std::byte> many_;
  std::span<const std::byte> span_;
};

// A cursor. Every accessor throws Error{corrupt} past the end. `origin` is the address of the bytes in the
// target, for the message.
class SignatureReader {
public:
  explicit SignatureReader(std::span<const std::byte> bytes, Address origin = 0)
      : bytes_(bytes), origin_(origin) {}

  bool at_end() const { return position_ == bytes_.size(); }
  std::size_t position() const { return position_; }
  std::size_t remaining() const { return bytes_.size() - position_; }
  std::uint8_t peek() const;
  std::uint8_t u8();
  // Compressed integers, ECMA-335 II.23.2.
  std::uint32_t compressed_unsigned();
  std::int32_t compressed_signed();
  // A TypeDefOrRefOrSpec as a token; 0 when the tag names no table.
  std::uint32_t type_token();
  // A pointer of the target, in the form that ELEMENT_TYPE_INTERNAL stores.
  std::uint64_t pointer(unsigned size, ByteOrder order);
  [[noreturn]] void fail(std::string_view what) const;

private:
  std::span<const std::byte> bytes_;
  Address origin_;
  std::size_t position_ = 0;
};

struct ArrayShape {
  std::uint32_t rank = 0;
  std::vector<std::uint32_t> sizes;
  std::vector<std::int32_t> lower_bounds;
};

namespace signature {
constexpr std::uint8_t convention_mask = 0x0f, generic = 0x10, has_this = 0x20, explicit_this = 0x40;
constexpr std::uint8_t vararg = 5, field = 6, local_variables = 7, property = 8, instantiation = 10;
constexpr std::uint32_t max_array_rank = 32;
constexpr unsigned max_depth = 64;
} // namespace signature

template<typename Type>
struct MethodSignature {
  std::uint8_t header = 0;
  std::uint32_t generic_parameters = 0;
  Type return_type{};
  std::vector<Type> parameters;
  std::optional<std::uint32_t> sentinel; // "..." is in front of this parameter of a vararg call site

  bool has_this() const { return (header & signature::has_this) != 0; }
};

// Which dialects of signatures are accepted, and values that the runtime's own dialects need.
struct SignatureOptions {
  bool internal = false;     // ELEMENT_TYPE_INTERNAL, CMOD_INTERNAL: raw TypeHandles in the runtime's memory
  bool ready_to_run = false; // the element types 0x3b..0x3f of ReadyToRun signatures
  unsigned pointer_size = 8; // of the target
  ByteOrder byte_order = ByteOrder::little;
};

// A decoder needs these functions from a provider P, for a value type T = typename P::Type:
//   T primitive(std::uint8_t element_type)
//   T from_token(std::uint32_t token, bool value_type)
//   T instance(T definition, std::vector<T> arguments)
//   T szarray(T), T array(T, ArrayShape), T pointer(T), T byref(T), T pinned(T)
//   T function_pointer(MethodSignature<T>)
//   T variable(std::uint32_t index, bool of_method)
//   T modified(T element, std::uint32_t modifier_token, bool required)
//   T from_handle(std::uint64_t type_handle)                    only with options.internal
//   T modified_by_handle(T element, std::uint64_t type_handle, bool required)
//   T canon(), T native_value_type(T)                           only with options.ready_to_run
//   T generic_parameter(std::uint32_t generic_param_rid)
//   M enter_module(std::uint32_t module_index); void leave_module(M previous)
template<typename Provider>
class SignatureDecoder {
public:
  using Type = typename Provider::Type;

  SignatureDecoder(Provider& provider, SignatureReader& reader, SignatureOptions options = {})
      : provider_(provider), reader_(reader), options_(options) {}

  // A method, property or standalone method signature: header, counts, return type, parameters.
  MethodSignature<Type> method();
  // A type, with its modifiers.
  Type type();
  // The arguments of a MethodSpec (including its leading 0x0a).
  std::vector<Type> method_instantiation();

private:
  // Adds one level of nesting while it lives.
  struct Nesting {
    explicit Nesting(SignatureDecoder& d) : decoder(d) {
      if (++decoder.depth_ > signature::max_depth) decoder.reader_.fail("signature nested too deeply");
    }
    ~Nesting() { --decoder.depth_; }
    SignatureDecoder& decoder;
  };

  std::vector<Type> types(std::uint32_t count);
  // Each element takes at least one byte, so a larger count is wrong.
  std::uint32_t checked_count(std::uint32_t count) {
    if (count > reader_.remaining()) reader_.fail("signature shorter than its count");
    return count;
  }
  ArrayShape array_shape();
  Type ready_to_run_type(std::uint8_t element);

  Provider& provider_;
  SignatureReader& reader_;
  SignatureOptions options_;
  unsigned depth_ = 0;
};

template<typename Provider>
auto SignatureDecoder<Provider>::method() -> MethodSignature<Type> {
  const Nesting nesting(*this);
  MethodSignature<Type> result;
  result.header = reader_.u8();
  const std::uint8_t convention = result.header & signature::convention_mask;
  if (convention == signature::field || convention == signature::local_variables ||
      convention == signature::instantiation)
    reader_.fail("not a method signature");
  if ((result.header & signature::generic) != 0) result.generic_parameters = reader_.compressed_unsigned();
  const std::uint32_t count = checked_count(reader_.compressed_unsigned());
  result.return_type = type();
  result.parameters.reserve(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    constexpr std::uint8_t sentinel = 0x41;
    if (reader_.peek() == sentinel) {
      reader_.u8();
      result.sentinel = i;
    }
    result.parameters.push_back(type());
  }
  return result;
}

template<typename Provider>
auto SignatureDecoder<Provider>::types(std::uint32_t count) -> std::vector<Type> {
  std::vector<Type> result;
  result.reserve(checked_count(count));
  for (std::uint32_t i = 0; i < count; ++i) result.push_back(type());
  return result;
}

template<typename Provider>
auto SignatureDecoder<Provider>::method_instantiation() -> std::vector<Type> {
  if ((reader_.u8() & signature::convention_mask) != signature::instantiation)
    reader_.fail("not a method instantiation");
  return types(reader_.compressed_unsigned());
}

template<typename Provider>
ArrayShape SignatureDecoder<Provider>::array_shape() {
  ArrayShape shape;
  shape.rank = reader_.compressed_unsigned();
  if (shape.rank > signature::max_array_rank) reader_.fail("array of too many dimensions");
  const std::uint32_t sizes = checked_count(reader_.compressed_unsigned());
  for (std::uint32_t i = 0; i < sizes; ++i) shape.sizes.push_back(reader_.compressed_unsigned());
  const std::uint32_t bounds = checked_count(reader_.compressed_unsigned());
  for (std::uint32_t i = 0; i < bounds; ++i) shape.lower_bounds.push_back(reader_.compressed_signed());
  return shape;
}

template<typename Provider>
auto SignatureDecoder<Provider>::type() -> Type {
  const Nesting nesting(*this);
  const std::uint8_t element = reader_.u8();
  switch (element) {
  case 0x0f:
    return provider_.pointer(type());
  case 0x10:
    return provider_.byref(type());
  case 0x11:
  case 0x12: {
    const std::uint32_t token = reader_.type_token();
    return provider_.from_token(token, element == 0x11);
  }
  case 0x13:
    return provider_.variable(reader_.compressed_unsigned(), false);
  case 0x14: {
    Type of = type();
    return provider_.array(std::move(of), array_shape());
  }
  case 0x15: {
    Type definition = type(); // a class or value type token, or an internal handle
    return provider_.instance(std::move(definition), types(reader_.compressed_unsigned()));
  }
  case 0x1b:
    return provider_.function_pointer(method());
  case 0x1d:
    return provider_.szarray(type());
  case 0x1e:
    return provider_.variable(reader_.compressed_unsigned(), true);
  case 0x1f:
  case 0x20: {
    const std::uint32_t token = reader_.type_token();
    return provider_.modified(type(), token, element == 0x1f);
  }
  case 0x45:
    return provider_.pinned(type());
  default:
    break;
  }
  if (options_.internal && element == 0x21)
    return provider_.from_handle(reader_.pointer(options_.pointer_size, options_.byte_order));
  if (options_.internal && element == 0x22) {
    const bool required = reader_.u8() != 0;
    const std::uint64_t handle = reader_.pointer(options_.pointer_size, options_.byte_order);
    return provider_.modified_by_handle(type(), handle, required);
  }
  if (options_.ready_to_run && element >= 0x3b && element <= 0x3f) return ready_to_run_type(element);
  const bool primitive = (element >= 0x01 && element <= 0x0e) || element == 0x16 || element == 0x18 ||
                         element == 0x19 || element == 0x1c;
  if (!primitive) reader_.fail("unknown element type in a signature");
  return provider_.primitive(element);
}

template<typename Provider>
auto SignatureDecoder<Provider>::ready_to_run_type(std::uint8_t element) -> Type {
  switch (element) {
  case 0x3b:
    return provider_.generic_parameter(reader_.compressed_unsigned());
  case 0x3d:
    return provider_.native_value_type(type());
  case 0x3e:
    return provider_.canon();
  case 0x3f: {
    auto previous = provider_.enter_module(reader_.compressed_unsigned());
    Type result = type();
    provider_.leave_module(std::move(previous));
    return result;
  }
  default:
    reader_.fail("unknown element type in a ReadyToRun signature");
  }
}

} // namespace clr
