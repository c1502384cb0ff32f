#include "core/metadata/pdb_locator.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <optional>
#include <string_view>

namespace clr {
namespace {

constexpr std::string_view portable_age = "ffffffff"; // of the keys of portable PDBs

// "C:\src\App.dll" -> "C:\src\"; empty when there is no folder.
std::string_view folder_of(std::string_view path) {
  return path.substr(0, path.find_last_of("/\\") + 1);
}

std::string with_extension(std::string_view name, std::string_view extension) {
  return fmt::format("{}{}", name.substr(0, name.rfind('.')), extension);
}

std::string in_case(std::string text, int (*change)(int)) {
  // Only ASCII, whatever the host's locale, because the keys are made so.
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x80) c = static_cast<char>(change(c));
  return text;
}
std::string lower(std::string text) {
  return in_case(std::move(text), [](int c) { return c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c; });
}
std::string upper(std::string text) {
  return in_case(std::move(text), [](int c) { return c >= 'a' && c <= 'z' ? c - ('a' - 'A') : c; });
}

class Search {
public:
  // `id` null: accept any PDB. `room` null: each by itself has a limit.
  Search(const PdbId* id, const PdbSearch& where, PdbResult& result, ByteRoom* room)
      : id_(id), where_(where), result_(result), room_(room) {}

  // Accepts the PDB that `open` returns, if there is one and it is the right one.
  template<typename Open>
  bool take(const std::string& path, Open open) {
    try {
      auto pdb = open();
      if (pdb == nullptr) return false;
      if (id_ == nullptr || pdb->id() == *id_) {
        result_.pdb = std::move(pdb);
        result_.path = path;
        return true;
      }
      refuse(path, fmt::format("{} belongs to another build: its id is {}, the assembly's {}", path,
                               to_string(pdb->id()), to_string(*id_)));
    } catch (const Error& fault) {
      refuse(path, fault.what());
    } catch (const std::bad_alloc&) {
      refuse(path, fmt::format("{}: not enough memory", path));
    }
    return false;
  }

  // The same for a PDB that the target itself holds, which will have `size` bytes.
  template<typename Open>
  bool take_of_target(const std::string& path, std::uint64_t size, Open open) {
    if (room_ == nullptr || size == 0) return take(path, open);
    if (!room_->has(size)) {
      refuse(path, fmt::format("its PDB and those of other modules have more than {} bytes", room_->most()));
      return false;
    }
    const bool taken = take(path, open);
    taken ? room_->keep(size) : room_->waste(size);
    return taken;
  }

  // A file of this host.
  bool try_file(const std::string& path, NamedBy named_by = NamedBy::user) {
    if (std::find(seen_.begin(), seen_.end(), path) != seen_.end()) return false;
    seen_.push_back(path);
    if (named_by == NamedBy::target)
      if (const std::string why = refusal_of_target_path(path); !why.empty()) {
        refuse(path, fmt::format("{}: {}", path, why));
        return false;
      }
    std::error_code error;
    const auto type = std::filesystem::status(path, error).type();
    if (type == std::filesystem::file_type::not_found) {
      result_.missing.push_back(path);
      return false;
    }
    constexpr std::uint64_t most = PortablePdb::max_copied_file;
    const std::uint64_t copied = room_ == nullptr ? most : std::min(most, room_->left());
    const bool taken = take(path, [&] { return PortablePdb::open(path, named_by, copied); });
    if (room_ == nullptr) return taken;
    if (taken) {
      room_->keep(result_.pdb->copied());
    } else if (const auto size = std::filesystem::file_size(path, error); !error && size <= copied) {
      room_->waste(size);
    }
    return taken;
  }

  // Tries a file by its path in the target or at build time.
  bool try_target_file(const std::string& path) {
    for (const PathMap::Candidate& candidate : where_.paths.candidates(path))
      if (try_file(candidate.path, candidate.named_by())) return true;
    return false;
  }

  bool try_place(const std::string& place, const std::vector<std::string>& names) {
    std::error_code error;
    if (std::filesystem::is_regular_file(place, error)) return try_file(place);
    if (!std::filesystem::is_directory(place, error)) {
      result_.missing.push_back(place);
      return false;
    }
    const std::string folder = place.ends_with('/') ? place : place + '/';
    for (const std::string& name : names)
      if (try_file(folder + name) || try_cache(folder, name)) return true;
    return false;
  }

private:
  void refuse(const std::string& path, std::string why) {
    result_.refusals.push_back({path, std::move(why)});
  }

  // Symbol servers expect keys in lower case. Some tools write the age in upper case, and older tools leave
  // names unchanged.
  bool try_cache(const std::string& folder, const std::string& name) {
    std::string guid = to_string(id_->guid);
    std::erase(guid, '-');
    const std::string age(portable_age);
    for (const std::string& file : {lower(name), name})
      for (const std::string& key : {guid + upper(age), guid + age, upper(guid + age)})
        if (try_file(fmt::format("{}{}/{}/{}", folder, file, key, file))) return true;
    return false;
  }

  const PdbId* id_;
  const PdbSearch& where_;
  PdbResult& result_;
  ByteRoom* room_;
  std::vector<std::string> seen_;
};

// File names that the PDB may have: its name at build time, and the name of the assembly.
std::vector<std::string> names_of(const CodeViewEntry* entry, const std::string& assembly_path) {
  std::vector<std::string> names;
  const auto add = [&](std::string name) {
    if (name.size() > std::string_view(".pdb").size() &&
        std::find(names.begin(), names.end(), name) == names.end())
      names.push_back(std::move(name));
  };
  if (entry != nullptr) add(std::string(file_name_of(entry->path)));
  add(with_extension(file_name_of(assembly_path), ".pdb"));
  return names;
}

std::string why_no_reference(const PeDebugDirectory& directory) {
  if (!directory.faults.empty()) return directory.faults.front();
  if (!directory.code_view.empty()) return "it was made with a Windows PDB; only portable PDBs are supported";
  return "it names no PDB";
}

} // namespace

PdbResult locate_pdb(const PeDebugDirectory& directory, const std::string& assembly_path,
                     const PdbSearch& search, const RecordedPdbs& recorded, ByteRoom* room) {
  PdbResult result;
  const CodeViewEntry* reference = directory.portable();
  if (reference == nullptr && !directory.embedded) {
    result.no_reference = why_no_reference(directory);
    return result;
  }

  if (directory.embedded) {
    const std::string name =
        fmt::format("PDB embedded in {}", assembly_path.empty() ? "the assembly" : assembly_path);
    const auto open = [&] { return PortablePdb::of_bytes(expand(*directory.embedded), name); };
    // Without a CodeView entry there is no id to compare, but the PDB lies in the assembly itself.
    Search in_assembly(reference == nullptr ? nullptr : &reference->id, search, result, room);
    if (in_assembly.take_of_target(name, directory.embedded->size, open)) {
      result.embedded = true;
      result.path = assembly_path;
    }
    if (result.pdb != nullptr || reference == nullptr) return result;
  }

  Search files(&reference->id, search, result, room);
  const std::string kept = fmt::format("{} in the core", file_name_of(reference->path));
  if (files.take_of_target(kept, recorded.size_of(reference->id),
                           [&] { return recorded.open(reference->id, kept); })) {
    result.recorded = true;
    return result;
  }
  const std::vector<std::string> names = names_of(reference, assembly_path);
  const std::string folder(folder_of(assembly_path));
  if (!folder.empty())
    for (const std::string& name : names)
      if (files.try_target_file(folder + name)) return result;
  for (const std::string& place : search.places)
    if (files.try_place(place, names)) return result;
  // A path of another system is not valid here; only its last part is used.
  const bool native = reference->path.starts_with('/');
  files.try_target_file(native ? reference->path : std::string(file_name_of(reference->path)));
  return result;
}

std::string PdbResult::reason() const {
  if (pdb != nullptr) return {};
  if (!no_reference.empty()) return no_reference;
  if (refusals.empty())
    return missing.empty() ? "no place to look for its PDB is known"
                           : fmt::format("its PDB is not at {}{}", missing.front(),
                                         missing.size() == 1
                                             ? std::string()
                                             : fmt::format(" nor in {} other places", missing.size() - 1));
  std::string text = refusals.front().why;
  if (refusals.size() > 1) text += fmt::format(" (and {} more refused)", refusals.size() - 1);
  return text;
}

} // namespace clr
