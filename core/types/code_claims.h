// Whether a method agrees that a jitted body is its own. The body's header names the method, and the method
// names its code: where the two disagree, the header leads to the name of another method.
// Source: dotnet/runtime docs/design/datacontracts/{RuntimeTypeSystem,CodeVersions}.md.
#pragma once

#include "core/types/code_versions.h"
#include "core/types/method_desc.h"

#include <cstdint>
#include <optional>
#include <string_view>

namespace clr {

// How somebody came upon a body.
enum class BodyFound : std::uint8_t {
  listed,     // among all bodies of the process: its method may be compiled at this moment
  by_address, // code runs there, or is asked for: the method keeps an address before its code runs
};

class CodeClaims {
public:
  // `target` must outlive this. No reads.
  explicit CodeClaims(const Target& target) : target_(&target) {}

  // Throws Error{corrupt} when the method at `method_desc` keeps the addresses of its code, and the jitted
  // body that begins at `start` is none of them; when it has no code yet, and the body was found by an
  // address, or another method of its chunk, or of those behind it, keeps this body. Nothing happens where it
  // has no place for its code, where one of its versions is being compiled, where its module can be edited
  // while the program runs (hot reload: a method that was edited keeps its new code alone, if any, and
  // threads may still run the old one), and where its record cannot be read. Cost: 3 reads; where the body is
  // not the method's first, one more per version of the method; where it has none, 2 for each method that is
  // looked at.
  void check(Address method_desc, Address start, Address code_header, BodyFound found);
  // The same for a record that was read already: 1 read.
  void check(const MethodDesc& method, Address start, Address code_header, BodyFound found);

  // Methods among which one is looked for that keeps a body.
  static constexpr std::size_t max_methods_of_body = 4'096;

private:
  const MethodDescs& descs();
  std::string_view why_disowned(const MethodDesc& method, Address start, BodyFound found);
  Address without_mark(Address code) const;
  std::optional<Address> first_body(const MethodDesc& method);
  bool another_keeps(const MethodDesc& method, Address start);
  bool may_be_edited(const MethodDesc& method);

  const Target* target_;
  std::optional<MethodDescs> descs_;
  std::optional<CodeVersions> versions_;
};

} // namespace clr
