#include "core/runtime/native_names.h"

#include "core/memory/utf8.h"

#include <fmt/format.h>

#include <charconv>
#include <string_view>

namespace clr {

namespace {
// The note is text: one line with four fields for each address.
constexpr char field_end = '\t', line_end = '\n';

std::string plain(std::string_view long_text, std::size_t limit) {
  std::string text(cut_utf8(long_text, limit));
  for (char& c : text)
    if (c == field_end || c == line_end || c == '\0') c = ' ';
  return text;
}

std::string_view take(std::string_view& text, char end) {
  const std::size_t size = std::min(text.find(end), text.size());
  const std::string_view taken = text.substr(0, size);
  text.remove_prefix(std::min(size + 1, text.size()));
  return taken;
}
} // namespace

RecordedNames::RecordedNames(const ElfCore& core) {
  for (const ElfNote& note : core.notes().all) {
    if (note.owner != own_note_owner || note.type != note_type) continue;
    std::string_view text(reinterpret_cast<const char*>(note.description.data()), note.description.size());
    while (!text.empty() && names_.size() < max_names) {
      std::string_view line = take(text, line_end);
      const std::string_view number = take(line, field_end);
      Address ip = 0;
      const auto parsed = std::from_chars(number.data(), number.data() + number.size(), ip, 16);
      if (parsed.ec != std::errc() || parsed.ptr != number.data() + number.size()) continue;
      Name name;
      name.module = cut_utf8(take(line, field_end), max_text);
      name.symbol = cut_utf8(take(line, field_end), max_symbol);
      name.position = cut_utf8(line, max_text);
      if (!name.symbol.empty()) names_.insert_or_assign(ip, std::move(name));
    }
  }
}

void RecordedNames::add(const FrameRow& row) {
  if (!row.symbol.empty() && names_.size() < max_names)
    names_.try_emplace(row.ip, Name{plain(row.module, max_text), plain(row.symbol, max_symbol),
                                    plain(row.position, max_text)});
}

bool RecordedNames::name(FrameRow& row) const {
  const auto known = names_.find(row.ip);
  if (known == names_.end()) return false;
  row.module = known->second.module;
  row.symbol = known->second.symbol;
  row.position = known->second.position;
  return true;
}

CoreNote RecordedNames::note() const {
  std::string text;
  for (const auto& [ip, name] : names_)
    text += fmt::format("{:x}{}{}{}{}{}{}{}", ip, field_end, name.module, field_end, name.symbol, field_end,
                        name.position, line_end);
  const auto bytes = std::as_bytes(std::span(text));
  return {own_note_owner, note_type, {bytes.begin(), bytes.end()}};
}

void NativeNames::name(FrameRow& row, Address lookup) {
  const auto symbol = symbols_.find(lookup);
  if (!symbol) return;
  row.module = symbol->module;
  // `lookup` is the address of the call, but the row shows the return address.
  const std::uint64_t offset = symbol->offset + (row.ip - lookup);
  // The symbol without its version: __libc_start_main@@GLIBC_2.34.
  const std::string_view name = symbol->name;
  row.symbol = cut_utf8(name.substr(0, name.find('@')), RecordedNames::max_symbol);
  // Offsets in a function are decimal as in LLDB; offsets in a module are hexadecimal, as tools that look
  // them up expect them.
  if (row.symbol.empty())
    row.position = fmt::format(" + {:#x}", offset);
  else
    row.position = offset == 0 ? std::string() : fmt::format(" + {}", offset);
}

} // namespace clr
