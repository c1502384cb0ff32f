// Places of the plugin's in a process that is none.
#pragma once

#include "extension/breakpoints/plants.h"

#include <map>
#include <set>
#include <string>

namespace clr::lldb_plugin {

class FakePlants final : public Plants {
public:
  int plant(Address address) override {
    if (refused.contains(address)) return 0;
    at[++last] = address;
    enabled.insert(last);
    return last;
  }
  int plant(const char* name, const char* library) override {
    named[++last] = std::string(library) + "`" + name;
    enabled.insert(last);
    return last;
  }
  void enable(int place, bool on) override {
    if (on)
      enabled.insert(place);
    else
      enabled.erase(place);
  }
  void limit(int place, std::uint64_t thread) override {
    if (thread != 0)
      limits[at.at(place)] = thread;
    else
      limits.erase(at.at(place));
  }
  void remove(int place) override {
    at.erase(place);
    named.erase(place);
    enabled.erase(place);
  }

  // Addresses at which the process stops.
  std::set<Address> stops() const {
    std::set<Address> found;
    for (const auto& [place, address] : at)
      if (enabled.contains(place)) found.insert(address);
    return found;
  }

  int last = 0;
  std::map<int, Address> at;
  std::map<Address, std::uint64_t> limits; // the only thread that stops there
  std::map<int, std::string> named;
  std::set<int> enabled;
  std::set<Address> refused;
};

} // namespace clr::lldb_plugin
