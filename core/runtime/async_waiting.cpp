#include "core/runtime/async_waiting.h"

#include "core/memory/word_hash.h"
#include "core/objects/object_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <tuple>
#include <unordered_set>

namespace clr {
namespace {

bool handles_request(const AsyncStack& stack) {
  return std::ranges::any_of(stack.frames, [](const AsyncFrame& frame) {
    return frame.position->framework && answers_requests(frame.position->method->name);
  });
}

} // namespace

struct AsyncWaits::Group {
  AwaitGroup told;
  AwaitUse use = AwaitUse::unknown;
  std::vector<Address> boxes; // of the first chain, from the user's first method on
  Address last = 0;           // the user's last method of that chain
  bool for_nobody = false;    // nobody but the main thread waits for that one
  std::uint64_t main = 0;     // the main thread, when it is what waits
};

// Whether what the chain waits for is owed to it, by its first method and by those that wait for it.
AwaitUse AsyncWaits::use_of(const AsyncStack& stack, std::size_t user) const {
  const AwaitUse use = stack.waits_for.use;
  if (use == AwaitUse::unknown || use == AwaitUse::goes_on) return use;
  // Who waits for a request waits for its answer.
  if (handles_request(stack)) return AwaitUse::owed;
  const std::size_t methods = static_cast<std::size_t>(std::ranges::count_if(
      stack.frames, [](const AsyncFrame& frame) { return !frame.position->framework; }));
  // A Main that waits by itself waits for the end of the program.
  const std::string name = stack.frames[user].position->method->shown_name();
  const bool main = name.find(".Main(") != std::string::npos || name.find("<Main>$") != std::string::npos;
  return methods == 1 && main && ends_in_main_thread(stack) ? AwaitUse::idle : use;
}

bool AsyncWaits::ends_in_main_thread(const AsyncStack& stack) const {
  if (stack.end != AsyncChain::End::thread || !stack.os_id) return false;
  const RuntimeThread* const thread = locks_->runtime_thread(*stack.os_id);
  return thread != nullptr && thread->managed_id == 1U;
}

ChainMark AsyncWaits::mark(const AsyncChain& chain, const AsyncStack& stack) const {
  WordHash place, kind;
  for (const AsyncFrame& frame : stack.frames) {
    kind.add(frame.position->method->token);
    kind.add(frame.position->method->runtime_module);
    kind.add(static_cast<std::uint32_t>(frame.state));
  }
  kind.add(static_cast<std::uint64_t>(stack.waits_for.kind));
  for (std::size_t i = 0; i < chain.boxes.size(); ++i) {
    place.add(chain.boxes[i]->object);
    place.add(static_cast<std::uint32_t>(chain.boxes[i]->state));
  }
  const AsyncBox& first = *chain.boxes.front();
  place.add(first.awaited);
  place.add(stack.waits_for.object);
  // A source that is used again and again has the same address each time; its awaiter has a number that
  // grows, and the method's variables differ.
  try {
    const Target& target = graph_->kinds().target();
    const TypeLayout& layout = graph_->kinds().objects().layouts().of(first.shape->method_table);
    const std::uint32_t header = first.shape->value_type ? 0 : target.pointer_size();
    std::vector<std::byte> variables(
        std::min(layout.size - std::min(layout.size, header), max_compared_bytes));
    target.read_bytes(first.machine, variables);
    for (const std::byte byte : variables) place.add(std::to_integer<std::uint64_t>(byte));
  } catch (const Error&) {
    // Addresses alone tell, then.
  }
  return {.place = place.value(), .kind = kind.value()};
}

AsyncWaiting AsyncWaits::read(const HeapWalkOptions& options) {
  AsyncWaiting waiting;
  graph_ = &async_->graph(options);
  std::vector<Group> groups;
  std::map<std::tuple<const AwaitPosition*, AwaitedKind, AwaitUse, std::string>, std::size_t> known;
  std::vector<std::pair<std::size_t, ChainMark>> marks;
  async_->for_each_chain(options, [&](const AsyncChain& chain, const AsyncStack& stack) {
    const auto user =
        std::ranges::find_if(stack.frames, [](const AsyncFrame& f) { return !f.position->framework; });
    if (stack.no_beginning) {
      if (waiting.knots.size() >= max_named) return;
      std::string text;
      for (const AsyncFrame& frame : stack.frames)
        text += fmt::format("{}{}", text.empty() ? "" : knot_link, text_of(*frame.position));
      waiting.knots.push_back(std::move(text));
      return;
    }
    if (user == stack.frames.end()) return;
    const auto first = static_cast<std::size_t>(user - stack.frames.begin());
    const AwaitUse use = use_of(stack, first);
    const auto [entry, added] = known.try_emplace(
        {user->position.get(), stack.waits_for.kind, use, stack.waits_for.text}, groups.size());
    if (added) {
      Group& group = groups.emplace_back();
      group.told.position = user->position;
      group.told.waits_for = stack.waits_for;
      group.use = use;
      if (ends_in_main_thread(stack)) group.main = *stack.os_id;
      group.for_nobody =
          stack.end == AsyncChain::End::nobody || stack.end == AsyncChain::End::async_void || group.main != 0;
      for (auto frame = user; frame != stack.frames.end(); ++frame) {
        group.boxes.push_back(frame->box);
        if (!frame->position->framework) group.last = frame->box;
      }
    }
    Group& group = groups[entry->second];
    ++group.told.count;
    group.told.requests += handles_request(stack) ? 1 : 0;
    if (group.told.waits_for.object != stack.waits_for.object) group.told.waits_for.object = 0;
    if (use != AwaitUse::owed) return;
    marks.emplace_back(entry->second, mark(chain, stack));
  });
  for (Group& group : groups)
    if (group.use == AwaitUse::owed && group.told.count == 1 && waits_as_worker(group))
      group.use = AwaitUse::idle;
  for (const auto& [index, mark] : marks)
    if (groups[index].use == AwaitUse::owed) waiting.marks.push_back(mark);
  std::ranges::stable_sort(groups, std::greater(), [](const Group& group) { return group.told.count; });
  AwaitedNames names(async_->objects().runtime(), *graph_);
  std::size_t named = 0;
  for (Group& group : groups) {
    if (group.use == AwaitUse::owed) {
      if (named++ < max_named) name(group, names, options);
      waiting.owed += group.told.count;
      waiting.requests += group.told.requests;
      waiting.groups.push_back(std::move(group.told));
    } else if (group.told.count >= many) {
      waiting.others.push_back(std::move(group.told));
    }
  }
  waiting.unreadable = graph_->unreadable();
  waiting.left_out = async_->left_out(options);
  return waiting;
}

// A single chain whose last method waits in a loop, and for which nobody waits, does so for work: a signal,
// or the next message. So does one for which the main thread waits in a loop, where nobody can be seen who
// owes it anything.
bool AsyncWaits::waits_as_worker(const Group& group) const {
  const AsyncBox* const last = graph_->box(group.last);
  if (last == nullptr || group.told.requests != 0 || !group.for_nobody) return false;
  const MachineAwait* const await = last->await();
  if (await != nullptr && await->site.in_loop) return true;
  return group.main != 0 && group.told.waits_for.kind == AwaitedKind::completion_source &&
         locks_->waits_in_loop(group.main);
}

void AsyncWaits::name(Group& group, AwaitedNames& names, const HeapWalkOptions& options) {
  const Address object = group.told.waits_for.object;
  if (object == 0) return;
  std::optional<AwaitedName> name;
  constexpr std::size_t callers = 2; // a method that only waits is called by the one that knows
  for (std::size_t i = 0; i < group.boxes.size() && i <= callers && !name; ++i)
    if (const AsyncBox* const box = graph_->box(group.boxes[i])) name = names.of(*box, object);
  if (!name) name = names.of_static(object, [&] { return !options.progress || options.progress(0, 0); });
  if (!name) return;
  group.told.name = name->text;
  if (group.told.waits_for.kind == AwaitedKind::semaphore) group.told.holder = holder(group, names, *name);
}

// Who came through the same await of the same object, and waits or runs behind it.
std::string AsyncWaits::holder(const Group& group, AwaitedNames& names, const AwaitedName& name) {
  const AsyncBox* const waiter = graph_->box(group.boxes.front());
  if (waiter == nullptr || waiter->resume != nullptr) return {};
  std::vector<const AsyncBox*> holders;
  for (const AsyncBox& box : graph_->boxes())
    if (box.shape == waiter->shape && (box.runs() || (box.waits && box.state > waiter->state)) &&
        names.has(box, name, group.told.waits_for.object))
      holders.push_back(&box);
  if (holders.empty()) return {};
  const std::string first = holder_text(*holders.front());
  return holders.size() == 1 ? first : fmt::format("one of {}, the first: {}", holders.size(), first);
}

std::string AsyncWaits::holder_text(const AsyncBox& box) {
  if (box.runs())
    if (const auto thread = thread_that_runs(box)) {
      const ThreadWait* const wait = locks_->wait_of(*thread);
      const std::string place = wait == nullptr ? "" : locks_->place_text(*wait),
                        waits = wait == nullptr ? "" : locks_->wait_text(*wait);
      const bool sleeps = wait != nullptr && wait->what == ThreadWait::What::sleep;
      return fmt::format("{}{}{}", locks_->thread_text(*thread),
                         place.empty() ? "" : fmt::format(" in {}", place),
                         waits.empty() ? ""
                         : sleeps      ? ", which sleeps"
                                       : fmt::format(", which waits for {}", waits));
    }
  const std::string place = text_of(*async_->position(box));
  if (box.runs()) return place + ", which runs";
  const AsyncChain* const chain = async_->chain_of(box);
  const std::string waits = chain == nullptr ? "" : AwaitedReader(*graph_).of(*chain->boxes.front()).text;
  return waits.empty() ? place : fmt::format("{}, which waits for {}", place, waits);
}

std::optional<std::uint64_t> AsyncWaits::thread_that_runs(const AsyncBox& box) {
  std::vector<ThreadTop> running;
  for (const ThreadTop& thread : async_->threads())
    if (locks_->has_frame_of(thread.os_id, box.shape->module, box.shape->move_next))
      running.push_back(thread);
  if (running.size() == 1) return running.front().os_id;
  const Target& target = graph_->kinds().target();
  std::unordered_set<Address> words{box.object, box.machine};
  if (!box.shape->value_type) words.insert(box.machine - target.pointer_size());
  std::unordered_set<std::uint64_t> threads;
  for (const auto& [word, place] : find_on_stacks(target, running, words)) threads.insert(place.os_id);
  return threads.size() == 1 ? std::optional(*threads.begin()) : std::nullopt;
}

} // namespace clr
