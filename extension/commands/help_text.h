// Syntax and help of the commands, generated from their options.
#pragma once

#include "extension/commands/command_spec.h"

#include <memory>
#include <span>
#include <string>

namespace clr::lldb_plugin {

// The part of the syntax that follows the name, as LLDB writes it: "[-n N] [-m | --native] [THREAD...]".
// Empty for a command that takes nothing.
std::string syntax_of(const CLI::App& app);

// The part of `help COMMAND` beneath its sentence and its syntax: arguments, options, actions, example.
std::string help_text(const CommandSpec& spec);

// `COMMAND --help`: the sentence, the syntax and help_text().
std::shared_ptr<CLI::FormatterBase> help_formatter(const CommandSpec& spec);

// docs/commands.md: all of it for every command.
std::string command_reference(std::span<const CommandSpec> specs);

} // namespace clr::lldb_plugin
