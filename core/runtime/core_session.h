// A core file and its runtime, without a debugger.
#pragma once

#include "core/memory/byte_room.h"
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
  // The proven file on this host of a native module, for a debugger that opens it; empty when there is none,
  // and beyond max_opened_files. Asked once for each module. Cost: FileOverlay::elf_file_at.
  std::string file_of(const LoadedModule& module);
  // The same of the program itself. Cost as above.
  std::string executable_file();
  // How the native modules were found.
  const ModuleList& module_list() const { return list_; }
  // Everything that is incomplete in the core and in its list of modules; and, once file_of() was asked,
  // which files the limits keep from a debugger.
  std::vector<std::string> problems() const;

  // Bytes of all that is kept of files and of what the core holds compressed: files that complete it,
  // metadata, PDBs, tables of symbols, and files that file_of() named.
  static constexpr std::uint64_t max_kept_bytes = std::uint64_t{640} << 20;
  // Bytes of the files that file_of() names, which a debugger maps and reads at its will.
  static constexpr std::uint64_t max_opened_files = std::uint64_t{256} << 20;
  static constexpr std::size_t max_withheld_names = 8; // of files beyond it, that problems() names
  // Room for max_kept_bytes, for what else is read of such files.
  const std::shared_ptr<ByteRoom>& room() const { return room_; }

private:
  std::shared_ptr<ByteRoom> room_ = std::make_shared<ByteRoom>(max_kept_bytes);
  ByteRoom opened_{max_opened_files, room_};
  std::vector<std::string> withheld_; // files that file_of() did not name: the first max_withheld_names
  std::size_t withheld_count_ = 0;
  std::unique_ptr<ElfCore> core_;
  HostAssemblies assemblies_;
  FileOverlay overlay_;
  ModuleList list_;
  PageCache pages_;
  Runtime runtime_;
};

} // namespace clr
