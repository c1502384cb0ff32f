// A minimal core out of a whole one: the pages that stacks, threads, exceptions and the methods on the stacks
// need. It opens on any machine and gives the same answers there, without the binaries.
#pragma once

#include "core/memory/core_writer.h"
#include "core/runtime/core_session.h"

#include <functional>
#include <string>

namespace clr {

// What is recorded.
struct SaveOptions {
  bool all_methods =
      false; // also what lists of all jitted methods need: larger by some hundred bytes a method
  // Asked between threads and while writing; true gives up.
  std::function<bool()> stop = {};
};

// Runs every command of a reader of stacks over `session` once more, records the pages that it touches, the
// pages of files on disk included, and writes them to `path` with the core's own notes. Throws Error{io}.
WrittenCore save_core(CoreSession& session, const std::string& path, const SaveOptions& options = {});

} // namespace clr
