// Reasons why parts of a description are missing. One variable that cannot be read never costs the others; it
// is left out, and the reason is kept here for the user to read (`clr publish status`).
#pragma once

#include "core/memory/error.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace clr {

// The part that is missing.
enum class OmittedPart : std::uint8_t {
  variables, // all parameters and locals of a method
  locals,    // those locals of a method that were not found before the fault
  captured,  // variables in one closure of a method
  variable,  // one variable
  type,      // all of a type but its name
  members,   // fields or enumerators of a type
  range,     // a stretch of code
};
std::string_view to_string(OmittedPart part); // words of JSON: "variables", "locals", ...

// Why it is missing.
enum class OmissionCause : std::uint8_t {
  memory_missing,
  corrupt,
  unsupported_contract,
  io,
  limit,      // more than a named limit allows
  no_place,   // fields that overlap others, which a structure of DWARF cannot have
  not_ours,   // a range that reaches into a native module
  unreadable, // a range of which no page can be read
  outside,    // a range that leaves the heap or image which it belongs to
  partial,    // only a part of it could be read
  ambiguous,  // others have the same name
};
// Words of JSON: "memory_missing", "corrupt", ...
std::string_view to_string(OmissionCause cause);
// For people: "memory is missing", "the data are corrupt", ...
std::string_view text_of(OmissionCause cause);

struct Omission {
  OmittedPart part = OmittedPart::variable;
  OmissionCause cause = OmissionCause::corrupt;
  std::string of;           // the method, type or stubs it belongs to; empty when not even that is known
  std::string_view reading; // what was being read: a literal such as "the signature"
  std::string text;         // the fault's own text, or the limit that was met
};

// Omissions in groups of one part, one cause and one thing that was being read. The groups are few by
// themselves; of each some examples are kept, and the others are counted.
class Omissions {
public:
  struct Group {
    OmittedPart part = OmittedPart::variable;
    OmissionCause cause = OmissionCause::corrupt;
    std::string_view reading;
    std::size_t count = 0;
    std::vector<Omission> examples; // the first ones, max_examples at most
  };

  void add(Omission omission);
  void add(OmittedPart part, std::string of, std::string_view reading, const Error& error);
  // Adds all of `others`.
  void add(const Omissions& others);

  bool empty() const { return groups_.empty(); }
  std::size_t count() const;
  const std::vector<Group>& groups() const { return groups_; } // in the order of their first omissions

  // For people: "3 variables and types are not described: memory is missing while reading the signature (3)",
  // and the same of ranges of code. Empty when nothing is missing.
  std::vector<std::string> sentences() const;

  static constexpr std::size_t max_examples = 4; // of one group
  static constexpr std::size_t max_text = 512;   // bytes of a name or a text

private:
  Group& group_of(OmittedPart part, OmissionCause cause, std::string_view reading);

  std::vector<Group> groups_;
};

} // namespace clr
