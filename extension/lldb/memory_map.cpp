#include "extension/lldb/memory_map.h"

#include <istream>
#include <sstream>

namespace clr::lldb_plugin {

std::optional<MappedRegion> region_in(std::istream& maps, Address at) {
  Address behind_last = 0;
  for (std::string line; std::getline(maps, line);) {
    std::istringstream words(line);
    MappedRegion region{.mapped = true, .name = {}};
    char dash = 0;
    std::string permissions, offset, device, file;
    words >> std::hex >> region.begin >> dash >> region.end >> permissions >> offset >> device >> file;
    constexpr std::size_t permission_letters = 4;
    if (!words || dash != '-' || permissions.size() < permission_letters) return std::nullopt;
    if (at < region.begin) return MappedRegion{.begin = behind_last, .end = region.begin, .name = {}};
    behind_last = region.end;
    if (at >= region.end) continue;
    region.readable = permissions[0] == 'r';
    region.writable = permissions[1] == 'w';
    region.executable = permissions[2] == 'x';
    std::getline(words >> std::ws, region.name);
    return region;
  }
  return std::nullopt;
}

} // namespace clr::lldb_plugin
