#include "extension/commands/threads.h"

#include "core/memory/error.h"
#include "extension/commands/address_argument.h"

#include <fmt/format.h>

#include <algorithm>

namespace clr::lldb_plugin {

std::vector<lldb::SBThread> choose_threads(lldb::SBProcess& process, const std::vector<std::string>& words) {
  std::vector<lldb::SBThread> found;
  if (words.empty()) found.push_back(process.GetSelectedThread());
  for (const std::string& word : words) {
    if (word == "all") {
      for (std::uint32_t i = 0; i < process.GetNumThreads(); ++i)
        found.push_back(process.GetThreadAtIndex(i));
      continue;
    }
    const auto index = parse_number(word);
    if (!index || *index > UINT32_MAX)
      throw Error(ErrorKind::invalid_argument,
                  fmt::format("THREAD '{}' is not a thread number, nor `all`", word));
    lldb::SBThread thread = process.GetThreadByIndexID(static_cast<std::uint32_t>(*index));
    if (!thread.IsValid())
      throw Error(ErrorKind::invalid_argument,
                  fmt::format("there is no thread #{}; the process has {} threads, which `thread list` shows",
                              *index, process.GetNumThreads()));
    found.push_back(thread);
  }
  std::erase_if(found, [](lldb::SBThread& thread) { return !thread.IsValid(); });
  if (found.empty()) throw Error(ErrorKind::invalid_argument, "the process has no thread");
  return found;
}

} // namespace clr::lldb_plugin
