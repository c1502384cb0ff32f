// Portable PDB: the source positions of an assembly's code and the names of its local variables. A large file
// stays mapped. Nothing is indexed beforehand: each question decodes the rows and the blob of its method.
// Source: dotnet/runtime docs/design/specs/PortablePdb-Metadata.md.
//
// Cost: no reads of the target. Opening reads only headers, however many rows there are. A question about a
// method is a binary search in one table (about 20 cells) and the decoding of the method's own blob. No
// answer is kept but for places in the points of long methods, from where sequence_point() goes on; questions
// must therefore come from one thread at a time.
// Faults: Error{corrupt} whose text begins with the name of the PDB. They carry no address, because a file
// has no address in the target.
#pragma once

#include "core/memory/mapped_file.h"
#include "core/metadata/pdb_id.h"

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace clr {

// A place in a method's IL and the source text that belongs to it. Lines and columns count from 1; the end
// column is behind the last character.
struct SequencePoint {
  std::uint32_t il_offset = 0;
  std::uint32_t document = 0;                                                   // row of Document; 0 none
  std::uint32_t start_line = 0, start_column = 0, end_line = 0, end_column = 0; // 0 when hidden
  bool hidden = false; // code that the compiler added, without source text

  bool operator==(const SequencePoint&) const = default;
};

// IL offsets [start, end) of a method.
struct IlRange {
  std::uint32_t start = 0, end = 0;
  bool contains(std::uint32_t il_offset) const { return il_offset >= start && il_offset < end; }
  bool operator==(const IlRange&) const = default;
};

struct LocalVariable {
  std::uint16_t slot = 0;       // index in the method's local signature
  bool debugger_hidden = false; // added by the compiler
  std::string name;
  IlRange scope;
  std::uint32_t row = 0; // of LocalVariable
};

struct LocalConstant {
  std::string name;
  std::vector<std::byte> signature; // type and value
  IlRange scope;
};

// The hash of a source file that the compiler read.
struct DocumentHash {
  metadata::Guid algorithm{};
  std::vector<std::byte> digest;
};

struct LocalScope {
  std::uint32_t row = 0, import_scope = 0;
  IlRange range;
  std::uint32_t first_variable = 0, last_variable = 0; // rows [first, last)
  std::uint32_t first_constant = 0, last_constant = 0;
};

// A place where an async method waits.
struct AwaitPoint {
  std::uint32_t yield_offset = 0;  // IL offset where it gives up the thread
  std::uint32_t resume_offset = 0; // IL offset where it continues,
  std::uint32_t resume_method = 0; // in this method (token)
};
struct AsyncMethod {
  std::optional<std::uint32_t> catch_handler; // IL offset of the handler that the compiler added
  std::vector<AwaitPoint> awaits;
};

class PortablePdb {
public:
  // Reads headers. A file of at most `most_copied` bytes is copied, so that a build that overwrites it does
  // no harm; a larger one is mapped. Throws Error{io}; Error{unsupported_contract} for a Windows PDB;
  // Error{corrupt} when it is no PDB, is cut short or contradicts itself.
  static std::unique_ptr<PortablePdb> open(const std::string& path, NamedBy named_by = NamedBy::user,
                                           std::uint64_t most_copied = max_copied_file);
  // The same over bytes, which it keeps; `name` is for messages.
  static std::unique_ptr<PortablePdb> of_bytes(std::vector<std::byte> bytes, std::string name);
  ~PortablePdb();

  const std::string& name() const { return name_; }
  const PdbId& id() const { return id_; }
  std::uint32_t entry_point() const { return entry_point_; } // MethodDef token; 0 none
  // Number of rows that a table of the assembly has according to the PDB; 0 when the PDB does not refer to
  // the table.
  std::uint32_t assembly_rows(MetadataTable table) const {
    return assembly_rows_[static_cast<std::size_t>(table)];
  }
  const Metadata& metadata() const { return *metadata_; }
  // Bytes that it has copied.
  std::uint64_t copied() const { return bytes_.size(); }
  // The whole PDB. Valid as long as this.
  std::span<const std::byte> bytes() const { return file_.bytes().empty() ? bytes_ : file_.bytes(); }

  // --- methods, by MethodDef token. An unknown token has no points, scopes or names.

  // All sequence points in the order of their IL offsets, including hidden ones.
  std::vector<SequencePoint> sequence_points(std::uint32_t method) const;
  // The point for an IL offset, by the rule of System.Diagnostics.StackTrace: the last visible point that
  // begins at or before the offset. Nothing when there is none. Decodes the points up to the offset; of
  // those of a long method that were decoded before, only some hundred.
  std::optional<SequencePoint> sequence_point(std::uint32_t method, std::uint32_t il_offset) const;
  // Row of StandAloneSig with the types of the locals; 0 when there are no locals or no sequence points.
  std::uint32_t local_signature(std::uint32_t method) const;

  // Scopes; an outer scope comes before the scopes in it. More than max_scopes are a fault.
  std::vector<LocalScope> local_scopes(std::uint32_t method) const;
  // The first `most` of a scope, of the rows of first_variable on.
  std::vector<LocalVariable> variables(const LocalScope& scope, std::size_t most = max_locals) const;
  std::vector<LocalConstant> constants(const LocalScope& scope) const;
  // The names that the source gives to the elements of tuples in the type of the variable in that row of
  // LocalVariable, those of inner tuples behind those of outer ones; "" for an element without a name. Empty
  // when there are none.
  std::vector<std::string> tuple_names(std::uint32_t variable_row) const;
  // Variables whose scope contains the IL offset, outer ones first; the first max_locals.
  std::vector<LocalVariable> locals(std::uint32_t method, std::uint32_t il_offset) const;

  // For the MoveNext of a state machine (async method, iterator): the token of the method that the user
  // wrote.
  std::optional<std::uint32_t> kickoff_method(std::uint32_t move_next) const;
  // The methods that only start a state machine, as tokens, ascending. Cost: a cell for each of them.
  std::vector<std::uint32_t> kickoff_methods() const;
  // For the MoveNext of an async method; nothing for an iterator.
  std::optional<AsyncMethod> async_method(std::uint32_t move_next) const;
  // For a MoveNext: the scope of each variable that became a field of the state machine. The index is the
  // number in the field's name less 1. {0, 0} for a variable without scope.
  std::vector<IlRange> hoisted_scopes(std::uint32_t move_next) const;

  // --- documents, by row

  std::uint32_t documents() const { return metadata_->rows(MetadataTable::document); }
  // The path that the compiler was given; empty for row 0.
  std::string document_name(std::uint32_t row) const;
  // Nothing when the compiler wrote none, as for files that a #line directive names.
  std::optional<DocumentHash> document_hash(std::uint32_t row) const;
  // The source text as bytes, if the compiler put it into the PDB; else nothing. Throws Error{corrupt} before
  // it is expanded when it has more than `most` bytes.
  std::optional<std::vector<std::byte>> embedded_source(std::uint32_t row,
                                                        std::size_t most = max_embedded_source) const;
  // The Source Link file, JSON in UTF-8: it maps documents to URLs. Empty when there is none.
  std::string source_link() const;

  // The value of the custom debug information with this kind and this `parent` (a token); nothing when there
  // is none.
  std::optional<metadata::Blob> custom_debug_information(std::uint32_t parent,
                                                         const metadata::Guid& kind) const;

  static constexpr std::size_t max_copied_file = 16u << 20;    // bytes; few are larger
  static constexpr std::size_t max_sequence_points = 1u << 20; // of one method; real ones have thousands
  static constexpr std::size_t max_point_marks = 16u << 10;    // each of a hundred bytes, after 256 points
  // Of one method; real ones have hundreds, and thousands where the code was generated.
  static constexpr std::size_t max_scopes = 50'000, max_locals = 50'000;
  static constexpr std::size_t max_tuple_names = 4'096;         // of one variable
  static constexpr std::size_t max_document_name = 32 * 1024;   // bytes
  static constexpr std::size_t max_document_hash = 64;          // bytes; SHA-512 has as many
  static constexpr std::size_t max_embedded_source = 64u << 20; // bytes
  static constexpr std::uint32_t max_il_offset = 0x1fff'ffff;   // limits of the format
  static constexpr std::uint32_t max_line = 0x1fff'ffff, max_column = 0xffff;
  static constexpr std::uint32_t hidden_line = 0xfeefee;

private:
  PortablePdb(MappedFile file, std::vector<std::byte> bytes, std::string name);
  void read_header();
  struct PointsPlace {
    std::uint32_t document = 0, blob = 0; // as in the method's row
  };
  PointsPlace points_place(std::uint32_t method) const; // a blob of 0: there is none
  metadata::Blob points_blob(std::uint32_t method, std::uint32_t& document) const;
  template<typename Use>
  void each_point(std::uint32_t method, Use use) const;
  IlRange scope_range(std::uint32_t row) const;
  std::pair<std::uint32_t, std::uint32_t> scope_list(std::uint32_t row, unsigned column,
                                                     MetadataTable list) const;
  std::optional<metadata::Blob> find_information(std::uint32_t parent, const metadata::Guid& kind) const;
  std::uint32_t first_row(MetadataTable table, unsigned column, std::uint32_t value) const;
  [[noreturn]] void fail(const std::string& what) const;
  [[noreturn]] void fail(const Error& fault) const;
  // Runs `act` and adds the name of the PDB to its faults.
  template<typename Act>
  auto guarded(const Act& act) const {
    try {
      return act();
    } catch (const Error& fault) {
      fail(fault);
    }
  }

  MappedFile file_;
  std::vector<std::byte> bytes_;
  std::string name_;
  std::unique_ptr<HostMemory> memory_;
  std::optional<Metadata> metadata_;
  PdbId id_;
  std::uint32_t entry_point_ = 0;
  RowCounts assembly_rows_{};
  struct PointMarks;
  std::unique_ptr<PointMarks> marks_;
};

} // namespace clr
