// Gives LLDB the managed code of one process as modules of its own, so that LLDB's own commands (bt, b, step,
// source list, frame variable) know it.
#pragma once

#include "core/publish/code_catalog.h"
#include "extension/session.h"

#include <lldb/API/LLDB.h>

#include <chrono>
#include <map>
#include <string>
#include <vector>

namespace clr::lldb_plugin {

// What is published: `clr settings`.
struct PublishSettings {
  bool on = true;
  bool lines = true, variables = true, r2r = true;
  friend bool operator==(const PublishSettings&, const PublishSettings&) = default;
};

struct PublishStatus {
  std::size_t modules = 0, methods = 0;
  double first_milliseconds = 0,
         last_milliseconds = 0; // of the first update, of the last that changed something
  std::vector<std::string> problems;
};

// Code that LLDB has a module for since the last call.
struct PublishedRange {
  Address begin = 0, end = 0;
};

class Publisher {
public:
  explicit Publisher(lldb::SBTarget target) : target_(std::move(target)) {}

  // Brings LLDB up to date with the session's stop: withdraws what was freed, adds what is new. Never throws.
  // `began` is when the work for this stop did.
  std::vector<PublishedRange> update(Session& session, const PublishSettings& settings,
                                     std::chrono::steady_clock::time_point began);
  // Adds the body that holds `ip` if it is not known yet: code that was compiled just now. Never throws.
  std::vector<PublishedRange> add(Session& session, const PublishSettings& settings, Address ip);
  // Takes every module away; the next update brings all back.
  void withdraw();

  const PublishStatus& status() const { return status_; }
  // True when a module of this publisher holds `address`.
  bool holds(Address address) const;

private:
  struct Module {
    lldb::SBModule module;
    std::size_t methods = 0;
    std::vector<PublishedRange> ranges;
  };
  std::vector<PublishedRange> apply(CatalogChange change);
  void add_module(const CatalogModule& made, std::vector<PublishedRange>& added);
  void drop(std::uint64_t id);

  lldb::SBTarget target_;
  CodeCatalog catalog_;
  std::map<std::uint64_t, Module> modules_;
  std::map<Address, Address> ranges_; // begin to end, of all modules
  PublishStatus status_;
};

} // namespace clr::lldb_plugin
