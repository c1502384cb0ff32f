// Stops a process for a moment whenever its runtime has made code ready: between compiling a method and the
// first call of it. Without symbols of the runtime, and without anything that the process must be started
// with.
#pragma once

#include "extension/breakpoints/plants.h"

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <vector>

namespace clr::lldb_plugin {

// How it works: a place at the JIT's compileMethod is hit at the start of a compilation. Of the places that
// it will return to, frame by frame, the innermost whose return value is the start of a method as the runtime
// knows it is the one behind which the code is complete and not yet called; it is kept, the others go. From
// then on there is one stop for each method.
class CompileWatch {
public:
  enum class Code : std::uint8_t { none, jitted, ready_to_run };
  class Visitor;
  struct Client {
    // Address of compileMethod; 0: not known (yet).
    std::function<Address()> compile_method;
    // The kind of code that starts at `address`.
    std::function<Code(Address address)> code_at;
    // Whether the code that is wanted is told of in another way, so that no compilation need stop.
    std::function<bool()> told;
    // Whether nobody waits for the method whose compilation begins.
    std::function<bool(Visitor& visitor)> unwanted;
  };
  // A thread that came to a place.
  class Visitor {
  public:
    virtual ~Visitor() = default;
    virtual Address pc() = 0;
    // At compileMethod: the MethodDesc that is to be compiled; 0: not known.
    virtual Address compiled_method() = 0;
    // The return addresses of the functions around it, innermost first, as far as they lie in known modules:
    // at most `most`.
    virtual std::vector<Address> return_addresses(std::size_t most) = 0;
    // Of the function that has just returned.
    virtual Address return_value() = 0;
  };

  // The places must outlive this.
  CompileWatch(Plants& plants, Client client) : plants_(&plants), client_(std::move(client)) {}

  // Stops from now on; when no JIT compiler is loaded yet, from when it is. No cost when it stops already.
  void arm();
  // No stop any more; what was learned is kept.
  void disarm();
  // Removes places that are not needed any more: not while one of them is being handled.
  void tidy();
  // A thread came to one of the places. Returns the start of the code that is ready by that, if any.
  std::optional<Address> hit(Visitor& visitor);

  // A place of this was there at some time.
  bool was_at(Address pc) const { return planted_.contains(pc); }
  bool armed() const { return armed_; }
  // The place behind compilations is known.
  bool learned() const { return ready_site_ != 0; }
  // Pieces of code that were ready.
  std::size_t hits() const { return hits_; }

  // The function whose call tells that the JIT is loaded. A program in a single file does not export it, but
  // neither does it run long without its compiler.
  static constexpr const char *jit_library = "libclrjit.so", *jit_export = "getJit";
  // Frames above compileMethod whose return is watched until the right one is known.
  static constexpr std::size_t watched_frames = 8;
  // Compilations after which a way around the learned place would have shown.
  static constexpr unsigned wanted_confirmations = 8;

private:
  void quiet();
  void compilation_begins(Visitor& visitor);
  std::optional<Address> returned(Visitor& visitor, Address pc);
  void watch(Address pc);
  void learn(Address pc);
  int plant(Address pc);

  Plants* plants_;
  Client client_;
  int loading_ = 0; // of the JIT's library
  int entry_ = 0;   // compileMethod
  Address entry_address_ = 0, ready_site_ = 0;
  std::map<Address, int> sites_; // return addresses
  std::vector<int> unwanted_;
  std::set<Address> planted_;
  unsigned confirmations_ = 0;
  std::size_t hits_ = 0;
  bool armed_ = false;
};

} // namespace clr::lldb_plugin
