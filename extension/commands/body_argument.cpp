#include "extension/commands/body_argument.h"

#include "core/describe/break_targets.h"
#include "core/runtime/code_listing.h"
#include "extension/commands/address_argument.h"
#include "extension/commands/text.h"
#include "extension/lldb/core_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string_view>

namespace clr::lldb_plugin {
namespace {

constexpr std::size_t max_choices = 20; // methods listed when a name fits several

// "Ns.Type<int>.Run(string)": no number, register or calculation.
bool is_name(std::string_view text) {
  const auto is_part = [](unsigned char c) {
    return std::isalnum(c) != 0 || c >= 0x80 ||
           std::string_view("_.<>,()[]`:$@* ").contains(static_cast<char>(c));
  };
  return !text.empty() && std::isdigit(static_cast<unsigned char>(text.front())) == 0 &&
         text.front() != '$' && text.front() != '*' && text.front() != '(' &&
         std::ranges::all_of(text, is_part);
}

// Why no code has this name.
std::string why_no_code(Runtime& runtime, const std::string& name, bool core, Output& out) {
  const BreakTargets found = methods_called(runtime, name, [&] { return out.interrupted(); });
  if (found.methods.empty())
    return fmt::format("no method is called {} in the {} modules that are loaded", name, found.modules);
  const std::string& method = found.methods.front().name;
  if (core) return fmt::format("{} has no code: it has not been compiled", method);
  return fmt::format(
      "{} has no code yet: a method is compiled when it is called for the first time; clr break "
      "{} stops there",
      method, name);
}

} // namespace

void BodyArgument::add_to(CLI::App& app) {
  app.add_option(
      "METHOD", words_,
      "An address of code, the address of a MethodDesc, or a name; the selected frame's pc by default.");
}

std::string BodyArgument::name() const {
  std::string text = fmt::format("{}", fmt::join(words_, " "));
  return is_name(text) ? text : std::string();
}

CodeBlock BodyArgument::find(Session& session, Output& out, bool quiet) {
  session_ = &session;
  out_ = &out;
  quiet_ = quiet;
  asked_.reset();
  method_ = fmt::format("{}", fmt::join(words_, " ")); // names have spaces between parameters
  Runtime& runtime = session.runtime();
  // A text that is no number is first looked up as a name: LLDB would read it as an expression of C++.
  if (method_.empty()) method_ = "$pc";
  if (!parse_number(method_) && method_.front() != '$') {
    const auto bodies = by_name(runtime);
    if (!bodies.empty()) return chosen(runtime, bodies);
  }
  Address ip = 0;
  try {
    ip = evaluate_address(session_->target(), method_);
  } catch (const Error&) {
    // What C++ makes of the name says nothing.
    if (!is_name(method_)) throw;
    lldb::SBProcess process = session_->target().GetProcess();
    throw Error(ErrorKind::invalid_argument, why_no_code(runtime, method_, is_core(process), out));
  }
  const CodeLookup found = runtime.code()->find(ip);
  if (const auto* block = std::get_if<CodeBlock>(&found)) {
    if (ip != block->start) asked_ = ip;
    return *block;
  }
  return of_method(runtime, ip, std::get<execution::Miss>(found));
}

CodeBlock BodyArgument::of_method(Runtime& runtime, Address ip, const execution::Miss& miss) {
  const runtime::Answer answer = runtime.resolve(ip);
  Method method;
  if (const auto* known = std::get_if<MissAnswer>(&answer.result); known != nullptr && known->method)
    method = *known->method;
  else
    method = runtime.describe(ip);
  if (method.method_desc == 0 || !method.degraded.empty() || method.full_name.empty())
    throw Error(ErrorKind::invalid_argument,
                fmt::format("{:#x} is neither managed code nor a MethodDesc: {}", ip, miss.text));
  const auto bodies = bodies_of(runtime, method);
  if (bodies.empty())
    throw Error(ErrorKind::invalid_argument,
                fmt::format("{} has no code: it has not been compiled", method.full_name));
  return chosen(runtime, bodies);
}

std::vector<MethodRow> BodyArgument::by_name(Runtime& runtime) {
  std::vector<MethodRow> rows;
  runtime.for_each_method({.glob = method_}, [&](const MethodRow& row) {
    rows.push_back(row);
    return rows.size() <= max_choices && !out_->interrupted();
  });
  if (rows.empty()) return rows;
  // Instances of a generic method are several methods of one name, and so are methods of two modules.
  const auto same = [&](const MethodRow& row) {
    const Method &a = row.method, &b = rows.front().method;
    return a.full_name == b.full_name && a.module == b.module && a.token == b.token;
  };
  const auto known =
      std::ranges::find_if(rows, [](const MethodRow& row) { return row.method.method_desc != 0; });
  const bool one =
      std::ranges::all_of(rows, same) && std::ranges::all_of(rows, [&](const MethodRow& row) {
        return row.method.method_desc == 0 || row.method.method_desc == known->method.method_desc;
      });
  if (one) return known == rows.end() ? rows : bodies_of(runtime, known->method);
  for (std::size_t n = 0; n < std::min(rows.size(), max_choices); ++n)
    out_->line("{} {}`{}", start_text(rows[n].code), rows[n].method.module, rows[n].method.full_name);
  throw Error(ErrorKind::invalid_argument,
              fmt::format("{} methods are called '{}'; give the address of one",
                          rows.size() > max_choices ? "many" : std::to_string(rows.size()), method_));
}

CodeBlock BodyArgument::chosen(Runtime& runtime, const std::vector<MethodRow>& bodies) {
  if (!quiet_)
    for (std::size_t i = 1; i < bodies.size(); ++i)
      out_->line("another body of the method: {} [{}]", start_text(bodies[i].code),
                 describe_kind(bodies[i].code));
  if (bodies.front().code.start == 0)
    throw Error(ErrorKind::memory_missing,
                fmt::format("the place of the body is not known: {}", bodies.front().code.fault));
  const CodeLookup found = runtime.code()->find(bodies.front().code.start);
  if (const auto* block = std::get_if<CodeBlock>(&found)) return *block;
  throw Error(ErrorKind::corrupt,
              fmt::format("{:#x}: {}", bodies.front().code.start, std::get<execution::Miss>(found).text));
}

} // namespace clr::lldb_plugin
