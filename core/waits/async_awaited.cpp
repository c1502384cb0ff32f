#include "core/waits/async_awaited.h"

#include "core/memory/count_text.h"
#include "core/memory/utf8.h"
#include "core/objects/known_values.h"

#include <fmt/format.h>

#include <arpa/inet.h>

#include <algorithm>
#include <array>

namespace clr {
namespace {

std::string span_text(std::uint64_t milliseconds) {
  return format_time_span(static_cast<std::int64_t>(milliseconds) * (ticks_per_second / 1000));
}

} // namespace

std::string_view to_string(AwaitedKind kind) {
  constexpr std::array<std::string_view, 17> names{
      "unknown",  "running",  "ready", "yield",  "delay", "semaphore", "channel", "completion_source",
      "when_all", "when_any", "task",  "socket", "pipe",  "timer",     "io",      "value_task_source",
      "awaiter"};
  return names[static_cast<std::size_t>(kind)];
}

std::string text_with_object(const Awaited& awaited) {
  if (awaited.object == 0) return awaited.text;
  return fmt::format("{} ({:#x})", awaited.text, awaited.object);
}

Awaited AwaitedReader::of(const AsyncBox& box) {
  Awaited awaited = read(box);
  if (awaited.use == AwaitUse::unknown) awaited.use = use_of(awaited);
  if (awaited.text.size() > max_awaited_text)
    awaited.text = std::string(cut_utf8(awaited.text, max_awaited_text)) + "...";
  return awaited;
}

AwaitUse AwaitedReader::use_of(const Awaited& awaited) {
  switch (awaited.kind) {
  case AwaitedKind::unknown:
    return AwaitUse::unknown;
  case AwaitedKind::running:
  case AwaitedKind::ready:
  case AwaitedKind::yield:
  case AwaitedKind::delay:
  case AwaitedKind::task:
    return AwaitUse::goes_on;
  case AwaitedKind::timer:
  case AwaitedKind::channel:
  case AwaitedKind::pipe:
  case AwaitedKind::when_any: // one of them is nearly always a time or the end of the program
    return AwaitUse::idle;
  case AwaitedKind::when_all: {
    const auto [use, added] = combinations_.try_emplace(awaited.object, AwaitUse::owed);
    if (!added) return use->second;
    const auto parts = graph_->awaited(awaited.object);
    const bool delays = !parts.empty() && std::ranges::all_of(parts, [&](const AsyncEdge& edge) {
      try {
        return graph_->kinds().lineage(edge.to).derives_from("System.Threading.Tasks.Task+DelayPromise");
      } catch (const Error&) {
        return false;
      }
    });
    if (delays) use->second = AwaitUse::goes_on;
    return use->second;
  }
  case AwaitedKind::semaphore:
  case AwaitedKind::completion_source:
  case AwaitedKind::socket:
  case AwaitedKind::io:
  case AwaitedKind::value_task_source:
  case AwaitedKind::awaiter:
    break;
  }
  return AwaitUse::owed;
}

Awaited AwaitedReader::read(const AsyncBox& box) {
  if (!box.waits) return {AwaitedKind::running, "nothing: it runs", 0};
  try {
    Address awaited = box.awaited;
    if (awaited == 0)
      if (const auto edges = graph_->awaited(box.object); !edges.empty()) awaited = edges.front().to;
    if (awaited != 0) {
      Awaited found = object(awaited, box);
      // The runtime takes the continuations of its tasks off when a method is done, not when it goes on.
      if (found.kind == AwaitedKind::ready && box.resume != nullptr)
        found.text = "nothing: what it waited for is done; it runs, or goes on when a thread takes it";
      return found;
    }
    const MachineAwait* const await = box.await();
    if (await != nullptr && await->awaiter_type.str().find("YieldAwaitable") != std::string::npos)
      return {AwaitedKind::yield, "a thread to go on with: it has given up its own", 0};
    if (await != nullptr && await->awaited)
      return {AwaitedKind::ready, "nothing: it goes on when a thread takes it", 0};
    if (await != nullptr && !await->awaiter_type.empty())
      return {AwaitedKind::awaiter, "an awaiter: " + await->awaiter_type.str(), 0};
    return {AwaitedKind::unknown,
            box.shape->problem.empty() ? "not known" : "not known: " + box.shape->problem, 0};
  } catch (const Error& error) {
    return {AwaitedKind::unknown, fmt::format("not known: {}", error.what()), box.awaited};
  }
}

std::string AwaitedReader::type_text(Address object) {
  AsyncObjects& kinds = graph_->kinds();
  return kinds.objects().layouts().of(kinds.table_of(object)).text;
}

Awaited AwaitedReader::object(Address awaited, const AsyncBox& box) {
  AsyncObjects& kinds = graph_->kinds();
  const MachineAwait* const await = box.await();
  // A method that the runtime suspends keeps the source itself.
  bool value_task =
      box.resume != nullptr ||
      (await != nullptr && (await->awaiter_type.str().find("ValueTaskAwait") != std::string::npos ||
                            (await->boxed && kinds.is_source(awaited))));
  std::string suffix;
  std::optional<std::uint64_t> since;
  const auto told = [&](Awaited found) {
    found.text += suffix;
    if (since) found.since_ms = since;
    return found;
  };
  for (unsigned i = 0; i < max_wrappers; ++i) {
    const TypeLineage& lineage = kinds.lineage(awaited);
    const std::string& name = lineage.name;
    if (!lineage.derives_from("System.Threading.Tasks.Task")) {
      Awaited found;
      if (name.starts_with("System.Threading.Channels.") && name.find("AsyncOperation") != std::string::npos)
        found = channel(awaited, name);
      else if (lineage.derives_from("System.Net.Sockets.SocketAsyncEventArgs"))
        found = socket(awaited);
      else if (name == "System.Threading.PeriodicTimer+State")
        found = periodic_timer(awaited);
      else if (name.starts_with("System.IO.Pipelines."))
        found = name.ends_with("Writer")
                    ? Awaited{AwaitedKind::pipe, "a pipe, to be read", awaited, AwaitUse::owed}
                    : Awaited{AwaitedKind::pipe, "a pipe, to be written", awaited, AwaitUse::idle};
      else if (name.starts_with("Microsoft.Win32.SafeHandles.SafeFileHandle+"))
        found = {AwaitedKind::io, "a file", awaited};
      else
        found = source(awaited, value_task);
      return told(std::move(found));
    }
    Address next = 0;
    if (!since && name.starts_with("System.Threading.Tasks.Task+CancellationPromise"))
      if (const Address timer = queue_timer(kinds.reference(awaited, "_timer"))) since = set_at(timer);
    Awaited found = task(awaited, name, suffix, next);
    if (next == 0) return told(std::move(found));
    value_task = value_task || name.ends_with("ValueTaskSourceAsTask");
    awaited = next;
  }
  return {AwaitedKind::task, "tasks that wait for each other", awaited};
}

Awaited AwaitedReader::task(Address task, std::string_view name, std::string& suffix, Address& next) {
  AsyncObjects& kinds = graph_->kinds();
  if (kinds.flags(task).done())
    return {AwaitedKind::ready, "nothing: what it waited for is done, and it goes on when a thread takes it",
            task};
  if (name.starts_with("System.Threading.Tasks.Task+DelayPromise")) return delay(task);
  if (name == "System.Threading.SemaphoreSlim+TaskNode") return semaphore(task);
  if (name.starts_with("System.Threading.Tasks.Task+WhenAllPromise")) return combination(task, true);
  if (name.starts_with("System.Threading.Tasks.Task+TwoTaskWhenAnyPromise") ||
      name.starts_with("System.Threading.Tasks.TaskFactory+CompleteOnInvokePromise"))
    return combination(task, false);
  if (name.starts_with("System.Threading.Tasks.Task+CancellationPromise")) {
    if (const Address timer = queue_timer(kinds.reference(task, "_timer"))) {
      const auto due = kinds.integer(timer, "_dueTime");
      suffix += due ? fmt::format(", for {} at most", span_text(*due & 0xffff'ffff)) : ", with a timeout";
    }
    next = kinds.reference(task, "_task");
  } else if (name.ends_with("+ValueTaskSourceAsTask")) {
    next = kinds.reference(task, "_source");
  } else if (name.starts_with("System.Threading.Tasks.UnwrapPromise")) {
    if (const auto edges = graph_->awaited(task); !edges.empty()) next = edges.front().to;
  }
  if (next != 0) return {};
  return plain_task(task);
}

Awaited AwaitedReader::plain_task(Address task) {
  AsyncObjects& kinds = graph_->kinds();
  const std::string type = type_text(task);
  if (kinds.suspends(kinds.table_of(task)))
    return {AwaitedKind::task, "an async method that runs, or whose continuation cannot be read", task};
  if (const Address action = kinds.action(task)) {
    const TaskFlags flags = kinds.flags(task);
    const bool follows = kinds.reference(task, "m_antecedent") != 0;
    return {AwaitedKind::task,
            fmt::format("a task that {} {}",
                        flags.waits_for_children() ? "waits for its children; it ran"
                        : flags.running()          ? "runs"
                        : flags.started()          ? "is queued, and that no thread has begun:"
                        : follows                  ? "is going to run after another one:"
                                                   : "has not begun:",
                        kinds.callback(action)),
            task, follows && !flags.started() ? AwaitUse::owed : AwaitUse::goes_on};
  }
  const bool plain =
      type == "System.Threading.Tasks.Task" || type.starts_with("System.Threading.Tasks.Task<");
  if (!plain) return {AwaitedKind::task, "a task: " + type, task};
  return {AwaitedKind::completion_source,
          "a TaskCompletionSource" + type.substr(std::string_view("System.Threading.Tasks.Task").size()),
          task};
}

Awaited AwaitedReader::delay(Address task) {
  AsyncObjects& kinds = graph_->kinds();
  const Address timer = queue_timer(kinds.reference(task, "_timer"));
  const auto due = timer != 0 ? kinds.integer(timer, "_dueTime") : std::nullopt;
  if (timer != 0 && !due)
    return {AwaitedKind::delay, "a delay by a timer that is not .NET's own: " + type_text(timer), task};
  if (!due) return {AwaitedKind::delay, "a delay without end", task, AwaitUse::idle};
  return {AwaitedKind::delay, fmt::format("a delay of {}", span_text(*due & 0xffff'ffff)), task,
          AwaitUse::unknown, set_at(timer)};
}

// A TimeProvider makes timers of its own, which stand for one of the framework's: TimeProvider itself, and
// providers that call it or Timer. `timer` itself when it stands for none that is known.
Address AwaitedReader::queue_timer(Address timer) {
  constexpr std::string_view queued = "System.Threading.TimerQueueTimer";
  AsyncObjects& kinds = graph_->kinds();
  Address at = timer;
  for (unsigned i = 0; i < max_timer_wrappers && at != 0; ++i) {
    if (kinds.lineage(at).is(queued)) return at;
    Address next = kinds.reference(at, "_timer");
    if (next == 0)
      for (const Address held : kinds.references(at)) {
        const TypeLineage& lineage = kinds.lineage(held);
        if (lineage.is(queued) || lineage.is("System.Threading.Timer") ||
            lineage.is("System.TimeProvider+SystemTimeProviderTimer"))
          next = held;
      }
    at = next;
  }
  return timer;
}

std::optional<std::uint64_t> AwaitedReader::set_at(Address timer) {
  const auto ticks = graph_->kinds().integer(timer, "_startTicks");
  return ticks && *ticks != 0 ? ticks : std::nullopt;
}

void AwaitedReader::note(Address head, Address owner) {
  AsyncObjects& kinds = graph_->kinds();
  for (Address at = head; at != 0 && owners_.size() < max_listed_waiters;) {
    if (!owners_.emplace(at, owner).second) return; // a ring, or a list that leads into another one
    at = kinds.reference(at, "Next");
  }
}

void AwaitedReader::note_owners() {
  if (owners_noted_) return;
  owners_noted_ = true;
  AsyncObjects& kinds = graph_->kinds();
  const auto each = [&](std::span<const FoundObject> owners, std::initializer_list<std::string_view> heads) {
    for (const FoundObject& owner : owners)
      for (const std::string_view head : heads) {
        try {
          note(kinds.reference(owner.address, head), owner.address);
        } catch (const Error&) {
          // A torn list belongs to its owner as far as it goes.
        }
      }
  };
  each(graph_->semaphores(), {"m_asyncHead"});
  each(graph_->channels(), {"_blockedReadersHead", "_waitingReadersHead", "_blockedWritersHead",
                            "_waitingWritersHead", "_blockedReader", "_waitingReader"});
}

Awaited AwaitedReader::semaphore(Address node) {
  note_owners();
  const auto owner = owners_.find(node);
  if (owner == owners_.end()) return {AwaitedKind::semaphore, "a SemaphoreSlim", 0};
  return {AwaitedKind::semaphore, "a SemaphoreSlim", owner->second};
}

Awaited AwaitedReader::channel(Address operation, std::string_view name) {
  note_owners();
  const bool writes = name.find("Write") != std::string_view::npos;
  const auto owner = owners_.find(operation);
  std::string text = writes ? "room in a channel" : "an item of a channel";
  const AwaitUse use = writes ? AwaitUse::owed : AwaitUse::idle;
  if (owner == owners_.end()) return {AwaitedKind::channel, text, 0, use};
  return {AwaitedKind::channel, fmt::format("{}: {}", text, type_text(owner->second)), owner->second, use};
}

std::string AwaitedReader::end_point(Address object) {
  AsyncObjects& kinds = graph_->kinds();
  if (object == 0 || !kinds.lineage(object).derives_from("System.Net.IPEndPoint")) return {};
  const Address address = kinds.reference(object, "_address");
  const auto port = kinds.integer(object, "_port");
  const auto number = address != 0 ? kinds.integer(address, "_addressOrScopeId") : std::nullopt;
  if (!port || *port == 0 || !number) return {}; // before the system has chosen a port
  if (const Address numbers = kinds.reference(address, "_numbers")) {
    InstanceReader reader(kinds.objects());
    const InstanceReader::Vector words = reader.vector(numbers);
    if (words.count != 8) return {};
    std::array<unsigned char, 16> bytes{};
    for (unsigned i = 0; i < 8; ++i) {
      const std::uint16_t word = kinds.target().read_u16(words.at(i));
      bytes[2 * i] = static_cast<unsigned char>(word >> 8);
      bytes[2 * i + 1] = static_cast<unsigned char>(word);
    }
    std::array<char, INET6_ADDRSTRLEN> text{};
    return fmt::format("[{}]:{}", inet_ntop(AF_INET6, bytes.data(), text.data(), text.size()), *port);
  }
  return fmt::format("{}.{}.{}.{}:{}", *number & 0xff, *number >> 8 & 0xff, *number >> 16 & 0xff,
                     *number >> 24 & 0xff, *port);
}

// Whether the other end connected: then the socket keeps the end point of the one that listens, whose port is
// not that of the other end.
bool AwaitedReader::is_accepted(Address socket) {
  AsyncObjects& kinds = graph_->kinds();
  const Address first = kinds.reference(socket, "_rightEndPoint"),
                remote = kinds.reference(socket, "_remoteEndPoint");
  if (first == 0 || remote == 0 || first == remote) return false;
  const auto one = kinds.integer(first, "_port"), other = kinds.integer(remote, "_port");
  return one && other && *one != *other;
}

Awaited AwaitedReader::socket(Address operation) {
  AsyncObjects& kinds = graph_->kinds();
  const Address socket = kinds.reference(operation, "_currentSocket");
  // SocketAsyncOperation.
  constexpr std::array<std::string_view, 10> names{"socket",  "accept",  "connect", "disconnect", "receive",
                                                   "receive", "receive", "send",    "send",       "send"};
  const auto number = kinds.integer(operation, "_completedOperation");
  const std::string_view what = number && *number < names.size() ? names[*number] : names[0];
  std::string text = fmt::format("a socket: {}", what);
  if (socket != 0) {
    std::string remote = end_point(kinds.reference(socket, "_remoteEndPoint"));
    std::string local = end_point(kinds.reference(socket, "_localEndPoint"));
    // Of a socket that connected it is the other end; of one that listens its own.
    const std::string given = end_point(kinds.reference(socket, "_rightEndPoint"));
    const auto connected = kinds.integer(socket, "_isConnected");
    if (remote.empty() && connected.value_or(0) != 0)
      remote = given;
    else if (local.empty())
      local = given;
    if (!remote.empty())
      text += fmt::format(" {} {}", what == "send" || what == "connect" ? "to" : "from", remote);
    else if (!local.empty())
      text += " on " + local;
  }
  const bool idle = what == "accept" || (what == "receive" && socket != 0 && is_accepted(socket));
  return {AwaitedKind::socket, text, socket != 0 ? socket : operation,
          idle ? AwaitUse::idle : AwaitUse::owed};
}

Awaited AwaitedReader::periodic_timer(Address state) {
  AsyncObjects& kinds = graph_->kinds();
  const Address owner = kinds.reference(state, "_owner");
  // It keeps its period itself, as ticks; that of its timer may be another one for a provider of one's own.
  const auto ticks = owner != 0 ? kinds.span(owner, "_period") : std::nullopt;
  if (ticks) return {AwaitedKind::timer, "a PeriodicTimer of " + format_time_span(*ticks), owner};
  const Address timer = owner != 0 ? queue_timer(kinds.reference(owner, "_timer")) : 0;
  const auto period = timer != 0 ? kinds.integer(timer, "_period") : std::nullopt;
  return {AwaitedKind::timer,
          period ? fmt::format("a PeriodicTimer of {}", span_text(*period & 0xffff'ffff)) : "a PeriodicTimer",
          owner};
}

Awaited AwaitedReader::source(Address source, bool value_task) {
  return value_task
             ? Awaited{AwaitedKind::value_task_source, "a value task source: " + type_text(source), source}
             : Awaited{AwaitedKind::awaiter, "an awaiter: " + type_text(source), source};
}

Awaited AwaitedReader::combination(Address task, bool all) {
  AsyncObjects& kinds = graph_->kinds();
  const Address list = kinds.reference(task, all ? "m_tasks" : "_tasks");
  std::optional<std::uint64_t> of;
  if (list != 0)
    of = kinds.target().read_u32(kinds.target().field_address(list, "Array", "m_NumComponents"));
  else if (!all && kinds.reference(task, "_task1") != 0)
    of = 2;
  const auto tasks = [](std::uint64_t n) { return count_text(n, "task"); };
  if (!all) return {AwaitedKind::when_any, of ? "any of " + tasks(*of) : "any of several tasks", task};
  auto left = kinds.integer(task, "_remainingToComplete");
  if (!left) left = kinds.integer(task, "m_count");
  return {AwaitedKind::when_all,
          of     ? fmt::format("{} of {}", left ? std::to_string(*left) : "some", tasks(*of))
          : left ? tasks(*left)
                 : "some tasks",
          task};
}

} // namespace clr
