// The JSON that every command prints with --json. Addresses, tokens and hashes are strings "0x..." (lower
// case, no padding). A field that does not apply is absent; a field whose value is not known is null.
#pragma once

#include "core/runtime/answer.h"
#include "core/runtime/stack_rows.h"
#include "core/types/method_names.h"

#include <nlohmann/json_fwd.hpp>

#include <functional>
#include <string>
#include <string_view>

namespace clr {

struct MethodRow;
struct RuntimeInfo;
struct UnwindReport;

using Json = nlohmann::ordered_json;

// Version of the JSON's form; renaming a field needs a new number.
constexpr unsigned json_schema = 1;

std::string hex(std::uint64_t value);

// Values of which there are many are written as text: answer_json.h. Their trees, for documents that add to
// them, are read from that text.
Json to_json(const Method& method);
Json to_json(const runtime::Code& code);
Json to_json(const SourceLine& source);
Json to_json(const runtime::Answer& answer);
Json to_json(const MethodRow& row);
Json to_json(const FrameRow& frame);
// The thread without its frames.
Json to_json(const ThreadRow& thread);
Json to_json(const ModuleDescription& module);
Json to_json(const RuntimeInfo& info);
Json to_json(const UnwindReport& report);

// The text of `value` on one line. Texts come from the target: bytes that are not UTF-8 become U+FFFD, and
// all that printable() escapes is written as \uNNNN, so that JSON on a terminal does no harm and means the
// same.
std::string dump(const Json& value);

// A JSON array that is written while its elements are made, one per line, so that a reader can follow and no
// element is kept.
class JsonList {
public:
  using Sink = std::function<void(std::string_view)>;

  explicit JsonList(Sink sink) : sink_(std::move(sink)) {}
  void add(const Json& element);
  // The element as JSON text.
  void add_text(std::string_view element);
  // Begins an element whose text the caller writes to the sink.
  void next();
  // Writes the end of the list; nothing may be added after that.
  void end();

private:
  Sink sink_;
  bool empty_ = true;
};

} // namespace clr
