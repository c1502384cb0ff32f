// A function that can be left in its middle and continued: what turns an enumeration that calls a visitor
// into one that is asked for the next element.
#pragma once

#include <exception>
#include <functional>
#include <memory>

namespace clr::capi {

// Runs on the thread of whoever resumes it, on a stack of its own: locks that this thread holds (LLDB's, when
// a script runs within a command) are held in the function too, which a second thread would wait for.
class Fiber {
public:
  static constexpr std::size_t stack_size = std::size_t{4}
                                            << 20; // bytes; pages are taken when they are touched

  // Throws std::bad_alloc. `body` does not run yet.
  explicit Fiber(std::function<void()> body);
  // The body must have ended, or never have begun.
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // Runs the body until it suspends or ends. Throws what the body threw.
  void resume();
  // Leaves the body, to be called within it, not within a handler of an exception.
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
