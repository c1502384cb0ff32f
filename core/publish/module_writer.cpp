#include "core/publish/module_writer.h"

#include "core/publish/elf_module_writer.h"

#include <system_error>
#include <utility>

namespace clr {
namespace {

WrittenModule write(const CatalogModule& made, const std::function<void(const WrittenModule&)>& use) {
  WrittenModule written{.id = made.id, .file_name = made.module.file_name, .codes = made.module.code.size()};
  try {
    for (const DebugSection& section : made.module.sections)
      written.sections.push_back({section.begin, section.end - section.begin});
    written.elf = write_elf_module(made.module);
    if (use) {
      use(written);
      written.elf = {};
    }
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
  stop();
}

void ModuleWriter::add(CatalogModule module) {
  const std::unique_lock lock(mutex_);
  const bool large = module.module.code.size() >= least_codes;
  waiting_.push_back({written_.size(), std::move(module)});
  written_.emplace_back();
  last_ = false;
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
  next.module = {};
  lock.lock();
  written_[next.position] = std::move(written);
}

void ModuleWriter::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return last_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    write_next(lock);
  }
}

void ModuleWriter::stop() {
  {
    const std::scoped_lock lock(mutex_);
    last_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

std::vector<WrittenModule> ModuleWriter::finish() {
  stop();
  std::unique_lock lock(mutex_);
  while (!waiting_.empty()) write_next(lock);
  return std::exchange(written_, {});
}

} // namespace clr
