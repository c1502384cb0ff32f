#include "core/runtime/memory_limit.h"

#include "core/objects/collections.h"
#include "core/waits/core_library.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>

namespace clr {
namespace {

std::uint64_t number(const std::string& text, int base) {
  return std::strtoull(text.c_str(), nullptr, base);
}

// The settings of runtimeconfig.json, as texts.
std::map<std::string, std::string> configuration(ObjectReader& objects, CoreLibrary& library) {
  std::map<std::string, std::string> settings;
  const Address store = library.static_reference("System.AppContext", "s_dataStore");
  if (store == 0) return settings;
  InstanceReader reader(objects);
  const auto text_at = [&](Address at) {
    const Address object = reader.target().read_pointer(at);
    std::string text = object == 0 ? "" : objects.describe_object(object);
    if (text.size() >= 2 && text.starts_with('"')) text = text.substr(1, text.size() - 2);
    return text;
  };
  visit_collection(reader, reader.of_object(store),
                   {.count = [](std::uint64_t) {},
                    .item =
                        [&](const CollectionItem& item) {
                          if (item.key_type == nullptr) return false;
                          settings.emplace(text_at(item.key), text_at(item.at));
                          return true;
                        },
                    .steps = max_configuration_settings});
  return settings;
}

struct PoolMemory {
  std::uint64_t used = 0, high = 0;                   // when the load is high, as of the last full collection
  std::uint64_t all() const { return high / 9 * 10; } // it is high at 90 %
};

PoolMemory pool_memory(ObjectReader& objects, CoreLibrary& library) {
  const Address pool = library.static_reference("System.Threading.PortableThreadPool", "ThreadPoolInstance");
  if (pool == 0) return {};
  InstanceReader reader(objects);
  const Instance instance = reader.of_object(pool);
  return {reader.integer(instance, "_memoryUsageBytes"), reader.integer(instance, "_memoryLimitBytes")};
}

} // namespace

std::optional<std::string> environment_value(MemoryReader& memory, Address program_name,
                                             std::string_view name) {
  constexpr std::size_t page = 4096;
  if (program_name < max_environment_bytes) return std::nullopt;
  const std::string wanted = fmt::format("{}{}=", '\0', name);
  std::string text;
  while (text.size() < max_environment_bytes) {
    std::array<char, page> piece{};
    const Address end = program_name - text.size();
    const std::size_t size = end % page == 0 ? page : end % page;
    const std::span<char> out(piece.data(), size);
    if (memory.read_some(end - size, std::as_writable_bytes(out)) != size) break;
    text.insert(0, piece.data(), size);
    if (const std::size_t at = text.find(wanted); at != text.npos) {
      const std::size_t begin = at + wanted.size(), finish = text.find('\0', begin);
      return text.substr(begin, finish == text.npos ? text.npos : finish - begin);
    }
  }
  return std::nullopt;
}

std::optional<HeapLimit> heap_limit(ObjectReader& objects, Address program_name,
                                    std::vector<std::string>& missing) {
  const auto miss = [&](std::string_view what, std::string_view why) {
    missing.push_back(fmt::format("{}, which may limit the heap: {}", what, why));
  };
  const auto guarded = [&](std::string_view what, auto&& read) -> decltype(read()) {
    try {
      return read();
    } catch (const Error& error) {
      miss(what, error.what());
      return {};
    }
  };
  MemoryReader& memory = objects.finder().target().memory();
  std::byte last{};
  if (program_name == 0)
    miss("the environment of the process", "where it lies is not known");
  else if (memory.read_some(program_name - 1, {&last, 1}) != 1)
    miss("the environment of the process", fmt::format("{:#x} cannot be read", program_name - 1));
  CoreLibrary library(objects);
  const PoolMemory pool = guarded("the load of the memory", [&] { return pool_memory(objects, library); });
  const auto limit = [&](std::uint64_t bytes, std::uint64_t percent,
                         const std::string& name) -> std::optional<HeapLimit> {
    if (bytes != 0) return HeapLimit{bytes, name};
    if (percent != 0 && percent < 100 && pool.high != 0)
      return HeapLimit{pool.all() / 100 * percent, name + "Percent"};
    return std::nullopt;
  };
  for (const std::string name : {"DOTNET_GCHeapHardLimit", "COMPlus_GCHeapHardLimit"}) {
    const auto value = [&](const std::string& variable) {
      return number(environment_value(memory, program_name, variable).value_or(""), 16);
    };
    if (auto found = limit(value(name), value(name + "Percent"), name)) return found;
  }
  auto settings =
      guarded("the configuration of the program", [&] { return configuration(objects, library); });
  const std::string name = "System.GC.HeapHardLimit";
  if (auto found = limit(number(settings[name], 0), number(settings[name + "Percent"], 0), name))
    return found;
  if (pool.high == 0 || pool.used < pool.high) return std::nullopt;
  return HeapLimit{pool.all() / 4 * 3, "memory was scarce at the last full collection"};
}

} // namespace clr
