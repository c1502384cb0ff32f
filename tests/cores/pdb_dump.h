// Prints the contents of a portable PDB as our reader decodes them, line by line, in the form in which
// tests/live/metadata_dump prints those of System.Reflection.Metadata.
#pragma once

#include "core/metadata/pdb_locator.h"

#include <cstdio>
#include <fmt/format.h>
#include <string>

namespace clr {

inline std::string hex(std::span<const std::byte> bytes) {
  std::string text;
  for (const std::byte b : bytes) text += fmt::format("{:02x}", std::to_integer<unsigned>(b));
  return text;
}

inline void dump_method(const PortablePdb& pdb, std::uint32_t method, std::string& out) {
  const auto line = [&]<typename... Args>(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(out), format, std::forward<Args>(args)...);
    out += '\n';
  };
  line("method {:08x} locals {}", method, pdb.local_signature(method));
  for (const SequencePoint& p : pdb.sequence_points(method))
    if (p.hidden)
      line("point {:x} {} hidden", p.il_offset, p.document);
    else
      line("point {:x} {} {}:{} {}:{}", p.il_offset, p.document, p.start_line, p.start_column, p.end_line,
           p.end_column);
  for (const LocalScope& scope : pdb.local_scopes(method)) {
    line("scope {:x} {:x} imports {}", scope.range.start, scope.range.end, scope.import_scope);
    for (const LocalVariable& variable : pdb.variables(scope))
      line("variable {} {} {}", variable.slot, variable.debugger_hidden ? 1 : 0, variable.name);
    for (const LocalConstant& constant : pdb.constants(scope))
      line("constant {} {}", constant.name, hex(constant.signature));
  }
  if (const auto kickoff = pdb.kickoff_method(method)) line("kickoff {:08x}", *kickoff);
  if (const auto async = pdb.async_method(method)) {
    line("async {}", async->catch_handler ? static_cast<std::int64_t>(*async->catch_handler) : -1);
    for (const AwaitPoint& wait : async->awaits)
      line("await {:x} {:x} {:08x}", wait.yield_offset, wait.resume_offset, wait.resume_method);
  }
  for (const IlRange& range : pdb.hoisted_scopes(method)) line("hoisted {:x} {:x}", range.start, range.end);
}

// `path`: a PDB, or an assembly (with an absolute path) whose PDB is searched.
inline std::unique_ptr<PortablePdb> pdb_of(const std::string& path) {
  if (path.ends_with(".pdb")) return PortablePdb::open(path);
  const LoadedFile file = LoadedFile::open(path);
  HostMemory memory(file.bytes());
  PdbResult result = locate_pdb(read_debug_directory(PeImage(memory, 0, false)), path, {});
  if (result.pdb == nullptr) throw Error(ErrorKind::io, fmt::format("{}: {}", path, result.reason()));
  return std::move(result.pdb);
}

inline void dump_pdb(const std::string& path) {
  const auto pdb = pdb_of(path);
  std::string out = fmt::format("pdb {} entry {:08x}\n", hex(pdb->id().guid), pdb->entry_point());
  for (std::uint32_t row = 1; row <= pdb->documents(); ++row) {
    const auto source = pdb->embedded_source(row);
    fmt::format_to(std::back_inserter(out), "document {} {} source {}\n", row, pdb->document_name(row),
                   source ? static_cast<std::int64_t>(source->size()) : -1);
  }
  fmt::format_to(std::back_inserter(out), "source link {}\n", pdb->source_link().size());
  for (std::uint32_t rid = 1; rid <= pdb->assembly_rows(MetadataTable::method_def); ++rid) {
    dump_method(*pdb, token_of(MetadataTable::method_def, rid), out);
    std::fwrite(out.data(), 1, out.size(), stdout);
    out.clear();
  }
}

} // namespace clr
