#include "core/describe/described_code.h"

#include "core/describe/code_names.h"

namespace clr {

DebugNames UnspelledName::spell() const {
  return few_names(*parts_);
}

void DescribedCode::set_names(DebugNames names) {
  static_cast<DebugNames&>(code_) = std::move(names);
  unspelled_.reset();
}

DescribedCode DescribedCode::with_body(DebugBody body) const {
  DescribedCode other;
  static_cast<DebugNames&>(other.code_) = code_;
  static_cast<DebugBody&>(other.code_) = std::move(body);
  other.unspelled_ = unspelled_;
  return other;
}

DebugCode DescribedCode::spelled() const {
  DebugCode code = code_;
  if (unspelled_) static_cast<DebugNames&>(code) = few_names(*unspelled_);
  return code;
}

DescribedModule::DescribedModule(DebugModule named)
    : DebugModule(std::move(named)), unspelled_(code.size()), spelled_(code.size()) {}

void DescribedModule::reserve(std::size_t codes) {
  code.reserve(codes);
  unspelled_.reserve(codes);
}

void DescribedModule::add(DescribedCode made) {
  code.push_back(std::move(made.code_));
  unspelled_.push_back(std::move(made.unspelled_));
}

const DebugModule& DescribedModule::spell() {
  for (; spelled_ < code.size(); ++spelled_)
    if (unspelled_[spelled_]) static_cast<DebugNames&>(code[spelled_]) = few_names(*unspelled_[spelled_]);
  return *this;
}

DebugModule DescribedModule::take_spelled() && {
  spell();
  unspelled_.clear();
  spelled_ = 0;
  return static_cast<DebugModule&&>(*this);
}

} // namespace clr
