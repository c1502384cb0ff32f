// Makes a SymbolTable from entries in any order, which may repeat and overlap.
#pragma once

#include "core/memory/seeded_hash.h"
#include "core/symbols/symbol_table.h"

#include <unordered_set>

namespace clr {

class SymbolTableBuilder {
public:
  static constexpr std::uint64_t max_size = 0xffff'ffffu; // bytes of one function: more cannot be code
  struct Dropped {
    std::size_t empty = 0;    // size 0
    std::size_t oversize = 0; // longer than max_size, or past the end of the addresses
    std::size_t nameless = 0; // neither function nor file
    std::size_t no_room = 0;  // more entries or text than a table can hold
    std::size_t covered = 0;  // functions that later ones cover completely
    std::size_t cut = 0;      // names cut at a NUL or at max_symbol_name; they are in the table
    std::size_t total() const { return empty + oversize + nameless + no_room + covered; }
  };

  explicit SymbolTableBuilder(SymbolSpace space, std::string_view made_from = {},
                              std::string_view identity = {});

  // A text that many rows share. Of one builder.
  class Name {
  public:
    Name() : at_(0) {} // no text

  private:
    friend class SymbolTableBuilder;
    explicit Name(std::optional<std::uint32_t> at) : at_(at) {}
    std::optional<std::uint32_t> at_; // in the strings; nothing: there was no room
  };
  // Cost: a step for each byte of the text, up to max_symbol_name.
  Name name(std::string_view text) { return Name(intern(text)); }

  // Adds a function, with the file and line for all parts of it for which add_line gives nothing better.
  // Where functions overlap, the one that was added last gets the shared bytes; the earlier ones keep their
  // remaining bytes on both sides. False: dropped.
  bool add(std::uint64_t address, std::uint64_t size, std::string_view function, std::string_view file = {},
           std::uint32_t line = 0);
  bool add(std::uint64_t address, std::uint64_t size, Name function, Name file = {}, std::uint32_t line = 0);
  // Adds the source line of a run of code in functions that were added before. Overlaps are treated as for
  // functions. A function that is added later hides these lines, whether it has lines or not.
  bool add_line(std::uint64_t address, std::uint64_t size, std::string_view file, std::uint32_t line);
  bool add_line(std::uint64_t address, std::uint64_t size, Name file, std::uint32_t line);

  // Number of rows that were added so far, without the dropped ones.
  std::size_t size() const { return functions_.size() + lines_.size(); }
  // Complete once build() has run.
  const Dropped& dropped() const { return dropped_; }

  // What the constructor takes, for a source that tells it behind its rows.
  void identify(std::string_view identity) { identity_ = intern(identity).value_or(0); }

  // Makes the table and takes the rows. Cost: n log n of the number of rows; the table's bytes, and 8 bytes
  // for each row.
  std::shared_ptr<const SymbolTable> build();

private:
  struct Row {
    std::uint64_t address = 0;
    std::uint32_t size = 0, function = 0, file = 0, line = 0; // function, file: offsets in the strings
    std::uint32_t order = 0;                                  // counts all calls of add and add_line
  };
  class Sweep;
  class Merge;
  struct Hash {
    using is_transparent = void;
    const std::string* strings;
    std::size_t operator()(std::string_view text) const { return SeededHash()(text); }
    std::size_t operator()(std::uint32_t offset) const {
      return (*this)(std::string_view(strings->data() + offset));
    }
  };
  struct Equal {
    using is_transparent = void;
    const std::string* strings;
    std::string_view view(std::string_view text) const { return text; }
    std::string_view view(std::uint32_t offset) const { return strings->data() + offset; }
    bool operator()(auto a, auto b) const { return view(a) == view(b); }
  };

  std::uint32_t next_order() const { return static_cast<std::uint32_t>(size()); }
  bool check(std::uint64_t address, std::uint64_t size);
  std::optional<std::uint32_t> intern(std::string_view text);
  static std::vector<std::uint32_t> by_address(const std::vector<Row>& rows);

  SymbolSpace space_;
  std::uint32_t made_from_ = 0, identity_ = 0;
  std::vector<Row> functions_, lines_;
  std::unique_ptr<std::string> strings_; // on the heap, so that the hash can keep its address
  std::unordered_set<std::uint32_t, Hash, Equal> interned_;
  Dropped dropped_;
};

} // namespace clr
