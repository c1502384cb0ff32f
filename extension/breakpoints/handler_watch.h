// Stops of a step in exception handlers. The code of a catch, finally or filter block is a function of its
// own (a funclet), which the runtime calls: no plan of the debugger's that waits for a return sees it, and
// the process would run away.
#pragma once

#include "extension/breakpoints/plants.h"

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <utility>
#include <vector>

namespace clr::lldb_plugin {

// Where the handlers of a method begin.
struct HandlerEntries {
  struct Shown {
    Address begin = 0, line = 0; // its first instruction, and its first source line
  };
  std::vector<Shown> shown;
  std::vector<Address> hidden; // begins of those without a source line
};

class HandlerWatch {
public:
  // A frame of the thread that steps; rbp is the value by which handlers know the frame of their method.
  struct Frame {
    Address pc = 0, rbp = 0;
    bool has_line = false, funclet = false;
    // What it returns to is its caller, at the end and where an iterator yields: an async method returns to
    // its caller where it waits, and is gone on with from elsewhere.
    bool returns_to_caller = false;
    const HandlerEntries* handlers = nullptr; // null: no managed code
  };

  // Where a frame that goes on at an address comes to a line next: there, or at any line of its method when
  // the address has none.
  using NextLines = std::function<std::vector<Address>(Address)>;
  // Where a method may come to a line next behind the handler, of its own, that starts at an address.
  using LinesBehind = std::function<std::vector<Address>(Address)>;
  // The places must outlive this.
  HandlerWatch(Plants& plants, NextLines next_lines, LinesBehind lines_behind)
      : plants_(&plants), next_lines_(std::move(next_lines)), lines_behind_(std::move(lines_behind)) {}

  // Until end_step(), `thread` stops at the first line of each handler of the methods of `frames`, innermost
  // first, when it runs for one of them; without source lines (of async methods, using, foreach) it does not
  // stop in the handler, but behind it (optimised async methods have the code of a catch block with an await
  // there), or in the frame that called the method. `out`: a step out of the innermost frame,
  // whose own handlers do not count. `resumes`: where the handler that the thread stands in goes on, which
  // counts too. Where the innermost frame was called by code without lines the step ends in the next caller
  // that has some: the debugger gives up its own plans when that code calls the method again (an operation
  // over a collection, with a lambda).
  void arm(std::uint64_t thread, std::span<const Frame> frames, bool out, std::span<const Address> resumes);
  // The step that was armed as any is one over calls, or out of its frame. Where it began in a handler, a
  // filter for example, methods that the handler's method has called do not count, whose frames the exception
  // has not left yet; out of a frame its own handlers do not, either.
  void steps_over();
  void steps_out();
  // The frame goes on at `pc` by a way that the debugger's plan does not see, and the step ends there.
  void stop_behind(Address pc, Address rbp);
  // The step ends at `line` of the frame, too.
  void stop_at(Address line, Address rbp) { place(line).stops.insert(rbp); }
  // The thread that steps; 0: none.
  std::uint64_t thread() const { return thread_; }
  // The step that began in a handler has left it for the runtime, which goes on with the exception: `thread`
  // comes to the next place by itself.
  bool goes_on(std::uint64_t thread, Address pc);
  // No stops from now on: the step has ended. The places stay as they are, since the debugger still has to
  // tell where it stopped, until the process is to run on.
  void end_step() { thread_ = 0; }
  // Before the process runs on.
  void disarm();
  // `thread` came to a place: true when it stops there.
  bool hit(std::uint64_t thread, Address pc, Address rbp);
  // So many places are remembered that all of them should be forgotten.
  bool full() const { return places_.size() > max_places; }
  void forget();

  static constexpr std::size_t max_places = 1'000;

private:
  struct Place {
    int number = 0;
    std::set<Address> stops; // frames for which it is a stop
    // Of a handler without lines: its frame, and the place and frame of the caller to wait for; 0: there is
    // none.
    std::map<Address, std::pair<Address, Address>> then;
  };
  Place& place(Address address);
  void drop(std::vector<std::pair<Address, Address>>& handlers);
  static std::size_t method_of_handler(std::span<const Frame> frames);
  static bool is_before(const Frame& frame, const HandlerEntries::Shown& entry);
  static const Frame* caller_behind_code_without_lines(std::span<const Frame> frames);

  Plants* plants_;
  NextLines next_lines_;
  LinesBehind lines_behind_;
  std::uint64_t thread_ = 0; // 0: no step
  bool planted_ = false;     // some places are enabled
  // Places and frame of handlers: of the innermost frame, and of those between it and its method.
  std::vector<std::pair<Address, Address>> own_, called_;
  Address left_to_ = 0; // where the handler that the thread stood in returns to in the runtime; 0: none
  std::map<Address, Place> places_; // by address; not all are wanted
};

} // namespace clr::lldb_plugin
