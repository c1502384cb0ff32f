#include "extension/lldb/python_parts.h"

#include "extension/lldb/own_command.h"

#include <fmt/format.h>

#include <atomic>
#include <string>
#include <string_view>

namespace clr::lldb_plugin {
namespace {

// In LLDB's own module, which every debugger's Python has imported: formatters are shared by all debuggers.
constexpr const char* class_name = "lldb.lldb_clr_Parts";

// ctypes lets other threads into Python while the plugin works: it may wait for one that holds its door.
constexpr std::string_view provider_script = R"(
import ctypes, lldb
count = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)({count})
part = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_void_p)({part})
find = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_char_p)({find})
class Parts:
    def __init__(self, value, _):
        self.value = value
        self.count = -1
    def update(self):
        self.count = count(int(self.value.this))
        return False
    def num_children(self):
        return self.count if self.count >= 0 else self.value.GetNumChildren()
    def has_children(self):
        return self.num_children() != 0
    def get_child_at_index(self, index):
        if self.count < 0:
            return self.value.GetChildAtIndex(index)
        made = lldb.SBValue()
        part(int(self.value.this), index, int(made.this))
        return made if made.IsValid() else None
    def get_child_index(self, name):
        if self.count < 0:
            index = self.value.GetIndexOfChildWithName(name)
            if index != 0xFFFFFFFF:
                return index
        return find(int(self.value.this), name.encode())
lldb.lldb_clr_Parts = Parts
ctypes.c_int.from_address({done}).value = 1
)";

// Below this script stands LLDB's function that runs it, and nothing else unless a script runs the command.
constexpr std::string_view idle_script = R"(
import ctypes, sys
frame = sys._getframe()
while frame and frame.f_code.co_name != 'run_one_line':
    frame = frame.f_back
alone = frame is not None and frame.f_back is None and len(sys._current_frames()) == 1
alone = alone and not any(hasattr(m, '__lldb_init_module') for n, m in list(sys.modules.items()) if n[:4] != 'lldb')
ctypes.c_int.from_address({done}).value = 1 if alone else 2
)";

// Categories that hide_parts() has switched off.
std::atomic<bool> hidden;

void run_lines(lldb::SBDebugger& debugger, const std::string& lines) {
  std::string line;
  for (const char c : lines)
    if (c == '\n')
      line += "\\n";
    else
      line += c;
  run_own(debugger, "script exec(\"" + line + "\", {})");
}

// Runs the script; false when it did not come to its end, which LLDB does not tell of a script.
bool run_text(lldb::SBDebugger& debugger, const PartsEntry& entry) {
  int done = 0;
  run_lines(debugger, fmt::format(provider_script, fmt::arg("count", entry.count()),
                                  fmt::arg("part", entry.part()), fmt::arg("find", entry.find()),
                                  fmt::arg("done", reinterpret_cast<std::uintptr_t>(&done))));
  return done == 1;
}

} // namespace

bool add_parts(lldb::SBDebugger& debugger, const char* category, std::span<const char* const> types,
               const PartsEntry& entry) {
  if (!run_text(debugger, entry)) return false;
  lldb::SBTypeCategory clr = debugger.CreateCategory(category); // or the one that is there
  if (!clr.IsValid()) return false;
  for (const char* const type : types)
    if (!clr.AddTypeSynthetic(
            lldb::SBTypeNameSpecifier(type, true),
            lldb::SBTypeSynthetic::CreateWithClassName(class_name, lldb::eTypeOptionCascade)))
      return false;
  return true;
}

void hide_parts(lldb::SBDebugger& debugger, std::span<const char* const> categories) {
  for (const char* const name : categories) {
    lldb::SBTypeCategory category = debugger.GetCategory(name);
    if (!category.IsValid() || !category.GetEnabled()) return;
  }
  hidden = true;
  for (const char* const name : categories) debugger.GetCategory(name).SetEnabled(false);
}

void show_parts(lldb::SBDebugger& debugger, std::span<const char* const> categories) {
  if (!hidden.exchange(false)) return;
  for (const char* const name : categories) debugger.GetCategory(name).SetEnabled(true);
}

bool parts_are_hidden() {
  return hidden;
}

bool python_is_idle(lldb::SBDebugger& debugger) {
  int done = 0;
  run_lines(debugger, fmt::format(idle_script, fmt::arg("done", reinterpret_cast<std::uintptr_t>(&done))));
  return done == 1;
}

} // namespace clr::lldb_plugin
