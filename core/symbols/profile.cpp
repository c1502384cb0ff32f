#include "core/symbols/profile.h"

#include "core/memory/seeded_hash.h"
#include "core/symbols/map_lines.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

namespace clr {
namespace {

std::string_view take_word(std::string_view& rest) {
  constexpr std::string_view blanks = " \t\r";
  rest.remove_prefix(std::min(rest.find_first_not_of(blanks), rest.size()));
  const std::string_view word = rest.substr(0, rest.find_first_of(blanks));
  rest.remove_prefix(word.size());
  return word;
}

template<typename Number>
std::optional<Number> parse_number(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Owners are found by their hash: the texts of a symbol file can be long, and equal up to their ends.
struct OwnerHash {
  std::size_t operator()(const SampleOwner& owner) const {
    const SeededHash hash;
    std::size_t value = hash(std::uint64_t{owner.line});
    for (const std::string_view text :
         {std::string_view(owner.function), std::string_view(owner.module), std::string_view(owner.file)})
      value = hash(value ^ hash(text));
    return value;
  }
};

std::size_t size_of(const SampleOwner& owner) {
  return sizeof(ProfileRow) + owner.function.size() + owner.module.size() + owner.file.size();
}

} // namespace

std::optional<symbols::Sample> symbols::Profile::parse(std::string_view line, std::size_t number) {
  const auto refuse = [&](ProfileFault why) -> std::optional<symbols::Sample> {
    malformed_.count(why, number);
    return std::nullopt;
  };
  if (line.size() > max_line) return refuse(long_line);
  std::string_view rest = line.substr(0, line.find('#'));
  const std::string_view address = take_word(rest), count = take_word(rest), time = take_word(rest);
  if (address.empty()) return std::nullopt;
  const HexNumber parsed = parse_hex(address, 64);
  if (parsed.fault != HexFault::none) return refuse(no_address);
  symbols::Sample sample{.address = parsed.value, .seconds = std::nullopt};
  if (!count.empty()) {
    const auto value = parse_number<std::uint64_t>(count);
    if (!value || *value == 0) return refuse(bad_count);
    sample.count = *value;
  }
  if (sample.count > std::numeric_limits<std::uint64_t>::max() - total_) return refuse(bad_count);
  if (!time.empty()) {
    sample.seconds = parse_number<double>(time);
    if (!sample.seconds || !std::isfinite(*sample.seconds) || *sample.seconds < 0) return refuse(bad_time);
  }
  if (!take_word(rest).empty()) return refuse(too_much);
  return sample;
}

bool symbols::Profile::add(const symbols::Sample& sample) {
  const auto count_in = [&](auto& counts, const auto& key) {
    const auto known = counts.find(key);
    if (known == counts.end() && distinct() >= max_samples) return false;
    counts[key] += sample.count;
    total_ += sample.count;
    return true;
  };
  return sample.seconds ? count_in(timed_, std::pair(sample.address, *sample.seconds))
                        : count_in(counts_, sample.address);
}

symbols::Profile::Report symbols::Profile::rows(const OwnerOf& owner_of,
                                                const std::function<bool(std::size_t)>& progress) const {
  std::unordered_map<SampleOwner, std::uint64_t, OwnerHash> owners;
  Report report;
  std::size_t done = 0, room = max_row_bytes;
  bool going = true;
  const auto take = [&](Address address, std::optional<double> seconds, std::uint64_t count) {
    going = progress(done++);
    if (!going) return;
    SampleOwner owner = owner_of(address, seconds);
    if (const auto known = owners.find(owner); known != owners.end()) {
      known->second += count;
    } else if (const std::size_t size = size_of(owner); size <= room) {
      room -= size;
      owners.emplace(std::move(owner), count);
    } else {
      report.left_out += count;
    }
  };
  for (auto at = counts_.begin(); going && at != counts_.end(); ++at)
    take(at->first, std::nullopt, at->second);
  for (auto at = timed_.begin(); going && at != timed_.end(); ++at)
    take(at->first.first, at->first.second, at->second);
  report.rows.reserve(owners.size());
  while (!owners.empty()) {
    auto owner = owners.extract(owners.begin());
    report.rows.push_back({owner.mapped(), std::move(owner.key())});
  }
  std::ranges::sort(report.rows, [](const ProfileRow& a, const ProfileRow& b) {
    return a.count != b.count ? a.count > b.count : a.owner < b.owner;
  });
  return report;
}

std::string_view to_string(ProfileFault kind) {
  switch (kind) {
  case ProfileFault::no_address:
    return "the address is not hexadecimal";
  case ProfileFault::bad_count:
    return "the count is no number above 0, or too large to be added up";
  case ProfileFault::bad_time:
    return "the time is no number of seconds";
  case ProfileFault::too_much:
    return "there is more on the line than address, count and time";
  case ProfileFault::long_line:
    return "the line is too long";
  }
  return "";
}

} // namespace clr
