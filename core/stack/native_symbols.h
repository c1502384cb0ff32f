// Names of native functions from the symbol tables of their modules, for use without LLDB.
#pragma once

#include "core/memory/loaded_module.h"
#include "core/memory/memory_reader.h"

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
  // `memory` must outlive this. No reads.
  NativeSymbols(MemoryReader& memory, Platform platform, std::vector<LoadedModule> modules);
  ~NativeSymbols();

  // The function at `address`; nothing when no module holds it. .symtab of the module's file when the file is
  // provably the one that is loaded (same build id), else .dynsym from target memory, else no name. A symbol
  // with a size covers that size, one without reaches to the next symbol. Cost: the first address of a module
  // reads its tables; then 0 reads. Never throws for target data.
  std::optional<NativeSymbol> find(Address address);

private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

} // namespace clr
