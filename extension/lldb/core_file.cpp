#include "extension/lldb/core_file.h"

#include "core/isa/registers.h"
#include "core/memory/error.h"
#include "core/memory/host_file.h"
#include "core/memory/read_at.h"
#include "extension/lldb/newer_api.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <set>
#include <span>
#include <string_view>

namespace clr::lldb_plugin {

namespace {
namespace fs = std::filesystem;

// ELF header up to e_type, which says ET_CORE.
bool looks_like_core(const std::string& path) {
  constexpr std::size_t type_at = 16;
  constexpr char core_type = 4, big_endian = 2;
  std::array<char, type_at + 2> header{};
  try {
    const HostFile file = HostFile::open(path);
    if (read_at(file.descriptor(), std::as_writable_bytes(std::span(header)), 0) != header.size())
      return false;
  } catch (const Error&) {
    return false; // gone, or no regular file
  }
  if (std::string_view(header.data(), 4) != "\177ELF") return false;
  const std::size_t low = header[5] == big_endian ? type_at + 1 : type_at;
  return header[low] == core_type && header[low == type_at ? type_at + 1 : type_at] == 0;
}

std::set<std::string> files_of_this_process() {
  std::set<std::string> paths;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/proc/self/fd", error)) {
    const fs::path file = fs::read_symlink(entry.path(), error);
    if (!error && file.is_absolute()) paths.insert(file.string());
  }
  std::ifstream maps("/proc/self/maps");
  std::string line;
  while (std::getline(maps, line)) {
    const auto slash = line.find('/');
    if (slash != std::string::npos) paths.insert(line.substr(slash));
  }
  return paths;
}

std::optional<Address> stack_pointer_of(const ElfCore& core, const ThreadRegisters& thread) {
  return context_of_thread(core.platform().cpu, thread).sp();
}

// Same threads, and the first one with the same stack pointer: cores of one process taken twice differ there.
bool fits(const ElfCore& core, lldb::SBProcess& process) {
  const std::vector<ThreadRegisters>& threads = core.threads();
  if (threads.empty() || threads.size() != process.GetNumThreads()) return false;
  for (const ThreadRegisters& thread : threads) {
    lldb::SBThread known = process.GetThreadByID(thread.os_id);
    if (!known.IsValid()) return false;
    const auto sp = stack_pointer_of(core, thread);
    if (sp && known.GetFrameAtIndex(0).GetSP() != *sp) return false;
  }
  return true;
}

CoreFile open_core(const std::string& path) {
  try {
    return {ElfCore::open(path), ""};
  } catch (const std::exception& error) {
    return {nullptr, fmt::format("{}: {}", path, error.what())};
  }
}
} // namespace

bool is_core(lldb::SBProcess& process) {
  const char* plugin = process.GetPluginName();
  const std::string_view name = plugin == nullptr ? "" : plugin;
  return name.find("core") != std::string_view::npos || name == "minidump";
}

CoreFile find_core_file(lldb::SBProcess& process) {
  if (const auto path = core_file_of(process)) return open_core(*path);
  CoreFile found;
  for (const std::string& path : files_of_this_process()) {
    if (!looks_like_core(path)) continue;
    CoreFile candidate = open_core(path);
    if (!candidate.core || !fits(*candidate.core, process)) continue;
    if (found.core) return {nullptr, "several open core files fit this process; memory is read through LLDB"};
    found = std::move(candidate);
  }
  if (!found.core) {
    std::error_code error;
    found.note =
        fmt::format("the core file is not known to this LLDB{}; memory is read through it, and what the file "
                    "lacks may read as zero",
                    fs::exists("/proc/self/maps", error) ? "" : " (mount /proc, where it can be found)");
  }
  return found;
}

} // namespace clr::lldb_plugin
