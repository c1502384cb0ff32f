// The managed heap of one stop as a .gcdump: its objects, their references, and its roots in the groups that
// dotnet-gcdump makes.
#pragma once

#include "core/report/gcdump_file.h"
#include "core/report/json.h"
#include "core/runtime/heap_holders.h"

namespace clr {

struct WrittenGcdump {
  std::uint64_t objects = 0, references = 0; // of objects to objects
  std::uint64_t bytes = 0;                   // of the objects
  std::uint64_t roots = 0;                   // places that hold an object, static fields among them
  std::uint64_t cut_sizes = 0;               // objects whose size is larger than the format can say
  std::uint64_t file_bytes = 0;
};

// Gives the bytes of the file to `put`. With `live` only the objects that roots reach are in it; else all,
// and readers show those that nobody holds as not reachable. Throws as HeapHolders::paths, HeapHolders::roots
// and write_gcdump do. Cost: that of HeapHolders::paths the first time, of StaticFields::all, and three walks
// over the heap; 8 bytes for each object, 4 more with `live`.
WrittenGcdump write_heap_gcdump(HeapReporter& heap, HeapHolders& holders, GcdumpFacts facts, bool live,
                                const std::function<void(std::span<const std::byte>)>& put,
                                const HeapWalkOptions& options = {});

// The form of `clr gcdump --json`.
Json to_json(const WrittenGcdump& written, const std::string& path);

} // namespace clr
