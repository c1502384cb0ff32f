// Where the runtime enters its JIT compiler: every method passes this place before it has code. Source:
// dotnet/runtime src/coreclr/inc/corjit.h (ICorJitCompiler), vm/codeman.h (EEJitManager::m_jit).
#pragma once

#include "core/memory/loaded_module.h"
#include "core/memory/memory_reader.h"

#include <optional>
#include <span>

namespace clr {

// Address of ICorJitCompiler::compileMethod, the first virtual function of the compiler that `jit_manager`
// holds (an EEJitManager, found in range sections). `image` is the module with the compiler: libclrjit, or a
// program in a single file. Nothing when the manager holds no such object: it has not loaded its compiler
// yet. Up to 64 reads, and 4 for each word that may be the compiler. Throws Error{memory_missing} when the
// manager cannot be read.
std::optional<Address> compile_method_of_manager(MemoryReader& memory, const Platform& platform,
                                                 Address jit_manager, const LoadedModule& image);

// The same by getJit, which libclrjit exports: `code` holds the bytes at `get_jit`, of which at most
// max_get_jit are examined. x64 and arm64. Nothing when no address in the code is that of a compiler.
std::optional<Address> compile_method_of_export(MemoryReader& memory, const Platform& platform,
                                                Address get_jit, std::span<const std::byte> code,
                                                const LoadedModule& image);

constexpr std::size_t max_get_jit = 64;           // bytes
constexpr std::size_t max_jit_manager_words = 64; // words that are searched for the compiler

} // namespace clr
