#include "core/memory/path_map.h"
#include "core/memory/text_encoding.h"
#include "core/symbols/method_store.h"
#include "core/symbols/net_trace_bytes.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <unordered_map>
#include <unordered_set>

namespace clr {
namespace {

// A piece of the text pool. An empty one stands for no text.
struct Text {
  std::size_t at = 0;
  std::uint32_t size = 0;
  bool operator==(const Text&) const = default;
};

// Keeps each text once.
class TextPool {
public:
  TextPool() : known_(0, Hash{this}, Equal{this}) {}
  TextPool(const TextPool&) = delete;
  TextPool& operator=(const TextPool&) = delete;

  Text intern(std::string_view text) {
    text = text.substr(0, UINT32_MAX);
    if (text.empty()) return {};
    if (const auto found = known_.find(text); found != known_.end()) return *found;
    const Text added{chars_.size(), static_cast<std::uint32_t>(text.size())};
    chars_.insert(chars_.end(), text.begin(), text.end());
    known_.insert(added);
    return added;
  }
  std::string_view view(Text text) const { return {chars_.data() + text.at, text.size}; }
  std::string_view view(std::string_view text) const { return text; }
  std::vector<char> take() { return std::move(chars_); }

private:
  struct Hash {
    using is_transparent = void;
    const TextPool* pool;
    std::size_t operator()(auto text) const { return std::hash<std::string_view>()(pool->view(text)); }
  };
  struct Equal {
    using is_transparent = void;
    const TextPool* pool;
    bool operator()(auto a, auto b) const { return pool->view(a) == pool->view(b); }
  };

  std::vector<char> chars_;
  std::unordered_set<Text, Hash, Equal> known_;
};

struct MethodRecord {
  CodeEventKind kind;
  TraceTime time;
  MethodBody body; // without its texts and times
  Text name;
};

struct ModuleRecord {
  std::uint64_t module_id;
  TraceTime time;
  Text path;
  bool rundown = false;
};

struct ModuleUnload {
  std::uint64_t module_id;
  TraceTime time;
};

// A body that is being built.
struct Span {
  MethodBody body;
  Text name;
  TraceTime seen = 0;       // a time at which it existed
  bool unload_told = false; // the trace has its own unload event
  bool operator<(const Span& other) const {
    return std::pair(body.start, body.loaded.value_or(0)) <
           std::pair(other.body.start, other.body.loaded.value_or(0));
  }
};

// Takes events in the order of their times and makes spans from them.
class Timeline {
public:
  void apply(const MethodRecord& event) {
    const auto latest = latest_.find({event.body.start, event.body.method_id});
    Span* const known = latest == latest_.end() ? nullptr : &spans_[latest->second];
    if (event.kind == CodeEventKind::unload) {
      end(known, event);
    } else if (known != nullptr && same(*known, event)) {
      if (known->name.size == 0) known->name = event.name;
    } else {
      create(event);
    }
  }
  void unload(const ModuleUnload& event) {
    const auto bodies = of_module_.find(event.module_id);
    if (bodies == of_module_.end()) return;
    for (const std::size_t i : bodies->second)
      if (!spans_[i].body.unloaded) spans_[i].body.unloaded = event.time;
    of_module_.erase(bodies);
  }
  std::vector<Span> take() { return std::move(spans_); }

private:
  struct Key {
    Address start;
    std::uint64_t method_id;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& key) const {
      constexpr std::uint64_t mix = 0x9e37'79b9'7f4a'7c15;
      return static_cast<std::size_t>((key.start * mix) ^ (key.method_id * mix >> 7));
    }
  };
  // The span that held a run of addresses last. Bodies loaded over a span may leave several pieces of it.
  struct Holder {
    Address end;
    std::size_t span;
  };

  // Whether the event is about code that is known and still exists.
  static bool same(const Span& span, const MethodRecord& event) {
    return !span.body.unloaded && same_code(span, event);
  }
  static bool same_code(const Span& span, const MethodRecord& event) {
    return span.body.size == event.body.size &&
           (span.name.size == 0 || event.name.size == 0 || span.name == event.name);
  }

  void end(Span* known, const MethodRecord& event) {
    // An unload event of a body that has already ended: when another body is loaded over it, the event comes
    // late.
    if (known != nullptr && known->body.unloaded && !known->unload_told && same_code(*known, event)) {
      known->unload_told = true;
      return;
    }
    // Otherwise the event ends a body whose load is not in the trace, unless another body is there.
    if (known == nullptr || known->body.unloaded) {
      if (occupied(event.body.start, event.body.start + event.body.size)) return;
      known = &create(event);
    }
    known->body.unloaded = event.time;
    known->unload_told = true;
  }

  // Forgets what it meets of spans that have ended: it is looked at once.
  bool occupied(Address start, Address end) {
    auto at = open_.lower_bound(start);
    if (at != open_.begin() && std::prev(at)->second.end > start) --at;
    while (at != open_.end() && at->first < end) {
      if (!spans_[at->second.span].body.unloaded) return true;
      at = open_.erase(at);
    }
    return false;
  }

  Span& create(const MethodRecord& event) {
    const Address start = event.body.start, end = start + event.body.size;
    const std::optional<TraceTime> free_since = clear(start, end, event.time);
    latest_.insert_or_assign({start, event.body.method_id}, spans_.size());
    holders_.insert_or_assign(start, Holder{end, spans_.size()});
    open_.insert_or_assign(start, Holder{end, spans_.size()});
    of_module_[event.body.module_id].push_back(spans_.size());
    Span& span = spans_.emplace_back(Span{event.body, event.name, event.time});
    span.body.loaded = event.kind == CodeEventKind::load ? event.time : free_since;
    return span;
  }

  // Takes [start, end) from its holders; those that have not ended yet end now. Returns the end of the last
  // holder; nothing when there was none.
  std::optional<TraceTime> clear(Address start, Address end, TraceTime now) {
    std::optional<TraceTime> last;
    auto at = holders_.lower_bound(start);
    if (at != holders_.begin() && std::prev(at)->second.end > start) --at;
    while (at != holders_.end() && at->first < end) {
      const auto [first, holder] = *at;
      auto& unloaded = spans_[holder.span].body.unloaded;
      if (!unloaded) unloaded = now;
      last = std::max(last, unloaded);
      at = holders_.erase(at);
      open_.erase(first);
      if (first < start) holders_.emplace(first, Holder{start, holder.span});
      if (holder.end > end) holders_.emplace(end, holder);
    }
    return last;
  }

  std::vector<Span> spans_;
  std::unordered_map<Key, std::size_t, KeyHash> latest_;
  std::map<Address, Holder> holders_;
  std::map<Address, Holder> open_; // those of holders_ whose spans may not have ended
  std::unordered_map<std::uint64_t, std::vector<std::size_t>>
      of_module_; // bodies that existed when the module was last mentioned
};

} // namespace

struct MethodStoreBuilder::State {
  TextPool texts;
  std::vector<MethodRecord> methods;
  std::vector<ModuleRecord> modules; // sorted by id and time when they are searched
  std::vector<ModuleUnload> unloads;
  std::string type, method, signature;

  // Whether the next mention of the module after the unload is in a rundown, which says that it is there.
  bool there_after(const ModuleUnload& unload) const {
    const auto of_id = std::ranges::equal_range(modules, unload.module_id, {}, &ModuleRecord::module_id);
    const auto next = std::ranges::lower_bound(of_id, unload.time, {}, &ModuleRecord::time);
    return next != of_id.end() && next->rundown;
  }

  Text module_path(std::uint64_t id, TraceTime seen) const {
    // The last path before that time; else the first one after it.
    const auto of_id = std::ranges::equal_range(modules, id, {}, &ModuleRecord::module_id);
    if (of_id.empty()) return {};
    const auto behind = std::ranges::upper_bound(of_id, seen, {}, &ModuleRecord::time);
    return (behind == of_id.begin() ? behind : std::prev(behind))->path;
  }
};

MethodStoreBuilder::MethodStoreBuilder() : state_(std::make_unique<State>()) {}
MethodStoreBuilder::~MethodStoreBuilder() = default;
MethodStoreBuilder::MethodStoreBuilder(MethodStoreBuilder&&) noexcept = default;
MethodStoreBuilder& MethodStoreBuilder::operator=(MethodStoreBuilder&&) noexcept = default;

bool MethodStoreBuilder::add(const MethodEvent& event) {
  State& s = *state_;
  if (event.size == 0 || event.size > max_size || event.start > UINT64_MAX - event.size) return false;
  if (s.methods.size() >= max_events) return false;
  MethodRecord& record = s.methods.emplace_back();
  record.kind = event.kind;
  record.time = event.time;
  record.body.start = event.start;
  record.body.size = event.size;
  record.body.token = event.token;
  record.body.method_id = event.method_id;
  record.body.module_id = event.module_id;
  record.body.code_version = event.code_version.value_or(0);
  record.body.tier = event.tier();
  record.body.jitted = event.jitted();
  record.body.dynamic = event.dynamic();
  record.body.cold = event.cold();
  if (event.named) {
    for (auto [text, utf16] : {std::pair(&s.type, event.type_name), std::pair(&s.method, event.method_name),
                               std::pair(&s.signature, event.signature)}) {
      text->clear();
      append_utf8(*text, utf16, ByteOrder::little);
    }
    record.name = s.texts.intern(method_event_name(s.type, s.method, s.signature));
  }
  return true;
}

void MethodStoreBuilder::add(const ModuleEvent& event) {
  State& s = *state_;
  if (event.kind == CodeEventKind::unload) {
    if (s.unloads.size() < max_events) s.unloads.push_back({event.module_id, event.time});
    return;
  }
  if (s.modules.size() >= max_events) return;
  s.type.clear();
  append_utf8(s.type, event.il_path.empty() ? event.native_path : event.il_path, ByteOrder::little);
  s.modules.push_back(
      {event.module_id, event.time, s.texts.intern(s.type), event.kind != CodeEventKind::load});
}

MethodStore MethodStoreBuilder::finish() {
  State& s = *state_;
  std::ranges::stable_sort(s.methods, {}, &MethodRecord::time);
  std::ranges::stable_sort(s.modules, {},
                           [](const ModuleRecord& m) { return std::pair(m.module_id, m.time); });

  std::erase_if(s.unloads, [&](const ModuleUnload& unload) { return s.there_after(unload); });
  std::ranges::stable_sort(s.unloads, {}, &ModuleUnload::time);

  Timeline timeline;
  auto unload = s.unloads.begin();
  const auto unload_until = [&](TraceTime time) {
    for (; unload != s.unloads.end() && unload->time <= time; ++unload) timeline.unload(*unload);
  };
  for (const MethodRecord& event : s.methods) {
    unload_until(event.time);
    timeline.apply(event);
  }
  unload_until(UINT64_MAX);
  std::vector<Span> spans = timeline.take();
  // Removes code that existed at no time: other code was loaded over it in the same tick.
  std::erase_if(spans, [](const Span& span) {
    return span.body.unloaded && *span.body.unloaded <= span.body.loaded.value_or(0);
  });
  std::ranges::stable_sort(spans, std::less());

  std::vector<Text> paths;
  std::vector<TimedSpan> timed;
  paths.reserve(spans.size());
  timed.reserve(spans.size());
  for (Span& span : spans) {
    const MethodBody& body = span.body;
    paths.push_back(s.module_path(body.module_id, span.seen));
    if (span.name.size == 0 && body.token != 0 && paths.back().size != 0)
      span.name =
          s.texts.intern(fmt::format("{}!{:#010x}", file_name_of(s.texts.view(paths.back())), body.token));
    timed.push_back({body.start, body.start + body.size, body.loaded.value_or(0),
                     body.unloaded.value_or(TimedSpan::no_end)});
  }

  MethodStore store;
  store.text_ = s.texts.take();
  const auto view = [&](Text text) { return std::string_view(store.text_.data() + text.at, text.size); };
  store.bodies_.reserve(spans.size());
  for (std::size_t i = 0; i < spans.size(); ++i) {
    MethodBody& body = store.bodies_.emplace_back(spans[i].body);
    body.name = view(spans[i].name);
    body.module_path = view(paths[i]);
  }
  store.index_ = MethodStoreIndex(timed);
  state_ = std::make_unique<State>();
  return store;
}

} // namespace clr
