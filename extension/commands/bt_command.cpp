// clr bt: stacks of managed, native and runtime frames.
#include "core/memory/count_text.h"
#include "core/memory/error.h"
#include "core/report/answer_json.h"
#include "core/report/async_json.h"
#include "core/report/folded_frames.h"
#include "core/report/json.h"
#include "core/report/merged_stacks.h"
#include "extension/commands/command.h"
#include "extension/commands/heap_text.h"
#include "extension/commands/parser.h"
#include "extension/commands/stack_text.h"
#include "extension/commands/threads.h"
#include "extension/lldb/frame_numbers.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <vector>

namespace clr::lldb_plugin {

namespace {

class Backtrace final : public CommandRun {
public:
  explicit Backtrace(CLI::App& app) {
    app.add_option("THREAD", threads_,
                   "A thread's number as LLDB counts, or `all`; the selected thread by default.");
    add_count(app, "-n,--count", limit_, {1, max_frames}, "Show at most N frames of each thread.");
    auto* const managed = app.add_flag("-m,--managed", managed_only_, "Show managed frames only.");
    auto* const native =
        app.add_flag("--native", native_only_, "Show native frames only.")->excludes(managed);
    app.add_flag("-r,--runtime-frames", runtime_frames_,
                 "Show the runtime's explicit Frames too. JSON always has them.")
        ->excludes(managed)
        ->excludes(native);
    auto* const registers =
        app.add_flag("--registers", registers_, "Show the registers that are known of each frame.");
    auto* const unique =
        app.add_flag("-u,--unique", unique_, "Show stacks that are equal once; of all threads by default.")
            ->excludes(registers);
    app.add_flag(
           "-a,--async", async_,
           "Show the async methods that wait for a method of the stack, and those that the thread waits "
           "for. They are not on the stack.")
        ->excludes(unique);
    app.add_flag("--no-lines", no_lines_, "Look for no source lines: PDBs are not read.");
    auto* const no_fold = app.add_flag("--no-fold", no_fold_,
                                       "Give each frame a line of its own: those that repeat, and those that "
                                       "the runtime puts around the async methods that it suspends.");
    add_json(app, json_)->excludes(no_fold);
  }

  void run(Invocation& invocation) override {
    session_ = &invocation.session();
    out_ = &invocation.out;
    lldb::SBProcess process = session_->target().GetProcess();
    // LLDB's numbers of frames are those of its own symbols.
    if (!json_)
      if (const auto known = invocation.process(session_->target()))
        known->publishing().add_native(*session_);
    selected_ = process.GetSelectedThread().GetThreadID();
    if (unique_ && threads_.empty()) threads_ = {"all"};
    std::vector<lldb::SBThread> threads = choose_threads(process, threads_);
    if (async_) {
      async_reporter_ = std::make_unique<AsyncReporter>(session_->waits());
      async_reporter_->set_threads(session_->thread_tops());
      async_reporter_->set_stacks(session_->stacks());
    }
    if (unique_)
      print_unique(threads);
    else if (json_)
      print_json(threads);
    else
      for (lldb::SBThread& thread : threads) {
        if (out_->interrupted()) return;
        print(thread);
      }
    print_left_out(*out_, left_out_);
    if (left_ == 0)
      out_->warning(fmt::format("at most {} frames are shown at once: the rest is left out",
                                json_ ? max_json_frames : max_frames));
  }

private:
  StackReporter::End walk(lldb::SBThread& thread, bool runtime_frames,
                          const std::function<bool(const FrameRow&)>& visit) {
    walked_ = 0;
    return walk_stack(*session_, thread,
                      {.max_frames = std::min(limit_, left_),
                       .runtime_frames = runtime_frames,
                       .registers = registers_,
                       .lines = !no_lines_},
                      [&](const FrameRow& row) {
                        --left_;
                        ++walked_;
                        return !out_->interrupted() && visit(row);
                      });
  }

  bool shown(const FrameRow& row) const {
    if (managed_only_) return row.kind == "managed";
    return !native_only_ || row.kind == "native";
  }

  void print(lldb::SBThread& thread) {
    const bool current = thread.GetThreadID() == selected_;
    const lldb::SBFrame frame = current ? thread.GetSelectedFrame() : lldb::SBFrame();
    std::optional<unsigned> selected;
    out_->line("{} {}", current ? "*" : " ", thread_header(thread));
    std::vector<FrameRow> rows, all; // shown; with async_, whether shown or not
    FrameNumbers numbers(session_->target());
    const StackReporter::End end = walk(thread, runtime_frames_, [&](const FrameRow& walked) {
      FrameRow row = walked;
      row.index = numbers.next(walked);
      // Of a function that is inlined there, and of the one around it, the registers are the same but for the
      // address.
      const bool same = current && row.sp == frame.GetSP();
      if (same && (row.ip == frame.GetPC() || !selected)) selected = row.index;
      if (async_) all.push_back(row);
      if (shown(row)) rows.push_back(std::move(row));
      return true;
    });
    if (current && !selected) selected = frame.GetFrameID();
    left_out_ += print_frames(*out_, rows, selected, !no_fold_);
    print_end(*out_, end, walked_);
    if (async_) print_beside(beside(thread, all));
  }

  AsyncBeside beside(lldb::SBThread& thread, const std::vector<FrameRow>& rows) const {
    return async_reporter_->beside({thread.GetThreadID(), session_->registers(thread)}, rows,
                                   walk_options(*out_));
  }

  void print_beside(const AsyncBeside& beside) const {
    for (const AsyncBeside::Callers& callers : beside.callers)
      for (const AsyncStack& chain : callers.chains) {
        out_->line("    not on this stack, waiting for frame #{}:", callers.frame);
        for (std::size_t i = 1; i < chain.frames.size(); ++i)
          out_->line("      {}", text_of(*chain.frames[i].position));
        if (chain.end == AsyncChain::End::thread)
          out_->line("      {}", chain.os_id ? fmt::format("thread {}", *chain.os_id) : "a thread");
      }
    for (const AsyncStack& chain : beside.waits_for) {
      out_->line("    the thread waits for async methods, not on this stack:");
      for (const AsyncFrame& frame : chain.frames) out_->line("      {}", text_of(*frame.position));
      out_->line("      the first one waits for {}", chain.waits_for.text);
    }
  }

  void print_json(std::vector<lldb::SBThread>& threads) {
    JsonList list([&](std::string_view text) { out_->write(text); });
    FrameJson frames;
    std::size_t written = 0;
    out_->write("{\"threads\": ");
    for (lldb::SBThread& thread : threads) {
      if (out_->interrupted()) break;
      list.next();
      std::string text;
      JsonWriter json(text);
      json.begin_object();
      write_members(json, describe_thread(*session_, thread, selected_));
      json.key("frames");
      json.begin_array();
      std::vector<FrameRow> rows;
      FoldedFrames folded(frames);
      bool full = false;
      StackReporter::End end = walk(thread, true, [&](const FrameRow& row) {
        full = written + folded.written() >= max_json_frames;
        if (full) return false;
        if (shown(row)) folded.add(json, row);
        if (async_) rows.push_back(row);
        hand_over(text);
        return true;
      });
      folded.end(json);
      written += folded.written();
      if (full) {
        end.end = "limit";
        left_ = 0;
      }
      json.end_array();
      if (async_) write_members(json, beside(thread, rows));
      write_end(json, end);
      json.end_object();
      hand_over(text);
    }
    list.end();
    out_->write("}\n");
  }

  void hand_over(std::string& text) const {
    out_->write(text);
    text.clear();
  }

  static void write_end(JsonWriter& json, const StackReporter::End& end) {
    json.text("end", end.end);
    if (end.notes.empty()) return;
    json.key("notes");
    json.begin_array();
    for (const std::string& note : end.notes) json.text(note);
    json.end_array();
  }

  void print_unique(std::vector<lldb::SBThread>& threads) {
    MergedStacks merged;
    for (lldb::SBThread& thread : threads) {
      if (out_->interrupted()) break;
      MergedStack stack;
      FrameNumbers numbers(session_->target());
      stack.end = walk(thread, runtime_frames_ || json_, [&](const FrameRow& walked) {
        FrameRow row = walked;
        if (!json_) row.index = numbers.next(walked);
        if (!shown(row)) return true;
        // What is not shown makes no difference between two stacks.
        stack.add(row, !json_ && !no_fold_);
        return true;
      });
      stack.walked = walked_;
      stack.threads = {thread.GetIndexID()};
      merged.add(std::move(stack));
    }
    if (json_) {
      JsonList list([&](std::string_view text) { out_->write(text); });
      FrameJson frames;
      out_->write("{\"stacks\": ");
      for (const MergedStack& stack : merged.all()) {
        list.next();
        std::string text;
        JsonWriter json(text);
        json.begin_object();
        json.key("threads");
        json.begin_array();
        for (const std::uint32_t thread : stack.threads) json.number(thread);
        json.end_array();
        json.key("frames");
        json.begin_array();
        FoldedFrames folded(frames);
        for (const FrameRow& row : stack.rows) {
          folded.add(json, row);
          hand_over(text);
        }
        folded.end(json);
        json.end_array();
        write_end(json, stack.end);
        json.end_object();
        hand_over(text);
      }
      list.end();
      out_->write("}\n");
      return;
    }
    for (const MergedStack& stack : merged.all()) {
      out_->line("{}: #{}", count_text(stack.threads.size(), "thread"), fmt::join(stack.threads, ", #"));
      print_frames(*out_, stack.rows, std::nullopt, !no_fold_);
      left_out_ += stack.left_out;
      print_end(*out_, stack.end, stack.walked);
    }
  }

  std::vector<std::string> threads_;
  std::size_t limit_ = max_frames; // of one thread
  std::size_t left_ = max_frames;  // of all
  std::size_t walked_ = 0;         // of the last one
  std::size_t left_out_ = 0;       // of all: frames around async methods
  bool managed_only_ = false, native_only_ = false, runtime_frames_ = false, registers_ = false,
       no_lines_ = false, unique_ = false, async_ = false, no_fold_ = false, json_ = false;
  std::unique_ptr<AsyncReporter> async_reporter_; // with async_

  Session* session_ = nullptr;
  Output* out_ = nullptr;
  lldb::tid_t selected_ = 0;
};

} // namespace

CommandSpec bt_command() {
  return {"bt",
          "clrbt",
          "Show stacks of managed, native and runtime frames.",
          "clr bt -n 20 all",
          "shows the first 20 frames of every thread.",
          [](CLI::App& app) -> std::unique_ptr<CommandRun> { return std::make_unique<Backtrace>(app); }};
}

} // namespace clr::lldb_plugin
