#include "core/stack/left_frames.h"

namespace clr {

LeftFrames::Stand LeftFrames::next(Address body, bool funclet, bool handler,
                                   const std::function<std::optional<Address>()>& frame_register) {
  if (!handler_) {
    if (handler) handler_ = Handler{.body = body, .frame_register = frame_register()};
    return Stand::alive;
  }
  // Another handler among them changes nothing: nested ones of one activation have one method.
  if (funclet || body != handler_->body || frame_register() != handler_->frame_register) return Stand::left;
  handler_.reset();
  return Stand::method;
}

std::optional<Address> LeftFrames::waits_for() const {
  return handler_ ? std::optional(handler_->body) : std::nullopt;
}

} // namespace clr
