// Counts the parts of a symbol file that a reader could not use, by kind of fault. The rest of the file is
// used.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <type_traits>
#include <vector>

namespace clr {

struct MalformedClass {
  std::string_view what; // a fixed text: "the size is not hexadecimal"
  std::size_t count = 0;
  std::size_t first = 0; // number of the line, or of the record in a binary file, both from 1
};

namespace symbols {

class Malformed {
public:
  // `fault` is a value of a reader's enum of faults, whose to_string() gives a fixed text.
  template<typename Fault>
  requires std::is_enum_v<Fault>
  void count(Fault fault, std::size_t place, std::size_t times = 1) {
    const std::string_view what = to_string(fault);
    const auto known = std::ranges::find(classes_, what, &MalformedClass::what);
    if (known == classes_.end())
      classes_.push_back({what, times, place});
    else
      known->count += times;
  }

  // In the order of their first occurrences.
  const std::vector<MalformedClass>& classes() const { return classes_; }
  template<typename Fault>
  requires std::is_enum_v<Fault> std::size_t count_of(Fault fault)
  const {
    const auto known = std::ranges::find(classes_, to_string(fault), &MalformedClass::what);
    return known == classes_.end() ? 0 : known->count;
  }
  std::size_t total() const {
    std::size_t sum = 0;
    for (const MalformedClass& each : classes_) sum += each.count;
    return sum;
  }

private:
  std::vector<MalformedClass> classes_;
};

} // namespace symbols

} // namespace clr
