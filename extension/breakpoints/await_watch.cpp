#include "extension/breakpoints/await_watch.h"

#include <algorithm>
#include <utility>

namespace clr::lldb_plugin {

void AwaitWatch::plant(Address address, Role role) {
  if (address == 0) return;
  Place& place = places_[address];
  if (place.roles.empty()) {
    if (place.number == 0)
      place.number = plants_->plant(address);
    else
      plants_->enable(place.number, true);
  }
  place.roles.insert(role);
  planted_ = true;
}

// The places themselves stay enabled: the process may stand at one, which the debugger still has to handle.
void AwaitWatch::clear_all() {
  for (auto& [address, place] : places_) place.roles.clear();
}

void AwaitWatch::disarm() {
  active_ = false;
  waiting_ = false;
  if (!std::exchange(planted_, false)) return;
  for (auto& [address, place] : places_) {
    plants_->enable(place.number, false);
    place.roles.clear();
  }
}

void AwaitWatch::forget() {
  disarm();
  for (const auto& [address, place] : places_) plants_->remove(place.number);
  places_.clear();
}

void AwaitWatch::arm(Step step) {
  disarm();
  if (full()) forget();
  active_ = true;
  step_ = std::move(step);
  bodies_ = {step_.body};
  then_.reset();
  for (const AwaitPlace& await : step_.body.awaits) plant(await.yield, Role::yield);
  if (!step_.has_caller) await_continuation();
}

void AwaitWatch::await_continuation() {
  then_ = machines_->continuation(step_.machine);
  if (!then_) return;
  for (const Body& body : then_->bodies) plant(body.start, Role::continuation);
}

bool AwaitWatch::hit(Visitor& visitor) {
  const auto found = places_.find(visitor.pc());
  if (found == places_.end()) return false;
  if (!active_) {
    // Of a step whose end nobody told.
    plants_->enable(found->second.number, false);
    found->second.roles.clear();
    return false;
  }
  for (const Role role : std::set<Role>(found->second.roles))
    if (visit(role, visitor)) return true;
  return false;
}

bool AwaitWatch::visit(Role role, Visitor& visitor) {
  switch (role) {
  case Role::yield:
    if (!waiting_ && is_ours(visitor)) waits(visitor);
    return false;
  case Role::entry: {
    if (!waiting_) return false;
    const auto machine = machines_->read(step_.machine.table, visitor.argument());
    if (!machine) return false;
    // A method that waits for the first time got its task since it was seen last.
    if (step_.machine.task == 0)
      if (const auto now = machines_->read(step_.machine.table, step_.machine.self))
        step_.machine.task = now->task;
    return machine->is(step_.machine) && enters(*machine, bodies_, visitor);
  }
  case Role::continuation: {
    if (!then_ || !machines_->is_done(step_.machine)) return false;
    const auto machine = machines_->read(then_->machine.table, visitor.argument());
    if (!machine || !machine->is(then_->machine)) return false;
    step_.line = 0;
    step_.out = false;
    bodies_ = then_->bodies;
    return enters(*machine, bodies_, visitor);
  }
  case Role::resume:
    return !waiting_ && is_ours(visitor) && resumes(visitor);
  case Role::line:
    return !waiting_ && is_ours(visitor);
  }
  return false;
}

// The thread leaves the method now; another one, or the same, will go on with it.
void AwaitWatch::waits(Visitor& visitor) {
  const Address self = visitor.self();
  if (self != 0)
    if (const auto machine = machines_->read(step_.machine.table, self)) step_.machine = *machine;
  if (step_.machine.self == 0) return; // the step goes as the debugger's own do
  waiting_ = true;
  clear_all();
  visitor.end_steps(step_.thread);
  bodies_ = machines_->bodies(step_.body);
  for (const Body& body : bodies_) plant(body.start, Role::entry);
}

// MoveNext of the machine was called: false, as the step goes on to a line.
bool AwaitWatch::enters(const StateMachine& machine, std::span<const Body> bodies, Visitor& visitor) {
  const auto body = std::ranges::find(bodies, visitor.pc(), &Body::start);
  if (body == bodies.end() || machine.state < 0) return false;
  waiting_ = false;
  clear_all();
  visitor.end_steps(step_.thread); // whose method has ended
  step_.thread = visitor.thread();
  step_.cfa = visitor.sp() + sizeof(std::uint64_t);
  step_.machine = machine;
  step_.body = *body;
  step_.has_caller = false;
  const auto state = static_cast<std::size_t>(machine.state);
  if (state < step_.body.awaits.size()) plant(step_.body.awaits[state].resume, Role::resume);
  return false;
}

bool AwaitWatch::resumes(Visitor& visitor) {
  clear_all();
  visitor.follow_exceptions();
  for (const AwaitPlace& await : step_.body.awaits) plant(await.yield, Role::yield);
  if (!step_.out) {
    std::size_t planted = 0;
    for (const Line& line : visitor.lines()) {
      if (line.line == 0 || line.line == step_.line) continue;
      // A thread that stands at a place goes on from it without coming to it.
      if (line.begin == visitor.pc()) return true;
      if (++planted > max_lines) break;
      plant(line.begin, Role::line);
    }
  }
  await_continuation();
  return false;
}

} // namespace clr::lldb_plugin
