// The sections of a page. Each throws Error for what costs it all.
#pragma once

#include "core/report/page/html_writer.h"
#include "core/report/page/page.h"
#include "core/runtime/async_report.h"

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace clr {

struct ExceptionReport;
class ExceptionReporter;

// What the sections share.
class PageStop {
public:
  explicit PageStop(PageSource& source) : source_(&source) {}

  PageSource& source() { return *source_; }
  Runtime& runtime() { return *source_->runtime; }
  // With the heap where there is one. Throws as LockReporter::table.
  LockReporter& locks();
  // The chains of async methods. Throws as AsyncReporter::stacks.
  const AsyncReport& async();
  AsyncReporter& async_reporter();
  // Throws Error{interrupted} when the user has asked for it.
  void check() const;
  // Notes what the page lacks; the same text once.
  void miss(std::string text);
  // The same of a whole section; those that lack for one reason are told together.
  void miss_section(std::string_view name, const std::string& why);
  std::vector<std::string> missing() const;

private:
  PageSource* source_;
  std::unique_ptr<AsyncReporter> reporter_;
  std::optional<AsyncReport> async_;
  struct MissingSections {
    std::string why, names;
  };
  std::vector<MissingSections> sections_;
  std::vector<std::string> missing_;
};

void write_trouble(HtmlWriter& html, PageStop& stop);
void write_chosen_thread(HtmlWriter& html, PageStop& stop);
void write_deadlocks(HtmlWriter& html, PageStop& stop);
void write_wait_graph(HtmlWriter& html, PageStop& stop);
void write_locks(HtmlWriter& html, PageStop& stop);
void write_async(HtmlWriter& html, PageStop& stop);
void write_pool(HtmlWriter& html, PageStop& stop);
void write_stacks(HtmlWriter& html, PageStop& stop);
void write_threads(HtmlWriter& html, PageStop& stop);
void write_exceptions(HtmlWriter& html, PageStop& stop);
void write_failed_tasks(HtmlWriter& html, PageStop& stop);
void write_heap_types(HtmlWriter& html, PageStop& stop);
void write_retained_objects(HtmlWriter& html, PageStop& stop);
void write_retained_types(HtmlWriter& html, PageStop& stop);
void write_retained_statics(HtmlWriter& html, PageStop& stop);

// What they have in common.

// The exceptions of the stop, which must have a runtime. `source` must outlive it.
ExceptionReporter exceptions_of(PageSource& source);

// Calls `write` with the numbers of the first rows, `limit` at most and as long as the page has room. Returns
// how many of `count` are left.
std::size_t write_some(const HtmlWriter& html, std::size_t count, std::size_t limit,
                       const std::function<void(std::size_t)>& write);
// "and 1,234 more threads"; nothing for none.
void write_more(HtmlWriter& html, std::size_t left, std::string_view what);
// The first row of a table; numbers stand at the right, under headings that begin with '#', which is left
// out.
void write_head(HtmlWriter& html, std::initializer_list<std::string_view> columns);
void write_cell(HtmlWriter& html, std::string_view text);
void write_number(HtmlWriter& html, std::uint64_t number);
// `left_out`: how many frames that the runtime puts around async methods are not in `rows`.
void write_frames(HtmlWriter& html, const std::vector<FrameRow>& rows, const StackReporter::End& end,
                  std::size_t left_out);
void write_exception(HtmlWriter& html, const std::vector<ExceptionReport>& tree);
// "#3, #4, #7 and 12 more".
std::string thread_numbers(const std::vector<std::uint32_t>& threads);

// Rows of each list of a page. A page that is longer is not read, and browsers become slow.
constexpr std::size_t max_page_evidence = 100;
constexpr std::size_t max_page_deadlocks = 50;
constexpr std::size_t max_page_locks = 200;
constexpr std::size_t max_page_waiters = 20; // places of one lock
constexpr std::size_t max_page_chains = 100;
constexpr std::size_t max_page_chain_frames = 50; // methods of one chain
constexpr std::size_t max_page_items = 100;       // groups of queued work
constexpr std::size_t max_page_threads = 1'000;
constexpr std::size_t max_page_numbers = 40; // threads of one stack
constexpr std::size_t max_page_stacks = 200;
constexpr std::size_t max_page_walk = 5'000;      // frames of one stack, before repeated ones are folded
constexpr std::size_t max_page_walks = 1'000'000; // of all stacks
constexpr std::size_t max_page_frames = 200;      // of one stack that are shown
constexpr std::size_t max_page_exceptions = 50;
constexpr std::size_t max_page_inner = 20; // inner exceptions of one
constexpr std::size_t max_page_tasks = 50; // that failed
constexpr std::size_t max_page_types = 100;
constexpr std::size_t max_page_tiles = 60; // of the picture of the heap
constexpr std::size_t max_page_retained = 20;
constexpr std::size_t max_page_paths = 5;  // objects whose holders are shown
constexpr std::size_t max_page_steps = 20; // from a root to one of them
constexpr std::size_t max_page_missing = 100;

} // namespace clr
