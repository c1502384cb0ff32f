#include "extension/commands/new_file.h"

#include "core/memory/error.h"

#include <fmt/format.h>

#include <sys/stat.h>

namespace clr::lldb_plugin {

void NewFile::add(CLI::App& app, const std::string& help) {
  app.add_option("FILE", path, help)->required();
  app.add_flag("--force", force, "Replace FILE if it exists.");
}

void NewFile::require_free() const {
  struct ::stat found {};
  if (!force && ::lstat(path.c_str(), &found) == 0 && S_ISREG(found.st_mode))
    throw Error(ErrorKind::io, fmt::format("cannot write {}: it exists; --force replaces it", path));
}

} // namespace clr::lldb_plugin
