// Samples of addresses, counted by function, module and line: the report of a profile.
#pragma once

#include "core/symbols/malformed.h"
#include "core/symbols/net_trace_event.h"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace clr {

namespace symbols {

struct Sample {
  Address address = 0;
  std::uint64_t count = 1;
  std::optional<double> seconds; // since the start of the trace that supplies the names
};

} // namespace symbols

// The code that an address belongs to.
struct SampleOwner {
  std::string function; // empty: unknown
  std::string module;   // empty: unknown
  std::string file;
  std::uint32_t line = 0;

  auto operator<=>(const SampleOwner&) const = default;
};

struct ProfileRow {
  std::uint64_t count = 0;
  SampleOwner owner;
};

// The faults of a line of samples. A faulty line is counted, and the rest of the file is used.
enum class ProfileFault : std::uint8_t {
  no_address,
  bad_count,
  bad_time,
  too_much,
  long_line,
};
// A fixed text, for instance "the address is not hexadecimal".
std::string_view to_string(ProfileFault kind);

namespace symbols {

class Profile {
public:
  using enum ProfileFault;
  static constexpr std::size_t max_line = 4096; // bytes
  // Limit of the number of different addresses (with different times, when times are given).
  static constexpr std::size_t max_samples = 1u << 26;
  // Bytes of the rows, with the texts of their owners: half a million rows with names of usual length.
  static constexpr std::size_t max_row_bytes = 1u << 27;
  // Bytes of the name of a function, and of a path, that a caller of rows() should give: more than real ones
  // have. Names in symbol files can have 64 KB.
  static constexpr std::size_t max_owner_name = 4096;

  // Reads one line of a file of samples: "ADDRESS [COUNT [SECONDS]]", the address in hexadecimal with or
  // without 0x. Nothing for an empty line, for a comment (#...), and for a malformed line, which is counted.
  std::optional<Sample> parse(std::string_view line, std::size_t number);
  const Malformed& malformed() const { return malformed_; }

  // False when there are too many different samples; the sample is not counted then.
  bool add(const Sample& sample);
  std::uint64_t total() const { return total_; }
  std::size_t distinct() const { return counts_.size() + timed_.size(); }

  struct Report {
    std::vector<ProfileRow> rows;
    std::uint64_t left_out = 0; // samples for whose owners there was no room
  };
  // Rows by count, the largest first. Calls `owner_of` once for each different sample. `progress` gets the
  // number of samples that are done; when it returns false, the rows cover only those.
  using OwnerOf = std::function<SampleOwner(Address, std::optional<double> seconds)>;
  Report rows(const OwnerOf& owner_of, const std::function<bool(std::size_t)>& progress) const;

private:
  std::unordered_map<Address, std::uint64_t> counts_;
  std::map<std::pair<Address, double>, std::uint64_t> timed_;
  std::uint64_t total_ = 0;
  Malformed malformed_;
};

} // namespace symbols

} // namespace clr
