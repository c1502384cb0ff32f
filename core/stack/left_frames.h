// Which frames of a walk a running exception handler has left behind. They stand on the stack until it ends,
// but the collector looks at them no more, so objects move and what they hold of objects is old. Source:
// dotnet/runtime src/coreclr/vm/stackwalk.cpp (StackFrameIterator, m_fFoundFunclet and its parent).
#pragma once

#include "core/memory/platform.h"

#include <functional>
#include <optional>

namespace clr {

class LeftFrames {
public:
  // `method`: the frame of the handler's own method, for which the handler reports.
  enum class Stand : std::uint8_t { alive, left, method };

  // Another walk begins.
  void begin() { handler_.reset(); }

  // The next managed frame of the walk, innermost first, of the body that begins at `body`. `handler`: it is
  // a funclet and no filter, which runs before anything is left. `frame_register` gives the value of the
  // body's frame register, nothing for a body without one; it is asked of handlers and of what may be their
  // methods.
  Stand next(Address body, bool funclet, bool handler,
             const std::function<std::optional<Address>()>& frame_register);

  // The body whose handler runs while its own frame was not met yet; nothing: no frame is being left out.
  std::optional<Address> waits_for() const;

private:
  struct Handler {
    Address body = 0;
    std::optional<Address> frame_register;
  };
  std::optional<Handler> handler_;
};

} // namespace clr
