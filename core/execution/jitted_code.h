// Jitted bodies: their RealCodeHeader, how long they are, and their unwind entries.
// Source: dotnet/runtime docs/design/datacontracts/ExecutionManager.md (EEJitManager);
// src/coreclr/vm/codeman.h (RealCodeHeader), codeman.cpp (EEJitManager).
#pragma once

#include "core/execution/body_table.h"
#include "core/execution/runtime_functions.h"
#include "core/target/record.h"

#include <optional>

namespace clr {

// What a RealCodeHeader says; 0 for a field that the runtime does not publish or that is null.
struct CodeHeader {
  Address address = 0;
  Address method_desc = 0, gc_info = 0, debug_info = 0;
  std::uint32_t unwind_count = 0;
  Address unwind_table = 0;
};

class JittedCode {
public:
  // `functions` must outlive this. No reads. Throws Error{unsupported_contract} when the layout lacks
  // MethodDesc.
  JittedCode(const Target& target, const RuntimeFunctions& functions);

  // 1 read.
  CodeHeader read_header(Address address) const;
  bool knows_debug_info() const { return debug_info_.has_value(); }
  // Version of the GC info that this runtime's JIT writes. No reads.
  unsigned gc_info_version() const { return gc_info_version_; }

  // Bytes of code: by the GC info, as the runtime does; where that cannot be read or decoded, by the unwind
  // entries. Throws the fault of the former when neither can be had. 1 read, else 2 and more.
  std::uint64_t length(const CodeHeader& header, const RangeSection& section) const;

  // The unwind entries of a body, in order. 1 read. Throws Error{corrupt} for more than max_unwind_entries.
  std::vector<KnownBody::Function> functions(const CodeHeader& header, const RangeSection& section) const;

  // Funclets and fragments of one method.
  static constexpr std::uint32_t max_unwind_entries = 65536;

private:
  const Target* target_;
  const RuntimeFunctions* functions_;
  RecordSpan span_{"RealCodeHeader"};
  std::int64_t method_desc_;
  std::optional<std::int64_t> gc_info_, debug_info_, unwind_count_, unwind_table_;
  unsigned gc_info_version_;
};

} // namespace clr
