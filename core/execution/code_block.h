// The result of looking up an instruction pointer: a code block, or a miss that says why there is none.
#pragma once

#include "core/memory/platform.h"

#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace clr {

// A range section of the runtime's code map: a range of addresses with one owner. [rt] vm/codeman.h
struct RangeSection {
  Address address = 0; // of the structure itself
  Address begin = 0;
  Address end = 0; // exclusive
  std::uint32_t flags = 0;
  Address jit_manager = 0;
  Address r2r_module = 0; // Module; 0 when this is no ReadyToRun image
  Address heap_list = 0;  // CodeHeapListNode of this range
  Address range_list = 0; // CodeRangeMapRangeList; 0 when none or unknown
  bool being_deleted = false;

  static constexpr std::uint32_t collectible = 1, code_heap = 2, range_list_flag = 4, interpreter = 8;

  friend bool operator==(const RangeSection&, const RangeSection&) = default;
};

enum class CodeKind : std::uint8_t { jitted, ready_to_run, interpreted };
std::string_view to_string(CodeKind kind); // "jitted", "r2r", "interpreted"

// One instruction pointer in managed code. Made by ExecutionManager::find. Valid until the target runs.
struct CodeBlock {
  Address ip = 0;    // the address that was asked for, Thumb bit removed
  Address start = 0; // of the method (hot part), Thumb bit removed
  Address method_desc = 0;
  CodeKind kind = CodeKind::jitted;
  RangeSection section;
  Address code_header = 0;          // RealCodeHeader (jitted, interpreted)
  std::uint32_t function_index = 0; // index in the table of the RUNTIME_FUNCTION that covers ip (R2R)
  std::uint32_t method_index = 0;   // index of the method's first RUNTIME_FUNCTION (R2R)
};

// Hot and cold parts of a method. cold_size 0: no cold part.
struct MethodRegions {
  Address hot_start = 0;
  std::uint64_t hot_size = 0; // bytes
  Address cold_start = 0;
  std::uint64_t cold_size = 0; // bytes
};

// Each value is a word of "reason" in JSON.
enum class MissReason : std::uint8_t {
  no_runtime,
  native_aot, // the program was compiled ahead of time
  not_started,
  outside,
  native,
  stub,
  precode,
  thunk,
  helper,
  gap,
  no_method,
  being_deleted,
};
std::string_view to_string(MissReason reason);

// Kinds of stub code, with the same numbers for every release. (The numbers in target memory differ between
// releases; stub_kind.h translates them.)
enum class StubKind : std::uint8_t {
  unknown,
  jump_stub,
  dynamic_helper,
  stub_precode,
  fixup_precode,
  vsd_dispatch,
  vsd_resolve,
  vsd_lookup,
  vsd_vtable,
  call_counting,
  method_call_thunk,
  wrapper,
  shuffle_thunk,
  prestub,
};
std::string_view to_string(StubKind kind); // "jump stub", "fixup precode", ...

namespace execution {

// No code block: a normal negative answer.
struct Miss {
  MissReason reason = MissReason::outside;
  std::string text;                   // part of a sentence, for people
  std::optional<StubKind> stub;       // reason stub, precode, thunk
  std::optional<Address> method_desc; // the precode's method; for a gap the method before it
  std::optional<Address> block_start; // start of the stub, or of the method that ended before the address
};

} // namespace execution

using CodeLookup = std::variant<CodeBlock, execution::Miss>;

} // namespace clr
