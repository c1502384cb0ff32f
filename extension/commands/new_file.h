// FILE and --force of the commands that write a file of their own.
#pragma once

#include <CLI/CLI.hpp>

#include <string>

namespace clr::lldb_plugin {

struct NewFile {
  std::string path;
  bool force = false;

  void add(CLI::App& app, const std::string& help);
  // Throws Error{io} when a file is there and --force was not given. To be asked before the work.
  void require_free() const;
};

} // namespace clr::lldb_plugin
