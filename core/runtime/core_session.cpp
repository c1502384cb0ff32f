#include "core/runtime/core_session.h"

#include "core/memory/count_text.h"
#include "core/runtime/source_lines.h"

#include <elf.h>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace clr {

std::unique_ptr<CoreSession> CoreSession::open(const std::string& path, const PathMap& paths,
                                               std::shared_ptr<const DescriptorFile> descriptor) {
  return std::make_unique<CoreSession>(ElfCore::open(path), paths, std::move(descriptor));
}

namespace {
ModuleList modules_of(const ElfCore& core, FileOverlay& overlay) {
  ModuleList list = list_modules(core, overlay);
  // When the core itself does not name its mapped files, the module list now does.
  if (core.file_mappings().empty()) overlay.add_modules(list.modules);
  return list;
}
} // namespace

CoreSession::CoreSession(std::unique_ptr<ElfCore> core, const PathMap& paths,
                         std::shared_ptr<const DescriptorFile> descriptor)
    : core_(std::move(core)), assemblies_(paths, room_), overlay_(*core_, {.paths = paths, .whole = room_}),
      list_(modules_of(*core_, overlay_)), pages_(overlay_),
      runtime_(pages_, list_.modules, core_->platform(), &assemblies_, std::move(descriptor)) {
  if (SourceLines* lines = runtime_.lines()) {
    lines->share_room(room_);
    lines->set_recorded(RecordedPdbs(*core_));
  }
}

std::string CoreSession::file_of(const LoadedModule& module) {
  std::string path = overlay_.elf_file_at(module.base);
  std::error_code error;
  const std::uint64_t size = path.empty() ? 0 : std::filesystem::file_size(path, error);
  if (error) return {};
  if (!opened_.has(size)) {
    if (withheld_count_++ < max_withheld_names) withheld_.push_back(path);
    return {};
  }
  opened_.keep(size);
  return path;
}

std::string CoreSession::executable_file() {
  const auto headers = core_->notes().auxv.find(AT_PHDR); // they lie in its first mapping
  return headers == core_->notes().auxv.end() ? std::string() : overlay_.elf_file_at(headers->second);
}

std::vector<std::string> CoreSession::problems() const {
  std::vector<std::string> problems = core_->problems();
  problems.insert(problems.end(), list_.problems.begin(), list_.problems.end());
  if (withheld_count_ != 0) {
    const std::size_t more = withheld_count_ - withheld_.size();
    problems.push_back(fmt::format("the debugger does not get the files of {}, beyond {} MB of such files "
                                   "(max_opened_files) or {} MB of all that is kept (max_kept_bytes): {}{}",
                                   count_text(withheld_count_, "native module"), max_opened_files >> 20,
                                   max_kept_bytes >> 20, fmt::join(withheld_, ", "),
                                   more == 0 ? std::string() : fmt::format(" and {} more", more)));
  }
  return problems;
}

} // namespace clr
