// What a reader of a symbol file could not use, by class. The rest of the file is used.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <vector>

namespace clr {

struct MalformedClass {
  std::string_view what; // a fixed text, "the size is not hexadecimal"
  std::size_t count = 0;
  std::size_t first = 0; // number of the line, or of the record in a binary file, both from 1
};

class Malformed {
public:
  // `what` is a string literal.
  void count(std::string_view what, std::size_t place) {
    const auto known = std::ranges::find(classes_, what, &MalformedClass::what);
    if (known == classes_.end())
      classes_.push_back({what, 1, place});
    else
      ++known->count;
  }

  // In the order of their first places.
  const std::vector<MalformedClass>& classes() const { return classes_; }
  std::size_t count_of(std::string_view what) const {
    const auto known = std::ranges::find(classes_, what, &MalformedClass::what);
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

} // namespace clr
