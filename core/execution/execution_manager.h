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

// A block of stubs in a code heap.
struct StubBlock {
  Address start = 0;
  Address limit = 0; // nothing tells where it ends; at the next block, or where the heap's used part ends
  StubKind kind = StubKind::unknown;
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

  // Tells methods from funclets in ReadyToRun images whose debug info, which tells as well, is not to be had.
  // Without either, a funclet of a method that the runtime never prepared is a body of its own. Asked only
  // for functions that are not registered with the runtime.
  void set_r2r_entries(R2REntries entries);

  // GetCodeBlockHandle + GetMethodDesc: the code block that holds `ip`, or why there is none. An address
  // behind a method's last byte is a miss (`gap`), never that method. ReadyToRun code that the runtime never
  // prepared has a block with method_desc 0: its start and regions come from the image. Throws Error for
  // faults, and Error{unsupported_contract} for interpreted code. Cost, 64-bit: 7 reads for the section (once
  // per section), then 5 for jitted code with version 2 of the nibble map; log2(n) + 8 for ReadyToRun code,
  // up to 10 more when it was never prepared. A second address in the same method: 0 reads, some 50 ns.
  CodeLookup find(Address ip);

  // The functions below take blocks of this manager. They cost nothing for blocks of find(), except where a
  // number of reads is given.

  // GetRelativeOffset: bytes from the start, hot and cold parts linearised.
  std::uint64_t relative_offset(const CodeBlock& block);
  // GetMethodRegionInfo. Sizes in bytes, by the GC info as the runtime takes them (on arm64 constants behind
  // the code do not count); by unwind entries where GC info cannot be read.
  MethodRegions regions(const CodeBlock& block);
  // GetUnwindInfo: address of the RUNTIME_FUNCTION that covers block.ip; 0 if none. 3 reads for jitted code,
  // later 1.
  Address unwind_info(const CodeBlock& block);
  // GetUnwindInfoBaseAddress: what the RVAs of the RUNTIME_FUNCTION are relative to.
  Address unwind_info_base(const CodeBlock& block);
  // Every RUNTIME_FUNCTION of the body: its main part, funclets and fragments in the order of their code,
  // then those of the cold part. Cost: as unwind_info.
  struct Function {
    Address begin = 0; // of its code, Thumb bit removed
    Address entry = 0; // of the RUNTIME_FUNCTION
  };
  std::vector<Function> functions(const CodeBlock& block);
  // regions() and functions() of a body in one step, for walks over all code: of jitted code nothing is kept,
  // and its header is read once. Cost, jitted: 3 reads.
  struct Layout {
    MethodRegions regions;
    std::vector<Function> functions;
  };
  Layout layout(const CodeBlock& block);
  // GetFuncletStartAddress / IsFunclet. Fragments of large functions belong to their function or funclet, and
  // so does the cold part of the main body. 3 reads for jitted code, later 1; 2 more per fragment.
  Address funclet_start(const CodeBlock& block);
  bool is_funclet(const CodeBlock& block);
  // GetDebugInfo (jitted: 1 or 2 reads; ReadyToRun: about 8), GetGCInfo.
  DebugInfoLocation debug_info(const CodeBlock& block);
  GcInfoLocation gc_info(const CodeBlock& block);
  // GetJITType of the published prose: 0 unknown, 1 JIT, 2 R2R, 3 interpreter.
  unsigned jit_type(const CodeBlock& block) const;
  // NonVirtualEntry2MethodDesc: the method whose precode or code this is; nothing if none. Precodes: 2 to 4
  // reads, 4 more at first; code: see find().
  std::optional<Address> method_desc_of_entry_point(Address entry);

  // Forgets every block and section that was met: the target ran. What the target's descriptor says stays. No
  // reads.
  void forget();

  // Every live range section, sorted by begin, each once. Read on first use (a read per table and per
  // fragment), then kept. Missing parts go to holes().
  const std::vector<RangeSection>& sections();
  // The section that holds `address` by the sorted list; null if none. For bulk work; cold single lookups
  // walk the map.
  const RangeSection* section_at(Address address);
  // Calls `visit` for every jitted body of every code heap, in address order per section. False from `visit`
  // stops. What cannot be read goes to holes(). Cost: 1 read per 64 KiB of nibble map (4 MiB of code), 2 per
  // body.
  void for_each_jitted(const std::function<bool(const JittedBody&)>& visit);
  // The same in one code heap, with its blocks of stubs (`stub` may be empty); what cannot be read is added
  // to holes(). The result is false when `visit` stopped.
  bool for_each_jitted_in(const RangeSection& section, const std::function<bool(const JittedBody&)>& visit,
                          const std::function<void(const StubBlock&)>& stub = {});
  // A value that differs when blocks came to or went from the code heap of `section`. Cost: 1 read per 64 KiB
  // of nibble map. Throws Error.
  std::uint64_t heap_fingerprint(const RangeSection& section) const;
  // Of the range map, and of the last walk over the bodies.
  const std::vector<EnumerationHole>& holes() const;

  // The ReadyToRun image behind an R2R section, for enumerations of its methods.
  struct R2RImage {
    Address module = 0;         // Module of the section (one component for composites)
    Address info = 0;           // ReadyToRunInfo
    Address composite_info = 0; // ReadyToRunInfo whose entry point map is used; == info when not composite
    Address base = 0;
    Address header = 0; // READYTORUN_HEADER; of the composite image for its components
    Address functions = 0;
    std::uint32_t function_count = 0;
    std::uint32_t hot_count = 0; // of these; cold parts follow
    Address thunks = 0;          // delay-load method call thunks
    std::uint64_t thunk_bytes = 0;
    bool composite() const { return composite_info != info; }
  };
  R2RImage r2r_image(const RangeSection& section);
  // Every RUNTIME_FUNCTION of an image, by index. 1 read. Throws Error{memory_missing}.
  struct R2RFunction {
    Address begin = 0; // Thumb bit removed
    Address end = 0;   // 0 where the CPU's unwind data tells it
    Address entry = 0; // of the RUNTIME_FUNCTION
  };
  std::vector<R2RFunction> r2r_functions(const RangeSection& section);
  // The block of the method that runtime function `index` of an image is part of, seen from the function's
  // first byte. Method_desc 0 when the runtime never prepared it. Cost: as find() without the search.
  CodeBlock r2r_block(const RangeSection& section, std::uint32_t index);

  const Target& target() const;

private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

} // namespace clr
