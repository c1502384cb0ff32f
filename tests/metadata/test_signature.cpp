#include "core/metadata/signature.h"
#include "tests/support/metadata_builder.h"

#include <catch2/catch.hpp>
#include <fmt/format.h>
#include <string>

using namespace clr;
using namespace clr::test;

namespace {

// Types as text, so that a test can compare a whole tree.
struct TextProvider {
  using Type = std::string;
  std::uint32_t module = 0;

  static std::string join(const std::vector<std::string>& parts) {
    std::string text;
    for (const std::string& part : parts) text += (text.empty() ? "" : ",") + part;
    return text;
  }
  Type primitive(std::uint8_t element) { return fmt::format("{:02x}", element); }
  Type from_token(std::uint32_t token, bool value_type) {
    return fmt::format("{}{:08x}{}", value_type ? "v" : "c", token,
                       module != 0 ? fmt::format("@{}", module) : "");
  }
  Type instance(Type definition, std::vector<Type> arguments) {
    return definition + "<" + join(arguments) + ">";
  }
  Type szarray(Type element) { return element + "[]"; }
  Type array(Type element, ArrayShape shape) {
    std::string text = fmt::format("{}[{}", element, shape.rank);
    for (const std::uint32_t size : shape.sizes) text += fmt::format(" s{}", size);
    for (const std::int32_t bound : shape.lower_bounds) text += fmt::format(" l{}", bound);
    return text + "]";
  }
  Type pointer(Type element) { return element + "*"; }
  Type byref(Type element) { return element + "&"; }
  Type pinned(Type element) { return element + "^"; }
  Type function_pointer(MethodSignature<Type> s) {
    return fmt::format("fn{:02x}({}){}", s.header, join(s.parameters), s.return_type);
  }
  Type variable(std::uint32_t index, bool of_method) {
    return fmt::format("{}{}", of_method ? "!!" : "!", index);
  }
  Type modified(Type element, std::uint32_t modifier, bool required) {
    return fmt::format("{}{}({:08x})", element, required ? "req" : "opt", modifier);
  }
  Type from_handle(std::uint64_t handle) { return fmt::format("h{:x}", handle); }
  Type modified_by_handle(Type element, std::uint64_t handle, bool required) {
    return fmt::format("{}{}(h{:x})", element, required ? "req" : "opt", handle);
  }
  Type canon() { return "canon"; }
  Type native_value_type(Type element) { return "native " + element; }
  Type generic_parameter(std::uint32_t rid) { return fmt::format("gp{}", rid); }
  std::uint32_t enter_module(std::uint32_t index) { return std::exchange(module, index); }
  void leave_module(std::uint32_t previous) { module = previous; }
};

std::string type_of(const Bytes& bytes, SignatureOptions options = {}) {
  TextProvider provider;
  SignatureReader reader(bytes);
  std::string text = SignatureDecoder(provider, reader, options).type();
  CHECK(reader.at_end());
  CHECK(provider.module == 0);
  return text;
}

std::string method_of(const Bytes& bytes) {
  TextProvider provider;
  SignatureReader reader(bytes);
  const auto s = SignatureDecoder(provider, reader).method();
  CHECK(reader.at_end());
  return fmt::format("{:02x} {} {}({}){}", s.header, s.generic_parameters, s.return_type,
                     TextProvider::join(s.parameters), s.sentinel ? fmt::format(" ...{}", *s.sentinel) : "");
}

bool refused(const Bytes& bytes, SignatureOptions options = {}) {
  TextProvider provider;
  SignatureReader reader(bytes, 0x1000);
  try {
    SignatureDecoder(provider, reader, options).type();
  } catch (const Error& error) {
    CHECK(error.address().value_or(0) >= 0x1000);
    return error.kind() == ErrorKind::corrupt;
  }
  return false;
}

} // namespace

TEST_CASE("compressed integers") {
  // ECMA-335 II.23.2 gives these examples.
  const auto decoded = [](const Bytes& bytes) {
    SignatureReader reader(bytes);
    return reader.compressed_unsigned();
  };
  CHECK(decoded(bytes_of({0x03})) == 3);
  CHECK(decoded(bytes_of({0x7f})) == 0x7f);
  CHECK(decoded(bytes_of({0x80, 0x80})) == 0x80);
  CHECK(decoded(bytes_of({0xae, 0x57})) == 0x2e57);
  CHECK(decoded(bytes_of({0xbf, 0xff})) == 0x3fff);
  CHECK(decoded(bytes_of({0xc0, 0x00, 0x40, 0x00})) == 0x4000);
  CHECK(decoded(bytes_of({0xdf, 0xff, 0xff, 0xff})) == 0x1fff'ffff);
  CHECK_THROWS_AS(decoded(bytes_of({0xe0, 0, 0, 0})), Error);
  CHECK_THROWS_AS(decoded(bytes_of({0xff})), Error);
  CHECK_THROWS_AS(decoded(bytes_of({0x80})), Error);
  CHECK_THROWS_AS(decoded(bytes_of({0xc0, 0, 0})), Error);
  CHECK_THROWS_AS(decoded({}), Error);
  const auto signed_of = [](const Bytes& bytes) {
    SignatureReader reader(bytes);
    return reader.compressed_signed();
  };
  CHECK(signed_of(bytes_of({0x06})) == 3);
  CHECK(signed_of(bytes_of({0x7b})) == -3);
  CHECK(signed_of(bytes_of({0x80, 0x80})) == 64);
  CHECK(signed_of(bytes_of({0x01})) == -64);
  CHECK(signed_of(bytes_of({0xc0, 0x00, 0x40, 0x00})) == 8192);
  CHECK(signed_of(bytes_of({0x80, 0x01})) == -8192);
  CHECK(signed_of(bytes_of({0xdf, 0xff, 0xff, 0xfe})) == 268435455);
  CHECK(signed_of(bytes_of({0xc0, 0x00, 0x00, 0x01})) == -268435456);
}

TEST_CASE("types") {
  for (const unsigned element :
       {1u, 2u, 3u, 4u, 5u, 6u, 7u, 8u, 9u, 0xau, 0xbu, 0xcu, 0xdu, 0xeu, 0x16u, 0x18u, 0x19u, 0x1cu})
    CHECK(type_of(bytes_of({element})) == fmt::format("{:02x}", element));
  CHECK(type_of(bytes_of({0x12, 0x49})) == "c01000012");
  CHECK(type_of(bytes_of({0x11, 0x48})) == "v02000012");
  CHECK(type_of(bytes_of({0x12, 0x4a})) == "c1b000012");
  CHECK(type_of(bytes_of({0x0f, 0x0f, 0x01})) == "01**");
  CHECK(type_of(bytes_of({0x10, 0x1d, 0x08})) == "08[]&");
  CHECK(type_of(bytes_of({0x13, 0x02})) == "!2");
  CHECK(type_of(bytes_of({0x1e, 0x01})) == "!!1");
  CHECK(type_of(bytes_of({0x45, 0x10, 0x08})) == "08&^");
  CHECK(type_of(bytes_of({0x14, 0x08, 2, 0, 0})) == "08[2]");
  CHECK(type_of(bytes_of({0x14, 0x08, 3, 2, 4, 5, 2, 0x06, 0x7b})) == "08[3 s4 s5 l3 l-3]");
  CHECK(type_of(bytes_of({0x15, 0x12, 0x49, 2, 0x0e, 0x15, 0x11, 0x4d, 1, 0x13, 0})) ==
        "c01000012<0e,v01000013<!0>>");
  CHECK(type_of(bytes_of({0x1f, 0x49, 0x20, 0x4d, 0x10, 0x08})) == "08&opt(01000013)req(01000012)");
  CHECK(type_of(bytes_of({0x1b, 0x09, 2, 0x01, 0x08, 0x0e})) == "fn09(08,0e)01");
}

TEST_CASE("method signatures") {
  CHECK(method_of(bytes_of({0x00, 0, 1})) == "00 0 01()");
  CHECK(method_of(bytes_of({0x20, 2, 1, 8, 0x0e})) == "20 0 01(08,0e)");
  CHECK(method_of(bytes_of({0x30, 1, 1, 0x1e, 0, 0x1e, 0})) == "30 1 !!0(!!0)");
  CHECK(method_of(bytes_of({0x05, 2, 1, 8, 0x41, 0x0d})) == "05 0 01(08,0d) ...1");
}

TEST_CASE("instantiations of generic methods") {
  const Bytes bytes = bytes_of({0x0a, 2, 8, 0x0e});
  TextProvider provider;
  SignatureReader reader(bytes);
  CHECK(TextProvider::join(SignatureDecoder(provider, reader).method_instantiation()) == "08,0e");
}

TEST_CASE("raw type handles of the runtime, in either width and byte order") {
  const Bytes little = bytes_of({0x15, 0x21, 0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11, 1, 8});
  CHECK(type_of(little, {.internal = true}) == "h1122334455667788<08>");
  CHECK(refused(little)); // never on disk
  CHECK(type_of(bytes_of({0x21, 0x11, 0x22, 0x33, 0x44}),
                {.internal = true, .pointer_size = 4, .byte_order = ByteOrder::big}) == "h11223344");
  CHECK(type_of(bytes_of({0x21, 0x44, 0x33, 0x22, 0x11}), {.internal = true, .pointer_size = 4}) ==
        "h11223344");
  CHECK(type_of(bytes_of({0x22, 1, 0x44, 0x33, 0x22, 0x11, 0x08}), {.internal = true, .pointer_size = 4}) ==
        "08req(h11223344)");
  CHECK(refused(bytes_of({0x21, 1, 2, 3}), {.internal = true}));
}

TEST_CASE("additions of ReadyToRun") {
  const SignatureOptions r2r{.ready_to_run = true};
  CHECK(type_of(bytes_of({0x3e}), r2r) == "canon");
  CHECK(type_of(bytes_of({0x3f, 2, 0x15, 0x12, 0x34, 1, 0x3f, 3, 0x11, 0x08}), r2r) ==
        "c0200000d@2<v02000002@3>");
  CHECK(type_of(bytes_of({0x15, 0x12, 0x34, 2, 0x3f, 3, 0x11, 0x08, 0x12, 0x08}), r2r) ==
        "c0200000d<v02000002@3,c02000002>");
  CHECK(type_of(bytes_of({0x3d, 0x11, 0x08}), r2r) == "native v02000002");
  CHECK(type_of(bytes_of({0x3b, 0x07}), r2r) == "gp7");
  CHECK(refused(bytes_of({0x3e})));
  CHECK(refused(bytes_of({0x3c}), r2r));
}

TEST_CASE("signatures that lie are refused") {
  CHECK(refused({}));
  CHECK(refused(bytes_of({0x00})));
  CHECK(refused(bytes_of({0x17})));
  CHECK(refused(bytes_of({0xff})));
  CHECK(refused(bytes_of({0x12})));
  CHECK(refused(bytes_of({0x14, 8, 33, 0, 0})));                        // rank
  CHECK(refused(bytes_of({0x14, 8, 1, 0xdf, 0xff, 0xff, 0xff})));       // sizes
  CHECK(refused(bytes_of({0x15, 0x12, 8, 0xdf, 0xff, 0xff, 0xff, 8}))); // arguments
  CHECK(refused(bytes_of({0x1b, 0x00, 0xdf, 0xff, 0xff, 0xff, 1})));    // parameters
  CHECK(refused(bytes_of({0x1b, 0x06, 0, 1})));                         // a field signature
  CHECK(refused(Bytes(100'000, std::byte{0x0f})));                      // depth
  Bytes deep(signature::max_depth - 1, std::byte{0x1d});
  deep.push_back(std::byte{8});
  CHECK(type_of(deep).size() == 2 + 2 * (signature::max_depth - 1));
  deep.insert(deep.begin(), std::byte{0x1d});
  CHECK(refused(deep));
}
