#include "core/report/page/page.h"

#include "core/memory/error.h"
#include "core/report/page/page_style.h"
#include "core/report/page/sections.h"
#include "core/report/trouble_report.h"
#include "core/runtime/presence.h"

#include <fmt/format.h>

#include <algorithm>

namespace clr {

LockReporter& PageStop::locks() {
  LockReporter& reporter = source_->locks();
  reporter.table(source_->options);
  return reporter;
}

AsyncReporter& PageStop::async_reporter() {
  if (!reporter_) {
    require_runtime(runtime());
    // The locks first: their walk over the heap collects what the chains need, too.
    locks();
    reporter_ = std::make_unique<AsyncReporter>(source_->waits());
    std::vector<ThreadTop> tops;
    for (const PageThread& thread : source_->threads) tops.push_back({thread.os_id, thread.registers});
    reporter_->set_threads(std::move(tops));
    reporter_->set_stacks(*source_->stacks);
  }
  return *reporter_;
}

const AsyncReport& PageStop::async() {
  if (!async_) async_ = async_reporter().stacks({}, source_->options);
  check();
  return *async_;
}

void PageStop::check() const {
  if (source_->stop && source_->stop()) throw Error(ErrorKind::interrupted, "interrupted");
}

void PageStop::miss(std::string text) {
  if (std::ranges::find(missing_, text) == missing_.end() && missing_.size() < max_page_missing)
    missing_.push_back(std::move(text));
}

void PageStop::miss_section(std::string_view name, const std::string& why) {
  const auto known = std::ranges::find(sections_, why, &MissingSections::why);
  if (known == sections_.end())
    sections_.push_back({why, std::string(name)});
  else
    known->names += fmt::format(", {}", name);
}

std::vector<std::string> PageStop::missing() const {
  std::vector<std::string> all;
  for (const MissingSections& sections : sections_)
    all.push_back(fmt::format("{}: {}", sections.names, sections.why));
  all.insert(all.end(), missing_.begin(), missing_.end());
  return all;
}

namespace {

struct Section {
  PageWord id, title, name; // `name`: in a sentence
  void (*write)(HtmlWriter&, PageStop&);
  bool needs_runtime = true;
};

constexpr Section page_sections[] = {
    {"deadlocks", "Deadlocks", "deadlocks", write_deadlocks},
    {"graph", "Who waits for whom", "the picture of the waits", write_wait_graph},
    {"thread", "The thread to look at first", "the thread to look at first", write_chosen_thread, false},
    {"locks", "Locks", "locks", write_locks},
    {"async", "Async methods that wait", "async methods", write_async},
    {"pool", "Thread pool", "the thread pool", write_pool},
    {"stacks", "Stacks", "stacks", write_stacks, false},
    {"threads", "Threads of the runtime", "the threads of the runtime", write_threads},
    {"exceptions", "Exceptions", "exceptions", write_exceptions},
    {"failed", "Tasks that failed", "tasks that failed", write_failed_tasks},
    {"heap", "The heap by type", "the heap by type", write_heap_types},
    {"retained", "Objects that retain most", "the objects that retain most", write_retained_objects},
    {"types", "Types that retain most", "the types that retain most", write_retained_types},
    {"statics", "Static fields that retain most", "the static fields that retain most",
     write_retained_statics},
};

// A section is written apart, so that one that fails on its way leaves nothing half-done.
template<typename Write>
std::string written(std::string_view name, PageStop& stop, std::size_t before, const Write& write) {
  stop.check();
  std::string piece;
  try {
    if (before >= HtmlWriter::max_page_bytes)
      throw Error(ErrorKind::invalid_argument,
                  fmt::format("the page has its {} bytes already", grouped(HtmlWriter::max_page_bytes)));
    HtmlWriter html(piece);
    write(html);
    return piece;
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::interrupted) throw;
    piece.clear();
    HtmlWriter(piece).element("p", fmt::format("Not to be had: {}.", error.what()), {{"class", "why"}});
    stop.miss_section(name, error.what());
    return piece;
  }
}

void write_missing(HtmlWriter& html, PageStop& stop) {
  const MemoryReport memory = stop.source().memory();
  for (const std::string& note : memory.notes) stop.miss(note);
  for (const std::string& file : memory.refusals) stop.miss(file);
  html.begin("section", {{"id", "missing"}});
  html.element("h2", "Missing or doubtful");
  const std::vector<std::string> missing = stop.missing();
  if (missing.empty()) {
    html.element("p", "Nothing that was asked for.");
  } else {
    html.begin("ul");
    for (const std::string& text : missing) html.element("li", text);
    html.end();
    if (missing.size() >= max_page_missing) html.element("p", "and perhaps more", {{"class", "dim"}});
  }
  html.end();
}

} // namespace

namespace {
// What the sections want of all objects is found by one walk.
void share_walk(PageSource& source) {
  if (!absence_text(*source.runtime).empty()) return;
  try {
    source.waits().walk_also_for(source.holders());
  } catch (const Error&) {
    // Without a heap each section says so.
  }
}
} // namespace

MadePage make_page(PageSource& source) {
  PageStop stop(source);
  share_walk(source);
  std::string body;
  HtmlWriter html(body);
  html.append(written("what happened", stop, 0, [&](HtmlWriter& part) { write_trouble(part, stop); }));
  std::vector<Section> sections(std::begin(page_sections), std::end(page_sections));
  // Of a crash the thread that failed is what happened.
  if (!source.crash.empty())
    std::ranges::stable_partition(
        sections, [](const Section& section) { return section.write == write_chosen_thread; });
  html.begin("nav");
  for (const Section& section : sections) {
    html.element("a", section.title.text(), {{"href", fmt::format("#{}", section.id.text())}});
    html.literal(" ");
  }
  html.element("a", "Missing or doubtful", {{"href", "#missing"}});
  html.end();
  const std::string absence = absence_text(*source.runtime);
  for (const Section& section : sections) {
    html.begin("section", {{"id", std::string(section.id.text())}});
    html.element("h2", section.title.text());
    if (section.needs_runtime && !absence.empty())
      html.element("p", fmt::format("Not to be had: {}.", absence), {{"class", "why"}});
    else
      html.append(written(section.name.text(), stop, body.size(),
                          [&](HtmlWriter& part) { section.write(part, stop); }));
    html.end();
    html.literal("\n");
  }
  write_missing(html, stop);

  MadePage page;
  HtmlWriter whole(page.html);
  whole.literal("<!DOCTYPE html>\n");
  whole.begin("html", {{"lang", "en"}});
  whole.begin("head");
  whole.empty("meta", {{"charset", "utf-8"}});
  // Nothing is fetched and nothing is run, whatever the page holds.
  whole.empty("meta", {{"http-equiv", "Content-Security-Policy"},
                       {"content", "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; "
                                   "form-action 'none'"}});
  whole.empty("meta", {{"name", "viewport"}, {"content", "width=device-width, initial-scale=1"}});
  whole.empty("meta", {{"name", "color-scheme"}, {"content", "light dark"}});
  whole.empty("meta", {{"name", "referrer"}, {"content", "no-referrer"}});
  whole.element("title", fmt::format("Process {}", source.process));
  whole.begin("style");
  whole.literal(page_style);
  whole.end();
  whole.end();
  whole.literal("\n");
  whole.begin("body");
  whole.element("h1", fmt::format("Process {}", source.process));
  whole.append(body);
  whole.element("p", source.maker, {{"class", "dim"}});
  whole.end();
  whole.end();
  whole.literal("\n");
  page.missing = stop.missing();
  return page;
}

} // namespace clr
