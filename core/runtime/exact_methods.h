// Which instantiation a frame of shared generic code runs: `Cache<string>.Get` and not `Cache<__Canon>.Get`.
// Source: dotnet/runtime docs/design/coreclr/botr/shared-generics.md; src/coreclr/vm/frames.cpp and
// src/coreclr/vm/generics.cpp (GetExactInstantiationsOfMethodAndItsClassFromCallInformation).
#pragma once

#include "core/debuginfo/variables.h"
#include "core/execution/gc_header.h"
#include "core/runtime/runtime.h"
#include "core/stack/live_slots.h"
#include "core/stack/walker.h"

#include <map>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace clr {

struct Instantiation {
  Method method;
  GcContextKind from = GcContextKind::method_desc;
};
// "context_method_desc", "context_method_table", "this": the words of JSON.
std::string_view origin_of(const Instantiation& instantiation);

class ExactMethods {
public:
  // `runtime` must have a target and outlive this. No reads.
  explicit ExactMethods(Runtime& runtime);

  // The instantiation that the managed frame `frame` of `method` runs: by the word in which the JIT keeps its
  // generic context; without one by `this`, where debug information has its place and the collector keeps
  // that place alive. Null when the code is not shared, when neither is there or the frame has not filled it
  // yet, when its memory is missing, and when the word contradicts the method, or leads to a type without a
  // name. Never throws for target data. Cost: once for each body its GC info, and without a context its
  // variables; 1 to 3 reads for each frame of shared code, and once for each instantiation its name.
  std::shared_ptr<const Instantiation> of(const StackFrame& frame, const Method& method);

  // Bodies and instantiations that are kept; when there are more, all are read anew.
  static constexpr std::size_t max_known = 100'000;
  static constexpr unsigned max_base_types = 256; // between the type of `this` and that of the method

private:
  std::shared_ptr<const Instantiation> read(const StackFrame& frame, const Method& method);
  std::shared_ptr<const GcHeader> header_of(const CodeBlock& block);
  bool is_filled(const StackFrame& frame, const GcHeader& header);
  Method exact(const Method& method, GcContextKind kind, Address context);
  Address owner_among_bases(const Method& method, Address object);
  // The object that the method runs on; 0: not known.
  Address live_this(const StackFrame& frame);
  const std::vector<debuginfo::Variable>& homes_of_this(const CodeBlock& block);
  std::shared_ptr<const Instantiation> named(const Method& method, GcContextKind kind, Address word);

  Runtime* runtime_;
  std::optional<LiveSlotReader> live_;
  std::unordered_map<Address, std::vector<debuginfo::Variable>> homes_; // of `this`, by start
  std::optional<ManagedUnwinder> unwinder_; // nothing for a CPU whose stacks are not walked
  std::unordered_map<Address, std::shared_ptr<const GcHeader>> headers_; // by start; null: none can be read
  // By MethodDesc and context.
  std::map<std::pair<Address, Address>, std::shared_ptr<const Instantiation>> known_;
};

} // namespace clr
