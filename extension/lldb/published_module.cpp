#include "extension/lldb/published_module.h"

#include "core/memory/error.h"
#include "core/memory/file_descriptor.h"
#include "core/memory/utf8.h"
#include "extension/lldb/core_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <string_view>

namespace clr::lldb_plugin {

namespace {
// Folders of this name hold nothing but what is published: it tells those modules from the process's own.
constexpr std::string_view folder_prefix = "lldb-clr-published-";
// A name of a file may have 255 bytes on most file systems; this leaves room for what is added to it.
constexpr std::size_t max_name = 200;
// Leads to the open files of this process where /proc is mounted.
constexpr const char* open_files = "/proc/self/fd";

[[noreturn]] void fail(const char* what) {
  throw Error(ErrorKind::io, fmt::format("{}: {}", what, std::strerror(errno)));
}

// An open file, closed with this object.
class OpenFile {
public:
  // `file`: a descriptor, or negative with errno set.
  OpenFile(int file, FileParts parts) : file_(file) {
    if (file_ < 0) fail("no file for debug information");
    for (const std::span<const std::byte> part : parts) {
      if (write_all(file_, part)) continue;
      const int error = errno;
      close(file_);
      errno = error;
      fail("debug information cannot be kept");
    }
  }
  ~OpenFile() { close(file_); }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  std::string path() const { return fmt::format("{}/{}", open_files, file_); }

private:
  int file_;
};

// A folder of this user alone, which is gone with this object. LLDB names a module by its path. It has read
// or mapped the file when it hands out the module.
class ModuleFolder {
public:
  ModuleFolder() {
    const char* temporary = std::getenv("TMPDIR");
    path_ = fmt::format("{}/{}XXXXXX", temporary != nullptr && *temporary != '\0' ? temporary : "/tmp",
                        folder_prefix);
    if (mkdtemp(path_.data()) == nullptr) fail("no folder for debug information");
  }
  ~ModuleFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ModuleFolder(const ModuleFolder&) = delete;
  ModuleFolder& operator=(const ModuleFolder&) = delete;

  std::string path_of(const std::string& name) const { return fmt::format("{}/{}", path_, name); }

private:
  std::string path_;
};

// Names come from the target: one that is no file name becomes one, and LLDB prints it as it is.
std::string file_name(const std::string& given) {
  std::string name = printable(given);
  std::ranges::replace(name, '/', '_');
  name.resize(cut_utf8(name, max_name).size());
  if (name.empty() || name == "." || name == "..") name = "managed";
  return name;
}
} // namespace

lldb::SBModule load_module(const std::string& triple, const std::string& name, FileParts elf) {
  const ModuleFolder folder;
  const std::string path = folder.path_of(file_name(name));
  // In memory behind a link; in a chroot without /proc such a link leads nowhere.
  const bool in_memory = access(open_files, X_OK) == 0;
  const OpenFile file(in_memory
                          ? memfd_create("lldb-clr", MFD_CLOEXEC)
                          : open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR),
                      elf);
  if (in_memory && symlink(file.path().c_str(), path.c_str()) != 0) fail("no link to debug information");
  lldb::SBModuleSpec spec;
  spec.SetFileSpec(lldb::SBFileSpec(path.c_str(), false));
  spec.SetTriple(triple.c_str());
  lldb::SBModule module(spec);
  if (!module.IsValid() || module.GetNumSections() == 0)
    throw Error(ErrorKind::corrupt, "LLDB refuses the debug information");
  // Every new module of a process is asked for this, which makes an index of all symbols: here in a thread.
  module.FindSymbol("__jit_debug_register_code", lldb::eSymbolTypeCode);
  return module;
}

std::uint64_t new_module_identity() {
  static std::atomic<std::uint64_t> last;
  return ++last;
}

void publish_module(lldb::SBTarget& target, lldb::SBModule& module) {
  const auto fail = [&](const char* why) {
    const char* const name = module.GetFileSpec().GetFilename();
    throw Error(ErrorKind::corrupt, fmt::format("LLDB does not load the debug information of {}: {}",
                                                name != nullptr ? name : "a module", why));
  };
  if (!target.AddModule(module)) fail("it takes no such module");
  // LLDB 14 has the signed overload only.
  const lldb::SBError error = target.SetModuleLoadAddress(module, std::int64_t{0});
  if (!error.Fail()) return;
  target.RemoveModule(module);
  const char* const why = error.GetCString();
  fail(why != nullptr ? why : "no reason given");
}

bool park_module(lldb::SBTarget& target, lldb::SBModule& module, std::int64_t place) {
  constexpr unsigned memory_bits = 48; // of a process, from 0
  return target.SetModuleLoadAddress(module, place << memory_bits).Success();
}

void withdraw_module(lldb::SBTarget& target, lldb::SBModule& module) {
  if (!module.IsValid()) return;
  target.ClearModuleLoadAddress(module);
  target.RemoveModule(module);
}

void withdraw_remnants(lldb::SBTarget& target) {
  lldb::SBProcess process = target.GetProcess();
  const bool is_live = process.IsValid() && !is_core(process);
  for (std::uint32_t i = target.GetNumModules(); i > 0; --i) {
    lldb::SBModule module = target.GetModuleAtIndex(i - 1);
    const char* const name = module.GetFileSpec().GetFilename();
    const bool has_places = name != nullptr && name == std::string_view(place_module) && is_live;
    if (is_published(module) && !has_places) withdraw_module(target, module);
  }
}

bool is_published(lldb::SBModule& module) {
  const char* folder = module.GetFileSpec().GetDirectory();
  return folder != nullptr && std::string_view(folder).find(folder_prefix) != std::string_view::npos;
}

lldb::SBFrame selected_published_frame(lldb::SBTarget target) {
  lldb::SBFrame frame = target.GetProcess().GetSelectedThread().GetSelectedFrame();
  lldb::SBModule module = frame.GetModule();
  return module.IsValid() && is_published(module) ? frame : lldb::SBFrame();
}

} // namespace clr::lldb_plugin
