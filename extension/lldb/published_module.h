// One module of debug information that LLDB loaded from memory of this process, or where /proc is not mounted
// from a temporary file: none stays behind.
#pragma once

#include "core/dwarf/elf_container.h"

#include <lldb/API/LLDB.h>

#include <cstdint>
#include <string>

namespace clr::lldb_plugin {

// `elf`, absolute addresses, as a module of LLDB's named `file_name`, with its names indexed; `triple` is the
// target's. May run on any thread: no target knows of it yet. Throws Error{io} when this host gives no place
// for it, Error{corrupt} when LLDB refuses it.
lldb::SBModule load_module(const std::string& triple, const std::string& file_name, FileParts elf);

// A value of DebugModule::identity that no other module has.
std::uint64_t new_module_identity();

// Gives `target` a module that load_module made, at slide 0. Breakpoints that wait for its names are set at
// once. Throws Error{corrupt} when LLDB refuses it.
void publish_module(lldb::SBTarget& target, lldb::SBModule& module);

// Takes a module away that publish_module added. Frames that LLDB keeps are dropped first: by removing alone
// they would keep their names.
void withdraw_module(lldb::SBTarget& target, lldb::SBModule& module);

// Moves a module that publish_module added to where no process has memory: the `place`th of such places, from
// 1 to last_parking. Of a module that is taken away LLDB tells its clients once for each of their
// breakpoints; of this it does not. False when LLDB refuses it.
bool park_module(lldb::SBTarget& target, lldb::SBModule& module, std::int64_t place);
inline constexpr std::int64_t last_parking = 0x7FFE;

// Takes away what is_published and no Publisher has: LLDB writes every module of a process into a minidump
// (`process save-core`) and makes empty modules of them when it opens one.
void withdraw_remnants(lldb::SBTarget& target);

// The file name of modules by which the plugin has breakpoints at places that move.
inline constexpr const char* place_module = "clr-places";

// True for a module that load_module made. Such a module is no part of the process.
bool is_published(lldb::SBModule& module);
// The selected frame, when its code is of such a module; else an invalid one.
lldb::SBFrame selected_published_frame(lldb::SBTarget target);

} // namespace clr::lldb_plugin
