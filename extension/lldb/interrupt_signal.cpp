#include "extension/lldb/interrupt_signal.h"

#include <atomic>
#include <csignal>

namespace clr::lldb_plugin {
namespace {

std::atomic<bool> in_use = false, noted = false;
struct sigaction before {};

void note(int number, siginfo_t* info, void* context) {
  noted = true;
  if ((before.sa_flags & SA_SIGINFO) != 0)
    before.sa_sigaction(number, info, context);
  else
    before.sa_handler(number);
}

bool has_handler(const struct sigaction& action) {
  return (action.sa_flags & SA_SIGINFO) != 0 ||
         (action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN);
}

} // namespace

InterruptSignal::InterruptSignal() {
  if (in_use.exchange(true)) return;
  noted = false;
  if (sigaction(SIGINT, nullptr, &before) == 0 && has_handler(before)) {
    struct sigaction own = before;
    own.sa_flags |= SA_SIGINFO;
    own.sa_sigaction = note;
    installed_ = sigaction(SIGINT, &own, nullptr) == 0;
  }
  if (!installed_) in_use = false;
}

InterruptSignal::~InterruptSignal() {
  if (!installed_) return;
  struct sigaction now {};
  // Somebody may have set another one meanwhile, which hands on to ours or does not.
  if (sigaction(SIGINT, nullptr, &now) == 0 && (now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == note)
    sigaction(SIGINT, &before, nullptr);
  in_use = false;
}

bool InterruptSignal::came() const {
  return installed_ && noted;
}

} // namespace clr::lldb_plugin
