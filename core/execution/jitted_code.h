// Jitted bodies: their RealCodeHeader, their length, and their unwind entries.
// Source: dotnet/runtime docs/design/datacontracts/ExecutionManager.md (EEJitManager);
// src/coreclr/vm/codeman.h (RealCodeHeader), codeman.cpp (EEJitManager).
#pragma once

#include "core/execution/body_table.h"
#include "core/execution/runtime_functions.h"
#include "core/target/record.h"

#include <optional>

namespace clr {

// The fields of a RealCodeHeader; 0 for a field that is null or that the runtime does not publish.
struct CodeHeader {
  Address address = 0;
  Address method_desc = 0, gc_info = 0, debug_info = 0;
  std::uint32_t unwind_count = 0;
  Address unwind_table = 0;
  std::optional<RuntimeFunctions::Extent> first_function; // once it was read
};

class JittedCode {
public:
  // `functions` must outlive this. No reads. Throws Error{unsupported_contract} when the layout has no
  // MethodDesc.
  JittedCode(const Target& target, const RuntimeFunctions& functions);

  // The header at `address`. 1 read.
  CodeHeader read_header(Address address) const;
  // The same for the code that begins at `start`: a header also says, in its first unwind entry, where its
  // code begins, so that the header of another method is not believed. 2 reads. Throws Error{corrupt} for
  // such a header.
  CodeHeader read_header_of(Address start, Address address, const RangeSection& section) const;
  bool knows_debug_info() const { return debug_info_.has_value(); }
  // Version of the GC info that this runtime's JIT writes. No reads. Throws Error{unsupported_contract} when
  // the runtime does not tell it.
  unsigned gc_info_version() const;

  // Bytes of code: from the GC info, as in the runtime; when that cannot be read or decoded, from the unwind
  // entries. When neither works, throws the fault of the GC info. Throws Error{corrupt} when both can be read
  // and differ: the longer one would give addresses that belong to nothing the name of this method. Cost for
  // a header from read_header_of(): 1 read for the GC info; 1 for the last unwind entry when there are
  // several; 1 for the unwind data when entries have no end.
  std::uint64_t length(const CodeHeader& header, const RangeSection& section) const;

  // The unwind entries of a body, in order. 1 read. Throws Error{corrupt} for more than max_unwind_entries.
  std::vector<KnownBody::Function> functions(const CodeHeader& header, const RangeSection& section) const;

  // Limit of the funclets and fragments of one method.
  static constexpr std::uint32_t max_unwind_entries = 65536;

private:
  // From the first unwind entry to the end of the last one; nothing when there are none, or when they cannot
  // be read. Throws Error{corrupt} for impossible ones.
  std::optional<std::uint64_t> unwind_length(const CodeHeader& header, const RangeSection& section) const;

  const Target* target_;
  const RuntimeFunctions* functions_;
  RecordSpan span_{"RealCodeHeader"};
  std::int64_t method_desc_;
  std::optional<std::int64_t> gc_info_, debug_info_, unwind_count_, unwind_table_;
  std::optional<unsigned> gc_info_version_; // nothing: not told
};

} // namespace clr
