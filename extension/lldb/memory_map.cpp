#include "extension/lldb/memory_map.h"

#include <istream>
#include <sstream>
#include <utility>

namespace clr::lldb_plugin {

namespace {
std::optional<MappedRegion> region_of(const std::string& line) {
  std::istringstream words(line);
  MappedRegion region{.mapped = true, .name = {}};
  char dash = 0;
  std::string permissions, offset, device, file;
  words >> std::hex >> region.begin >> dash >> region.end >> permissions >> offset >> device >> file;
  constexpr std::size_t permission_letters = 4;
  if (!words || dash != '-' || permissions.size() < permission_letters) return std::nullopt;
  region.readable = permissions[0] == 'r';
  region.writable = permissions[1] == 'w';
  region.executable = permissions[2] == 'x';
  std::getline(words >> std::ws, region.name);
  return region;
}
} // namespace

std::optional<MappedRegion> region_in(std::istream& maps, Address at) {
  Address behind_last = 0;
  for (std::string line; std::getline(maps, line);) {
    std::optional<MappedRegion> region = region_of(line);
    if (!region || at < region->end) {
      if (region && at < region->begin)
        return MappedRegion{.begin = behind_last, .end = region->begin, .name = {}};
      return region;
    }
    behind_last = region->end;
  }
  return std::nullopt;
}

std::vector<MappedRegion> regions_in(std::istream& maps, Address begin, Address end) {
  std::vector<MappedRegion> found;
  for (std::string line; found.size() < max_regions && std::getline(maps, line);) {
    std::optional<MappedRegion> region = region_of(line);
    if (!region || region->begin >= end) break;
    if (region->end > begin) found.push_back(*std::move(region));
  }
  return found;
}

} // namespace clr::lldb_plugin
