#include "core/report/page/html_writer.h"

#include "core/memory/utf8.h"

#include <fmt/format.h>

#include <array>

namespace clr {
namespace {

// U+FFFE and U+FFFF, which may stand in no XML text.
bool is_forbidden(std::string_view text) {
  return text.size() >= 3 && text[0] == '\xef' && text[1] == '\xbf' &&
         (text[2] == '\xbe' || text[2] == '\xbf');
}

void escape_html(std::string& out, std::string_view shown) {
  for (std::size_t i = 0; i < shown.size(); ++i) switch (shown[i]) {
    case '&':
      out += "&amp;";
      break;
    case '<':
      out += "&lt;";
      break;
    case '>':
      out += "&gt;";
      break;
    case '"':
      out += "&quot;";
      break;
    case '\'':
      out += "&#39;";
      break;
    default:
      if (is_forbidden(shown.substr(i))) {
        out += shown[i + 2] == '\xbe' ? "\\ufffe" : "\\uffff";
        i += 2;
      } else {
        out += shown[i];
      }
    }
}

} // namespace

std::string html_text(std::string_view text) {
  const std::string_view part = text.size() > max_page_text ? cut_utf8(text, max_page_text) : text;
  std::string out;
  escape_html(out, printable(part));
  if (part.size() < text.size()) out += "...";
  return out;
}

std::string size_text(std::uint64_t bytes) {
  static constexpr std::array units = {"kB", "MB", "GB", "TB", "PB", "EB"};
  if (bytes < 1000) return fmt::format("{} bytes", bytes);
  double size = static_cast<double>(bytes) / 1000;
  std::size_t unit = 0;
  // What would be printed as 1000.0 is one of the next unit.
  while (size >= 999.95 && unit + 1 < units.size()) {
    size /= 1000;
    ++unit;
  }
  return fmt::format("{:.1f} {}", size, units[unit]);
}

void HtmlWriter::start(PageWord element, Attributes attributes) {
  *out_ += '<';
  *out_ += element.text();
  for (const Attribute& attribute : attributes) {
    *out_ += ' ';
    *out_ += attribute.name.text();
    *out_ += "=\"";
    *out_ += html_text(attribute.value);
    *out_ += '"';
  }
}

void HtmlWriter::begin(PageWord element, Attributes attributes) {
  start(element, attributes);
  *out_ += '>';
  open_.push_back(element);
}

void HtmlWriter::end() {
  *out_ += "</";
  *out_ += open_.back().text();
  *out_ += ">";
  open_.pop_back();
}

void HtmlWriter::text(std::string_view text) {
  *out_ += html_text(text);
}

void HtmlWriter::empty(PageWord element, Attributes attributes) {
  start(element, attributes);
  *out_ += "/>";
}

void HtmlWriter::element(PageWord element, std::string_view content, Attributes attributes) {
  begin(element, attributes);
  text(content);
  end();
}

} // namespace clr
