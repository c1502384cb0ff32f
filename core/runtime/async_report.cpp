#include "core/runtime/async_report.h"

#include "core/objects/object_reader.h"
#include "core/runtime/name_filter.h"
#include "core/stack/exceptions.h"
#include "core/waits/blocked_threads.h"
#include "core/waits/thread_pool.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace clr {

constexpr std::size_t max_runner_frames = 2'000;         // managed ones of one thread
constexpr std::size_t max_all_runner_frames = 2'000'000; // of all threads

std::string_view to_string(AsyncChain::End end) {
  switch (end) {
  case AsyncChain::End::nobody:
    return "nobody";
  case AsyncChain::End::async_void:
    return "async_void";
  case AsyncChain::End::thread:
    return "thread";
  case AsyncChain::End::loops:
    return "loop";
  case AsyncChain::End::limit:
    return "limit";
  }
  return "nobody";
}

std::string end_text(const AsyncStack& stack) {
  switch (stack.end) {
  case AsyncChain::End::nobody:
    return {};
  case AsyncChain::End::async_void:
    return "async void: nobody can wait for it";
  case AsyncChain::End::thread:
    return stack.os_id ? fmt::format("thread {} waits for it", *stack.os_id) : "a thread waits for it";
  case AsyncChain::End::loops:
    return "which one of these methods waits for";
  case AsyncChain::End::limit:
    return "...";
  }
  return {};
}

AsyncGraph& AsyncReporter::graph(const HeapWalkOptions& options) {
  if (graph_ == nullptr) graph_ = &objects_->async(options);
  return *graph_;
}

AsyncStack AsyncReporter::stack_of(const AsyncChain& chain, AwaitedReader& awaited) {
  AsyncStack stack;
  stack.frames.reserve(chain.boxes.size());
  for (const AsyncBox* const box : chain.boxes)
    stack.frames.push_back({names_.position(*box), box->state, box->object});
  stack.boxes = {chain.boxes.front()->object};
  stack.end = chain.end;
  stack.blocker = chain.blocker;
  if (const auto thread = blocked_.find(chain.blocker); thread != blocked_.end())
    stack.os_id = thread->second;
  stack.no_beginning = chain.no_beginning;
  stack.plumbing =
      std::ranges::all_of(stack.frames, [](const AsyncFrame& f) { return f.position->framework; });
  if (chain.no_beginning)
    stack.waits_for = {AwaitedKind::task, "async methods that wait for each other", 0};
  else
    stack.waits_for = awaited.of(*chain.boxes.front());
  stack.since_ms = stack.waits_for.since_ms;
  if (const auto request = request_start(chain, stack))
    stack.since_ms = std::min(stack.since_ms.value_or(*request), *request);
  if (stack.waits_for.kind == AwaitedKind::ready && chain.boxes.front()->resume != nullptr)
    find_runner(stack, chain);
  return stack;
}

void AsyncReporter::note_runners(AsyncGraph& graph) {
  if (runners_) return;
  runners_.emplace();
  holders_ = find_task_holders(graph, threads_);
  std::unordered_set<Address> methods; // that may be found to run
  for (const AsyncBox& box : graph.boxes())
    if (box.resume != nullptr) methods.insert(box.resume->method_desc);
  std::size_t frames = 0; // of all threads
  for (const ThreadTop& thread : threads_) {
    std::size_t managed = 0;
    stacks_->walk_frames(thread.registers, thread.os_id, [&](const StackFrame& frame) {
      if (frame.kind == StackFrameKind::managed && frame.code) {
        if (methods.contains(frame.code->method_desc))
          runners_->emplace(frame.code->method_desc, thread.os_id);
        ++managed;
      }
      return managed < max_runner_frames && ++frames < max_all_runner_frames;
    });
    if (frames >= max_all_runner_frames) return;
  }
}

// Continuations stay behind their task while a thread runs the methods one after the other. Those below the
// one that stands on the stack of the thread that has the task have ended.
void AsyncReporter::find_runner(AsyncStack& stack, const AsyncChain& chain) {
  if (stacks_ == nullptr) return;
  note_runners(objects_->async());
  const auto step = [&] { return runner_steps_left_ != 0 && runner_steps_left_-- != 0; };
  std::unordered_set<std::uint64_t> holders;
  for (const AsyncBox* const box : chain.boxes)
    if (const auto found = holders_.find(box->object); found != holders_.end())
      for (const std::uint64_t thread : found->second)
        if (step()) holders.insert(thread);
  if (holders.empty()) return;
  for (std::size_t i = 0; i < chain.boxes.size() && chain.boxes[i]->resume != nullptr; ++i) {
    std::unordered_set<std::uint64_t> runners;
    const auto [first, last] = runners_->equal_range(chain.boxes[i]->resume->method_desc);
    for (auto at = first; at != last; ++at) {
      if (!step()) return; // there may be a second one
      if (holders.contains(at->second)) runners.insert(at->second);
    }
    if (runners.empty()) continue;
    if (runners.size() > 1) return;
    stack.frames.erase(stack.frames.begin(), stack.frames.begin() + static_cast<std::ptrdiff_t>(i));
    stack.frames.front().position = names_.running(*chain.boxes[i]);
    stack.waits_for = {AwaitedKind::running, fmt::format("nothing: thread {} runs it", *runners.begin()), 0,
                       AwaitUse::goes_on};
    return;
  }
}

// Kestrel's method that answers requests keeps the context of the one it is at, which has the time of its
// start when logs or metrics want it.
std::optional<std::uint64_t> AsyncReporter::request_start(const AsyncChain& chain, const AsyncStack& stack) {
  constexpr std::uint64_t nanoseconds = 1'000'000; // the clock of Stopwatch on Unix
  for (std::size_t i = 0; i < chain.boxes.size(); ++i) {
    const AwaitPosition& position = *stack.frames[i].position;
    const AsyncBox& box = *chain.boxes[i];
    if (!position.framework || box.machine == 0 || !answers_requests(position.method->name)) continue;
    try {
      AsyncObjects& kinds = graph().kinds();
      for (const FieldLayout& field : kinds.objects().layouts().of(box.shape->method_table).fields) {
        if (field.is_static || !field.type->is_reference() || !field.name.starts_with("<context>")) continue;
        const Address context = kinds.target().read_pointer(box.machine + field.offset);
        const auto start =
            context != 0 ? kinds.integer(context, "<StartTimestamp>k__BackingField") : std::nullopt;
        if (start && *start >= nanoseconds) return *start / nanoseconds;
      }
    } catch (const Error&) {
      // The age is not known, then.
    }
  }
  return std::nullopt;
}

void AsyncReporter::find_threads(AsyncGraph& graph) {
  std::unordered_set<Address> blockers;
  for (const Address blocker : graph.blockers()) blockers.insert(blocker);
  for (const auto& [blocker, place] : find_on_stacks(graph.kinds().target(), threads_, blockers)) {
    const auto [entry, added] = blocked_.try_emplace(blocker, place.os_id);
    if (!added) entry->second = 0; // on two stacks: one of them has an old word
  }
  std::erase_if(blocked_, [](const auto& entry) { return entry.second == 0; });
}

const AsyncChains& AsyncReporter::chains(AsyncGraph& graph) {
  if (!chains_) {
    find_threads(graph);
    chains_ = async_chains(graph);
    for (const AsyncChain& chain : chains_->chains)
      if (chain.end == AsyncChain::End::thread)
        if (const auto blocked = blocked_.find(chain.blocker); blocked != blocked_.end())
          chains_by_thread_[blocked->second].push_back(&chain);
  }
  return *chains_;
}

void AsyncReporter::note_running(AsyncGraph& graph) {
  if (running_noted_) return;
  running_noted_ = true;
  for (const AsyncBox& box : graph.boxes()) {
    if (box.waits) continue;
    const std::pair method(box.shape->module, box.shape->move_next);
    const std::uint32_t number =
        running_methods_.try_emplace(method, static_cast<std::uint32_t>(running_methods_.size()))
            .first->second;
    running_words_.push_back({box.object, number, &box});
    running_words_.push_back({box.machine, number, &box});
    if (!box.shape->value_type)
      running_words_.push_back({box.machine - graph.kinds().target().pointer_size(), number, &box});
  }
  const auto place = [](const RunningWord& word) { return std::pair(word.word, word.method); };
  std::ranges::stable_sort(running_words_, {}, place);
  const auto rest = std::ranges::unique(running_words_, {}, place); // of several boxes the first
  running_words_.erase(rest.begin(), rest.end());
  for (const RunningWord& word : running_words_) running_set_.insert(word.word);
}

AsyncReporter::RunningPlaces AsyncReporter::running_on(const ThreadTop& thread, AsyncGraph& graph) {
  note_running(graph);
  RunningPlaces places;
  for (const auto& [word, place] : find_on_stacks(graph.kinds().target(), {&thread, 1}, running_set_))
    for (const RunningWord& one : std::ranges::equal_range(running_words_, word, {}, &RunningWord::word))
      places[one.method].emplace_back(place.at, one.box);
  for (auto& [method, found] : places) std::ranges::sort(found);
  return places;
}

// The box of the method that runs in a frame. Its machine is what MoveNext was called for, so a word of the
// stack leads to it: the one that is next to the frame.
const AsyncBox* AsyncReporter::running_in(const FrameRow& row, const RunningPlaces& places) const {
  if (!row.sp) return nullptr;
  const Method& method = row.answer->method;
  const auto number = running_methods_.find({method.runtime_module, method.token});
  const auto found = number == running_methods_.end() ? places.end() : places.find(number->second);
  if (found == places.end()) return nullptr;
  const auto above =
      std::ranges::lower_bound(found->second, *row.sp, {}, [](const auto& place) { return place.first; });
  if (above == found->second.begin()) return above->second;
  const auto below = std::prev(above);
  if (above == found->second.end() || *row.sp - below->first < above->first - *row.sp) return below->second;
  return above->second;
}

AsyncBeside AsyncReporter::beside(const ThreadTop& thread, const std::vector<FrameRow>& rows,
                                  const HeapWalkOptions& options) {
  AsyncGraph& graph = this->graph(options);
  AwaitedReader awaited(graph);
  AsyncBeside beside;
  std::unordered_set<const AsyncBox*> told;
  std::size_t looked_at = 0;
  std::optional<RunningPlaces> places; // of the stack, which is searched once
  for (const FrameRow& row : rows) {
    if (!row.answer || !row.answer->method.name.ends_with(".MoveNext")) continue;
    if (looked_at++ >= max_running_frames) break; // each may lead to a thousand chains
    if (!places) places = running_on(thread, graph);
    const AsyncBox* const box = running_in(row, *places);
    if (box == nullptr || !told.insert(box).second) continue;
    AsyncBeside::Callers callers{.frame = row.index};
    for (const AsyncChain& chain : async_chains_from(graph, *box).chains)
      if (chain.boxes.size() > 1 || chain.end != AsyncChain::End::nobody)
        callers.chains.push_back(stack_of(chain, awaited));
    if (!callers.chains.empty()) beside.callers.push_back(std::move(callers));
  }
  chains(graph);
  if (const auto found = chains_by_thread_.find(thread.os_id); found != chains_by_thread_.end())
    for (const AsyncChain* const chain : found->second) beside.waits_for.push_back(stack_of(*chain, awaited));
  return beside;
}

void AsyncReporter::for_each_chain(
    const HeapWalkOptions& options,
    const std::function<void(const AsyncChain& chain, const AsyncStack& stack)>& visit) {
  AsyncGraph& graph = this->graph(options);
  AwaitedReader awaited(graph);
  for (const AsyncChain& chain : chains(graph).chains) visit(chain, stack_of(chain, awaited));
}

bool AsyncReporter::left_out(const HeapWalkOptions& options) {
  AsyncGraph& graph = this->graph(options);
  const bool chains = this->chains(graph).left_out || graph.left_out();
  return chains || objects_->last().left_out || objects_->last().interrupted;
}

const AsyncChain* AsyncReporter::chain_of(const AsyncBox& box, const HeapWalkOptions& options) {
  for (const AsyncChain& chain : chains(graph(options)).chains)
    if (std::ranges::find(chain.boxes, &box) != chain.boxes.end()) return &chain;
  return nullptr;
}

AsyncReport AsyncReporter::stacks(const AsyncQuery& query, const HeapWalkOptions& options) {
  AsyncGraph& graph = this->graph(options);
  const AsyncChains& chains = this->chains(graph);
  AwaitedReader awaited(graph);
  const NameFilter filter(query.glob);
  AsyncReport report{.chains = chains.chains.size(),
                     .boxes = graph.boxes().size(),
                     .unreadable = graph.unreadable(),
                     .first_fault = graph.first_fault(),
                     .left_out = chains.left_out || graph.left_out() || objects_->last().left_out,
                     .interrupted = objects_->last().interrupted};
  // Equal chains have the same awaits, wait for the same kind of thing, and end in the same way.
  std::unordered_map<std::string, std::size_t> known;
  std::uint64_t reached = 0; // a time that the clock has reached
  std::size_t frames = 0;    // of report.stacks
  const auto has_room = [&](const AsyncStack& stack) {
    const bool room = stack.frames.size() <= max_reported_frames - frames;
    report.left_out = report.left_out || !room;
    return room;
  };
  for (const AsyncChain& chain : chains.chains) {
    AsyncStack stack = stack_of(chain, awaited);
    reached = std::max(reached, stack.since_ms.value_or(0));
    report.plumbing += stack.plumbing ? 1 : 0;
    if (!filter.everything() && std::ranges::none_of(stack.frames, [&](const AsyncFrame& frame) {
          const Method& method = *frame.position->method;
          return filter.accepts(method) || filter.accepts(method.shown_name());
        }))
      continue;
    if (query.waiting_on && stack.waits_for.object != *query.waiting_on &&
        std::ranges::find(stack.frames, *query.waiting_on, &AsyncFrame::box) == stack.frames.end())
      continue;
    if (query.tops) stack.frames.erase(stack.frames.begin(), std::prev(stack.frames.end()));
    if (!query.each) {
      std::string key = query.tops ? std::string() : stack.waits_for.text;
      key += static_cast<char>(stack.end);
      key += static_cast<char>(stack.waits_for.kind);
      if (query.tops) key.pop_back();
      for (const AsyncFrame& frame : stack.frames)
        key.append(fmt::format(",{}", static_cast<const void*>(frame.position.get())));
      if (const auto entry = known.find(key); entry != known.end()) {
        AsyncStack& first = report.stacks[entry->second];
        first.boxes.push_back(stack.boxes.front());
        if (stack.since_ms)
          first.since_ms = std::min(first.since_ms.value_or(*stack.since_ms), *stack.since_ms);
        if (first.waits_for.object != stack.waits_for.object) first.waits_for.object = 0;
        if (query.tops && first.waits_for.text != stack.waits_for.text)
          first.waits_for = {AwaitedKind::unknown, "several things", 0};
        continue;
      }
      if (!has_room(stack)) continue;
      known.emplace(std::move(key), report.stacks.size());
    } else if (!has_room(stack)) {
      continue;
    }
    frames += stack.frames.size();
    report.stacks.push_back(std::move(stack));
  }
  if (reached != 0) reached = std::max(reached, pool_clock(*objects_->runtime().objects(), reached));
  for (AsyncStack& stack : report.stacks)
    if (stack.since_ms) stack.age_ms = reached - *stack.since_ms;
  std::ranges::stable_sort(report.stacks, [](const AsyncStack& a, const AsyncStack& b) {
    if (a.plumbing != b.plumbing) return b.plumbing;
    return a.count() > b.count();
  });
  return report;
}

std::vector<FaultedTask> AsyncReporter::faulted(const AsyncQuery& query, const HeapWalkOptions& options) {
  AsyncGraph& graph = this->graph(options);
  AsyncObjects& kinds = graph.kinds();
  const NameFilter filter(query.glob);
  const ExceptionReader exceptions(*objects_->runtime().target(), [&](Address table) {
    return objects_->runtime().names()->type_name(table);
  });
  std::vector<FaultedTask> tasks;
  for (const Address task : graph.faulted()) {
    FaultedTask row{.task = task};
    try {
      row.type = kinds.objects().layouts().of(kinds.table_of(task)).text;
      if (const MachineShape* const machine = names_.machine_in(kinds, task))
        row.method = names_.method_of(*machine);
      if (!filter.everything() &&
          !(row.method && (filter.accepts(*row.method) || filter.accepts(row.method->shown_name()))))
        continue;
      const TaskFailure failure = kinds.failure(task);
      row.observed = failure.observed;
      row.exception = failure.exception;
      if (row.exception != 0) {
        const ManagedException exception = exceptions.summary(row.exception);
        row.exception_type = exception.type.value_or(std::string());
        row.message = exception.message.value_or(std::string());
      }
    } catch (const Error& error) {
      row.fault = error.what();
    }
    tasks.push_back(std::move(row));
  }
  std::ranges::stable_sort(tasks, {}, &FaultedTask::observed);
  return tasks;
}

} // namespace clr
