// Symbol files that a user added: names for addresses that runtime memory does not name.
#pragma once

#include "core/runtime/runtime.h"
#include "core/symbols/load_symbols.h"
#include "core/symbols/method_store_trace.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace clr {

// A file as it was added, whatever process it will be used for.
struct AddedSymbolFile {
  std::string path;
  SymbolFileKind kind = SymbolFileKind::unknown;
  std::shared_ptr<const SymbolTable> symbols; // of a trace: of the code that was there at its end
  // Of a trace: which code was where when, and its clock.
  std::shared_ptr<const MethodStore> store;
  TraceInfo trace;
  // Where the image of a table of RVAs lies, if the user said so.
  std::optional<Address> base;
};

// A file of any kind, ready to be added. Of a trace of several processes `process` says which; warnings are
// sentences on what could not be used. Throws Error as load_symbols and NetTrace::open do, and
// Error{invalid_argument} when a trace does not have the process. `progress` gets the bytes that are read and
// the file's size, and stops by false (Error{interrupted}).
AddedSymbolFile open_symbol_file(const std::string& path, std::optional<std::uint64_t> process,
                                 std::vector<std::string>& warnings,
                                 const std::function<bool(std::uint64_t, std::uint64_t)>& progress);

// A name that a file gives.
struct AddedName {
  SymbolFileKind kind = SymbolFileKind::unknown; // of the file
  std::string_view function;                     // as the file writes it; empty when it has a line only
  std::string_view file;
  std::uint32_t line = 0;
  Address start = 0;      // of the function
  std::uint64_t size = 0; // of the part that holds the address
  std::string_view path;  // of the symbol file
};

// An image of the process, as far as symbol files tell images apart.
struct SymbolImage {
  std::string name; // file name
  Address base = 0;
  std::vector<std::string> identities = {}; // build id or signatures of perf maps, as tables write them
  std::string problem = {};                 // why there are none, when the image could not be read
};

// Every image of the process: native modules by build id, ReadyToRun images by the signature in their debug
// directory and the one that their MVID makes. Never throws. Cost: about 8 reads for each ReadyToRun image.
std::vector<SymbolImage> symbol_images(Runtime& runtime);

// The files as they apply to one process.
class AddedSymbols {
public:
  struct Source {
    AddedSymbolFile file;
    Address base = 0;    // what the table's addresses count from
    std::string image;   // file name of the image that it belongs to; empty for addresses of a process
    std::string problem; // why it does not apply to this process; empty when it does
  };

  // Finds the image of each table that is relative to one: by `base`, else by identity, else, for a table
  // without one, by file name. `images` is asked once, if at all. Never throws.
  AddedSymbols(const std::vector<AddedSymbolFile>& files,
               const std::function<std::vector<SymbolImage>()>& images);

  const std::vector<Source>& sources() const { return sources_; }
  // Of files that overlap, the one that was added last. Never throws: a damaged entry names nothing.
  std::optional<AddedName> find(Address address) const;
  // What was there `seconds` after the start of a trace; only traces are asked.
  std::optional<AddedName> find_at(Address address, double seconds) const;

private:
  std::vector<Source> sources_;
};

} // namespace clr
