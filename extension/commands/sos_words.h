// What people who know SOS type behind the names that they know.
#pragma once

#include "extension/commands/command_spec.h"

namespace clr::lldb_plugin {

// `dumpheap -stat -type X -min N` counts objects by type, without -stat it lists them, -strings counts texts,
// and `-type Free` shows free memory: commands of their own here. Options have two dashes here, and a part of
// a type's name needs *. Throws Error{invalid_argument} for an option without its value.
MeantCommand words_of_dumpheap(std::vector<std::string> words);
// `eeheap -gc` is `clr heap`.
MeantCommand words_of_eeheap(std::vector<std::string> words);

} // namespace clr::lldb_plugin
