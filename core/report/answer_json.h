// Answers and rows as JSON text, in the form that every command prints with --json.
#pragma once

#include "core/report/json_writer.h"
#include "core/runtime/answer.h"
#include "core/runtime/stack_rows.h"

#include <memory>
#include <string>
#include <unordered_map>

namespace clr {

struct MethodRow;

void write_json(JsonWriter& json, const Method& method);
void write_json(JsonWriter& json, const runtime::Code& code);
void write_json(JsonWriter& json, const SourceLine& source);
void write_json(JsonWriter& json, const runtime::Answer& answer);
void write_json(JsonWriter& json, const MethodRow& row);
// The members of the answer, without its address and source line: those that addresses of one method share.
void write_shared_members(JsonWriter& json, const runtime::Answer& answer);
// The members of the thread, to which the caller adds its frames.
void write_members(JsonWriter& json, const ThreadRow& thread);

// The text of `value` on one line.
template<typename Value>
std::string json_text(const Value& value) {
  std::string text;
  JsonWriter json(text);
  write_json(json, value);
  return text;
}

// Writes the frames of stacks. Hundreds of thousands of frames share few answers, so the text of an answer is
// made once.
class FrameJson {
public:
  // Appends `frame` as an object, which stands for so many frames.
  void write(JsonWriter& json, const FrameRow& frame, unsigned repeat = 1);

  // Further answers make it forget those that it knows; one takes a kilobyte.
  static constexpr std::size_t max_known = 8192;

private:
  struct Known {
    std::shared_ptr<const MethodAnswer> answer; // so that no other answer takes its address
    std::string text;                           // the inside of "text" behind the address
    std::string members;                        // "method":{...},"code":{...},"source":{...}
  };
  const Known& known(const std::shared_ptr<const MethodAnswer>& answer);

  std::unordered_map<const MethodAnswer*, Known> known_;
};

} // namespace clr
