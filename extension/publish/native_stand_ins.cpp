#include "extension/publish/native_stand_ins.h"

#include "core/describe/native_code.h"
#include "core/dwarf/elf_module_writer.h"
#include "core/memory/error.h"
#include "extension/lldb/published_module.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>

namespace clr::lldb_plugin {

namespace {

// The 18 of " + 18"; nothing for other positions.
std::optional<std::uint64_t> offset_of(const std::string& position) {
  constexpr std::string_view plus = " + ";
  if (position.empty()) return 0;
  std::uint64_t offset = 0;
  const char* const end = position.data() + position.size();
  if (!position.starts_with(plus)) return std::nullopt;
  const auto [rest, error] = std::from_chars(position.data() + plus.size(), end, offset);
  return error == std::errc() && rest == end ? std::optional(offset) : std::nullopt;
}

// LLDB 23 reads a module of which it finds no file from the memory of the core: it has no names then, and no
// rules to unwind by. What it has of a file has at least sections with names.
bool describes_code(lldb::SBModule module) {
  return module.IsValid() && module.FindSection(".text").IsValid();
}

Address lookup_of(const StackPlaces::Native& frame) {
  return frame.leaf || frame.pc == 0 ? frame.pc : frame.pc - 1;
}

// What a stand-in is made of: a native module, or an image of ReadyToRun code that the core lacks, so that
// nobody knows which method the code is of.
struct Image {
  std::string name;
  Address base = 0;
  bool proved = false; // there is no doubt that it is an image
};

// Nothing for places in no image.
std::optional<Image> image_at(Session& session, Address lookup) {
  // First, because the memory between the parts of a file that is mapped in several looks like a module, too.
  if (auto image = session.runtime().image_of(lookup))
    return Image{std::move(image->name), image->base, true};
  const LoadedModule* const module = session.stacks().native().module_at(lookup);
  if (module == nullptr) return std::nullopt;
  std::string name = std::filesystem::path(module->path).filename();
  if (name.empty()) return std::nullopt;
  return Image{std::move(name), module->base, !module->build_id.empty()};
}

// Where LLDB's stacks end.
FrameLayout last_frame(const Platform& platform) {
  FrameLayout layout;
  // A debugger shows no frame of which it does not know where it ends.
  layout.cfa = {register_roles(platform.cpu).sp, platform.pointer_size};
  layout.outermost = true;
  return layout;
}

// Nothing where the module may be no module at all: the memory of jitted code, too, is mapped from a file.
std::optional<NativePlace> described(Session& session, const Image& module,
                                     const StackPlaces::Native& frame) {
  NativeUnwinder& native = session.stacks().native();
  NativePlace place;
  place.lookup = frame.leaf ? frame.pc : frame.pc - 1;
  FrameRow row;
  row.ip = frame.pc;
  session.name_native(row, place.lookup);
  const std::optional<std::uint64_t> offset = row.symbol.empty() ? std::nullopt : offset_of(row.position);
  if (offset && *offset <= frame.pc - module.base) {
    place.start = std::min(frame.pc - *offset, place.lookup);
    place.name = row.symbol;
  } else {
    const std::optional<Address> start = native.function_start(place.lookup);
    if (!start && row.symbol.empty() && !module.proved) return std::nullopt;
    place.start = start.value_or(place.lookup);
    if (place.start < module.base || place.start > place.lookup) place.start = place.lookup;
    // As LLDB names such a function of a file since version 21.
    place.name = row.symbol.empty() ? fmt::format("___lldb_unnamed_symbol_{:x}", place.start - module.base)
                                    : row.symbol;
  }
  try {
    place.layout = native.layout(frame.pc, frame.leaf, frame.caller);
    if (!place.layout && frame.last) place.layout = last_frame(session.runtime().target()->platform());
    if (!place.layout && !frame.jumps.empty())
      place.layout = native.layout(frame.pc, frame.leaf, FoundBy::frame_pointer);
    place.jumps = frame.jumps;
  } catch (const Error&) {
    place.layout.reset(); // the frame has a name at least
  }
  return place;
}

} // namespace

bool NativeStandIns::are_needed(const std::vector<StackPlaces::Native>& places) {
  return std::ranges::any_of(places, [&](const StackPlaces::Native& frame) {
    return !describes_code(target_.ResolveLoadAddress(lookup_of(frame)).GetModule());
  });
}

void NativeStandIns::add(Session& session, const std::vector<StackPlaces::Native>& places,
                         std::vector<std::string>& problems) {
  const char* const triple_text = target_.GetTriple();
  const std::string triple = triple_text != nullptr ? triple_text : "";
  std::map<std::string, std::vector<NativePlace>> found; // by file name
  for (const StackPlaces::Native& frame : places) {
    const Address lookup = lookup_of(frame);
    if (describes_code(target_.ResolveLoadAddress(lookup).GetModule())) continue;
    const std::optional<Image> image = image_at(session, lookup);
    if (!image || modules_.contains(image->name)) continue;
    const std::string& name = image->name;
    if (auto place = described(session, *image, frame)) found[name].push_back(*std::move(place));
    if (frame.jumps.size() == max_frame_jumps)
      problems.push_back(
          fmt::format("{}: the callers of {} frames at {:#x} are told, other stacks may end there", name,
                      max_frame_jumps, frame.pc));
  }
  const Platform platform = session.runtime().target()->platform();
  for (auto& [name, of_module] : found) try {
      std::size_t dropped = 0;
      DebugModule module = describe_native(name, platform, std::move(of_module), dropped);
      if (dropped != 0)
        problems.push_back(fmt::format("{}: {} places in it are not described", name, dropped));
      if (module.code.empty()) continue;
      module.identity = new_module_identity();
      write_elf_module(module, [&](FileParts elf) {
        lldb::SBModule loaded = load_module(triple, name, elf);
        publish_module(target_, loaded);
        modules_.emplace(name, std::move(loaded));
      });
    } catch (const std::exception& error) {
      problems.push_back(fmt::format("{}: {}", name, error.what()));
    }
}

void NativeStandIns::make_way() {
  if (modules_.empty() || target_.GetNumModules() == looked_at_) return;
  for (std::uint32_t i = target_.GetNumModules(); i > 0; --i) {
    lldb::SBModule module = target_.GetModuleAtIndex(i - 1);
    const char* const name = module.GetFileSpec().GetFilename();
    if (name == nullptr || is_published(module) || !describes_code(module)) continue;
    const auto own = modules_.find(name);
    if (own == modules_.end()) continue;
    withdraw_module(target_, own->second);
    modules_.erase(own);
  }
  looked_at_ = target_.GetNumModules();
}

void NativeStandIns::withdraw() {
  for (auto& [name, module] : modules_) withdraw_module(target_, module);
  modules_.clear();
}

} // namespace clr::lldb_plugin
