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

// For a method that is alone in its chunk.
bool others_deny(const MethodDesc& method, const MethodTable& table, const MethodDescs& descs,
                 const MethodTables& tables) {
  // An instantiation of a generic method is in no chain, nor is the stub that passes a method of a generic
  // type its arguments; but the method of which they were made is.
  bool own = false, definition = false, denied = false;
  std::size_t seen = 0;
  descs.for_each(tables.method_chunks(table), [&](const MethodDesc& other) {
    if (++seen > max_methods_of_token) return false;
    if (other.address == method.address) {
      own = true;
    } else if (other.rid == method.rid) {
      const bool generic = method.classification() == MethodClassification::instantiated;
      const bool allowed = (generic && other.slot == method.slot) || may_share_token(other, method, table);
      (allowed ? definition : denied) = true;
    }
    return true;
  });
  if (seen > max_methods_of_token) return false;
  return denied || (!own && !definition && seen != 0);
}

} // namespace

void check_token(const MethodDesc& method, const MethodTable& table, const MethodDescs& descs,
                 const MethodTables& tables) {
  // For nearly all methods this is enough; the chunk may have hundreds.
  if (const auto behind = descs.looks_like_behind(method); behind && follows(method, *behind, table)) return;
  const MethodDescs::Neighbours beside = descs.neighbours(method);
  if (beside.passed_over) throw_corrupt(method.address, "MethodDesc between those of its chunk");
  bool denied = false;
  if (beside.before || beside.behind) {
    denied = !(beside.before && follows(*beside.before, method, table)) &&
             !(beside.behind && follows(method, *beside.behind, table));
  } else {
    try {
      denied = others_deny(method, table, descs, tables);
    } catch (const Error&) {
      // What cannot be read denies nothing.
    }
  }
  if (denied)
    throw_corrupt(method.address, "MethodDesc whose token the other methods of its type contradict");
}

} // namespace clr
