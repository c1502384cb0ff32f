// The references that the runtime's explicit Frames hold: arguments of a call that has not yet begun.
// Source: dotnet/runtime src/coreclr/vm/frames.cpp (TransitionFrame::PromoteCallerStack and its neighbours).
#pragma once

#include "core/execution/execution_manager.h"
#include "core/isa/argument_places.h"
#include "core/stack/frame_chain.h"

#include <vector>

namespace clr {

// Tells what a method takes: `this`, hidden arguments and its parameters, in the order of the calling
// convention.
class CallShapes {
public:
  virtual ~CallShapes() = default;
  // `dispatched`: the call goes to whatever method implements this one, and passes no generic context. The
  // reference is valid until the next call. Throws Error when an argument's type is not known.
  virtual const std::vector<ArgumentShape>& of(Address method_desc, bool dispatched) = 0;
};

struct FrameReference {
  Address slot = 0; // of the stack word
  bool interior = false;
};

// Whether Frames of this kind hold references.
bool holds_references(FrameKind kind);

class FrameReferences {
public:
  // `code` must outlive this, and so must `shapes`, which may be null. No reads.
  FrameReferences(ExecutionManager& code, CallShapes* shapes);

  // The words of the stack in which `frame` holds references; they may be null. Throws Error, with the
  // reason, when they are not known. Cost: 2 to 4 reads, and those of argument_map_of or CallShapes.
  std::vector<FrameReference> of(const ExplicitFrame& frame);

private:
  std::vector<FrameReference> by_signature(const ExplicitFrame& frame, Address block);
  std::vector<FrameReference> by_cell(Address map, Address block) const;
  std::vector<FrameReference> of_helper(const ExplicitFrame& frame, Address block) const;

  ExecutionManager* code_;
  const Target* target_;
  CallShapes* shapes_;
  FrameChain chain_;
};

} // namespace clr
