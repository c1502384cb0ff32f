#include "capi/fiber.h"

#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <cstdint>
#include <new>
#include <utility>

#if defined(__SANITIZE_ADDRESS__)
#define CLR_ADDRESS_SANITIZER
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define CLR_ADDRESS_SANITIZER
#endif
#endif
#ifdef CLR_ADDRESS_SANITIZER
#include <sanitizer/common_interface_defs.h>
#endif

namespace clr::capi {

namespace {

// AddressSanitizer keeps locals elsewhere and forgets those of frames that an exception left, by the stack
// that it believes the thread to be on: it has to be told of every change. Elsewhere these two do nothing.
// (ThreadSanitizer is not told; nothing that uses fibers runs under it.)
//
// Before the change to the stack that begins at `bottom`. `locals` takes those of the stack that is left;
// null when it is left for good.
void leave_stack([[maybe_unused]] void** locals, [[maybe_unused]] const void* bottom,
                 [[maybe_unused]] std::size_t size) {
#ifdef CLR_ADDRESS_SANITIZER
  __sanitizer_start_switch_fiber(locals, bottom, size);
#endif
}

// After the change: the locals of the stack that is entered, null the first time. Tells which stack was left.
void enter_stack([[maybe_unused]] void* locals, [[maybe_unused]] const void** left,
                 [[maybe_unused]] std::size_t* left_size) {
#ifdef CLR_ADDRESS_SANITIZER
  __sanitizer_finish_switch_fiber(locals, left, left_size);
#endif
}

} // namespace

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

  void* bottom() const { return static_cast<char*>(memory) + guard; }

  std::size_t guard;
  void* memory;
  ucontext_t inside{}, outside{};
  void* locals_inside = nullptr; // as leave_stack keeps them
  const void* outside_bottom = nullptr;
  std::size_t outside_size = 0;
};

Fiber::Fiber(std::function<void()> body) : body_(std::move(body)), stack_(std::make_unique<Stack>()) {
  getcontext(&stack_->inside);
  stack_->inside.uc_stack.ss_sp = stack_->bottom();
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
  enter_stack(nullptr, &stack_->outside_bottom, &stack_->outside_size);
  try {
    body_();
  } catch (...) {
    thrown_ = std::current_exception();
  }
  ended_ = true;
  leave_stack(nullptr, stack_->outside_bottom, stack_->outside_size);
}

void Fiber::resume() {
  if (ended_) return;
  begun_ = true;
  void* locals = nullptr;
  leave_stack(&locals, stack_->bottom(), stack_size);
  swapcontext(&stack_->outside, &stack_->inside);
  enter_stack(locals, nullptr, nullptr);
  if (thrown_) std::rethrow_exception(std::exchange(thrown_, nullptr));
}

void Fiber::suspend() {
  leave_stack(&stack_->locals_inside, stack_->outside_bottom, stack_->outside_size);
  swapcontext(&stack_->inside, &stack_->outside);
  enter_stack(stack_->locals_inside, &stack_->outside_bottom, &stack_->outside_size);
}

} // namespace clr::capi
