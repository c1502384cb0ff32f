#include "core/describe/omissions.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

namespace clr {
namespace {

OmissionCause cause_of(ErrorKind kind) {
  switch (kind) {
  case ErrorKind::memory_missing:
    return OmissionCause::memory_missing;
  case ErrorKind::unsupported_contract:
    return OmissionCause::unsupported_contract;
  case ErrorKind::io:
    return OmissionCause::io;
  default: // arguments that came from data
    return OmissionCause::corrupt;
  }
}

void cut(std::string& text) {
  if (text.size() <= Omissions::max_text) return;
  std::size_t size = Omissions::max_text;
  while (size > 0 && (static_cast<unsigned char>(text[size]) & 0xC0) == 0x80)
    --size; // not inside a character
  text.resize(size);
  text += "...";
}

} // namespace

std::string_view to_string(OmittedPart part) {
  switch (part) {
  case OmittedPart::variables:
    return "variables";
  case OmittedPart::locals:
    return "locals";
  case OmittedPart::captured:
    return "captured";
  case OmittedPart::variable:
    return "variable";
  case OmittedPart::type:
    return "type";
  case OmittedPart::members:
    return "members";
  case OmittedPart::range:
    break;
  }
  return "range";
}

std::string_view to_string(OmissionCause cause) {
  switch (cause) {
  case OmissionCause::memory_missing:
    return "memory_missing";
  case OmissionCause::corrupt:
    return "corrupt";
  case OmissionCause::unsupported_contract:
    return "unsupported_contract";
  case OmissionCause::io:
    return "io";
  case OmissionCause::limit:
    return "limit";
  case OmissionCause::no_place:
    return "no_place";
  case OmissionCause::not_ours:
    return "not_ours";
  case OmissionCause::unreadable:
    return "unreadable";
  case OmissionCause::outside:
    return "outside";
  case OmissionCause::partial:
    return "partial";
  case OmissionCause::ambiguous:
    break;
  }
  return "ambiguous";
}

std::string_view text_of(OmissionCause cause) {
  switch (cause) {
  case OmissionCause::memory_missing:
    return "memory is missing";
  case OmissionCause::corrupt:
    return "the data are corrupt";
  case OmissionCause::unsupported_contract:
    return "this version of the runtime's data is not supported";
  case OmissionCause::io:
    return "a file cannot be read";
  case OmissionCause::limit:
    return "a limit is exceeded";
  case OmissionCause::no_place:
    return "fields overlap others";
  case OmissionCause::not_ours:
    return "it reaches into a native module";
  case OmissionCause::unreadable:
    return "none of its memory can be read";
  case OmissionCause::outside:
    return "it leaves the heap or image that it belongs to";
  case OmissionCause::partial:
    return "only a part could be read";
  case OmissionCause::ambiguous:
    break;
  }
  return "several have the same name";
}

Omissions::Group& Omissions::group_of(OmittedPart part, OmissionCause cause, std::string_view reading) {
  const auto known = std::ranges::find_if(groups_, [&](const Group& group) {
    return group.part == part && group.cause == cause && group.reading == reading;
  });
  if (known != groups_.end()) return *known;
  groups_.push_back({.part = part, .cause = cause, .reading = reading, .examples = {}});
  return groups_.back();
}

void Omissions::add(Omission omission) {
  Group& group = group_of(omission.part, omission.cause, omission.reading);
  ++group.count;
  if (group.examples.size() >= max_examples) return;
  cut(omission.of);
  cut(omission.text);
  group.examples.push_back(std::move(omission));
}

void Omissions::add(OmittedPart part, std::string of, std::string_view reading, const Error& error) {
  add({.part = part,
       .cause = cause_of(error.kind()),
       .of = std::move(of),
       .reading = reading,
       .text = error.what()});
}

void Omissions::add(const Omissions& others) {
  for (const Group& other : others.groups_) {
    Group& group = group_of(other.part, other.cause, other.reading);
    group.count += other.count;
    const std::size_t room = std::min(max_examples - group.examples.size(), other.examples.size());
    group.examples.insert(group.examples.end(), other.examples.begin(),
                          other.examples.begin() + static_cast<std::ptrdiff_t>(room));
  }
}

std::size_t Omissions::count() const {
  return std::accumulate(groups_.begin(), groups_.end(), std::size_t{0},
                         [](std::size_t sum, const Group& group) { return sum + group.count; });
}

std::vector<std::string> Omissions::sentences() const {
  std::vector<std::string> result;
  const auto add_sentence = [&](bool ranges, std::string_view singular, std::string_view plural) {
    std::size_t count = 0;
    std::string reasons;
    for (const Group& group : groups_) {
      if ((group.part == OmittedPart::range) != ranges) continue;
      count += group.count;
      if (!reasons.empty()) reasons += ", ";
      reasons += text_of(group.cause);
      if (!group.reading.empty()) reasons += fmt::format(" while reading {}", group.reading);
      reasons += fmt::format(" ({})", group.count);
    }
    if (count != 0)
      result.push_back(fmt::format("{} {}: {}", count, count == 1 ? singular : plural, reasons));
  };
  add_sentence(false, "variable or type is not described", "variables and types are not described");
  add_sentence(true, "range of code is not published", "ranges of code are not published");
  return result;
}

} // namespace clr
