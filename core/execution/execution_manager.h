// The ExecutionManager data contract: instruction pointer -> managed method.
// Source: dotnet/runtime docs/design/datacontracts/ExecutionManager.md, with the runtime
// (src/coreclr/vm/codeman.*) where the prose errs.
#pragma once

#include "core/execution/code_block.h"
#include "core/target/target.h"

#include <functional>
#include <memory>
#include <vector>

namespace clr {

struct DebugInfoLocation {
  Address address = 0; // 0: the method has none
  bool has_flag_byte = false;
};

struct GcInfoLocation {
  Address address = 0;
  unsigned version = 0;
};

// A method body found by enumeration.
struct JittedBody {
  Address start = 0;
  Address method_desc = 0;
  Address code_header = 0;
  RangeSection section;
};

// A part of memory that an enumeration could not read; the enumeration went on behind it.
struct EnumerationHole {
  Address address = 0;
  std::string what;
};

// The runtime functions of an image that begin a method, ascending, by the image's own tables of entry
// points; null when they are not to be had.
using R2REntries = std::function<const std::vector<std::uint32_t>*(const RangeSection&)>;

class ExecutionManager {
public:
  // `target` must outlive the manager. Reads nothing. Throws Error{unsupported_contract} when the target's
  // ExecutionManager, PrecodeStubs or PlatformMetadata contract is a version that is not implemented.
  explicit ExecutionManager(const Target& target);
  ~ExecutionManager();

  // Without it, code of a ReadyToRun method that the runtime never prepared is taken for the method before
  // it. Asked only for functions that are not registered with the runtime, so a lookup of a running method
  // never pays for it.
  void set_r2r_entries(R2REntries entries);

  // GetCodeBlockHandle + GetMethodDesc: the code block that holds `ip`, or why there is none. An address
  // behind a method's last byte is a miss (`gap`), never that method. Throws Error for faults. Cost: one walk
  // of the range map (at most 5 tables and the fragment chain), then about 6 reads for jitted code; a second
  // address in the same method: 0 reads.
  CodeLookup find(Address ip);

  // GetRelativeOffset: bytes from the start, hot and cold parts linearised.
  std::uint64_t relative_offset(const CodeBlock& block);
  // GetMethodRegionInfo. Sizes in bytes.
  MethodRegions regions(const CodeBlock& block);
  // GetUnwindInfo: address of the RUNTIME_FUNCTION that covers block.ip; 0 if none.
  Address unwind_info(const CodeBlock& block);
  // GetUnwindInfoBaseAddress: what the RVAs of the RUNTIME_FUNCTION are relative to.
  Address unwind_info_base(const CodeBlock& block);
  // GetFuncletStartAddress / IsFunclet. Fragments of large functions belong to their function or funclet.
  Address funclet_start(const CodeBlock& block);
  bool is_funclet(const CodeBlock& block);
  // GetDebugInfo, GetGCInfo.
  DebugInfoLocation debug_info(const CodeBlock& block);
  GcInfoLocation gc_info(const CodeBlock& block);
  // GetJITType of the published prose: 0 unknown, 1 JIT, 2 R2R, 3 interpreter.
  unsigned jit_type(const CodeBlock& block) const;
  // NonVirtualEntry2MethodDesc: the method whose entry point (precode or code start) this is; nothing if
  // none.
  std::optional<Address> method_desc_of_entry_point(Address entry);

  // Every range section, sorted by begin, each once. Read on first use, then kept. Missing parts go to
  // holes().
  const std::vector<RangeSection>& sections();
  // The section that holds `address` by the sorted list; null if none. For bulk work; cold single lookups
  // walk the map.
  const RangeSection* section_at(Address address);
  // Calls `visit` for every jitted body of every code heap, in address order per section. False from `visit`
  // stops.
  void for_each_jitted(const std::function<bool(const JittedBody&)>& visit);
  const std::vector<EnumerationHole>& holes() const;

  // The ReadyToRun image behind an R2R section, for enumerations of its methods.
  struct R2RImage {
    Address module = 0;         // Module of the section (one component for composites)
    Address info = 0;           // ReadyToRunInfo
    Address composite_info = 0; // ReadyToRunInfo whose entry point map is used; == info when not composite
    Address base = 0;
    Address header = 0; // READYTORUN_HEADER
    Address functions = 0;
    std::uint32_t function_count = 0;
    bool composite() const { return composite_info != info; }
  };
  R2RImage r2r_image(const RangeSection& section);
  // The code block of runtime function `index` of an image even if no MethodDesc is registered (method_desc 0
  // then): start/regions come from the table alone.
  CodeBlock r2r_block(const RangeSection& section, std::uint32_t index);

  const Target& target() const;

private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

} // namespace clr
