// The runtime's explicit Frames (capital F): records on the stack that mark transitions between managed and
// native code. Source: dotnet/runtime docs/design/datacontracts/StackWalk.md; src/coreclr/vm/frames.h.
#pragma once

#include "core/isa/registers.h"
#include "core/target/target.h"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace clr {

enum class FrameKind : std::uint8_t {
  unknown,
  inlined_call,
  resumable,
  redirected_thread,
  faulting_exception,
  software_exception,
  func_eval,
  pinvoke_calli,
  hijack,
  prestub_method,
  call_counting_helper,
  stub_dispatch,
  external_method,
  dynamic_helper,
  protect_value_class,
  debugger_class_init_mark,
  debugger_exit,
  debugger_u2m_catch_handler,
  exception_filter,
  interpreter,
};
// "InlinedCallFrame", ...; "Frame" for unknown.
std::string_view to_string(FrameKind kind);

struct ExplicitFrame {
  Address address = 0;
  FrameKind kind = FrameKind::unknown;
  Address identifier = 0; // as stored
};

// The registers that a Frame restores when the walk continues in the code that it returns to.
struct FrameContext {
  RegisterContext registers; // pc, sp and the callee-saved registers that the Frame holds
  bool leaf = false;         // the restored pc is an exact instruction, not a return address
  Address block = 0;         // HijackFrame: of the registers that the runtime's stub pushed; else 0
};

// The bytes of a structure that the runtime keeps on the stack, with what the ABI adds so that the stack
// stays aligned. No reads. Throws Error when the runtime does not tell the size.
std::uint64_t stack_size_of(const Target& target, std::string_view type);

class FrameChain {
public:
  // Resolves the layouts once; no reads. A kind whose layout the descriptor lacks restores nothing.
  explicit FrameChain(const Target& target);

  // The whole chain from `head`, newest first. Addresses strictly increase; a link that does not, or one that
  // lies outside [low, high) when those are known, ends the chain with `problem`. At most max_frames records.
  struct Result {
    std::vector<ExplicitFrame> frames;
    std::string problem; // empty when the chain ends in its terminator
  };
  Result read(Address head, std::optional<Address> low, std::optional<Address> high) const;

  // The context that `frame` restores; nothing when this kind, or this Frame in its present state, restores
  // none (an inactive InlinedCallFrame). Registers that the Frame does not hold are unknown. 1 to 3 reads, of
  // a HijackFrame 2 more. Throws Error for missing memory.
  std::optional<FrameContext> context(const ExplicitFrame& frame) const;

  // InlinedCallFrame: true while its P/Invoke is active (CallerReturnAddress is set).
  bool active(const ExplicitFrame& frame) const;

  // MethodDesc that the Frame names (P/Invoke target, method being prepared); nothing if none.
  std::optional<Address> method_desc(const ExplicitFrame& frame) const;

  static constexpr std::size_t max_frames = 100'000;

private:
  struct Layout;
  struct SavedSlot {
    unsigned reg; // DWARF number
    Address offset;
  };
  void restore(Address block, const std::vector<SavedSlot>& slots, RegisterContext& registers) const;
  bool saves_context(Address eval) const;
  Address dispatched_method(Address frame) const;

  const Target* target_;
  std::shared_ptr<const Layout> layout_;
};

} // namespace clr
