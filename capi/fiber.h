// A function that can be left in its middle and continued later. It turns an enumeration that calls a visitor
// into one that returns the next element on request.
#pragma once

#include <exception>
#include <functional>
#include <memory>

namespace clr::capi {

// Runs on the thread that resumes it, with its own stack. A second thread instead would wait for locks that
// this thread holds (LLDB's, when a script runs within a command); here the function holds them too.
class Fiber {
public:
  static constexpr std::size_t stack_size = std::size_t{4}
                                            << 20; // bytes; pages are taken when they are touched

  // Throws std::bad_alloc. Does not run `body` yet.
  explicit Fiber(std::function<void()> body);
  // The body must have ended, or must never have begun.
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // Runs the body until it suspends or ends. Rethrows an exception of the body.
  void resume();
  // Leaves the body. Must be called within the body, but not within an exception handler.
  void suspend();
  bool begun() const { return begun_; }
  bool ended() const { return ended_; }

private:
  struct Stack;
  static void enter(unsigned high, unsigned low);
  void run();

  std::function<void()> body_;
  std::unique_ptr<Stack> stack_;
  std::exception_ptr thrown_;
  bool begun_ = false, ended_ = false;
};

} // namespace clr::capi
