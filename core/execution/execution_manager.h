// The ExecutionManager data contract: instruction pointer -> managed method.
// Source: dotnet/runtime docs/design/datacontracts/ExecutionManager.md, and the runtime itself
// (src/coreclr/vm/codeman.*) where that document is wrong.
#pragma once

#include "core/execution/code_block.h"
#include "core/execution/precode.h"
#include "core/execution/walk_limit.h"
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

// A method body that an enumeration found; interpreted when its section is.
struct JittedBody {
  Address start = 0;
  Address method_desc = 0;
  Address code_header = 0;
  RangeSection section;
};

// A block of stubs in a code heap.
struct StubBlock {
  Address start = 0;
  // Nothing states its end. It is at `limit` at most, where the next block begins, the nibble map marks
  // nothing any more or the heap's used part ends, and at `least_limit` at least: code may come to lie
  // between them.
  Address limit = 0, least_limit = 0;
  StubKind kind = StubKind::unknown;
};

// A part of memory that an enumeration could not read. The enumeration continued behind it.
struct EnumerationHole {
  Address address = 0;
  std::string what;
};

// The runtime functions of an image that begin a method, ascending, from the image's own tables of entry
// points; null when they are not available.
using R2REntries = std::function<const std::vector<std::uint32_t>*(const RangeSection&)>;

class ExecutionManager {
public:
  // `target` must outlive the manager. Reads nothing. Throws Error{unsupported_contract} when the
  // target's ExecutionManager contract cannot be read, or a layout is missing that every lookup needs.
  explicit ExecutionManager(const Target& target);
  ~ExecutionManager();

  // Sets the source that tells methods from funclets in ReadyToRun images without available debug info (which
  // would tell, too). Without either source, a funclet of a method that the runtime never prepared counts as
  // a separate body. Used only for functions that are not registered with the runtime.
  void set_r2r_entries(R2REntries entries);

  // GetCodeBlockHandle + GetMethodDesc: the code block that holds `ip`, or the reason why there is none. An
  // address behind a method's last byte is a miss (`gap`), never that method. ReadyToRun code that the
  // runtime never prepared has a block with method_desc 0; its start and regions come from the image. Throws
  // Error for faults. Where the byte code of a method ends is not known: what is
  // behind it belongs to it, too. Cost on 64-bit: 7 reads for the
  // section (once per section), then 8 for jitted code with version 2 of the nibble map (1 more for a
  // method of several functions, and 1 for a CPU whose unwind entries have no end); log2(n) + 8 for
  // ReadyToRun code, up to 10 more when it was never prepared. A second address in the same method: 0 reads
  // and no allocation, some 40 ns.
  CodeLookup find(Address ip);

  // The functions below take blocks of this manager. For blocks from find() they cost nothing, unless a
  // number of reads is given.

  // GetRelativeOffset: bytes from the start of the method, counting the cold part directly behind the hot
  // part.
  std::uint64_t relative_offset(const CodeBlock& block);
  // GetMethodRegionInfo. Sizes in bytes, from the GC info like in the runtime (on arm64, constants behind the
  // code do not count); from the unwind entries when the GC info cannot be read. Size 0 for interpreted code,
  // whose size is not known.
  MethodRegions regions(const CodeBlock& block);
  // GetUnwindInfo: address of the RUNTIME_FUNCTION that covers block.ip; 0 if none. 3 reads for jitted code,
  // later 1.
  Address unwind_info(const CodeBlock& block);
  // GetUnwindInfoBaseAddress: the base of the RVAs in the RUNTIME_FUNCTION.
  Address unwind_info_base(const CodeBlock& block);
  // Every RUNTIME_FUNCTION of the body: its main part, funclets and fragments in the order of their code,
  // then those of the cold part. Cost: that of unwind_info.
  struct Function {
    Address begin = 0; // of its code, Thumb bit removed
    Address entry = 0; // of the RUNTIME_FUNCTION
  };
  std::vector<Function> functions(const CodeBlock& block);
  // regions() and functions() of a body in one step, for walks over all code: results for jitted code are not
  // kept, and its header is read once. Cost, jitted: 3 reads.
  struct Layout {
    MethodRegions regions;
    std::vector<Function> functions;
  };
  Layout layout(const CodeBlock& block);
  // GetFuncletStartAddress / IsFunclet. Fragments of large functions belong to their function or funclet, and
  // so does the cold part of the main body. 3 reads for jitted code the first time, 1 later; 2 more per
  // fragment.
  Address funclet_start(const CodeBlock& block);
  bool is_funclet(const CodeBlock& block);
  // GetDebugInfo (jitted: 1 or 2 reads; ReadyToRun: about 8), GetGCInfo.
  DebugInfoLocation debug_info(const CodeBlock& block);
  GcInfoLocation gc_info(const CodeBlock& block);
  // GetJITType of the published document: 0 unknown, 1 JIT, 2 R2R, 3 interpreter.
  unsigned jit_type(const CodeBlock& block) const;
  // NonVirtualEntry2MethodDesc: the method to which the precode or code at `entry` belongs; nothing if none.
  // Precodes: 2 to 4 reads, 4 more the first time; code: see find().
  std::optional<Address> method_desc_of_entry_point(Address entry);

  // The part of a precode that holds `address`, in a range list of precodes. Throws Error as find() does.
  // Cost: that of find() for the section, and of Precodes::part_at.
  std::optional<Precodes::Part> precode_part(Address address);

  // Forgets every known block and section, because the target ran. Facts from the target's descriptor are
  // kept. No reads.
  void forget();

  // Every live range section, sorted by begin, each once. Read on first use (one read per table and per
  // fragment), then kept. Missing parts are added to holes().
  const std::vector<RangeSection>& sections();
  // The section that holds `address`, from the sorted list; null if none. For many lookups; single cold
  // lookups walk the map.
  const RangeSection* section_at(Address address);
  // Visits every jitted body of every code heap, in address order per section. Stops when `visit` returns
  // false. Parts that cannot be read are added to holes(), and so is what is beyond a WalkLimit. Cost: 1 read
  // per 64 KiB of nibble map (4 MiB of code), 2 per body.
  void for_each_jitted(const std::function<bool(const JittedBody&)>& visit);
  // The same for one code heap, including its blocks of stubs (`stub` may be empty). Heaps that are walked
  // together share a `limit`. Returns false when `visit` or the limit stopped it.
  bool for_each_jitted_in(const RangeSection& section, WalkLimit& limit,
                          const std::function<bool(const JittedBody&)>& visit,
                          const std::function<void(const StubBlock&)>& stub = {});
  // A value that changes when blocks are added to or removed from the code heap of `section`. Cost: 1 read
  // per 64 KiB of nibble map. Throws Error.
  std::uint64_t heap_fingerprint(const RangeSection& section) const;
  // The holes of the range map and of the last walk over the bodies.
  const std::vector<EnumerationHole>& holes() const;

  // The ReadyToRun image behind an R2R section, for enumerations of its methods.
  struct R2RImage {
    Address module = 0;         // Module of the section (one component for composites)
    Address info = 0;           // ReadyToRunInfo
    Address composite_info = 0; // ReadyToRunInfo whose entry point map is used; == info when not composite
    Address base = 0;
    Address header = 0; // READYTORUN_HEADER; for a component that of the composite image
    Address functions = 0;
    std::uint32_t function_count = 0;
    std::uint32_t hot_count = 0; // the functions before the cold parts
    Address thunks = 0;          // delay-load method call thunks
    std::uint64_t thunk_bytes = 0;
    bool composite() const { return composite_info != info; }
  };
  R2RImage r2r_image(const RangeSection& section);
  // Every RUNTIME_FUNCTION of an image, by index. 1 read. Throws Error{memory_missing}.
  struct R2RFunction {
    Address begin = 0; // Thumb bit removed
    Address end = 0;   // 0 when only the CPU's unwind data tells it
    Address entry = 0; // of the RUNTIME_FUNCTION
  };
  std::vector<R2RFunction> r2r_functions(const RangeSection& section);
  // The block of the method that contains runtime function `index` of an image, at the first byte of the
  // function. method_desc is 0 when the runtime never prepared the method. Cost: that of find() without the
  // search.
  CodeBlock r2r_block(const RangeSection& section, std::uint32_t index);

  const Target& target() const;

private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

} // namespace clr
