// jit-PID.dump files: what a runtime writes of the code it makes, for perf inject; code bytes with it, and
// source lines from some (Mono; CoreCLR writes none).
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

// The faults of a record of a jitdump. A record with one is counted, and the rest of the file is used.
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
// A fixed text: "the record is shorter than its kind needs".
std::string_view to_string(JitDumpFault kind);

struct JitDump {
  std::uint32_t elf_machine = 0; // EM_X86_64, ...
  std::uint32_t process = 0;     // as its own PID namespace counts
  ByteOrder byte_order = ByteOrder::little;
  // Addresses of the process; of code that lay at the same place the last is there. Moved code is at both
  // places.
  std::shared_ptr<const SymbolTable> symbols;
  std::size_t records = 0;
  bool closed = false; // it ends as the format says; CoreCLR's do not
  std::string stopped; // a sentence when reading ended before the file did; empty otherwise
  Malformed malformed; // places are records
  SymbolTableBuilder::Dropped dropped;

  using enum JitDumpFault;
};

// `name` of the file stands in messages and made_from(). A file that ends within a record is used up to there
// (`stopped`). Throws Error{corrupt} when it is no jitdump or its header lies; Error{unsupported_contract}
// for another version.
JitDump read_jit_dump(std::span<const std::byte> bytes, const std::string& name);

} // namespace clr
