// A body of code as users name it: by an address in it, by its method or by the method's name.
#pragma once

#include "core/execution/code_block.h"
#include "core/runtime/runtime.h"
#include "extension/lldb/output.h"
#include "extension/session/session.h"

#include <CLI/CLI.hpp>

#include <optional>
#include <string>
#include <vector>

namespace clr::lldb_plugin {

class BodyArgument {
public:
  // Adds the argument METHOD... to a command.
  void add_to(CLI::App& app);

  // The body that the argument names; without one, that of the selected frame's pc. Of a method with several
  // bodies the one that new calls reach; the others are listed, unless `quiet`. Throws
  // Error{invalid_argument} when nothing is called so, when several methods are (they are listed), and when
  // the method has no code; Error as Runtime's functions do.
  CodeBlock find(Session& session, Output& out, bool quiet);

  // False: the selected frame's pc is meant.
  bool given() const { return !words_.empty(); }
  // The name that was given; empty when it is an address or an expression.
  std::string name() const;

  // The address that was given, when it is not the first of its body.
  const std::optional<Address>& asked() const { return asked_; }

private:
  // For an `ip` outside the code of methods: it is a precode or a MethodDesc.
  CodeBlock of_method(Runtime& runtime, Address ip, const execution::Miss& miss);
  std::vector<MethodRow> by_name(Runtime& runtime);
  CodeBlock chosen(Runtime& runtime, const std::vector<MethodRow>& bodies);

  std::vector<std::string> words_;
  std::string method_;
  std::optional<Address> asked_;
  Session* session_ = nullptr;
  Output* out_ = nullptr;
  bool quiet_ = false;
};

} // namespace clr::lldb_plugin
