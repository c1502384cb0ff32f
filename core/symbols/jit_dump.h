// jit-PID.dump files: a runtime lists there the code that it makes, for perf inject. They hold the bytes of
// the code, and from some runtimes source lines (Mono; CoreCLR writes none).
// Source: Linux tools/perf/Documentation/jitdump-specification.txt; dotnet/runtime
// src/coreclr/pal/src/misc/perfjitdump.cpp.
#pragma once

#include "core/memory/platform.h"
#include "core/symbols/malformed.h"
#include "core/symbols/symbol_table_builder.h"

#include <memory>
#include <span>
#include <string>

namespace clr {

// The faults of a record of a jitdump. A faulty record is counted, and the rest of the file is used.
enum class JitDumpFault : std::uint8_t {
  short_record,
  endless_name,
  no_code,
  large_size,
  past_end,
  lying_count,
  unknown_code,
  many_moves,
  lost_lines,
  unknown_kind,
};
// A fixed text, for instance "the record is shorter than its kind needs".
std::string_view to_string(JitDumpFault kind);

struct JitDump {
  std::uint32_t elf_machine = 0; // EM_X86_64, ...
  std::uint32_t process = 0;     // number in its own PID namespace
  ByteOrder byte_order = ByteOrder::little;
  // Addresses of the process. Where code took the place of older code, only the last is in the table. Code
  // that was moved is in the table at both places.
  std::shared_ptr<const SymbolTable> symbols;
  std::size_t records = 0;
  bool closed = false;          // the file ends as the format requires; CoreCLR's files do not
  std::string stopped;          // a sentence when reading ended before the file did; empty otherwise
  symbols::Malformed malformed; // places are numbers of records
  SymbolTableBuilder::Dropped dropped;

  using enum JitDumpFault;
};

// `name` is the name of the file for messages and made_from(). A file that ends within a record is used up to
// that record (`stopped`). Throws Error{corrupt} when it is no jitdump or its header contradicts itself;
// Error{unsupported_contract} for another version.
JitDump read_jit_dump(std::span<const std::byte> bytes, const std::string& name);

} // namespace clr
