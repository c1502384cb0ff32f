// Text that many values share: every method names its module and the module's path.
#pragma once

#include <fmt/format.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace clr {

class SharedText {
public:
  SharedText() = default;
  SharedText(std::string text)
      : text_(text.empty() ? nullptr : std::make_shared<const std::string>(std::move(text))) {}
  SharedText(const char* text) : SharedText(std::string(text)) {}

  const std::string& str() const {
    static const std::string none;
    return text_ ? *text_ : none;
  }
  operator const std::string&() const { return str(); }
  operator std::string_view() const { return str(); }
  bool empty() const { return text_ == nullptr; }

  friend bool operator==(const SharedText& a, const SharedText& b) {
    return a.text_ == b.text_ || a.str() == b.str();
  }
  friend bool operator==(const SharedText& a, const std::string& b) { return a.str() == b; }
  friend bool operator==(const SharedText& a, const char* b) { return a.str() == b; }

private:
  std::shared_ptr<const std::string> text_; // null: empty
};

} // namespace clr

template<>
struct fmt::formatter<clr::SharedText> : fmt::formatter<std::string_view> {
  auto format(const clr::SharedText& text, fmt::format_context& context) const {
    return fmt::formatter<std::string_view>::format(text.str(), context);
  }
};
