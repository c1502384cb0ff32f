// Writes modules to ELF files on threads of its own, while the catalog goes on to describe code.
#pragma once

#include "core/dwarf/elf_container.h"
#include "core/memory/memory_range.h"
#include "core/publish/code_catalog.h"

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace clr {

// A module that was written, with those of its values that are needed afterwards.
struct WrittenModule {
  std::uint64_t id = 0; // CatalogModule::id
  std::string file_name;
  bool unknown = false; // CatalogModule::unknown
  std::size_t codes = 0;
  std::vector<MemoryRange> sections;
  std::string fault; // why it could not be written or used; empty: it could
};

class ModuleWriter {
public:
  // Takes the bytes of each module that could be written, on the thread that wrote it, of several modules at
  // once; the bytes are dropped afterwards. Any exception of it becomes the module's fault, since it would
  // end the process on a thread.
  using Use = std::function<void(const WrittenModule&, FileParts elf)>;
  explicit ModuleWriter(Use use) : use_(std::move(use)) {}
  // Drops the modules that are not yet written, and waits for the threads.
  ~ModuleWriter();
  ModuleWriter(const ModuleWriter&) = delete;
  ModuleWriter& operator=(const ModuleWriter&) = delete;

  // Takes a module. It is written at once when it is worth a thread and one can be had, else by finish().
  // Does not wait; not while finish() runs. No reads.
  void add(CatalogModule module);
  // Calls `take` with all modules in the order in which they were added, each as soon as it and those before
  // it are written and used, while later ones still are. Returns behind the last.
  void finish(const std::function<void(WrittenModule)>& take);
  // Frees the values that modules were written of, in a thread, and calls `then` there (may be empty). To
  // free them sooner would hold up the thread that still describes code, by the locks of the memory that it
  // allocates. Does not wait. The last call.
  void free_values(std::function<void()> then);

  // Code in a module below which a thread costs more than it saves.
  static constexpr std::size_t least_codes = 500;
  static constexpr std::size_t max_threads = 2;

private:
  void run();
  // Writes the next one; `lock` is released meanwhile.
  void write_next(std::unique_lock<std::mutex>& lock);
  void join();

  Use use_;
  std::mutex mutex_;
  std::condition_variable changed_, wrote_;
  struct Waiting {
    std::size_t position = 0; // in written_
    CatalogModule module;
  };
  std::deque<Waiting> waiting_;
  std::vector<std::optional<WrittenModule>> written_; // empty: not yet
  std::vector<CatalogModule> done_;                   // the values that they were written of
  bool last_ = false;                                 // nothing more comes
  std::vector<std::thread> threads_;
};

} // namespace clr
