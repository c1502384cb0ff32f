// Which methods the source line of an instruction may call: where a step into a call may end that goes
// through stubs of the runtime, which no debugger of native code follows. Source: ECMA-335 III (call,
// callvirt, calli, newobj, ldftn, ldvirtftn).
#pragma once

#include "core/metadata/portable_pdb.h"
#include "core/runtime/runtime.h"

#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace clr {

// The IL of the statements that have code on the line of `il`, each up to the next one that has native code
// of its own: what follows a statement without is done by its code. `with_code`, ascending: the IL offsets at
// which native code begins (the JIT tells of places where nothing is on the stack); none of them: that is not
// known. Never throws.
std::vector<IlRange> ranges_of_line(const std::vector<SequencePoint>& points, std::uint32_t il,
                                    std::span<const std::uint32_t> with_code);

// Last names of the methods that the IL of the line at block.ip calls, or makes a delegate of, with what the
// compiler has added behind its statements (the end of a `using`); where it calls by a function pointer,
// those that the method has the address of, and a delegate's Invoke; where it calls code of another assembly,
// which calls back (LINQ, a sort), a mark for that; at most max_called_names and the mark. Empty when the
// method has no symbols here, or the line calls nothing. Throws Error when the IL or the metadata cannot be
// read. Cost: the IL of the method, and a name of each token.
std::set<std::string> called_names(Runtime& runtime, const CodeBlock& block);

// Starts of jitted bodies with source lines that a call of one of `names` may come to: methods of the name,
// the MoveNext of a state machine that such a method starts, at most max_called_bodies; behind them lambdas
// and local functions when a delegate is called, and these and virtual methods (iterators are such) when code
// that calls back is, at most max_called_lambdas. Never throws. Cost: that of Runtime::for_each_method
// over compiled code.
std::vector<Address> called_bodies(Runtime& runtime, const std::set<std::string>& names);

// True when code of this method would be one of called_bodies(). Never throws. Cost: a name.
bool may_be_called(Runtime& runtime, const std::set<std::string>& names, const Method& method);

// True when the method is one that somebody wrote with lines; constructors of types are not, as no line calls
// them. Never throws.
bool has_written_lines(Runtime& runtime, const Method& method);

// True when the method is the MoveNext of an iterator or async method: it goes on where it left. Never
// throws.
bool is_state_machine(Runtime& runtime, const Method& method);

// True when the method is the MoveNext of an async method, also of one that is an iterator. Never throws.
bool is_async_method(Runtime& runtime, const Method& method);

// True when the method called so is a part of the iterator that calls it: a `finally` block of that, which
// the compiler has made a method of. Never throws.
bool is_part_of_iterator(std::string_view name);

constexpr std::size_t max_called_names = 64, max_called_bodies = 64, max_called_lambdas = 256;
// Methods of a state machine's type; the compiler makes about ten.
constexpr std::uint32_t max_machine_methods = 64;

} // namespace clr
