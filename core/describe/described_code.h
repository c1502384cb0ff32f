// Code with its description, and modules of such code, before their names are made. Names are half of the
// work of publishing, so the threads that write modules make them, while more code is still described. Until
// then a name is a value of its own type, with no text that could be taken for an empty name.
#pragma once

#include "core/dwarf/debug_module.h"

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace clr {

struct QualifiedMethodName;

// The parts that the names of a method are made of.
class UnspelledName {
public:
  // `parts` is not null.
  explicit UnspelledName(std::shared_ptr<const QualifiedMethodName> parts) : parts_(std::move(parts)) {}

  // The few names of few_names() in code_names.h. For any thread: the parts are not changed. No reads.
  DebugNames spell() const;

private:
  friend class DescribedCode;
  friend class DescribedModule;
  std::shared_ptr<const QualifiedMethodName> parts_;
};

// A stretch of code whose names are made, or are still to be made.
class DescribedCode {
public:
  DescribedCode() = default; // no code: size 0
  DescribedCode(DebugCode named) : code_(std::move(named)) {}

  void set_names(DebugNames names);
  void set_names(UnspelledName name) { unspelled_ = std::move(name.parts_); }

  // All but the names.
  DebugBody* operator->() { return &code_; }
  const DebugBody* operator->() const { return &code_; }
  DebugBody& operator*() { return code_; }
  const DebugBody& operator*() const { return code_; }

  // Another body that has the names of this one.
  DescribedCode with_body(DebugBody body) const;
  // The same with its names made. No reads.
  DebugCode spelled() const;

private:
  friend class DescribedModule;
  DebugCode code_;                                       // without names as long as unspelled_ is not null
  std::shared_ptr<const QualifiedMethodName> unspelled_; // null: the names are made
};

// A module of described code. All but the names is open; spell() alone makes a DebugModule of it.
class DescribedModule : private DebugModule {
public:
  DescribedModule() = default;
  explicit DescribedModule(DebugModule named);

  using DebugModule::file_name;
  using DebugModule::files;
  using DebugModule::identity;
  using DebugModule::platform;
  using DebugModule::sections;
  using DebugModule::types;

  void reserve(std::size_t codes);
  void add(DescribedCode made);
  std::size_t size() const { return code.size(); } // stretches of code
  DebugBody& operator[](std::size_t index) { return code[index]; }
  const DebugBody& operator[](std::size_t index) const { return code[index]; }

  // Makes the names that are not made yet. The parts that they were made of are kept: their reference counts
  // are shared with the thread that describes code, and letting them go here would hold it up. Valid as long
  // as this. For any thread, for one at a time. No reads.
  const DebugModule& spell();
  // The same, and this keeps nothing.
  DebugModule take_spelled() &&;

private:
  // For each of `code`; null: its names are made.
  std::vector<std::shared_ptr<const QualifiedMethodName>> unspelled_;
  std::size_t spelled_ = 0; // of the first of `code`
};

} // namespace clr
