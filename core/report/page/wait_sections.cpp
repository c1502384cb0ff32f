#include "core/memory/error.h"
#include "core/report/deadlock_report.h"
#include "core/report/page/sections.h"
#include "core/report/page/wait_picture.h"
#include "core/runtime/pool_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace clr {

void write_deadlocks(HtmlWriter& html, PageStop& stop) {
  LockReporter& locks = stop.locks();
  const std::vector<Deadlock>& deadlocks = locks.deadlocks(stop.source().options);
  if (deadlocks.empty())
    html.element("p", locks.table().with_heap
                          ? "No deadlock was found."
                          : "No deadlock was found by the stacks; the heap cannot be asked.");
  const std::size_t left = write_some(html, deadlocks.size(), max_page_deadlocks, [&](std::size_t i) {
    const std::vector<std::string> lines = deadlock_lines(deadlocks[i], locks);
    html.element("p", lines.front(), {{"class", "bad"}});
    html.begin("pre");
    const std::size_t more = write_some(html, lines.size() - 1, max_page_frames, [&](std::size_t line) {
      html.text(lines[line + 1]);
      html.literal("\n");
    });
    html.end();
    write_more(html, more, "lines");
  });
  write_more(html, left, "deadlocks");
}

void write_wait_graph(HtmlWriter& html, PageStop& stop) {
  const AsyncReport* chains = nullptr;
  try {
    chains = &stop.async();
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::interrupted) throw;
    html.element("p", fmt::format("Without async methods: {}.", error.what()), {{"class", "why"}});
  }
  const WaitPicture picture = wait_picture(stop.locks(), chains, stop.source().options);
  if (picture.boxes.empty()) {
    html.element("p",
                 stop.locks().table().with_heap
                     ? "No thread waits for a lock or for another thread."
                     : "By the stacks no thread waits for a lock or for another thread; the heap cannot be "
                       "asked.");
    return;
  }
  html.element(
      "p",
      "An arrow leads from who waits to what it waits for, and from a lock to its owner. Red: they wait "
      "for each other.",
      {{"class", "dim"}});
  draw(html, picture);
  write_more(html, picture.left_out, "boxes, which are in the tables below");
}

namespace {

// Who waits for a lock: each place once, with the threads that stand there.
void write_waiters(HtmlWriter& html, const LockRow& row, const LockTable& table, LockReporter& locks) {
  std::map<std::string, std::vector<std::uint64_t>> places;
  for (const std::size_t i : row.waiters) {
    const ThreadWait& wait = table.waits[i];
    const std::string place = locks.place_text(wait);
    places[fmt::format("{}{}{}{}", wait.certain ? "" : "probably ", purpose_text(wait.mode),
                       place.empty() ? "" : " in ", place)]
        .push_back(wait.os_id);
  }
  std::vector<std::pair<std::string, std::vector<std::uint64_t>>> sorted(places.begin(), places.end());
  std::ranges::stable_sort(sorted,
                           [](const auto& a, const auto& b) { return a.second.size() > b.second.size(); });
  html.begin("td");
  const std::size_t left = write_some(html, sorted.size(), max_page_waiters, [&](std::size_t i) {
    const auto& [place, threads] = sorted[i];
    const std::string who = threads.size() == 1 ? locks.thread_text(threads.front())
                                                : count_text(threads.size(), "thread", Digits::grouped);
    html.begin("div");
    html.text(place.empty() ? who : fmt::format("{} {}", who, place));
    html.end();
  });
  write_more(html, left, "places");
  html.end();
}

void write_owner(HtmlWriter& html, const LockRow& row, LockReporter& locks) {
  html.begin("td");
  html.text(locks.owner_text(row));
  if (row.owner && row.state.entries > 1) html.text(fmt::format(", entered {} times", row.state.entries));
  if (row.owner && row.owner->os_id)
    if (const ThreadWait* const wait = locks.wait_of(*row.owner->os_id))
      if (const std::string place = locks.place_text(*wait); !place.empty())
        html.text(fmt::format(", which stands in {}", place));
  if (!row.fault.empty())
    html.element("span", fmt::format(" its state cannot be read: {}", row.fault), {{"class", "why"}});
  html.end();
}

} // namespace

void write_locks(HtmlWriter& html, PageStop& stop) {
  LockReporter& locks = stop.locks();
  const LockTable& table = locks.table();
  for (const std::string& problem : table.problems) stop.miss(problem);
  std::vector<const LockRow*> rows; // who waits for a thread is told with the threads
  for (const LockRow& row : table.locks)
    if (!is_of_thread(row.state.kind)) rows.push_back(&row);
  if (rows.empty()) {
    html.element("p", table.with_heap ? "No lock is held or waited for."
                                      : "By the stacks no lock is waited for; the heap cannot be asked.");
    return;
  }
  html.element("p", fmt::format("{} held or waited for", count_text(rows.size(), "lock", Digits::grouped)));
  html.begin("table");
  write_head(html, {"lock", "kind", "#waiters", "owner or state", "who waits"});
  const std::size_t left = write_some(html, rows.size(), max_page_locks, [&](std::size_t i) {
    stop.check();
    const LockState& state = rows[i]->state;
    const std::string type = locks.type_of(state);
    html.begin("tr");
    write_cell(html, fmt::format("{} {:#x}", type.empty() ? "of unknown type" : type, state.object));
    html.element("td", to_string(state.kind), {{"class", "k"}});
    write_number(html, rows[i]->waiters.size());
    write_owner(html, *rows[i], locks);
    write_waiters(html, *rows[i], table, locks);
    html.end();
  });
  html.end();
  write_more(html, left, "locks");
}

namespace {

void write_chain(HtmlWriter& html, const AsyncStack& stack, bool open) {
  if (open)
    html.begin("details", {{"open", "open"}});
  else
    html.begin("details");
  html.begin("summary");
  html.element("b", stack.count() == 1 ? "once" : fmt::format("{} times", grouped(stack.count())));
  html.text(" waits for " + text_with_object(stack.waits_for));
  html.end();
  html.begin("ol", {{"class", "frames"}, {"start", "0"}});
  const std::size_t left = write_some(html, stack.frames.size(), max_page_chain_frames, [&](std::size_t i) {
    const AwaitPosition& position = *stack.frames[i].position;
    html.begin("li", {{"class", position.framework ? "native" : "managed"},
                      {"title", fmt::format("{:#x} {}", stack.frames[i].box, text_of(position))}});
    html.element("b", position.method->shown_name());
    html.text(source_position(position.source));
    if (position.dispose) html.text(" (the end of an await using or await foreach)");
    html.end();
  });
  html.end();
  write_more(html, left, "methods");
  if (const std::string end = end_text(stack); !end.empty()) html.element("p", end, {{"class", "dim"}});
  html.end();
}

} // namespace

void write_async(HtmlWriter& html, PageStop& stop) {
  const AsyncReport& report = stop.async();
  const HeapPassResult& found = stop.source().waits().last();
  for (std::string& text : gap_texts(found.gaps, stop.source().heap().map().bytes()))
    stop.miss(std::move(text));
  if (report.left_out) stop.miss("async methods: there are more chains than are counted");
  if (report.unreadable != 0)
    stop.miss(report.unreadable == 1
                  ? "1 task or async method cannot be read"
                  : fmt::format("{} tasks and async methods cannot be read", grouped(report.unreadable)));
  if (report.chains == 0) {
    const bool whole = found.gaps.empty() && !report.left_out && report.unreadable == 0;
    html.element("p", whole ? "None waits." : "None was found to wait; not all could be looked at.");
    return;
  }
  std::vector<const AsyncStack*> stacks;
  for (const AsyncStack& stack : report.stacks)
    if (!stack.plumbing) stacks.push_back(&stack);
  html.element("p",
               fmt::format("{} of async methods that wait, {} of them of .NET's own libraries, which are "
                           "left out; equal ones are one",
                           count_text(report.chains, "chain", Digits::grouped), grouped(report.plumbing)));
  constexpr std::size_t unfolded = 8;
  const std::size_t left = write_some(html, stacks.size(), max_page_chains,
                                      [&](std::size_t i) { write_chain(html, *stacks[i], i < unfolded); });
  write_more(html, left, "different chains");
}

void write_pool(HtmlWriter& html, PageStop& stop) {
  const std::optional<PoolReport> report = report_pool(stop.runtime());
  if (!report) {
    html.element("p", "The program has not used its thread pool.");
    return;
  }
  const ThreadPoolState& state = report->state;
  for (const std::string& problem : state.problems) stop.miss(fmt::format("the thread pool: {}", problem));
  const auto text = [](const std::optional<unsigned>& number) {
    return number ? std::to_string(*number) : std::string("?");
  };
  if (report->starved())
    html.element("p", "Starved: items are queued, and all workers are busy or blocked.", {{"class", "bad"}});
  html.element("p",
               fmt::format("workers: {} work, {} exist, {} are wanted; at least {}, at most {}; {} blocked "
                           "in a task; {} queued{}",
                           text(state.processing), text(state.existing), text(state.goal),
                           text(state.minimum), text(state.maximum), text(state.blocked),
                           count_text(state.items.size(), "item", Digits::grouped),
                           state.left_out ? " at least" : ""));
  if (report->groups.empty()) return;
  html.begin("table");
  write_head(html, {"#count", "queue", "runs"});
  const std::size_t left = write_some(html, report->groups.size(), max_page_items, [&](std::size_t i) {
    const PoolGroup& group = report->groups[i];
    html.begin("tr");
    write_number(html, group.count);
    html.element("td", to_string(group.queue), {{"class", "k"}});
    write_cell(html, group.method);
    html.end();
  });
  html.end();
  write_more(html, left, "groups of items");
}

void write_failed_tasks(HtmlWriter& html, PageStop& stop) {
  const std::vector<FaultedTask> tasks = stop.async_reporter().faulted({}, stop.source().options);
  stop.check();
  if (tasks.empty()) {
    html.element("p", "None is known.");
    return;
  }
  html.begin("table");
  write_head(html, {"task", "method", "exception", ""});
  const std::size_t left = write_some(html, tasks.size(), max_page_tasks, [&](std::size_t i) {
    const FaultedTask& task = tasks[i];
    html.begin("tr");
    write_cell(html, fmt::format("{:#x}", task.task));
    write_cell(html, task.method ? task.method->shown_name() : task.type);
    write_cell(html,
               task.exception == 0 ? task.fault : fmt::format("{}: {}", task.exception_type, task.message));
    const bool known = task.exception != 0 || task.fault.empty(); // whether somebody did
    write_cell(html, task.observed || !known ? "" : "nobody asked for it");
    html.end();
  });
  html.end();
  write_more(html, left, "tasks");
}

} // namespace clr
