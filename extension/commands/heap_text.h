// What the commands about the managed heap share: options, progress and warnings.
#pragma once

#include "core/report/memory_use.h"
#include "core/runtime/heap_holders.h"
#include "extension/lldb/output.h"

#include <CLI/CLI.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace clr::lldb_plugin {

// Adds -g,--gen.
CLI::Option* add_part(CLI::App& app, std::string& part, std::string_view what = "Objects");
// What was given there; nothing: all parts.
std::optional<HeapPart> part_named(const std::string& name);

// Shows progress, and stops at Ctrl-C. `out` must outlive it.
HeapWalkOptions walk_options(Output& out);

// "12.5 %".
std::string percent(std::uint64_t part, std::uint64_t whole);

// "strong handle at 0x7f00", "static Ns.Type.Field", "stack of thread 4711, frame #3: rbx of
// app.dll`Ns.Run()".
std::string root_text(const HeapRoot& root);

// What the memory of the process is, and what limits the heap.
void print_memory_use(Output& out, const MemoryUse& use);

// Warns of what a reader of any figure about the heap must know, and of memory that was not looked at.
void warn_of_heap(Output& out, const HeapReporter& heap, const std::vector<HeapGap>& gaps);

} // namespace clr::lldb_plugin
