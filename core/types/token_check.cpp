#include "core/types/token_check.h"

namespace clr {
namespace {

// A virtual method of a value type has two MethodDescs, the stub that unboxes `this` first, and a method with
// an async variant has one more.
bool may_share_token(const MethodDesc& first, const MethodDesc& second, const MethodTable& table) {
  return first.has_async_data() || second.has_async_data() ||
         (table.is_value_type() && first.is_unboxing_stub() != second.is_unboxing_stub());
}

bool follows(const MethodDesc& first, const MethodDesc& second, const MethodTable& table) {
  if (second.rid == first.rid) return may_share_token(first, second, table);
  return second.rid == first.rid + 1;
}

} // namespace

const TokenCheck::Methods& TokenCheck::methods_of(const MethodTable& table, const MethodDescs& descs,
                                                  const MethodTables& tables) {
  if (const auto known = methods_.find(table.ee_class); known != methods_.end()) return known->second;
  Methods all(std::in_place);
  try {
    descs.for_each(tables.method_chunks(table), [&](const MethodDesc& method) {
      all->push_back(method);
      return all->size() <= max_methods_of_token;
    });
    if (all->size() > max_methods_of_token) all.reset();
  } catch (const Error&) {
    all.reset(); // what cannot be read denies nothing
  }
  if (kept_ > max_kept_methods) {
    methods_.clear();
    kept_ = 0;
  }
  kept_ += 1 + (all ? all->size() : 0);
  return methods_.emplace(table.ee_class, std::move(all)).first->second;
}

// For a method that is alone in its chunk.
bool TokenCheck::others_deny(const MethodDesc& method, const MethodTable& table, const MethodDescs& descs,
                             const MethodTables& tables) {
  const Methods& all = methods_of(table, descs, tables);
  if (!all) return false;
  // An instantiation of a generic method is in no chain, nor is the stub that passes a method of a generic
  // type its arguments; but the method of which they were made is.
  const bool generic = method.classification() == MethodClassification::instantiated;
  bool own = false, definition = false, denied = false;
  for (const MethodDesc& other : *all) {
    if (other.address == method.address) {
      own = true;
    } else if (other.rid == method.rid) {
      const bool allowed = (generic && other.slot == method.slot) || may_share_token(other, method, table);
      (allowed ? definition : denied) = true;
    }
  }
  return denied || (!own && !definition && !all->empty());
}

void TokenCheck::check(const MethodDesc& method, const MethodTable& table, const MethodDescs& descs,
                       const MethodTables& tables) {
  // For nearly all methods this is enough; the chunk may have hundreds.
  if (const auto behind = descs.looks_like_behind(method); behind && follows(method, *behind, table)) return;
  const MethodDescs::Neighbours beside = descs.neighbours(method);
  if (beside.passed_over) throw_corrupt(method.address, "MethodDesc between those of its chunk");
  const bool denied = beside.before || beside.behind
                          ? !(beside.before && follows(*beside.before, method, table)) &&
                                !(beside.behind && follows(method, *beside.behind, table))
                          : others_deny(method, table, descs, tables);
  if (denied)
    throw_corrupt(method.address, "MethodDesc whose token the other methods of its type contradict");
}

} // namespace clr
