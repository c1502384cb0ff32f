// The methods that wait behind a task which the runtime itself goes on with: its continuation objects.
// Source: dotnet/runtime src/coreclr/System.Private.CoreLib/src/System/Runtime/CompilerServices/
// AsyncHelpers.CoreCLR.cs. Fields are found by their names.
#pragma once

#include "core/waits/async_objects.h"
#include "core/waits/resume_points.h"

#include <cstdint>
#include <unordered_set>
#include <vector>

namespace clr {

// A method that waits at an await of number `state`.
struct SuspendedMethod {
  Address object = 0; // its Continuation
  std::int32_t state = 0;
  const ResumePoint* resume = nullptr; // never null
};

struct SuspendedMethods {
  // The user's; the one that goes on first is the first. Those of the runtime's own between them are left
  // out.
  std::vector<SuspendedMethod> methods;
  Address awaited = 0;   // what the first of them waits for, as far as the runtime's own methods hold it
  bool left_out = false; // there are more than max_continuations, or one that was another task's or their own
};

class Continuations {
public:
  // Both must outlive this. No reads.
  Continuations(AsyncObjects& kinds, MethodNames& names) : kinds_(&kinds), points_(names) {}

  // Those of a task of AsyncKind::task whose type suspends(), of which none is another task's: a million
  // tasks may lead to the same 10,000. Throws Error when one cannot be read. Cost:
  // some 6 reads for each; for each body that of ResumePoints.
  SuspendedMethods of(Address task);

  static constexpr std::size_t max_continuations = 10'000; // of one task
  static constexpr std::uint32_t max_held = 1'024;         // references that a continuation keeps
  // References that those of all tasks keep: a hundred thousand may lead to one array of a thousand.
  static constexpr std::size_t max_all_held = 4'000'000;

  // What the runtime's own method of a continuation waits for, of all that it keeps: the task behind which
  // `task`, whose method it is, goes on; else one that is not done and behind which nobody else is seen to go
  // on, else what can be awaited as a ValueTask, else any task; 0: nothing of these. Throws Error. Cost: some
  // 5 reads for each reference that it keeps, and that of AsyncObjects::targets.
  Address held_by(Address continuation, Address task);

  // The task that is done when all workers of Parallel.ForEachAsync or ForAsync are, of the continuation of
  // one of them; 0: it is not known. Throws Error. Cost: 3 reads, and 2 for each reference that it keeps.
  Address end_of_workers(Address continuation);

  // Whether what they keep was not all looked at, since it is more than max_all_held.
  bool out_of_held() const { return held_left_ == 0; }

private:
  const ResumePoint* point_of(Address continuation);
  enum class Leads : std::uint8_t { here, elsewhere, unknown };
  Leads leads(Address awaited, Address task);

  AsyncObjects* kinds_;
  ResumePoints points_;
  std::unordered_set<Address> seen_; // of all tasks
  std::size_t held_left_ = max_all_held;
};

} // namespace clr
