// How the runtime goes on with a method that it suspended itself: which method, which of its bodies.
// Source: dotnet/runtime src/coreclr/vm/jitinterface.cpp (getAsyncResumptionStub), ilstubresolver.cpp,
// src/libraries/System.Private.CoreLib (AsyncHelpers.CoreCLR.cs); .NET 10's layouts measured on 10.0.12.
#pragma once

#include "core/types/method_names.h"

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace clr {

struct ResumePoint {
  Address method_desc = 0; // of the method; 0: not known
  Address body = 0;        // where the body that goes on begins; 0: not known
  // .NET 11: the place in the body, among the code that suspends it.
  std::optional<Address> place;
  std::string name;    // "Leaf": what the runtime calls its stub by, when the method is not known
  bool own = false;    // the runtime's or the framework's own method between two methods of the user's
  bool worker = false; // one of those that Parallel.ForEachAsync and ForAsync start
  std::string problem; // why the method is not known
};

class ResumePoints {
public:
  // `names` must outlive this. No reads.
  explicit ResumePoints(MethodNames& names) : names_(&names) {}

  // Of .NET 10: by the entry point of the stub that a continuation is resumed by. The stub holds the address
  // of a cell with the start of the body: in its IL as long as it has not run, in its code from then on.
  // Kept; never throws. Cost: some 20 reads, and the name.
  const ResumePoint& by_stub(Address entry);
  // Of .NET 11: by AsyncResumeInfo. Kept; never throws. Cost: 1 read, a lookup and the name.
  const ResumePoint& by_info(Address info);

  static constexpr std::uint32_t max_stub_il = 4'096;   // bytes
  static constexpr std::uint32_t max_stub_code = 4'096; // bytes

private:
  void read_stub(ResumePoint& point, Address entry);
  void read_info(ResumePoint& point, Address info);
  // Takes the method whose code begins where the cell says, when that is one of the name `name`.
  bool take_cell(ResumePoint& point, Address cell);
  bool take_il(ResumePoint& point, Address stub);
  bool take_code(ResumePoint& point, Address entry);
  void take(ResumePoint& point, Address method_desc, Address body);

  MethodNames* names_;
  std::unordered_map<Address, ResumePoint> stubs_, infos_;
};

// "Leaf" for "IL_STUB_AsyncResume_Leaf_Optimized"; "" for a text that is no such name.
std::string resumed_name(std::string_view stub);

} // namespace clr
