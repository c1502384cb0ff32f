// Finds the source line of an instruction of managed code: first the debug info of its body, then the symbols
// of its module. The line is the one that the runtime's own stack traces print.
#pragma once

#include "core/debuginfo/debug_info_reader.h"
#include "core/metadata/pdb_locator.h"
#include "core/metadata/source_proof.h"
#include "core/runtime/answer.h"
#include "core/types/module.h"

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace clr {

class SourceLines {
public:
  // `target` and `code` must outlive this. No reads.
  SourceLines(const Target& target, ExecutionManager& code);
  ~SourceLines();

  // Sets where to look for PDBs. Forgets earlier results.
  void set_search(PdbSearch search);
  // PDBs that a minimal core keeps; they come before files. What they lie in must outlive this. Forgets
  // earlier results. Of the PDBs that the target itself holds no more than `most` bytes are kept: tests set
  // less.
  void set_recorded(RecordedPdbs recorded, std::uint64_t most = max_pdbs);
  // The PDBs that are expanded or copied count in `whole`, too. Before the first is looked for.
  void share_room(std::shared_ptr<ByteRoom> whole) { room_.share(std::move(whole)); }
  // Where the target's files are on this host, as set_search() was told.
  const PathMap& paths() const { return search_.paths; }
  const PdbSearch& search() const { return search_; }
  // Sets the folder of the program in the target's spelling, with the separator at its end. Assemblies in a
  // single file have no path, and their PDBs lie beside that file.
  void set_program_folder(std::string folder) { program_folder_ = std::move(folder); }

  // The line of the instruction at block.ip, or of the call before it. Without symbols of the module, an IL
  // offset without a line. Nothing for code without IL (stubs, dynamic methods), and when its debug info
  // cannot be read. Never throws. Cost: that of DebugInfoReader::il_position; once per module some 10 reads
  // and the opening of its PDB.
  std::optional<SourceLine> at(const CodeBlock& block, const Method& method, NativeOffsetKind kind);

  // The line of an IL offset of a method, by the same rule; without a line when there are no symbols. Never
  // throws.
  SourceLine of_il(const Method& method, std::uint32_t il_offset);

  // The text of the source file of `line`, if the compiler put it into the PDB; else nothing. Throws
  // Error{corrupt} when the PDB is damaged there, and, before the text is expanded, when that has more than
  // `most` bytes.
  std::optional<std::string> embedded_text(const SourceLine& line, std::size_t most);

  // Whether `text`, the bytes of a file, is the source file of `line`, by the hash in the PDB. Without a PDB
  // there is no hash. Throws Error{corrupt} when the PDB is damaged there.
  SourceProof proof_of(const SourceLine& line, std::span<const std::byte> text);

  // The PDB of a module; null when there is none. Valid as long as this object. Never throws.
  const PortablePdb* pdb_of(Address module);
  // The result of the search for the PDB of a module that was asked for.
  struct Symbols {
    std::string module;  // "app.dll"
    std::string path;    // of the PDB, or of the assembly or core that contains it; empty: none
    std::string problem; // why there is none
  };
  std::vector<Symbols> symbols() const;
  // A PDB that was found outside its assembly. Valid as long as this object.
  struct SeparatePdb {
    std::string module; // "app.dll"
    const PortablePdb* pdb = nullptr;
  };
  std::vector<SeparatePdb> separate_pdbs() const;

  DebugInfoReader& debug_info() { return reader_; }

  // Bytes of all PDBs that are expanded or copied. Of those that the target itself holds, what is beyond
  // counts as not found; files are then mapped.
  static constexpr std::uint64_t max_pdbs = 256u << 20;

private:
  struct Found {
    std::unique_ptr<PortablePdb> pdb;
    bool embedded = false; // the PDB, in the assembly
    Symbols symbols;
  };
  void forget();
  Found& find(Address module);
  Found locate(Address module);

  const Target* target_;
  DebugInfoReader reader_;
  PdbSearch search_;
  RecordedPdbs recorded_;
  std::string program_folder_;
  std::map<Address, Found> modules_;
  ByteRoom room_{max_pdbs}; // for PDBs in modules_
};

} // namespace clr
