// Symbol files that a user added: they name addresses for which runtime memory has no name.
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

// A file that the user added, independent of the process that it will be used for.
struct AddedSymbolFile {
  std::string path;
  SymbolFileKind kind = SymbolFileKind::unknown;
  std::shared_ptr<const SymbolTable> symbols; // for a trace: the code that existed at its end
  // For a trace: which code was where at which time, and the clock of the trace.
  std::shared_ptr<const MethodStore> store;
  TraceInfo trace;
  // Address of the image of a table of RVAs, if the user gave one.
  std::optional<Address> base;
};

// Opens a file of any kind. For a trace of several processes, `process` selects one. `warnings` receives
// sentences about parts that could not be used. Throws Error as load_symbols and NetTrace::open do, and
// Error{invalid_argument} when a trace does not contain the process. `progress` gets the number of bytes read
// and the size of the file; returning false stops with Error{interrupted}.
AddedSymbolFile open_symbol_file(const std::string& path, std::optional<std::uint64_t> process,
                                 std::vector<std::string>& warnings,
                                 const std::function<bool(std::uint64_t, std::uint64_t)>& progress);

// A name from a symbol file.
struct AddedName {
  SymbolFileKind kind = SymbolFileKind::unknown; // kind of the file
  std::string_view function; // in the spelling of the file; empty when the file has only a line
  std::string_view file;
  std::uint32_t line = 0;
  Address start = 0;      // of the function
  std::uint64_t size = 0; // size of the part of the function that holds the address
  std::string_view path;  // path of the symbol file
};

// An image of the process, with the facts by which symbol files tell images apart.
struct SymbolImage {
  std::string name; // file name
  Address base = 0;
  std::vector<std::string> identities = {}; // build id or signatures of perf maps, in the form of the tables
  std::string problem = {};                 // why there are no identities, when the image could not be read
};

// Every image of the process: native modules with their build ids; ReadyToRun images with the signature in
// their debug directory and the signature that is computed from their MVID. Never throws. Cost: about 8 reads
// for each ReadyToRun image.
std::vector<SymbolImage> symbol_images(Runtime& runtime);

// The added files, applied to one process.
class AddedSymbols {
public:
  struct Source {
    AddedSymbolFile file;
    Address base = 0;    // base of the table's addresses
    std::string image;   // file name of the image that the table belongs to; empty for addresses of a process
    std::string problem; // why the file does not apply to this process; empty when it applies
  };

  // Finds the image of each table that is relative to an image: by `base`, else by identity, else, for a
  // table without identity, by file name. `images` is called at most once. Never throws.
  AddedSymbols(const std::vector<AddedSymbolFile>& files,
               const std::function<std::vector<SymbolImage>()>& images);

  const std::vector<Source>& sources() const { return sources_; }
  // The name of an address. When several files have one, the file that was added last wins. Never throws: a
  // damaged entry gives no name.
  std::optional<AddedName> find(Address address) const;
  // The name of the code that was at the address `seconds` after the start of a trace. Only traces are
  // searched.
  std::optional<AddedName> find_at(Address address, double seconds) const;

private:
  std::vector<Source> sources_;
};

} // namespace clr
