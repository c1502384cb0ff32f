// The page of `clr report`: of a process without a runtime, with names that want to be markup, and with
// sections that cannot be had. tests/live and tests/cores compare pages of real processes with the commands.
#include "core/report/page/heap_picture.h"
#include "core/report/page/page.h"
#include "core/report/page/sections.h"
#include "core/report/page/wait_picture.h"
#include "tests/support/memory_builder.h"

#include <catch2/catch.hpp>

#include <string>
#include <vector>

using namespace clr;

namespace {

const std::string hostile = "</script><script>alert(\"1\")</script>'\u202e\x1b[2J\n&amp;";

std::size_t count_of(std::string_view text, std::string_view part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

// Elements are closed in their order, and there is no markup of others.
void check_markup(const std::string& html) {
  std::vector<std::string> open;
  for (std::size_t at = html.find('<'); at != std::string::npos; at = html.find('<', at + 1)) {
    const std::string tag = html.substr(at + 1, html.find('>', at) - at - 1);
    if (tag.starts_with('!') || tag.ends_with('/')) continue;
    INFO(tag);
    CHECK_FALSE(tag.starts_with("script"));
    if (!tag.starts_with('/')) {
      open.push_back(tag.substr(0, tag.find(' ')));
      continue;
    }
    REQUIRE_FALSE(open.empty());
    CHECK(open.back() == tag.substr(1));
    open.pop_back();
  }
  CHECK(open.empty());
  for (const char* const bad : {"\u202e", "\x1b", "&amp;amp;amp"}) CHECK(html.find(bad) == std::string::npos);
}

struct NoRuntime {
  test::MemoryBuilder memory;
  Runtime runtime{memory, {}, {}, nullptr};
  StackReporter stacks{runtime, memory, [](FrameRow&, Address) {}};
  PageSource source;

  NoRuntime() {
    source.runtime = &runtime;
    source.stacks = &stacks;
    source.memory = [] {
      return MemoryReport{
          .source = "core " + hostile, .pages_filled = 0, .files = {}, .refusals = {hostile}, .notes = {}};
    };
    for (unsigned i = 1; i <= 3; ++i)
      source.threads.push_back(
          {.index = i, .os_id = 100 + i, .header = "thread " + hostile, .registers = {}});
    source.chosen = &source.threads[0];
    source.why_chosen = "why";
    source.process = "4711 " + hostile;
    source.maker = "made";
    source.walk = [](const PageThread& thread, const StackReporter::Options&,
                     const std::function<bool(const FrameRow&)>& visit) {
      // Two threads stand at the same place.
      FrameRow row;
      row.ip = thread.index == 3 ? 0x2000 : 0x1000;
      row.module = "lib.so";
      row.symbol = hostile;
      visit(row);
      return StackReporter::End{"bottom", {}};
    };
  }
};

} // namespace

TEST_CASE("a page without a runtime says so, and has what stacks tell") {
  NoRuntime of;
  const MadePage page = make_page(of.source);
  check_markup(page.html);
  CHECK(page.html.find("Not to be had: ") != std::string::npos);
  CHECK(page.html.find("2 different stacks of 3 threads") != std::string::npos);
  CHECK(page.html.find("<summary>threads #1, #2</summary>") != std::string::npos);
  CHECK(page.html.find("<summary>thread #3</summary>") != std::string::npos);
  CHECK(page.html.find("<section id=\"missing\">") != std::string::npos);
  CHECK(page.html.find("default-src &#39;none&#39;") != std::string::npos);
  CHECK(page.missing.size() == 2); // the runtime, and the file that was refused
}

TEST_CASE("a section that fails on its way leaves nothing half-done") {
  NoRuntime of;
  of.source.walk = [&](const PageThread& thread, const StackReporter::Options&,
                       const std::function<bool(const FrameRow&)>&) -> StackReporter::End {
    if (thread.index == 2) throw Error(ErrorKind::memory_missing, "memory at 0x1000 " + hostile);
    return {"bottom", {}};
  };
  const MadePage page = make_page(of.source);
  check_markup(page.html);
  CHECK(page.html.find("Not to be had: memory at 0x1000 &lt;/script&gt;") != std::string::npos);
  CHECK(page.html.find("<section id=\"missing\">") != std::string::npos);
  CHECK(page.missing.size() == 3);
}

TEST_CASE("a page that is interrupted is none") {
  NoRuntime of;
  unsigned asked = 0;
  of.source.stop = [&] { return ++asked > 3; };
  CHECK_THROWS_AS(make_page(of.source), Error);
}

TEST_CASE("long stacks fold, and long lists end with a number") {
  std::string text;
  HtmlWriter html(text);
  std::vector<FrameRow> rows(1000);
  for (unsigned i = 0; i < rows.size(); ++i) {
    rows[i].index = i;
    rows[i].ip = i < 500 ? 0x1000 : 0x1000 + i;
  }
  write_frames(html, rows, {"bottom", {"a note"}}, 7);
  check_markup(text);
  CHECK(text.find("this frame 500 times") != std::string::npos);
  CHECK(text.find("and 301 more frames<") != std::string::npos);
  CHECK(text.find(">7 frames that the runtime puts around async methods are left out<") != std::string::npos);
  CHECK(count_of(text, "<li ") == max_page_frames + 1);

  text.clear();
  std::size_t written = 0;
  CHECK(write_some(html, 7, 5, [&](std::size_t) { ++written; }) == 2);
  CHECK(written == 5);
  // As long as the page may be, no row is added.
  text.resize(HtmlWriter::max_page_bytes, ' ');
  CHECK(write_some(html, 7, 5, [&](std::size_t) { ++written; }) == 7);
  CHECK(written == 5);
}

TEST_CASE("threads by their numbers") {
  CHECK(thread_numbers({3, 4, 7}) == "#3, #4, #7");
  std::vector<std::uint32_t> many;
  for (unsigned i = 0; i < max_page_numbers + 1234; ++i) many.push_back(i);
  CHECK(thread_numbers(many).ends_with("#39 and 1,234 more"));
}

TEST_CASE("a picture of waits has its boxes, and what is deadlocked in red") {
  WaitPicture picture;
  for (unsigned i = 0; i < 5; ++i)
    picture.boxes.push_back({.kind = i % 2 == 0 ? PictureBox::Kind::thread : PictureBox::Kind::lock,
                             .lines = {hostile, std::string(200, 'x'), "c", "d", "e", "f"},
                             .red = i < 4});
  picture.arrows = {{0, 1}, {1, 2}, {2, 3}, {3, 0}, {4, 1}, {4, 4}};
  std::string text;
  HtmlWriter html(text);
  draw(html, picture);
  check_markup(text);
  CHECK(count_of(text, "<rect ") == 5);
  CHECK(count_of(text, "class=\"arrow red\"") == 4);
  CHECK(count_of(text, "class=\"arrow\"") == 2);
  CHECK(count_of(text, "class=\"node red\"") == 2);
  CHECK(count_of(text, "class=\"node lock red\"") == 2);
  CHECK(count_of(text, "class=\"node\"") == 1);
  CHECK(text.find(std::string(40, 'x') + "<") == std::string::npos); // cut to fit its box
  text.clear();
  draw(html, WaitPicture{});
  CHECK(text.empty());
}

TEST_CASE("a picture of the heap has a tile for each type that fills some of it") {
  std::string text;
  HtmlWriter html(text);
  draw(html,
       std::vector<HeapTile>{{"Ns.Outer.Order", "a", 1'200'000}, {hostile, "b", 3'000}, {"None", "c", 0}});
  check_markup(text);
  CHECK(count_of(text, "<rect ") == 2);
  CHECK(text.find(">Ns.Outer.Order<") != std::string::npos);
  CHECK(text.find(">1.2 MB<") != std::string::npos);
}
