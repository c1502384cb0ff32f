#include "core/memory/error.h"
#include "core/report/lock_json.h"
#include "core/report/merged_stacks.h"
#include "core/report/page/sections.h"
#include "core/report/thread_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <unordered_map>

namespace clr {

namespace {

// The line above a stack: the place in the user's code, and what the thread waits for there.
std::string stack_summary(const MergedStack& stack, LockReporter* locks,
                          const std::unordered_map<std::uint32_t, std::uint64_t>& os_ids) {
  const std::string threads =
      fmt::format("{} {}", stack.threads.size() == 1 ? "thread" : "threads", thread_numbers(stack.threads));
  const ThreadWait* const wait =
      locks == nullptr ? nullptr : locks->wait_of(os_ids.at(stack.threads.front()));
  if (wait == nullptr) return threads;
  const std::string place = locks->place_text(*wait), what = wait_words(*wait, *locks);
  return fmt::format("{}{}{}{}{}", threads, place.empty() ? "" : " in ", place, what.empty() ? "" : ": ",
                     what);
}

} // namespace

void write_stacks(HtmlWriter& html, PageStop& stop) {
  PageSource& source = stop.source();
  LockReporter* const locks = stop.runtime().absence() == nullptr ? &source.locks() : nullptr;
  if (locks != nullptr) locks->table_by_stacks();
  std::unordered_map<std::uint32_t, std::uint64_t> os_ids;
  MergedStacks merged;
  std::size_t walked = 0, seen = 0;
  for (const PageThread& thread : source.threads) {
    stop.check();
    if (walked >= max_page_walks) break;
    ++seen;
    os_ids[thread.index] = thread.os_id;
    MergedStack stack;
    stack.threads = {thread.index};
    stack.end =
        source.walk(thread, {.max_frames = max_page_walk, .runtime_frames = false}, [&](const FrameRow& row) {
          stack.add(row);
          ++walked;
          return !(source.stop && source.stop());
        });
    merged.add(std::move(stack));
  }
  std::vector<const MergedStack*> stacks;
  for (const MergedStack& stack : merged.all()) stacks.push_back(&stack);
  const auto is_managed = [](const MergedStack* stack) {
    return std::ranges::any_of(stack->rows, [](const FrameRow& row) { return row.answer != nullptr; });
  };
  // Threads of the runtime and of native libraries stand behind.
  std::ranges::stable_sort(
      stacks, [&](const MergedStack* a, const MergedStack* b) { return is_managed(a) && !is_managed(b); });
  html.element("p", fmt::format("{} of {}; frames have their addresses as titles.",
                                count_text(stacks.size(), "different stack", Digits::grouped),
                                count_text(seen, "thread", Digits::grouped)));
  if (seen < source.threads.size())
    stop.miss(fmt::format("the stacks of {}: those of the first {} have {} frames together",
                          count_text(source.threads.size() - seen, "thread", Digits::grouped), grouped(seen),
                          grouped(walked)));
  constexpr std::size_t unfolded = 12; // more of them are hard to look through
  const std::size_t left = write_some(html, stacks.size(), max_page_stacks, [&](std::size_t i) {
    stop.check();
    if (i < unfolded && is_managed(stacks[i]))
      html.begin("details", {{"open", "open"}});
    else
      html.begin("details");
    html.element("summary", stack_summary(*stacks[i], locks, os_ids));
    write_frames(html, stacks[i]->rows, stacks[i]->end, stacks[i]->left_out);
    html.end();
  });
  write_more(html, left, "stacks");
}

void write_threads(HtmlWriter& html, PageStop& stop) {
  PageSource& source = stop.source();
  LockReporter& locks = source.locks();
  locks.table_by_stacks();
  const ThreadList& list = source.stacks->threads();
  if (!list.problem.empty()) stop.miss(fmt::format("the list of threads is not whole: {}", list.problem));
  ExceptionReporter exceptions(stop.runtime());
  html.begin("table");
  write_head(html, {"#index", "#OS id", "#managed", "GC mode", "name, state, exception", "what it does"});
  const auto number = [&](const auto& value) {
    html.element("td", value ? fmt::format("{}", *value) : std::string("?"), {{"class", "n"}});
  };
  const std::size_t left = write_some(html, list.threads.size(), max_page_threads, [&](std::size_t i) {
    stop.check();
    const RuntimeThread& thread = list.threads[i];
    const unsigned index = locks.index_of(thread.os_id.value_or(0));
    const ThreadReport row = report_thread(thread, index, exceptions);
    html.begin("tr");
    html.element("td", index == 0 ? "-" : fmt::format("#{}", index), {{"class", "n"}});
    number(thread.os_id);
    number(thread.managed_id);
    html.element("td", thread.cooperative ? (*thread.cooperative ? "cooperative" : "preemptive") : "?",
                 {{"class", "k"}});
    write_cell(html, thread_words(row));
    const ThreadWait* const wait = locks.wait_of(thread.os_id.value_or(0));
    const std::string place = wait == nullptr ? "" : locks.place_text(*wait);
    const std::string what = wait == nullptr ? "" : wait_words(*wait, locks);
    write_cell(html, fmt::format("{}{}{}{}", place.empty() ? "" : "in ", place,
                                 place.empty() || what.empty() ? "" : ": ", what));
    html.end();
  });
  html.end();
  write_more(html, left, "threads");
}

void write_exceptions(HtmlWriter& html, PageStop& stop) {
  PageSource& source = stop.source();
  ExceptionReporter reporter = exceptions_of(source);
  struct Found {
    Address object = 0;
    bool in_flight = false;
    std::vector<std::uint64_t> threads;
  };
  std::vector<Found> found; // those in flight first
  bool whole = source.stacks->threads().problem.empty();
  for (const RuntimeThread& thread : source.stacks->threads().threads) {
    stop.check();
    const ExceptionReporter::OfThread of = reporter.of_thread(thread);
    if (!of.problem.empty() && of.problem != thread.fault)
      stop.miss(fmt::format("exceptions: {}", of.problem));
    whole = whole && of.problem.empty();
    const auto add = [&](Address object, bool in_flight) {
      auto place = std::ranges::find(found, object, &Found::object);
      if (place == found.end()) {
        found.push_back({.object = object, .threads = {}});
        place = found.end() - 1;
      }
      place->in_flight = place->in_flight || in_flight;
      place->threads.push_back(thread.os_id.value_or(0));
    };
    for (const Address object : of.in_flight) add(object, true);
    if (of.in_flight.empty() && of.last_thrown != 0) add(of.last_thrown, false);
  }
  std::ranges::stable_sort(found, [](const Found& a, const Found& b) { return a.in_flight && !b.in_flight; });
  if (found.empty())
    html.element("p", whole ? "None is in flight, and none is known to have been thrown."
                            : "None is known; not all threads could be asked.");
  LockReporter& locks = source.locks();
  locks.table_by_stacks();
  const std::size_t left = write_some(html, found.size(), max_page_exceptions, [&](std::size_t i) {
    const std::string threads = found[i].threads.size() != 1
                                    ? count_text(found[i].threads.size(), "thread", Digits::grouped)
                                : found[i].threads.front() == 0 ? "a thread of unknown number"
                                                                : locks.thread_text(found[i].threads.front());
    html.element("p",
                 found[i].in_flight
                     ? fmt::format("in flight on {}:", threads)
                     : fmt::format("the last one that was thrown on {}, handled perhaps:", threads),
                 {{"class", "dim"}});
    try {
      write_exception(html, reporter.tree(found[i].object));
    } catch (const Error& error) {
      html.element("p", fmt::format("{:#x}: {}", found[i].object, error.what()), {{"class", "why"}});
    }
  });
  write_more(html, left, "exceptions");
}

} // namespace clr
