// Where the runtime enters its JIT compiler: the one place that every method passes before it has code.
// Source: dotnet/runtime src/coreclr/inc/corjit.h (ICorJitCompiler), vm/codeman.h (EEJitManager::m_jit).
#pragma once

#include "core/memory/loaded_module.h"
#include "core/memory/memory_reader.h"

#include <optional>
#include <span>

namespace clr {

// Address of ICorJitCompiler::compileMethod, the first virtual function of the compiler that `jit_manager`
// (an EEJitManager, as range sections name it) holds. `image` is the module with the compiler: libclrjit, or
// a program in a single file. Nothing when the manager holds no such object: it has not loaded its compiler
// yet. Up to 64 reads and 4 for each word that may be one. Throws Error{memory_missing} when the manager
// cannot be read.
std::optional<Address> compile_method_of_manager(MemoryReader& memory, const Platform& platform,
                                                 Address jit_manager, const LoadedModule& image);

// The same by getJit, which libclrjit exports: `code` is what stands at `get_jit`, at most max_get_jit bytes
// of which are looked at. x64 and arm64. Nothing when no address in it is that of a compiler.
std::optional<Address> compile_method_of_export(MemoryReader& memory, const Platform& platform,
                                                Address get_jit, std::span<const std::byte> code,
                                                const LoadedModule& image);

constexpr std::size_t max_get_jit = 64;           // bytes
constexpr std::size_t max_jit_manager_words = 64; // in which the compiler is looked for

} // namespace clr
