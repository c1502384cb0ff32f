// Modules of native code that LLDB has no files of, in a core: on another host its own stacks would end at
// their first frame.
#pragma once

#include "extension/session/session.h"
#include "extension/session/stack_walk.h"

#include <lldb/API/LLDB.h>

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace clr::lldb_plugin {

class NativeStandIns {
public:
  explicit NativeStandIns(lldb::SBTarget target) : target_(std::move(target)) {}

  // Whether LLDB lacks a module that describes code, or has a stand-in, where a frame of `places` stands.
  // Cost: no reads.
  bool are_needed(const std::vector<StackPlaces::Native>& places);
  // Gives LLDB a module for each native module of `session` in which a frame of `places` stands, and at whose
  // address LLDB has none, or one that describes no code: with the functions of those frames, their names and
  // how their callers are found. What went wrong is added to `problems`. Cost: that of Session::name_native
  // and NativeUnwinder::layout for each place, and of loading a module.
  void add(Session& session, const std::vector<StackPlaces::Native>& places,
           std::vector<std::string>& problems);
  // Takes away those for which LLDB has a module by now: a user adds the file of a module that it lacked.
  void make_way();
  void withdraw();

private:
  lldb::SBTarget target_;
  std::map<std::string, lldb::SBModule> modules_; // by file name
  std::uint32_t looked_at_ = 0;                   // modules of the target when make_way() looked last
};

} // namespace clr::lldb_plugin
