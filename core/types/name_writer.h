// What the formatters of names share: an output with a limit, and a count of nesting. Private to core/types.
#pragma once

#include "core/types/name_format.h"

namespace clr {

class NameWriter {
public:
  NameWriter() { text_.reserve(128); }

  void put(std::string_view text) {
    if (text.size() > max_name_length - text_.size()) {
      full_ = true;
      return;
    }
    text_ += text;
  }
  void put(char c) { put(std::string_view(&c, 1)); }
  void put_number(std::int64_t value) { put(std::to_string(value)); }

  // True when nothing more fits: a formatter stops descending then, because a small tree of shared nodes can
  // print as an exponentially long name.
  bool full() const { return full_; }
  std::size_t size() const { return text_.size(); }

  std::string take() {
    if (full_) text_ += "...";
    return std::move(text_);
  }

  // Counts the nesting of types while it lives; `too_deep` then.
  class Level {
  public:
    explicit Level(NameWriter& writer) : writer_(writer) { ++writer_.depth_; }
    ~Level() { --writer_.depth_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;
    bool too_deep() const { return writer_.full_ || writer_.depth_ > max_type_name_depth; }

  private:
    NameWriter& writer_;
  };

private:
  std::string text_;
  unsigned depth_ = 0;
  bool full_ = false;
};

// `Ns.Outer`1` + separator + `Inner`: the names as metadata has them.
void put_definition_name(NameWriter& out, const TypeName& definition, char separator);
// The definition that `type` names: itself or the one it instantiates; null for anything else.
const TypeName* definition_of(const TypeName& type);
// What prints in the place of `type`: the argument that stands for a variable, the type under modifiers.
const TypeName& unwrapped(const TypeName& type);

// SOS' spelling of a primitive ("Int32"); empty for what is none.
std::string_view framework_name(ElementType element_type);
// In the place of a parameter list that is not known: three question marks, written so that they are no
// trigraph.
constexpr std::string_view unknown_parameters = "(\?\?\?)";
// The primitive whose definition this is ("System.Int32" of the core library); ElementType::end when it is
// none.
ElementType primitive_of(const TypeName& definition);

} // namespace clr
