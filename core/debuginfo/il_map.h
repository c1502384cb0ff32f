// The map of one method body from native offsets to IL offsets, and the rule by which the runtime itself
// picks one IL offset for an instruction.
// Source: dotnet/runtime src/coreclr/inc/cordebuginfo.h; src/coreclr/vm/debugdebugger.cpp (what StackTrace
// and Exception.StackTrace use, .NET 10).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace clr {

// IL offsets that are none.
constexpr std::int32_t il_no_mapping = -1, il_prolog = -2, il_epilog = -3;

// One entry as the JIT reported it.
struct IlBoundary {
  std::uint32_t native = 0; // offset from the method's start; hot and cold parts linearised
  std::int32_t il = 0;      // or one of the three marks
  std::uint8_t source = 0;  // of the bits below

  // The instruction is the call itself: an entry for readers that look for call sites, in between those that
  // divide the code.
  static constexpr std::uint8_t call_instruction = 1;
  static constexpr std::uint8_t stack_empty = 2; // the evaluation stack is empty here
  static constexpr std::uint8_t async = 4;       // suspension or resumption of an async call

  friend bool operator==(const IlBoundary&, const IlBoundary&) = default;
};

// What a stretch of native code is.
enum class IlMark : std::uint8_t {
  none,         // the method has no map
  before_first, // before the first entry
  prolog,
  epilog,
  no_mapping, // code without IL: made by the JIT for its own purposes
  mapped,
};
std::string_view to_string(IlMark mark); // "none", "before_first", "prolog", ...

// Where in IL a native offset is.
struct IlPosition {
  // What the runtime's own stack traces use: 0 for anything but `mapped` and `epilog`; the greatest IL offset
  // of the method for `epilog`, which need not be its last line.
  std::uint32_t il = 0;
  IlMark mark = IlMark::none;

  friend bool operator==(const IlPosition&, const IlPosition&) = default;
};

// [begin, end) with one position. The last stretch of a map ends at `IlMap::open_end`.
struct IlStretch {
  std::uint32_t begin = 0, end = 0;
  IlPosition position;
};

// Which instruction of a frame its native offset means.
enum class NativeOffsetKind : std::uint8_t {
  exact,          // of the instruction itself: the top frame, a fault, a signal
  return_address, // behind the call that is meant
};

class IlMap {
public:
  IlMap() = default;
  // `boundaries` ascend by native offset, which may repeat.
  explicit IlMap(std::vector<IlBoundary> boundaries);

  // As stored, call instructions included.
  const std::vector<IlBoundary>& boundaries() const { return boundaries_; }
  bool empty() const { return boundaries_.empty(); }

  // The runtime's choice: call instructions do not count; of several entries at one offset the smallest IL
  // offset wins, marks being smaller than any. A return address is looked up one byte earlier, inside the
  // call; one of 0 is not. Cost: a binary search.
  IlPosition at(std::uint64_t native, NativeOffsetKind kind) const;

  // The stretches of code between boundaries, ascending and without gaps from the first boundary on. Equal
  // neighbours are not joined.
  std::vector<IlStretch> stretches() const;
  // Some code has IL. What has not is all prologue and epilogue: optimised code of a few instructions. False
  // for a method without a map, too.
  bool maps_any() const;
  // The stretches that the runtime counts to this IL offset: code of one statement may be in several places.
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
