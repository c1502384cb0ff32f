#include "core/memory/host_file.h"
#include "core/memory/path_map.h"
#include "core/memory/seeded_hash.h"
#include "core/memory/text_encoding.h"
#include "core/memory/utf8.h"
#include "core/symbols/method_store.h"
#include "core/symbols/symbol_file.h"

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
// Empty, too, but it is another text than that of a named body and than no text.
constexpr Text lost_name{SIZE_MAX, 0};

// Keeps each text once.
class TextPool {
public:
  explicit TextPool(std::shared_ptr<ByteRoom> room)
      : room_(std::move(room)), known_(0, Hash{this}, Equal{this}) {}
  TextPool(const TextPool&) = delete;
  TextPool& operator=(const TextPool&) = delete;

  // Nothing when there is no room for it.
  std::optional<Text> intern(std::string_view text) {
    if (text.empty()) return Text{};
    if (const auto found = known_.find(text); found != known_.end()) return *found;
    if (!room_->has(text.size())) return std::nullopt;
    room_->keep(text.size());
    const Text added{chars_.size(), static_cast<std::uint32_t>(text.size())};
    chars_.insert(chars_.end(), text.begin(), text.end());
    known_.insert(added);
    return added;
  }
  std::string_view view(Text text) const { return {chars_.data() + text.at, text.size}; }
  std::string_view view(std::string_view text) const { return text; }
  const std::shared_ptr<ByteRoom>& room() const { return room_; }
  std::vector<char> take() {
    known_.clear();
    return std::move(chars_);
  }

private:
  struct Hash {
    using is_transparent = void;
    const TextPool* pool;
    std::size_t operator()(auto text) const { return SeededHash()(pool->view(text)); }
  };
  struct Equal {
    using is_transparent = void;
    const TextPool* pool;
    bool operator()(auto a, auto b) const { return pool->view(a) == pool->view(b); }
  };

  std::shared_ptr<ByteRoom> room_;
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
      if (known->name == Text{}) known->name = event.name;
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
      const SeededHash hash;
      return hash(hash(key.start) ^ key.method_id);
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
           (span.name == Text{} || event.name == Text{} || span.name == event.name);
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
  std::unordered_map<std::uint64_t, std::vector<std::size_t>, SeededHash>
      of_module_; // bodies that existed when the module was last mentioned
};

// Converts text that should have no more than `most` bytes; of a longer one the begin. Whether it has not
// more.
bool convert(std::string& text, std::span<const std::byte> utf16, std::size_t most) {
  const auto begin = utf16.first(std::min(utf16.size(), 2 * most)); // a unit gives one byte at least
  text.clear();
  append_utf8(text, begin, ByteOrder::little);
  return text.size() <= most && begin.size() == utf16.size();
}

} // namespace

struct MethodStoreBuilder::State {
  State(std::shared_ptr<ByteRoom> room, std::size_t most) : texts(std::move(room)), most_events(most) {}

  TextPool texts;
  std::size_t most_events;
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

  // Nothing when there is no room for it.
  std::optional<Text> name_by_token(Text path, std::uint32_t token) {
    const std::string_view file = file_name_of(texts.view(path));
    if (!texts.room()->has(file.size())) return std::nullopt; // saves the work for millions of them
    return texts.intern(fmt::format("{}!{:#010x}", file, token));
  }

  // Takes the events of methods and the unloads.
  std::vector<Span> take_spans() {
    std::ranges::stable_sort(methods, {}, &MethodRecord::time);
    std::ranges::stable_sort(modules, {},
                             [](const ModuleRecord& m) { return std::pair(m.module_id, m.time); });

    std::erase_if(unloads, [&](const ModuleUnload& each) { return there_after(each); });
    std::ranges::stable_sort(unloads, {}, &ModuleUnload::time);

    Timeline timeline;
    auto unload = unloads.begin();
    const auto unload_until = [&](TraceTime time) {
      for (; unload != unloads.end() && unload->time <= time; ++unload) timeline.unload(*unload);
    };
    for (const MethodRecord& event : methods) {
      unload_until(event.time);
      timeline.apply(event);
    }
    unload_until(UINT64_MAX);
    methods = std::vector<MethodRecord>();
    unloads = std::vector<ModuleUnload>();
    std::vector<Span> spans = timeline.take();
    // Removes code that existed at no time: other code was loaded over it in the same tick.
    std::erase_if(spans, [](const Span& span) {
      return span.body.unloaded && *span.body.unloaded <= span.body.loaded.value_or(0);
    });
    return spans;
  }
};

MethodStoreBuilder::MethodStoreBuilder(std::shared_ptr<ByteRoom> room, std::size_t most_events)
    : state_(std::make_unique<State>(std::move(room), most_events)) {}
MethodStoreBuilder::~MethodStoreBuilder() = default;
MethodStoreBuilder::MethodStoreBuilder(MethodStoreBuilder&&) noexcept = default;
MethodStoreBuilder& MethodStoreBuilder::operator=(MethodStoreBuilder&&) noexcept = default;

std::optional<TraceFaultKind> MethodStoreBuilder::add(const MethodEvent& event) {
  State& s = *state_;
  if (event.size == 0 || event.size > max_size || event.start > UINT64_MAX - event.size)
    return TraceFaultKind::impossible_code;
  if (s.methods.size() >= s.most_events) return TraceFaultKind::many_events;
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
  if (!event.named) return std::nullopt;
  bool whole = true;
  for (auto [text, utf16] : {std::pair(&s.type, event.type_name), std::pair(&s.method, event.method_name),
                             std::pair(&s.signature, event.signature)})
    whole = convert(*text, utf16, max_symbol_name) && whole;
  const std::string name = method_event_name(s.type, s.method, s.signature);
  const auto kept = s.texts.intern(cut_utf8(name, max_symbol_name));
  record.name = kept.value_or(lost_name);
  return whole && kept && name.size() <= max_symbol_name ? std::nullopt
                                                         : std::optional(TraceFaultKind::lost_text);
}

std::optional<TraceFaultKind> MethodStoreBuilder::add(const ModuleEvent& event) {
  State& s = *state_;
  const bool unload = event.kind == CodeEventKind::unload;
  if ((unload ? s.unloads.size() : s.modules.size()) >= s.most_events) return TraceFaultKind::many_events;
  if (unload) {
    s.unloads.push_back({event.module_id, event.time});
    return std::nullopt;
  }
  std::optional<Text> path;
  if (convert(s.type, event.il_path.empty() ? event.native_path : event.il_path, max_path_bytes))
    path = s.texts.intern(s.type);
  s.modules.push_back(
      {event.module_id, event.time, path.value_or(Text{}), event.kind != CodeEventKind::load});
  return path ? std::nullopt : std::optional(TraceFaultKind::lost_text);
}

MethodStore MethodStoreBuilder::finish() {
  State& s = *state_;
  MethodStore store;
  std::vector<Span> spans = s.take_spans();
  std::ranges::stable_sort(spans, std::less());

  std::vector<Text> paths;
  std::vector<TimedSpan> timed;
  paths.reserve(spans.size());
  timed.reserve(spans.size());
  for (Span& span : spans) {
    const MethodBody& body = span.body;
    paths.push_back(s.module_path(body.module_id, span.seen));
    if (span.name.size == 0 && body.token != 0 && paths.back().size != 0) {
      const auto name = s.name_by_token(paths.back(), body.token);
      if (!name) ++store.lost_names_;
      span.name = name.value_or(Text{});
    }
    timed.push_back({body.start, body.start + body.size, body.loaded.value_or(0),
                     body.unloaded.value_or(TimedSpan::no_end)});
  }

  store.text_ = s.texts.take();
  const auto view = [&](Text text) {
    return text.size == 0 ? std::string_view() : std::string_view(store.text_.data() + text.at, text.size);
  };
  store.bodies_.reserve(spans.size());
  for (std::size_t i = 0; i < spans.size(); ++i) {
    MethodBody& body = store.bodies_.emplace_back(spans[i].body);
    body.name = view(spans[i].name);
    body.module_path = view(paths[i]);
  }
  spans = std::vector<Span>();
  store.index_ = MethodStoreIndex(timed);
  state_ = std::make_unique<State>(s.texts.room(), s.most_events);
  return store;
}

} // namespace clr
