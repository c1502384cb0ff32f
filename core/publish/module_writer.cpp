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
  waiting_.push_back(std::move(module));
  last_ = false;
  if (large && !thread_.joinable()) {
    try {
      thread_ = std::thread([this] { run(); });
    } catch (const std::system_error&) {
      // finish() writes them.
    }
  }
  changed_.notify_one();
}

void ModuleWriter::write_next(std::unique_lock<std::mutex>& lock) {
  CatalogModule module = std::move(waiting_.front());
  waiting_.pop_front();
  lock.unlock();
  WrittenModule written = write(module, use_);
  module = {};
  lock.lock();
  written_.push_back(std::move(written));
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
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
}

std::vector<WrittenModule> ModuleWriter::finish() {
  stop();
  std::unique_lock lock(mutex_);
  while (!waiting_.empty()) write_next(lock);
  return std::exchange(written_, {});
}

} // namespace clr
