#include "core/publish/module_writer.h"

#include "core/dwarf/elf_module_writer.h"

#include <system_error>
#include <utility>

namespace clr {
namespace {

WrittenModule write(CatalogModule& made, const ModuleWriter::Use& use) {
  WrittenModule written{.id = made.id,
                        .file_name = made.module.file_name,
                        .unknown = made.unknown,
                        .codes = made.module.size(),
                        .sections = {},
                        .fault = {}};
  try {
    for (const DebugSection& section : made.module.sections)
      written.sections.push_back({section.begin, section.end - section.begin});
    write_elf_module(made.module.spell(), [&](FileParts elf) { use(written, elf); });
  } catch (const std::exception& error) {
    written.fault = error.what();
  }
  return written;
}

} // namespace

ModuleWriter::~ModuleWriter() {
  {
    const std::scoped_lock lock(mutex_);
    waiting_.clear();
  }
  join();
}

void ModuleWriter::add(CatalogModule module) {
  if (last_) join(); // of the work before
  const std::unique_lock lock(mutex_);
  last_ = false;
  const bool large = module.module.size() >= least_codes;
  waiting_.push_back({written_.size(), std::move(module)});
  written_.emplace_back();
  if (large && threads_.size() < max_threads) {
    try {
      threads_.emplace_back([this] { run(); });
    } catch (const std::system_error&) {
      // The others write it, or finish().
    }
  }
  changed_.notify_one();
}

void ModuleWriter::write_next(std::unique_lock<std::mutex>& lock) {
  Waiting next = std::move(waiting_.front());
  waiting_.pop_front();
  lock.unlock();
  WrittenModule written = write(next.module, use_);
  lock.lock();
  written_[next.position] = std::move(written);
  done_.push_back(std::move(next.module));
  wrote_.notify_all();
}

void ModuleWriter::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return last_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    write_next(lock);
  }
}

void ModuleWriter::join() {
  {
    const std::scoped_lock lock(mutex_);
    last_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

void ModuleWriter::finish(const std::function<void(WrittenModule)>& take) {
  std::unique_lock lock(mutex_);
  last_ = true;
  changed_.notify_all();
  for (std::optional<WrittenModule>& next : written_) {
    while (!next && !waiting_.empty()) write_next(lock);
    wrote_.wait(lock, [&] { return next.has_value(); });
    lock.unlock();
    take(std::move(*next));
    lock.lock();
  }
  written_.clear();
}

void ModuleWriter::free_values(std::function<void()> then) {
  join();
  use_ = {};
  auto work = [this, then = std::move(then)] {
    done_.clear();
    if (then) then();
  };
  try {
    threads_.emplace_back(std::move(work));
  } catch (const std::system_error&) {
    work();
  }
}

} // namespace clr
