// Shared parts of the formatters of names: an output with a limit, and a count of the nesting. Private to
// core/types.
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

  // True when the limit is reached. A formatter stops descending then, because a small tree of shared nodes
  // can print as an exponentially long name.
  bool full() const { return full_; }
  std::size_t size() const { return text_.size(); }

  std::string take() {
    if (full_) text_ += "...";
    return std::move(text_);
  }

  // Adds one level of nesting while it lives; too_deep() tells whether the limit is exceeded.
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

// Writes `Ns.Outer`1` + separator + `Inner`: the names as they are in metadata.
void put_definition_name(NameWriter& out, const TypeName& definition, char separator);
// The definition that `type` names: `type` itself or the definition that it instantiates; null for any other
// shape.
const TypeName* definition_of(const TypeName& type);
// The type to print for `type`: for a variable the argument that stands for it, for a modified type the type
// under the modifiers.
const TypeName& unwrapped(const TypeName& type);

// The name that SOS prints for a primitive ("Int32"); empty for other types.
std::string_view framework_name(ElementType element_type);
// Stands for a parameter list that is not known. The question marks are escaped so that they form no
// trigraph.
constexpr std::string_view unknown_parameters = "(\?\?\?)";
// The primitive that `definition` defines ("System.Int32" of the core library); ElementType::end when it
// defines none.
ElementType primitive_of(const TypeName& definition);

} // namespace clr
