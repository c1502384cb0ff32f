#include "core/report/memory_use.h"

#include "core/isa/architecture.h"
#include "core/stack/threads.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace clr {
namespace {

constexpr Address host_page = 4096;
// The runtime maps its executable memory, and what lies beside it, from a file in memory of this name.
// Source: dotnet/runtime src/coreclr/minipal/Unix/doublemapping.cpp.
constexpr std::string_view double_mapped = "/memfd:doublemapper";

Address end_of(Address begin, std::uint64_t size) {
  return begin + size < begin ? ~Address{0} : begin + size;
}

class UseReader {
public:
  UseReader(Runtime& runtime, HeapReporter& heap, const SaveSource& source, MemoryUse& use)
      : runtime_(runtime), heap_(heap), source_(source), use_(use) {}

  void read() {
    add_mappings();
    use_.gc = read_gc_notes(*runtime_.target(), heap_.map().state);
    add_heap();
    attempt("the map of code", [&] {
      for (const RangeSection& section : runtime_.code()->sections()) {
        if (section.begin >= section.end) continue;
        const bool compiled = (section.flags & RangeSection::code_heap) != 0;
        add(section.begin, section.end,
            compiled                  ? MemoryOwner::code
            : section.r2r_module != 0 ? MemoryOwner::files
                                      : MemoryOwner::loader);
      }
    });
    attempt("the stacks of threads", [&] { add_stacks(); });
    attempt("the memory of types", [&] { add_types(); });
    use_.bytes = owned_bytes(mapped_, owned_);
    for (const std::uint64_t bytes : use_.bytes) use_.all += bytes;
    use_.problems.insert(use_.problems.end(), use_.gc.problems.begin(), use_.gc.problems.end());
  }

private:
  template<typename Act>
  void attempt(std::string_view what, const Act& act) {
    try {
      act();
    } catch (const Error& error) {
      use_.problems.push_back(fmt::format("{}: {}", what, error.what()));
    }
  }

  void add(Address begin, Address end, MemoryOwner owner) {
    if (begin < end) owned_.push_back({{begin, end - begin}, owner});
  }

  void add_mappings() {
    for (const CoreSegment& segment : source_.segments) {
      const Address end = end_of(segment.begin, segment.memory_size);
      if (end == segment.begin) continue;
      mapped_.push_back({segment.begin, end - segment.begin});
      if (!segment.readable && !segment.writable && !segment.executable)
        add(segment.begin, end, MemoryOwner::reserved);
    }
    for (const FileMapping& file : source_.files) {
      if (file.begin >= file.end) continue;
      // A core may leave out what is on disk.
      mapped_.push_back({file.begin, file.end - file.begin});
      const bool own = std::string_view(file.path).starts_with(double_mapped);
      add(file.begin, file.end, own ? MemoryOwner::loader : MemoryOwner::files);
    }
    if (source_.files.empty())
      for (const LoadedModule& module : runtime_.modules())
        add(module.base, end_of(module.base, module.size), MemoryOwner::files);
    std::ranges::sort(owned_, {}, [](const OwnedRange& owned) { return owned.range.begin; });
    files_ = owned_;
  }

  void add_heap() {
    const HeapMap& map = heap_.map();
    const MemoryRange& reserved = use_.gc.reserved;
    bool inside = map.state.regions() && reserved.size != 0 && !map.ranges.empty();
    for (const HeapRange& range : map.ranges) {
      add(range.segment_begin / host_page * host_page, std::max(range.end, range.committed_end),
          MemoryOwner::gc);
      // Frozen objects may lie anywhere.
      if (range.part != HeapPart::frozen && !(reserved.contains(range.begin) && range.end <= reserved.end()))
        inside = false;
    }
    // Then nobody else has memory there.
    if (inside) add(reserved.begin, reserved.end(), MemoryOwner::gc);
    add(use_.gc.tables.begin / host_page * host_page, use_.gc.tables.end(), MemoryOwner::gc);
  }

  // The mapping that holds `address`, unless it is one of a file.
  const CoreSegment* segment_of(Address address) const {
    auto after = std::ranges::upper_bound(source_.segments, address, {}, &CoreSegment::begin);
    if (after == source_.segments.begin()) return nullptr;
    --after;
    return address - after->begin < after->memory_size ? &*after : nullptr;
  }
  bool in_file(Address address) const {
    auto after = std::ranges::upper_bound(files_, address, {},
                                          [](const OwnedRange& owned) { return owned.range.begin; });
    return after != files_.begin() && (--after)->range.contains(address);
  }

  void add_stacks() {
    const unsigned sp = register_roles(source_.platform.cpu).sp;
    for (const ThreadRegisters& thread : source_.threads) {
      if (sp >= thread.values.size()) continue;
      const CoreSegment* const segment = segment_of(thread.values[sp]);
      if (segment == nullptr || in_file(thread.values[sp])) continue;
      add(segment->begin, end_of(segment->begin, segment->memory_size), MemoryOwner::stacks);
      ++use_.stacks;
    }
    for (const RuntimeThread& thread : read_threads(*runtime_.target()).threads)
      if (thread.stack_base && thread.stack_limit && *thread.stack_base - *thread.stack_limit <= most_stack)
        add(*thread.stack_limit, *thread.stack_base, MemoryOwner::stacks);
  }

  void add_types() {
    const CoreSegment* last = nullptr;
    for (std::uint32_t i = 0; i < heap_.types().count(); ++i) {
      const Address table = heap_.types().at(i).method_table;
      const CoreSegment* const segment = segment_of(table);
      if (segment == nullptr || segment == last || in_file(table)) continue;
      add(segment->begin, end_of(segment->begin, segment->memory_size), MemoryOwner::loader);
      last = segment;
    }
  }

  static constexpr std::uint64_t most_stack = std::uint64_t{1} << 32;

  Runtime& runtime_;
  HeapReporter& heap_;
  const SaveSource& source_;
  MemoryUse& use_;
  std::vector<MemoryRange> mapped_;
  std::vector<OwnedRange> owned_, files_; // the latter ascending
};

} // namespace

std::string_view to_string(MemoryOwner owner) {
  constexpr std::array<std::string_view, memory_owner_count> names{"reserved", "gc",    "code",  "stacks",
                                                                   "loader",   "files", "native"};
  return names[static_cast<std::size_t>(owner)];
}

OwnedBytes owned_bytes(std::vector<MemoryRange> mapped, const std::vector<OwnedRange>& owned) {
  // Where a range begins or ends; all that is mapped is native until somebody else has it.
  struct Bound {
    Address at;
    MemoryOwner owner;
    bool begins, maps;
  };
  std::vector<Bound> bounds;
  bounds.reserve(2 * (mapped.size() + owned.size()));
  const auto add = [&](const MemoryRange& range, MemoryOwner owner, bool maps) {
    if (range.size == 0) return;
    bounds.push_back({range.begin, owner, true, maps});
    bounds.push_back({range.end(), owner, false, maps});
  };
  for (const MemoryRange& range : mapped) add(range, MemoryOwner::native, true);
  for (const OwnedRange& one : owned) add(one.range, one.owner, false);
  std::ranges::sort(bounds, {}, &Bound::at);
  OwnedBytes bytes{};
  std::array<std::size_t, memory_owner_count> open{};
  std::size_t open_mapped = 0;
  Address last = 0;
  for (const Bound& bound : bounds) {
    if (open_mapped != 0) {
      std::size_t first = 0;
      while (first + 1 < memory_owner_count && open[first] == 0) ++first;
      bytes[first] += bound.at - last;
    }
    last = bound.at;
    std::size_t& count = bound.maps ? open_mapped : open[static_cast<std::size_t>(bound.owner)];
    bound.begins ? ++count : --count;
  }
  return bytes;
}

MemoryUse memory_use(Runtime& runtime, HeapReporter& heap, const std::function<SaveSource()>& source) {
  MemoryUse use;
  SaveSource made;
  try {
    made = source();
  } catch (const Error& error) {
    use.problems.push_back(fmt::format("the memory of the process is not known: {}", error.what()));
  }
  UseReader(runtime, heap, made, use).read();
  if (ObjectReader* const objects = runtime.objects(); objects != nullptr)
    use.limit = heap_limit(*objects, made.program_name, use.limit_unseen);
  return use;
}

void add_to_json(Json& json, const MemoryUse& use) {
  Json& process = json["process"];
  if (use.all != 0) process = Json::object();
  for (std::size_t i = 0; i < memory_owner_count && use.all != 0; ++i)
    process[std::string(to_string(static_cast<MemoryOwner>(i)))] = use.bytes[i];
  if (use.all != 0) process["mapped"] = use.all;
  Json& limits = json["limits"] = Json::object();
  limits["heap_hard_limit"] = use.limit ? Json(use.limit->bytes) : Json();
  limits["heap_hard_limit_from"] = use.limit ? Json(use.limit->source) : Json();
  limits["adapts_heap_count"] = use.gc.adapts ? Json(*use.gc.adapts) : Json();
  limits["failures"] = Json::array();
  for (const GcFailure& failure : use.gc.failures)
    limits["failures"].push_back({{"heap", failure.heap},
                                  {"reason", failure.reason},
                                  {"text", failure_text(failure)},
                                  {"asked_bytes", failure.asked},
                                  {"collection", failure.collection},
                                  {"large_object", failure.large}});
  limits["unseen"] = use.limit_unseen;
  for (const std::string& problem : use.problems) json["problems"].push_back(problem);
}

} // namespace clr
