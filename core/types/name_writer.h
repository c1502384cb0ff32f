// Shared parts of the formatters of names: an output with a limit, and a count of the nesting. Private to
// core/types.
#pragma once

#include "core/types/name_format.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

namespace clr {

class NameWriter {
public:
  void put(std::string_view text) {
    if (text.size() > max_name_length - size())
      full_ = true;
    else
      append(text);
  }
  void put(char c) {
    if (size_ < few_.size())
      few_[size_++] = c;
    else
      put(std::string_view(&c, 1));
  }
  void put_number(std::int64_t value) { put(std::to_string(value)); }

  // Puts a text that nests `depth` levels; false when it would exceed a limit, so that it must be put in
  // parts.
  bool put_whole(std::string_view text, unsigned depth) {
    if (text.size() > max_name_length - size() || depth_ + depth > max_type_name_depth) return false;
    append(text);
    deepest_ = std::max(deepest_, depth_ + depth);
    return true;
  }

  // What is put between begin_part() and end_part(): its text, valid until more is put, and the levels that
  // it nests below the level of the writer. Nothing when it was cut by a limit.
  struct Part {
    std::size_t begin = 0;
    unsigned deepest = 0;
  };
  Part begin_part() { return {size(), std::exchange(deepest_, depth_)}; }
  std::optional<PrintedType::Text> end_part(const Part& part) {
    const unsigned deepest = std::exchange(deepest_, std::max(deepest_, part.deepest));
    if (full_ || deepest > max_type_name_depth) return std::nullopt;
    return PrintedType::Text{text().substr(part.begin), deepest - depth_};
  }

  // True when the limit is reached. A formatter stops descending then, because a small tree of shared nodes
  // can print as an exponentially long name.
  bool full() const { return full_; }
  std::size_t size() const { return size_; }

  std::string take() {
    if (full_) append("...");
    return many_.empty() ? std::string(text()) : std::move(many_);
  }

  // Adds one level of nesting while it lives; too_deep() tells whether the limit is exceeded.
  class Level {
  public:
    explicit Level(NameWriter& writer) : writer_(writer) {
      writer_.deepest_ = std::max(writer_.deepest_, ++writer_.depth_);
    }
    ~Level() { --writer_.depth_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;
    bool too_deep() const { return writer_.full_ || writer_.depth_ > max_type_name_depth; }

  private:
    NameWriter& writer_;
  };

private:
  void append(std::string_view text) {
    const std::size_t before = std::exchange(size_, size_ + text.size());
    if (size_ <= few_.size()) {
      text.copy(few_.data() + before, text.size());
    } else {
      if (many_.empty()) many_.assign(few_.data(), before);
      many_ += text;
    }
  }
  std::string_view text() const {
    return many_.empty() ? std::string_view(few_.data(), size_) : std::string_view(many_);
  }

  // Nearly every name fits here, and is copied once when it is whole.
  std::array<char, 512> few_;
  std::string many_; // in place of few_ when that is too small
  std::size_t size_ = 0;
  unsigned depth_ = 0, deepest_ = 0;
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
