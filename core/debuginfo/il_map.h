// The map of one method body from native offsets to IL offsets, and the rule by which the runtime itself
// chooses one IL offset for an instruction.
// Source: dotnet/runtime src/coreclr/inc/cordebuginfo.h; src/coreclr/vm/debugdebugger.cpp (used by StackTrace
// and Exception.StackTrace, .NET 10).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace clr {

// Marks in the place of an IL offset.
constexpr std::int32_t il_no_mapping = -1, il_prolog = -2, il_epilog = -3;

// One entry, in the form in which the JIT reported it.
struct IlBoundary {
  std::uint32_t native = 0; // bytes from the method's start; the cold part follows the hot part
  std::int32_t il = 0;      // an IL offset, or one of the three marks
  std::uint8_t source = 0;  // a combination of the bits below

  // The instruction is the call itself. These entries are for readers that look for call sites, and stand
  // between the entries that divide the code.
  static constexpr std::uint8_t call_instruction = 1;
  static constexpr std::uint8_t stack_empty = 2; // the evaluation stack is empty here
  static constexpr std::uint8_t async = 4;       // suspension or resumption of an async call

  friend bool operator==(const IlBoundary&, const IlBoundary&) = default;
};

// The kind of a stretch of native code.
enum class IlMark : std::uint8_t {
  none,         // the method has no map
  before_first, // before the first entry
  prolog,
  epilog,
  no_mapping, // code without IL, which the JIT made for its own purposes
  mapped,
};
std::string_view to_string(IlMark mark); // "none", "before_first", "prolog", ...

// The place of a native offset in IL.
struct IlPosition {
  // The IL offset in the runtime's own stack traces: 0 unless the mark is `mapped` or `epilog`; for `epilog`
  // the greatest IL offset of the method, which need not be its last line.
  std::uint32_t il = 0;
  IlMark mark = IlMark::none;

  friend bool operator==(const IlPosition&, const IlPosition&) = default;
};

// The native offsets [begin, end) have one position. The last stretch of a map ends at `IlMap::open_end`.
struct IlStretch {
  std::uint32_t begin = 0, end = 0;
  IlPosition position;
};

// Which instruction of a frame the native offset refers to.
enum class NativeOffsetKind : std::uint8_t {
  exact,          // the instruction at the offset: the top frame, a fault, a signal
  return_address, // the call before the offset
};

class IlMap {
public:
  IlMap() = default;
  // `boundaries` must ascend by native offset; offsets may repeat.
  explicit IlMap(std::vector<IlBoundary> boundaries);

  // The stored entries, including call instructions.
  const std::vector<IlBoundary>& boundaries() const { return boundaries_; }
  bool empty() const { return boundaries_.empty(); }

  // The runtime's choice. Call instructions do not count. Of several entries at one offset, the smallest IL
  // offset wins; marks are smaller than any offset. A return address is looked up one byte earlier, inside
  // the call, except when it is 0. Cost: a binary search.
  IlPosition at(std::uint64_t native, NativeOffsetKind kind) const;

  // The stretches of code between boundaries, ascending and without gaps, beginning with the first boundary.
  // Neighbours with equal positions are not joined.
  std::vector<IlStretch> stretches() const;
  // Whether any code has IL. Optimised code of a few instructions may consist only of prologue and epilogue.
  // False also for a method without a map.
  bool maps_any() const;
  // The stretches that belong to this IL offset by the runtime's rule: the code of one statement may be in
  // several places.
  std::vector<IlStretch> stretches_of(std::uint32_t il) const;

  static constexpr std::uint32_t open_end = 0xFFFF'FFFF;

private:
  struct Group {
    std::uint32_t native;
    std::int32_t il;
  };
  IlPosition position(std::int32_t il) const;

  std::vector<IlBoundary> boundaries_;
  std::vector<Group> groups_; // one per native offset, ascending
  std::uint32_t greatest_il_ = 0;
};

} // namespace clr
