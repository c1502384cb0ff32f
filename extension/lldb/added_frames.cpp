#include "extension/lldb/added_frames.h"

#include "core/report/json.h"
#include "extension/lldb/newer_api.h"
#include "extension/lldb/own_command.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <iterator>
#include <string_view>

namespace clr::lldb_plugin {
namespace {

constexpr unsigned first_version = 22; // that takes a provider of frames

// LLDB asks a provider for frames while it holds the lock of the thread's stack, often on the thread that
// prints a stop. A question to LLDB about a thread, as its own base class begins with, would wait there for
// the lock that a command on another thread holds, which waits for the stack: both wait for ever (22.1 and
// 23.1). So no such question is asked here: threads are compared, and what is shown was found before.
constexpr std::string_view provider_script = R"(
import json, lldb
from lldb.plugins.scripted_frame_provider import ScriptedFrameProvider
from lldb.plugins.scripted_process import ScriptedFrame
class Frame(ScriptedFrame):
    def __init__(self, index, name, file, line):
        self.args = self.thread = self.target = self.process = self.register_info = None
        self.index, self.name, self.variables, self.register_ctx = index, name, [], dict()
        self.context = lldb.SBSymbolContext()
        if file:
            entry = lldb.SBLineEntry()
            entry.SetFileSpec(lldb.SBFileSpec(file, False))
            entry.SetLine(line)
            self.context.SetLineEntry(entry)
    def get_id(self):
        return self.index
    def get_pc(self):
        return lldb.LLDB_INVALID_ADDRESS
    def get_symbol_context(self):
        return self.context
    def is_artificial(self):
        return True
    def get_register_context(self):
        return None
class Frames(ScriptedFrameProvider):
    shown, targets = [], []
    @staticmethod
    def get_description():
        return 'clr: async methods that wait'
    @staticmethod
    def applies_to_thread(thread):
        return True
    def __init__(self, input_frames, args):
        self.frames, self.count, self.thread = input_frames, -1, input_frames.GetThread()
    def get_frame_at_index(self, index):
        if self.count < 0 or index >= self.count:
            self.count = len(self.frames)
        if index < self.count:
            return index
        for thread, rows in Frames.shown:
            if thread == self.thread:
                return Frame(index, *rows[index - self.count]) if index - self.count < len(rows) else None
        return None
    @staticmethod
    def show(target, text):
        process = target.GetProcess()
        Frames.shown = [(t, r) for t, r in Frames.shown if t.IsValid() and t.GetProcess().GetTarget() != target]
        Frames.shown += [(process.GetThreadByID(int(t)), r) for t, r in json.loads(text).items()]
        if not any(t == target for t, _ in Frames.targets):
            error = lldb.SBError()
            Frames.targets.append((target, target.RegisterScriptedFrameProvider('lldb.lldb_clr_Frames', lldb.SBStructuredData(), error)))
            if error.Fail():
                Frames.targets.pop()
                raise RuntimeError(error.GetCString())
    @staticmethod
    def end(debugger):
        Frames.shown = []
        for target, number in Frames.targets:
            if target.IsValid() and target.GetDebugger().GetID() == debugger.GetID():
                target.RemoveScriptedFrameProvider(number)
        Frames.targets = [(t, n) for t, n in Frames.targets if t.IsValid() and t.GetDebugger().GetID() != debugger.GetID()]
lldb.lldb_clr_Frames = Frames
)";

// As a Python expression that quotes nothing.
std::string as_hex(std::string_view text) {
  std::string hex = "bytes.fromhex('";
  for (const char c : text) fmt::format_to(std::back_inserter(hex), "{:02x}", static_cast<unsigned char>(c));
  return hex + "').decode()";
}

std::string to_json(const std::vector<AddedFrames>& added) {
  Json json = Json::object();
  for (const AddedFrames& one : added) {
    Json rows = Json::array();
    for (const AddedFrame& frame : one.frames)
      rows.push_back(Json::array({frame.name, frame.file, frame.line}));
    json[fmt::format("{}", one.thread)] = std::move(rows);
  }
  return dump(json);
}

// Runs an expression without a value, which LLDB would print; false when it did not come to its end, which
// LLDB does not tell of a script.
bool run_python(lldb::SBDebugger& debugger, const std::string& expression) {
  int done = 0;
  run_own(debugger, fmt::format("script {}; __import__('ctypes').c_int.from_address({}).value = 1",
                                expression, reinterpret_cast<std::uintptr_t>(&done)));
  return done == 1;
}

} // namespace

bool can_add_frames(lldb::SBDebugger& debugger) {
  if (version_of_lldb() < first_version) return false;
  return run_python(debugger, fmt::format("exec('' if hasattr(lldb, 'lldb_clr_Frames') else {}, dict())",
                                          as_hex(provider_script)));
}

bool add_frames(lldb::SBDebugger& debugger, lldb::SBTarget& target, const std::vector<AddedFrames>& added) {
  return can_add_frames(debugger) &&
         run_python(debugger,
                    fmt::format("lldb.lldb_clr_Frames.show(lldb.SBDebugger.FindDebuggerWithID({})."
                                "GetTargetAtIndex({}), {})",
                                debugger.GetID(), debugger.GetIndexOfTarget(target), as_hex(to_json(added))));
}

void take_frames_back(lldb::SBDebugger& debugger) {
  if (version_of_lldb() < first_version) return;
  run_python(debugger, fmt::format("lldb.lldb_clr_Frames.end(lldb.SBDebugger.FindDebuggerWithID({})) if "
                                   "hasattr(lldb, 'lldb_clr_Frames') else None",
                                   debugger.GetID()));
}

} // namespace clr::lldb_plugin
