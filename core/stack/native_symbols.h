// Names of native functions from the symbol tables of their modules, for use without LLDB.
#pragma once

#include "core/memory/byte_room.h"
#include "core/memory/loaded_module.h"
#include "core/memory/memory_reader.h"
#include "core/memory/path_map.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace clr {

struct NativeSymbol {
  std::string module;       // file name of the module, "" when it has none
  std::string name;         // demangled if it is a C++ name; empty: no symbol covers the address
  std::uint64_t offset = 0; // bytes from the start of the symbol; of the module when there is none
};

class NativeSymbols {
public:
  // Bytes of the tables of all modules that are kept, and of a file that is read for one;
  // ByteRoom::max_wasted times as many are read.
  static constexpr std::uint64_t max_kept_tables = std::uint64_t{256} << 20;

  // `memory` must outlive this. `paths` tells where the target's files may be on this host. The tables that
  // are kept count in `whole`, too. No reads.
  NativeSymbols(MemoryReader& memory, std::vector<LoadedModule> modules, PathMap paths = {},
                std::shared_ptr<ByteRoom> whole = nullptr);
  ~NativeSymbols();

  // The function at `address`; nothing when no module holds it. .symtab of the module's file, or of its debug
  // file in /usr/lib/debug/.build-id, when the build id proves that the file belongs to what is loaded; else
  // .dynsym from target memory; else no name. Cost: the first address of a module reads its tables (about 8
  // reads); then 0 reads. Never throws for target data.
  std::optional<NativeSymbol> find(Address address);

private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

} // namespace clr
