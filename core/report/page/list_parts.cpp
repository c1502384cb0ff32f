#include "core/report/exception_report.h"
#include "core/report/merged_stacks.h"
#include "core/report/page/sections.h"
#include "core/stack/repeats.h"

#include <fmt/format.h>

#include <algorithm>

namespace clr {

std::size_t write_some(const HtmlWriter& html, std::size_t count, std::size_t limit,
                       const std::function<void(std::size_t)>& write) {
  std::size_t done = 0;
  for (; done < std::min(count, limit) && html.has_room(); ++done) write(done);
  return count - done;
}

void write_more(HtmlWriter& html, std::size_t left, std::string_view what) {
  if (left == 0) return;
  html.element("p",
               left == 1 ? fmt::format("and 1 more of the {}", what)
                         : fmt::format("and {} more {}", grouped(left), what),
               {{"class", "dim"}});
}

void write_head(HtmlWriter& html, std::initializer_list<std::string_view> columns) {
  html.begin("tr");
  for (const std::string_view column : columns)
    if (column.starts_with('#'))
      html.element("th", column.substr(1), {{"class", "n"}});
    else
      html.element("th", column);
  html.end();
}

void write_cell(HtmlWriter& html, std::string_view text) {
  html.element("td", text);
}

void write_number(HtmlWriter& html, std::uint64_t number) {
  html.element("td", grouped(number), {{"class", "n"}});
}

std::string thread_numbers(const std::vector<std::uint32_t>& threads) {
  std::string text;
  for (std::size_t i = 0; i < threads.size(); ++i) {
    if (i == max_page_numbers)
      return text + fmt::format(" and {} more", grouped(threads.size() - max_page_numbers));
    text += fmt::format("{}#{}", i == 0 ? "" : ", ", threads[i]);
  }
  return text;
}

namespace {

void write_frame(HtmlWriter& html, const FrameRow& row) {
  html.begin("li", {{"value", std::to_string(row.index)},
                    {"class", row.kind},
                    {"title", fmt::format("{} [{}]", text_of(row), row.found_by)}});
  const Method* const method = row.exact    ? &row.exact->method
                               : row.answer ? &row.answer->method
                                            : row.method.get();
  if (row.answer && method != nullptr) {
    if (!method->module.empty()) html.element("span", method->module.str() + " ", {{"class", "dim"}});
    html.element("b", method->shown_name());
    html.text(source_position(row.answer->source));
  } else {
    // The address in front of it is in the title.
    const std::string text = text_of(row);
    const std::size_t space = text.find(' ');
    html.text(space == std::string::npos ? std::string_view(text) : std::string_view(text).substr(space + 1));
  }
  if (!row.fault.empty()) html.element("span", fmt::format(" ({})", row.fault), {{"class", "why"}});
  html.end();
}

void write_trace(HtmlWriter& html, const ExceptionReport& report) {
  html.begin("ol", {{"class", "frames"}, {"start", "0"}});
  const std::size_t left = write_some(html, report.trace.size(), max_page_frames, [&](std::size_t i) {
    const TraceRow& row = report.trace[i];
    html.begin("li", {{"class", "managed"}, {"title", row.text}});
    html.element("b", (row.exact ? row.exact->method : row.answer.method).shown_name());
    html.text(source_position(row.answer.source));
    if (row.element.ends_foreign()) html.element("span", " (thrown again from here)", {{"class", "dim"}});
    html.end();
  });
  html.end();
  write_more(html, left, "frames");
}

} // namespace

ExceptionReporter exceptions_of(PageSource& source) {
  return {*source.runtime, *source.stacks,
          [&source](std::uint64_t os_id, const std::function<bool(const FrameRow&)>& visit) {
            const auto thread = std::ranges::find(source.threads, os_id, &PageThread::os_id);
            if (thread != source.threads.end())
              source.walk(*thread, {.runtime_frames = false, .lines = false}, visit);
          }};
}

void write_frames(HtmlWriter& html, const std::vector<FrameRow>& rows, const StackReporter::End& end,
                  std::size_t left_out) {
  std::vector<std::uint64_t> keys;
  for (const FrameRow& row : rows) keys.push_back(frame_key(row));
  if (rows.empty() && left_out == 0) html.element("p", "no frame is known", {{"class", "why"}});
  std::size_t shown = 0, passed = 0;
  if (!rows.empty()) html.begin("ol", {{"class", "frames"}, {"start", "0"}});
  for (const RepeatRun& run : find_repeats(keys)) {
    if (shown >= max_page_frames || !html.has_room()) break;
    const std::size_t last = std::min(run.first + run.period, run.first + max_page_frames - shown);
    for (std::size_t i = run.first; i < last; ++i, ++shown) write_frame(html, rows[i]);
    passed = last;
    if (last < run.first + run.period) break;
    passed = run.first + run.period * run.count;
    if (run.count < 2) continue;
    html.begin("li", {{"class", "native"}, {"value", std::to_string(rows[passed - 1].index)}});
    html.text(run.period == 1 ? fmt::format("this frame {} times", grouped(run.count))
                              : fmt::format("these {} frames {} times", run.period, grouped(run.count)));
    html.end();
  }
  if (!rows.empty()) html.end();
  write_more(html, rows.size() - passed, "frames");
  if (left_out != 0)
    html.element("p",
                 fmt::format("{} that the runtime puts around async methods {} left out",
                             count_text(left_out, "frame", Digits::grouped), left_out == 1 ? "is" : "are"),
                 {{"class", "dim"}});
  if (end.end == "limit")
    html.element("p", fmt::format("the stack has more than {} frames", grouped(max_page_walk)),
                 {{"class", "dim"}});
  else if (end.end != "bottom")
    html.element("p", fmt::format("the walk ends here: {}", end.end), {{"class", "why"}});
  for (const std::string& note : end.notes) html.element("p", note, {{"class", "why"}});
}

void write_exception(HtmlWriter& html, const std::vector<ExceptionReport>& tree) {
  const std::size_t left = write_some(html, tree.size(), max_page_inner + 1, [&](std::size_t i) {
    const ExceptionReport& report = tree[i];
    const ManagedException& exception = report.exception;
    html.begin("p");
    if (report.depth != 0)
      html.text(report.of > 1 ? fmt::format("inner exception {} of {}: ", report.number, report.of)
                              : std::string("inner exception: "));
    html.element("b", exception.type.value_or("exception of unknown type"), {{"class", "mono"}});
    if (exception.message) html.text(": " + *exception.message);
    html.element("span", fmt::format(" {:#x}", exception.object), {{"class", "dim mono"}});
    if (exception.hresult)
      html.element("span", fmt::format(", HResult {:#010x}", static_cast<std::uint32_t>(*exception.hresult)),
                   {{"class", "dim mono"}});
    html.end();
    if (!report.trace.empty()) write_trace(html, report);
    if (!exception.remote_trace.empty()) html.element("pre", exception.remote_trace);
    if (!exception.fault.empty())
      html.element("p", fmt::format("not known: {}", exception.fault), {{"class", "why"}});
  });
  write_more(html, left, "inner exceptions");
}

} // namespace clr
