// Steps into calls that go through stubs of the runtime: the first call of a method, calls of interfaces and
// delegates, the start of an async method. The debugger's plan steps over code that it has no lines of, and
// so over what that enters; what is followed here are the first lines of the methods that the call may come
// to.
#pragma once

#include "extension/breakpoints/plants.h"

#include <cstddef>
#include <map>
#include <set>
#include <span>
#include <vector>

namespace clr::lldb_plugin {

class CallWatch {
public:
  struct Place {
    Address at = 0; // 0: not known, and no place
    // The start of a method that goes on where it left: at any of its lines.
    bool any_line = false;
    // A part of the method that calls it, which the compiler has made a method of: a step over the call ends
    // there, too.
    bool part = false;
  };
  // The thread that came to a place.
  class Visitor {
  public:
    virtual ~Visitor() = default;
    virtual std::uint64_t thread() = 0;
    virtual Address pc() = 0;
    // Frame 0 was called by the frame with this CFA, with no frame in between that has lines.
    virtual bool is_called_by(Address cfa) = 0;
    // Where lines begin in the function that has code at `at`.
    virtual std::vector<Address> lines(Address at) = 0;
  };

  // The places must outlive this.
  explicit CallWatch(Plants& plants) : plants_(&plants) {}

  // Until end_step(), a step of `thread` ends at `places` when they are called by a frame with one of the
  // CFAs `callers`: the one it stands in, and that which the code without lines has to return to by which
  // this one was called (an operation over a collection calls its lambda again).
  void arm(std::uint64_t thread, std::vector<Address> callers, std::span<const Place> places);
  // The step that was armed is one over calls: of the places, and of those to come, parts count alone.
  void steps_over();
  bool is_over() const { return over_; }
  // One more, of a method that was compiled meanwhile.
  void add(const Place& place);
  // The thread that steps; 0: none.
  std::uint64_t thread() const { return thread_; }
  // A thread came to a place: true when the step ends there.
  bool hit(Visitor& visitor);
  // The start of a method that goes on where it left, at which no step ends.
  bool goes_on_at(Address pc) const { return thread_ != 0 && any_line_.contains(pc); }
  // No stops from now on. The places stay until the process runs on.
  void end_step() { thread_ = 0; }
  // Before the process runs on.
  void disarm();
  // So many places are remembered that all of them should be forgotten.
  bool full() const { return places_.size() > max_places; }
  void forget();

  static constexpr std::size_t max_places = 500;

private:
  void want(Address place);

  Plants* plants_;
  std::uint64_t thread_ = 0;
  std::vector<Address> callers_;
  bool over_ = false;
  std::map<Address, int> places_; // by address; those of `wanted_` are enabled
  std::set<Address> wanted_;
  std::set<Address> any_line_; // of those, where the step does not end yet
  std::set<Address> parts_;    // of those
};

} // namespace clr::lldb_plugin
