#include "extension/lldb/newer_api.h"

#include <dlfcn.h>

#include <charconv>
#include <cstring>
#include <string_view>

namespace clr::lldb_plugin {

namespace {
// A member function, called as the free function that the Itanium C++ ABI makes of it: `this` is the first
// argument, behind the hidden one for a class result.
template<typename Function>
Function find_function(const char* mangled) {
  void* symbol = dlsym(RTLD_DEFAULT, mangled);
  Function function = nullptr;
  static_assert(sizeof function == sizeof symbol);
  std::memcpy(&function, &symbol, sizeof symbol);
  return function;
}
} // namespace

std::optional<std::string> core_file_of(lldb::SBProcess& process) {
  using GetCoreFile = lldb::SBFileSpec (*)(lldb::SBProcess*);
  const auto get = find_function<GetCoreFile>("_ZN4lldb9SBProcess11GetCoreFileEv");
  if (get == nullptr) return std::nullopt;
  const lldb::SBFileSpec file = get(&process);
  char path[4096];
  if (!file.IsValid() || file.GetPath(path, sizeof path) == 0) return std::nullopt;
  return path;
}

lldb::SBValue siginfo_of(lldb::SBThread& thread) {
  using GetSiginfo = lldb::SBValue (*)(lldb::SBThread*);
  const auto get = find_function<GetSiginfo>("_ZN4lldb8SBThread10GetSiginfoEv");
  return get != nullptr ? get(&thread) : lldb::SBValue();
}

bool interrupt_requested(lldb::SBDebugger& debugger) {
  using InterruptRequested = bool (*)(lldb::SBDebugger*);
  // Asked for every row of a list, and the dynamic linker takes longer to find it than LLDB to answer.
  static const auto requested =
      find_function<InterruptRequested>("_ZN4lldb10SBDebugger18InterruptRequestedEv");
  return requested != nullptr && requested(&debugger);
}

bool call_when_located(lldb::SBDebugger& debugger, LocateModule locate, void* baton) {
  using SetLocate = lldb::SBError (*)(lldb::SBPlatform*, LocateModule, void*);
  const auto set = find_function<SetLocate>("_ZN4lldb10SBPlatform23SetLocateModuleCallbackEPFNS_"
                                            "7SBErrorEPvRKNS_12SBModuleSpecERNS_10SBFileSpecES7_ES2_");
  constexpr unsigned tried = 19;
  if (set == nullptr || version_of_lldb() != tried) return false;
  lldb::SBPlatform platform = debugger.GetSelectedPlatform();
  return platform.IsValid() && set(&platform, locate, baton).Success();
}

unsigned version_of_lldb() {
  const char* const text = lldb::SBDebugger::GetVersionString();
  constexpr std::string_view before = "lldb version ";
  const std::string_view whole = text != nullptr ? text : "";
  const std::size_t at = whole.find(before);
  if (at == std::string_view::npos) return 0;
  const std::string_view digits = whole.substr(at + before.size());
  unsigned major = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), major);
  return major;
}

} // namespace clr::lldb_plugin
