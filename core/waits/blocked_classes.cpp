// Threads that wait for the constructors of classes, which other threads run.
#include "core/waits/blocked_run.h"

#include <algorithm>
#include <unordered_set>

namespace clr {
namespace {

constexpr std::string_view cctor = ".cctor";

} // namespace

std::vector<Address> BlockedThreads::constructors(const ThreadStack& stack) {
  std::vector<Address> classes;
  for (const StackFrame& frame : stack.frames) {
    if (frame.kind != StackFrameKind::managed || !frame.code) continue;
    try {
      const Method method = names_->describe(frame.code->method_desc);
      if (method.method_table != 0 && method.name.ends_with(cctor)) classes.push_back(method.method_table);
    } catch (const Error&) {
      continue; // a frame without a name is none that is looked for
    }
  }
  return classes;
}

void BlockedThreads::find_classes(const std::vector<ThreadStack>& stacks, std::vector<ThreadWait>& waits) {
  std::unordered_set<Address> classes; // of all stacks
  bool looked = false, generic = false;
  for (std::size_t i = 0; i < waits.size() && i < stacks.size(); ++i) {
    ThreadWait& wait = waits[i];
    if (wait.what != ThreadWait::What::objects || wait.kind != LockKind::class_init) continue;
    if (!looked) {
      for (const ThreadStack& stack : stacks) {
        const std::vector<Address> running = constructors(stack);
        classes.insert(running.begin(), running.end());
      }
      generic = has_generic(classes);
      looked = true;
    }
    Thread thread{.stack = stacks[i], .wait = wait, .named = {}};
    // A thread does not wait for a constructor that it runs itself.
    const std::vector<Address> running = constructors(stacks[i]);
    const std::unordered_set<Address> own(running.begin(), running.end());
    std::vector<Address> found;
    for (const Address word : words(thread)) {
      const Address table = classes.contains(word) || !generic ? word : shared_of(word, classes);
      if (found.size() < 2 && classes.contains(table) && !own.contains(table) && !is_among(found, table))
        found.push_back(table);
    }
    // Of two that lie there, nothing tells which is the old one.
    if (found.size() == 1) wait.objects = {{found.front(), LockKind::class_init}};
  }
}

// Code that several instances of a generic class share names the one that the code was made for; the stack of
// who waits has the instance itself. 0: `word` is none of such a class.
Address BlockedThreads::shared_of(Address word, const std::unordered_set<Address>& classes) {
  if (word < 0x10000 || word % target_->pointer_size() != 0) return 0;
  auto known = canonical_.find(word);
  if (known == canonical_.end()) {
    if (!take_one(wrong_left_, "too many words of stacks are no types")) return 0;
    known = canonical_.emplace(word, 0).first;
    try {
      known->second = names_->types().tables().read(word).canonical;
    } catch (const Error&) {
      // Most words are no types.
    }
  }
  return classes.contains(known->second) ? known->second : 0;
}

bool BlockedThreads::has_generic(const std::unordered_set<Address>& classes) {
  return std::ranges::any_of(classes, [&](Address table) {
    try {
      return names_->types().type(table).table.generic() != MethodTable::Generic::none;
    } catch (const Error&) {
      return false; // a class that cannot be read is shared by none that is known
    }
  });
}

} // namespace clr
