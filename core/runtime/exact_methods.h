// Which instantiation a frame of shared generic code runs: `Cache<string>.Get` and not `Cache<__Canon>.Get`.
// Source: dotnet/runtime docs/design/coreclr/botr/shared-generics.md; src/coreclr/vm/frames.cpp and
// src/coreclr/vm/generics.cpp (GetExactInstantiationsOfMethodAndItsClassFromCallInformation).
#pragma once

#include "core/debuginfo/variables.h"
#include "core/execution/gc_header.h"
#include "core/runtime/runtime.h"
#include "core/stack/filter_funclets.h"
#include "core/stack/left_frames.h"
#include "core/stack/live_slots.h"
#include "core/stack/walker.h"

#include <map>
#include <memory>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

namespace clr {

struct Instantiation {
  Method method;
  GcContextKind from = GcContextKind::method_desc;
  bool argument = false; // the word is the method's hidden argument, by its place in the debug information
};
// Whether instantiations share the code of this method: another name may say more than its own.
bool is_shared(const Method& method);
// "context_method_desc", "context_method_table", "this", "argument_method_desc", "argument_method_table": the
// words of JSON.
std::string_view origin_of(const Instantiation& instantiation);

class ExactMethods {
public:
  // `runtime` must have a target and outlive this. No reads.
  explicit ExactMethods(Runtime& runtime);

  // Another walk begins. No reads.
  void begin_walk();

  // The instantiation that the managed frame `frame` of `method` runs; frames are asked in the order of their
  // walk, all of them. By the word in which the JIT keeps its generic context; without one by the hidden
  // argument that brought it, where debug information has its place; else by `this`, where the collector
  // keeps that place alive. Null when the code is not shared, when none of these is there or the frame has
  // not filled it yet, when its memory is missing, when an object tells it in a frame that a running handler
  // has left (objects move), and when the word contradicts the method, or leads to a type without a name.
  // Never throws for target data. Cost: once for each body its GC info, and without a context its variables;
  // 1 to 3 reads for each frame of shared code, and once for each instantiation its name.
  std::shared_ptr<const Instantiation> of(const StackFrame& frame, const Method& method);

  // Bodies and instantiations that are kept; when there are more, all are read anew.
  static constexpr std::size_t max_known = 100'000;
  // Places of the two words in all bodies that are kept: a body has one to three. Beyond it likewise.
  static constexpr std::size_t max_kept_homes = 1'000'000;
  static constexpr unsigned max_base_types = 256; // between the type of `this` and that of the method

private:
  // A place of a variable at the instruction of a frame.
  struct Home {
    std::optional<unsigned> reg; // nothing: it lies in memory
    unsigned base = 0;           // register of `place`
    Address place = 0;
    bool from_entry = false; // it is where the caller put the variable
  };

  bool follow(const StackFrame& frame);
  std::shared_ptr<const Instantiation> read(const StackFrame& frame, const Method& method, bool left);
  std::shared_ptr<const GcHeader> header_of(const CodeBlock& block);
  bool stands(const StackFrame& frame);
  bool is_filled(const StackFrame& frame, const GcHeader& header);
  Method exact(const Method& method, GcContextKind kind, Address context);
  Address owner_among_bases(const Method& method, Address object);
  std::uint64_t offset_in_body(const StackFrame& frame);
  const std::vector<debuginfo::Variable>& homes_of(const CodeBlock& block);
  std::vector<Home> homes_at(const StackFrame& frame, std::int32_t number);
  // The words; 0: not known.
  Address context_of(const StackFrame& frame, const GcHeader& header);
  Address hidden_argument(const StackFrame& frame, const GcHeader& header);
  Address live_this(const StackFrame& frame);
  std::shared_ptr<const Instantiation> named(const Method& method, GcContextKind kind, bool argument,
                                             Address word);

  Runtime* runtime_;
  std::optional<LiveSlotReader> live_;
  std::optional<FilterFunclets> filters_;
  LeftFrames left_;
  bool lost_ = false; // what a frame of this walk is to a handler could not be read
  std::unordered_map<Address, std::vector<debuginfo::Variable>> homes_; // of both words, by start
  std::size_t kept_homes_ = 0;
  std::optional<ManagedUnwinder> unwinder_; // nothing for a CPU whose stacks are not walked
  std::unordered_map<Address, std::shared_ptr<const GcHeader>> headers_; // by start; null: none can be read
  // By MethodDesc, context and whether that was an argument.
  std::map<std::tuple<Address, Address, bool>, std::shared_ptr<const Instantiation>> known_;
};

} // namespace clr
