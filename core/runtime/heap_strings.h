// The texts of the heap: which strings there are, and which of them more than once.
#pragma once

#include "core/runtime/heap_report.h"

#include <functional>
#include <string>
#include <vector>

namespace clr {

struct HeapString {
  Address address = 0;      // of the first one, by its address
  std::uint64_t length = 0; // UTF-16 code units
  std::string text;         // at most StringQuery::text_units of them, as UTF-8
  std::uint64_t count = 1;  // strings of this text
  std::uint64_t bytes = 0;  // of all of them
};

struct StringQuery {
  std::string match;             // a pattern with * and ? for the whole text; empty: every string
  std::uint64_t least_bytes = 0; // of one string
  std::size_t text_units = 256;  // that are shown, and that `match` is compared with
};

// Visits the strings that `query` selects, by ascending address, until `visit` returns false. A string whose
// text is missing is left out. Returns the gaps. Cost: that of for_each_object, and 1 read for each string
// that is large or follows a jump.
std::vector<HeapGap> for_each_string(Runtime& runtime, HeapReporter& heap, const StringQuery& query,
                                     const std::function<bool(const HeapString&)>& visit);

// The texts that more than one string has, those that take most bytes first. `go_on` is asked for each
// string. Texts are compared by a number of 64 bits made of all of their code units.
struct DuplicateStrings {
  std::vector<HeapString> rows;
  std::uint64_t strings = 0, texts = 0; // that were looked at
  bool interrupted = false;
  std::vector<HeapGap> gaps;
};
DuplicateStrings find_duplicates(Runtime& runtime, HeapReporter& heap, const StringQuery& query,
                                 std::size_t top, const std::function<bool()>& go_on);

constexpr std::size_t max_different_strings = 64'000'000; // beyond these, strings are not compared

} // namespace clr
