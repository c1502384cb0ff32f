#include "capi/fiber.h"

#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <cstdint>
#include <new>
#include <utility>

namespace clr::capi {

struct Fiber::Stack {
  Stack() : guard(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))) {
    memory = mmap(nullptr, guard + stack_size, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    mprotect(memory, guard, PROT_NONE); // stops code that runs over the end of the stack
  }
  ~Stack() { munmap(memory, guard + stack_size); }
  Stack(const Stack&) = delete;
  Stack& operator=(const Stack&) = delete;

  std::size_t guard;
  void* memory;
  ucontext_t inside{}, outside{};
};

Fiber::Fiber(std::function<void()> body) : body_(std::move(body)), stack_(std::make_unique<Stack>()) {
  getcontext(&stack_->inside);
  stack_->inside.uc_stack.ss_sp = static_cast<char*>(stack_->memory) + stack_->guard;
  stack_->inside.uc_stack.ss_size = stack_size;
  stack_->inside.uc_link = &stack_->outside;
  // makecontext can pass only ints, so the pointer is split into two.
  const auto self = reinterpret_cast<std::uintptr_t>(this);
  makecontext(&stack_->inside, reinterpret_cast<void (*)()>(&Fiber::enter), 2,
              static_cast<unsigned>(static_cast<std::uint64_t>(self) >> 32), static_cast<unsigned>(self));
}

Fiber::~Fiber() = default;

void Fiber::enter(unsigned high, unsigned low) {
  const std::uint64_t self = static_cast<std::uint64_t>(high) << 32 | low;
  reinterpret_cast<Fiber*>(static_cast<std::uintptr_t>(self))->run();
}

void Fiber::run() {
  try {
    body_();
  } catch (...) {
    thrown_ = std::current_exception();
  }
  ended_ = true;
}

void Fiber::resume() {
  if (ended_) return;
  begun_ = true;
  swapcontext(&stack_->outside, &stack_->inside);
  if (thrown_) std::rethrow_exception(std::exchange(thrown_, nullptr));
}

void Fiber::suspend() {
  swapcontext(&stack_->inside, &stack_->outside);
}

} // namespace clr::capi
