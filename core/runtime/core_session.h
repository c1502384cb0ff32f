// A core file and its runtime, without a debugger.
#pragma once

#include "core/memory/elf_core.h"
#include "core/memory/file_overlay.h"
#include "core/memory/module_list.h"
#include "core/memory/page_cache.h"
#include "core/runtime/host_assemblies.h"
#include "core/runtime/runtime.h"

#include <memory>
#include <string>
#include <vector>

namespace clr {

class CoreSession {
public:
  // Opens the core at `path` and finds its modules and its runtime. Throws Error{io, corrupt} when the file
  // is no ELF core; a core without a runtime can be opened. Cost: that of ElfCore::open, list_modules and
  // Runtime.
  static std::unique_ptr<CoreSession> open(const std::string& path, const PathMap& paths,
                                           std::shared_ptr<const DescriptorFile> descriptor = nullptr);
  CoreSession(std::unique_ptr<ElfCore> core, const PathMap& paths,
              std::shared_ptr<const DescriptorFile> descriptor = nullptr);

  const ElfCore& core() const { return *core_; }
  // The memory of the core, completed from files on disk, through a cache.
  MemoryReader& memory() { return pages_; }
  const std::vector<LoadedModule>& modules() const { return runtime_.modules(); }
  Runtime& runtime() { return runtime_; }

  std::size_t pages_used() const { return pages_.pages(); }
  const FileOverlay& overlay() const { return overlay_; }
  // The proven file on this host of a native module; empty when there is none. Cost:
  // FileOverlay::elf_file_at.
  std::string file_of(const LoadedModule& module) { return overlay_.elf_file_at(module.base); }
  // The same of the program itself. Cost as above.
  std::string executable_file();
  // How the native modules were found.
  const ModuleList& module_list() const { return list_; }
  // Everything that is incomplete in the core and in its list of modules.
  std::vector<std::string> problems() const;

private:
  std::unique_ptr<ElfCore> core_;
  HostAssemblies assemblies_;
  FileOverlay overlay_;
  ModuleList list_;
  PageCache pages_;
  Runtime runtime_;
};

} // namespace clr
