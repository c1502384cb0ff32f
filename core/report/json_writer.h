// JSON as text, written member by member. A tree of values costs many times as much as its text, which
// matters for rows that come by the hundred thousand.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace clr {

class JsonWriter {
public:
  // Appends to `out`, which must outlive this. The caller may take away what stands in `out` at any time.
  explicit JsonWriter(std::string& out) : out_(&out) {}

  // A value: the next element of an array, or the value behind key().
  void begin_object() { open('{'); }
  void end_object() { close('}'); }
  void begin_array() { open('['); }
  void end_array() { close(']'); }
  // A string. Bytes that are not UTF-8 become U+FFFD, because texts come from the target.
  void text(std::string_view value);
  void number(std::uint64_t value);
  void boolean(bool value) { raw(value ? "true" : "false"); }
  void null() { raw("null"); }
  // The number as a string: "0x1f".
  void hex(std::uint64_t value);
  // Values or members that are JSON already, with commas between them; at least one.
  void raw(std::string_view json) {
    separate();
    *out_ += json;
  }

  // The name of the next member; it needs no escapes.
  void key(std::string_view name);

  void text(std::string_view name, std::string_view value) {
    key(name);
    text(value);
  }
  // null for a text that is empty, which means that it is not known.
  void text_or_null(std::string_view name, std::string_view value) {
    key(name);
    value.empty() ? null() : text(value);
  }
  void number(std::string_view name, std::uint64_t value) {
    key(name);
    number(value);
  }
  void hex(std::string_view name, std::uint64_t value) {
    key(name);
    hex(value);
  }
  void boolean(std::string_view name, bool value) {
    key(name);
    boolean(value);
  }
  void null(std::string_view name) {
    key(name);
    null();
  }

private:
  void separate() {
    if (comma_) *out_ += ',';
    comma_ = true;
  }
  void open(char bracket) {
    separate();
    *out_ += bracket;
    comma_ = false;
  }
  void close(char bracket) {
    *out_ += bracket;
    comma_ = true;
  }

  std::string* out_;
  bool comma_ = false; // the next value or key needs one before it
};

// Appends the inside of the string `value`, without its quotes.
void append_json_text(std::string& out, std::string_view value);

} // namespace clr
