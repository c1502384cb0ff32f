// Writes modules on threads of its own, while the catalog goes on to find code.
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

// A module as bytes, and what of its values is needed afterwards.
struct WrittenModule {
  std::uint64_t id = 0; // CatalogModule::id
  std::string file_name;
  bool unknown = false; // CatalogModule::unknown
  std::size_t codes = 0;
  std::vector<MemoryRange> sections;
  std::vector<std::byte> elf; // when nothing used it
  std::string fault;          // why it could not be written or used; empty: it could
};

class ModuleWriter {
public:
  // Called for each module that could be written, on the thread that wrote it, for several at once; the bytes
  // are dropped afterwards. What it throws becomes the module's fault.
  using Use = std::function<void(const WrittenModule&, FileParts elf)>;
  // Without `use` the bytes are kept.
  explicit ModuleWriter(Use use = {}) : use_(std::move(use)) {}
  // What is not yet written is dropped. Waits for the threads.
  ~ModuleWriter();
  ModuleWriter(const ModuleWriter&) = delete;
  ModuleWriter& operator=(const ModuleWriter&) = delete;

  // Takes a module. It is written at once when it is worth a thread and one can be had, else by finish().
  // Does not wait; not while finish() runs. No reads.
  void add(CatalogModule module);
  // Calls `take` with all modules in the order in which they were added, each as soon as it and those before
  // it are written and used, while later ones still are. Returns behind the last.
  void finish(const std::function<void(WrittenModule)>& take);
  std::vector<WrittenModule> finish();
  // Frees what was written of what, in a thread, and calls `then` there (may be empty). Not sooner: that
  // would hold up who is still describing code, by the locks of the memory that it allocates. Does not wait.
  // The last call.
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
  std::vector<CatalogModule> done_;                   // what they were written of
  bool last_ = false;                                 // nothing more comes
  std::vector<std::thread> threads_;
};

} // namespace clr
