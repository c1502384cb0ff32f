#include "core/memory/error.h"
#include "core/report/exception_report.h"
#include "core/report/fail_fast.h"
#include "core/report/merged_stacks.h"
#include "core/report/page/sections.h"
#include "core/report/trouble_report.h"
#include "core/runtime/presence.h"

#include <fmt/format.h>

namespace clr {

namespace {

void write_fact(HtmlWriter& html, std::string_view name, std::string_view value) {
  html.begin("tr");
  html.element("th", name);
  html.element("td", value);
  html.end();
}

void write_process(HtmlWriter& html, PageStop& stop) {
  PageSource& source = stop.source();
  html.begin("table", {{"class", "facts"}});
  write_fact(
      html, "process",
      fmt::format("{}, {}", source.process, count_text(source.threads.size(), "thread", Digits::grouped)));
  write_fact(html, "memory", source.memory().source);
  if (const std::string absence = absence_text(stop.runtime()); !absence.empty()) {
    write_fact(html, "runtime", absence);
  } else {
    const RuntimeInfo info = stop.runtime().summary();
    write_fact(html, "runtime",
               fmt::format("{} {} ({} {}) in {}", info.name,
                           info.version.empty() ? "of unknown version" : info.version, info.os, info.cpu,
                           info.found_in));
  }
  html.end();
}

} // namespace

void write_trouble(HtmlWriter& html, PageStop& stop) {
  PageSource& source = stop.source();
  const std::string absence = absence_text(stop.runtime());
  if (!absence.empty()) {
    html.element("p", fmt::format("unknown: {}", absence), {{"class", "verdict unknown"}});
    if (!source.crash.empty()) html.element("p", source.crash);
    stop.miss(fmt::format("all that needs a runtime: {}", absence));
    return write_process(html, stop);
  }
  TroubleSources sources{.locks = source.locks(),
                         .stacks = *source.stacks,
                         .heap = source.heap,
                         .async = [&]() -> AsyncReporter& { return stop.async_reporter(); },
                         .program_name = source.program_name};
  const TroubleReport trouble = find_trouble(sources, source.crash, source.options);
  html.element("p", verdict_text(trouble),
               {{"class", fmt::format("verdict {}", to_string(trouble.verdicts.front()))}});
  write_process(html, stop);
  html.begin("ul");
  const std::size_t left = write_some(html, trouble.evidence.size(), max_page_evidence,
                                      [&](std::size_t i) { html.element("li", trouble.evidence[i]); });
  html.end();
  write_more(html, left, "pieces of evidence");
  for (const std::string& text : trouble.missing) stop.miss(text);
}

void write_chosen_thread(HtmlWriter& html, PageStop& stop) {
  PageSource& source = stop.source();
  if (source.chosen == nullptr) {
    html.element("p", "No thread failed, and on none an exception is in flight.");
    return;
  }
  const PageThread& thread = *source.chosen;
  html.begin("p");
  html.element("b", thread.header);
  html.text(fmt::format(" ({})", source.why_chosen));
  html.end();
  if (stop.runtime().absence() == nullptr) {
    if (const auto message =
            fail_fast_message(stop.runtime(), *source.stacks, thread.registers, thread.os_id))
      html.element("p", fmt::format("fail fast: {}", *message));
    if (const RuntimeThread* const known = source.stacks->thread_of(thread.os_id)) {
      ExceptionReporter reporter = exceptions_of(source);
      const ExceptionReporter::OfThread found = reporter.of_thread(*known);
      if (!found.problem.empty()) html.element("p", found.problem, {{"class", "why"}});
      for (const Address object : found.in_flight) {
        html.element("p", "an exception is in flight:", {{"class", "dim"}});
        try {
          write_exception(html, reporter.tree(object));
        } catch (const Error& error) {
          html.element("p", fmt::format("{:#x}: {}", object, error.what()), {{"class", "why"}});
        }
      }
      if (found.in_flight.empty() && found.last_thrown != 0)
        html.element("p", fmt::format("{}the last one that was thrown is {:#x}, below among the exceptions",
                                      found.problem.empty() ? "no exception is in flight; " : "",
                                      found.last_thrown));
    } else {
      html.element("p", "the runtime does not know this thread", {{"class", "dim"}});
    }
  }
  ShownFrames frames;
  const StackReporter::End end =
      source.walk(thread, {.max_frames = max_page_walk, .runtime_frames = false}, [&](const FrameRow& row) {
        frames.add(row);
        return !(source.stop && source.stop());
      });
  stop.check();
  write_frames(html, frames.rows, end, frames.left_out);
}

} // namespace clr
