// A section of NUL-terminated strings (.strtab, .debug_str), in which equal strings are written once. All
// names of a module but those of its source files pass through it, so here they become what a debugger may
// print.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

namespace clr {

// Fit to be a name: not empty, without NUL, UTF-8, at most max_name_bytes.
bool is_usable_name(std::string_view name);
constexpr std::size_t max_name_bytes = 1u << 16;

// A usable name as it is published: printable(), cut to max_name_bytes.
std::string shown_name(std::string_view name);

class StringSection {
public:
  StringSection() : text_(1, '\0') {} // offset 0: the empty string

  // The offset of `text`, which holds no NUL and must outlive this. `add` looks whether it is there; `append`
  // is for strings that are hardly ever equal. What is written is shown_name(text). Once the section is full:
  // that of the empty string.
  std::uint32_t add(std::string_view text);
  std::uint32_t append(std::string_view text);
  // As append(), but a text that is the end of the one that this appended last shares its bytes: "Type.Run"
  // behind "Ns.Type.Run".
  std::uint32_t append_or_share(std::string_view text);
  std::span<const std::byte> bytes() const { return std::as_bytes(std::span(text_)); }
  void reserve(std::size_t size) { text_.reserve(size); }

private:
  std::uint32_t append_as_is(std::string_view text);

  std::string text_;
  std::string_view last_; // of append_or_share()
  std::uint32_t last_at_ = 0;
  std::unordered_map<std::string_view, std::uint32_t> known_;
};

} // namespace clr
