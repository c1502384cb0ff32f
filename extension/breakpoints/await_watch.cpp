#include "extension/breakpoints/await_watch.h"

#include <algorithm>
#include <utility>

namespace clr::lldb_plugin {

namespace {
// A thread that has just left a method stands this far above its CFA at most.
constexpr Address max_behind_return = 0x1000;
} // namespace

void AwaitWatch::Places::plant(Address address, Role role, std::uint64_t thread) {
  if (address == 0) return;
  Place& place = at[address];
  const bool fresh = place.roles.empty();
  if (fresh) {
    if (place.number == 0)
      place.number = plants->plant(address);
    else
      plants->enable(place.number, true);
  }
  const std::uint64_t only = fresh || place.thread == thread ? thread : 0;
  if (std::exchange(place.thread, only) != only && place.number != 0) plants->limit(place.number, only);
  place.roles.insert(role);
}

void AwaitWatch::Places::clear() {
  for (auto& [address, place] : at) {
    if (place.roles.empty()) continue;
    plants->enable(place.number, false);
    place.roles.clear();
  }
}

void AwaitWatch::Places::drop(Role role) {
  for (auto& [address, place] : at)
    if (place.roles.erase(role) != 0 && place.roles.empty()) plants->enable(place.number, false);
}

void AwaitWatch::Places::forget() {
  clear();
  for (const auto& [address, place] : at) plants->remove(place.number);
  at.clear();
}

// A copy: visits change what is planted.
std::set<AwaitWatch::Role> AwaitWatch::Places::roles(Address address) const {
  const auto found = at.find(address);
  return found != at.end() ? found->second.roles : std::set<Role>();
}

void AwaitWatch::clear() {
  passing_.clear();
  ends_.clear();
}

void AwaitWatch::disarm() {
  active_ = false;
  waits_.reset();
  then_.reset();
  left_before_ = std::exchange(left_, {});
  ended_ = false;
  clear();
}

void AwaitWatch::forget() {
  disarm();
  passing_.forget();
  ends_.forget();
}

void AwaitWatch::arm(Step step) {
  std::optional<Left> left = std::exchange(left_before_, {});
  disarm();
  if (full()) forget();
  if (left && same(left->callee, step.machine)) left_ = std::move(left);
  active_ = true;
  step_ = std::move(step);
  for (const AwaitPlace& await : step_.body.awaits) passing_.plant(await.yield, Role::yield, step_.thread);
  if (step_.has_caller) return;
  plant_left();
  follow_end();
}

// Behind the end of a method without a caller the one that awaits it goes on, or nobody.
void AwaitWatch::follow_end() {
  passing_.plant(step_.returned, Role::returned, step_.thread);
  std::optional<Running> then = machines_->continuation(step_.machine);
  if (!then && left_) then = left_->then;
  if (then) return follow(std::move(*then));
  if (left_ && left_->early_lines < max_early_lines) plant_callers_lines();
}

// It may find the method done, and does not wait then.
void AwaitWatch::plant_callers_lines() {
  for (const Line& line : left_->lines)
    if (line.line != 0 && line.line != left_->caller.line)
      ends_.plant(line.begin, Role::caller_line, left_->thread);
}

bool AwaitWatch::ends_in_caller(Visitor& visitor) {
  if (waits_ || then_ || !is_left(visitor)) return false;
  if (has_ended(visitor)) {
    visitor.leave(step_.thread);
    return true;
  }
  if (++left_->early_lines == max_early_lines) ends_.drop(Role::caller_line);
  return false;
}

void AwaitWatch::follow(Running then) {
  then_ = std::move(then);
  then_mark_ = machines_->mark(then_->machine, true);
  for (const Body& body : then_->bodies) passing_.plant(body.start, Role::continuation);
}

// The method returns to its caller for the first time.
void AwaitWatch::leaves_caller(Visitor& visitor) {
  if (!step_.caller) return plant_left(); // it had left it before
  left_ = Left{.callee = *waits_,
               .caller = *step_.caller,
               .lines = visitor.lines(step_.caller->body.start),
               .thread = step_.thread,
               .then = {},
               .boxed = 0,
               .early_lines = 0};
  if (left_->lines.size() > max_lines) left_->lines.resize(max_lines);
  plant_left();
}

void AwaitWatch::plant_left() {
  if (!left_) return;
  if (left_->then) {
    if (left_->then->machine.task == 0) passing_.plant(left_->boxed, Role::caller_boxed, left_->thread);
    return;
  }
  for (const AwaitPlace& await : left_->caller.body.awaits)
    passing_.plant(await.yield, Role::caller_yield, left_->thread);
}

void AwaitWatch::caller_waits(Visitor& visitor) {
  const Caller& caller = left_->caller;
  const Address self = visitor.machine_of(left_->thread, caller.cfa).value_or(0);
  const auto machine = self != 0 ? machines_->read(caller.table, self) : std::nullopt;
  if (!machine) return;
  left_->then = Running{*machine, machines_->bodies(caller.body)};
  left_->boxed = visitor.behind_calls(visitor.pc());
  plant_left();
  if (!waits_ && !then_) follow(*left_->then);
}

// At its task, that it may have by now.
void AwaitWatch::look_at_caller_again(Visitor& visitor) {
  if (!left_ || !left_->then || left_->then->machine.task != 0) return;
  StateMachine& known = left_->then->machine;
  const auto frame = visitor.machine_of(left_->thread, left_->caller.cfa);
  const auto machine = machines_->read(left_->caller.table, frame && *frame != 0 ? *frame : known.self);
  if (!machine || machine->task == 0) return;
  const bool followed = then_ && then_mark_ == 0 && then_->machine.self == known.self;
  known = *machine;
  if (!followed) return;
  then_->machine = *machine;
  then_mark_ = machines_->mark(*machine, true);
}

bool AwaitWatch::same(const Known& known, const StateMachine& machine) {
  if (known.mark != 0) return machines_->mark(machine, false) == known.mark;
  return machine.object != 0 && machine.object == known.machine.object;
}

bool AwaitWatch::hit(Visitor& visitor) {
  if (!active_) return false;
  const Address pc = visitor.pc();
  const bool steps = !waits_ && !step_.out && is_ours(visitor);
  for (const Places* const places : {&passing_, &ends_})
    for (const Role role : places->roles(pc))
      if (visit(role, visitor)) return true;
  // At a place of a step before that is still enabled the debugger's own plan does not see its step end.
  // The method's first place is that of an entry, too, which may just have made this frame the step's.
  return steps && pc != step_.body.start && ends_.at.contains(pc) && begins_line(visitor.lines(pc), pc);
}

bool AwaitWatch::begins_line(const std::vector<Line>& lines, Address pc) const {
  return std::ranges::any_of(
      lines, [&](const Line& line) { return line.begin == pc && line.line != 0 && line.line != step_.line; });
}

bool AwaitWatch::visit(Role role, Visitor& visitor) {
  switch (role) {
  case Role::yield:
    if (!waits_ && is_ours(visitor)) waits(visitor);
    return false;
  case Role::boxed:
    if (waits_ && is_ours(visitor)) look_again(visitor);
    return false;
  case Role::returned:
    if (visitor.thread() == step_.thread && visitor.sp() >= step_.cfa &&
        visitor.sp() - step_.cfa < max_behind_return)
      returns(visitor);
    return false;
  case Role::entry:
    return waits_ && enters(visitor);
  case Role::continuation:
    return then_ && continues(visitor);
  case Role::resume:
    return !waits_ && is_ours(visitor) && resumes(visitor);
  case Role::line:
    return !waits_ && is_ours(visitor);
  case Role::caller_yield:
    if (is_left(visitor) && !left_->then) caller_waits(visitor);
    return false;
  case Role::caller_boxed:
    if (is_left(visitor)) look_at_caller_again(visitor);
    return false;
  case Role::caller_line:
    return ends_in_caller(visitor);
  }
  return false;
}

// The thread leaves the method now; another one, or the same, will go on with it.
void AwaitWatch::waits(Visitor& visitor) {
  const Address self = visitor.machine_of(step_.thread, step_.cfa).value_or(0);
  const auto machine = self != 0 ? machines_->read(step_.machine.table, self) : std::nullopt;
  if (!machine) return; // the step goes as the debugger's own do
  step_.machine = *machine;
  waits_ = known(*machine);
  then_.reset();
  clear();
  visitor.leave(step_.thread);
  bodies_ = machines_->bodies(step_.body);
  for (const Body& body : bodies_) passing_.plant(body.start, Role::entry);
  leaves_caller(visitor);
  if (machine->task != 0) return;
  // It gets its task when it waits for the first time, by the last call. A value on the stack can be looked
  // at by the caller, too; an object may have moved by then.
  passing_.plant(visitor.behind_calls(visitor.pc()), Role::boxed, step_.thread);
  passing_.plant(visitor.behind_call(step_.cfa - sizeof(Address)), Role::returned, step_.thread);
}

// At its task, that it may have by now.
void AwaitWatch::look_again(Visitor& visitor) {
  if (waits_->machine.task != 0) return;
  const auto frame = visitor.machine_of(step_.thread, step_.cfa);
  const Address self = frame && *frame != 0 ? *frame : step_.machine.self;
  const auto machine = machines_->read(step_.machine.table, self);
  if (!machine || machine->task == 0) return;
  step_.machine = *machine;
  waits_ = known(*machine);
  if (left_) left_->callee = *waits_;
}

void AwaitWatch::returns(Visitor& visitor) {
  if (waits_) return look_again(visitor);
  ended_ = true;               // the thread may run the same method for others, in such a frame, too
  visitor.leave(step_.thread); // which would lead through the runtime
  if (left_ && !then_) plant_callers_lines();
}

// MoveNext of a machine was called: false, as the step goes on to a line.
bool AwaitWatch::enters(Visitor& visitor) {
  const auto machine = machines_->read(step_.machine.table, visitor.argument());
  if (!machine || machine->state < 0) return false;
  look_again(visitor); // before the thread has left the method
  return same(*waits_, *machine) && goes_on(*machine, bodies_, visitor);
}

bool AwaitWatch::continues(Visitor& visitor) {
  look_at_caller_again(visitor);
  const auto machine = machines_->read(then_->machine.table, visitor.argument());
  if (!machine || machine->state < 0 || !same({then_->machine, then_mark_}, *machine) || !has_ended(visitor))
    return false;
  step_.line = 0;
  step_.out = false;
  visitor.leave(step_.thread); // whose method has ended
  bodies_ = then_->bodies;
  return goes_on(*machine, bodies_, visitor);
}

// It may wait for others, too, that were done before.
bool AwaitWatch::has_ended(Visitor& visitor) {
  if (ended_) return true;
  const auto self = visitor.machine_of(step_.thread, step_.cfa);
  if (!self || *self == 0) return true;
  const auto machine = machines_->read(step_.machine.table, *self);
  return !machine || machines_->is_done(*machine);
}

bool AwaitWatch::goes_on(const StateMachine& machine, std::span<const Body> bodies, Visitor& visitor) {
  const auto body = std::ranges::find(bodies, visitor.pc(), &Body::start);
  if (body == bodies.end()) return false;
  if (!waits_) left_.reset(); // the step is in the caller now
  waits_.reset();
  then_.reset();
  ended_ = false;
  clear();
  plant_left();
  step_.thread = visitor.thread();
  step_.cfa = visitor.sp() + sizeof(Address);
  step_.returned = visitor.behind_call(visitor.sp());
  step_.machine = machine;
  step_.body = *body;
  step_.has_caller = false;
  step_.caller.reset();
  const auto state = static_cast<std::size_t>(machine.state);
  const Address resume = state < step_.body.awaits.size() ? step_.body.awaits[state].resume : 0;
  if (resume != 0)
    ends_.plant(resume, Role::resume, step_.thread);
  else
    plant_lines(visitor);
  return false;
}

bool AwaitWatch::resumes(Visitor& visitor) {
  clear();
  plant_left();
  const Address self = visitor.machine_of(step_.thread, step_.cfa).value_or(0);
  if (const auto machine = self != 0 ? machines_->read(step_.machine.table, self) : std::nullopt)
    step_.machine = *machine;
  visitor.follow_exceptions();
  plant_lines(visitor);
  // A thread that stands at a place goes on from it without coming to it.
  return ends_.roles(visitor.pc()).contains(Role::line);
}

void AwaitWatch::plant_lines(Visitor& visitor) {
  for (const AwaitPlace& await : step_.body.awaits) passing_.plant(await.yield, Role::yield, step_.thread);
  if (!step_.out) {
    std::size_t planted = 0;
    for (const Line& line : visitor.lines(visitor.pc())) {
      if (line.line == 0 || line.line == step_.line) continue;
      if (++planted > max_lines) break;
      ends_.plant(line.begin, Role::line, step_.thread);
    }
  }
  follow_end();
}

} // namespace clr::lldb_plugin
