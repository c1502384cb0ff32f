#include "core/stack/interpreted_methods.h"

#include <fmt/format.h>

#include <unordered_set>

namespace clr {
namespace {

constexpr std::string_view node_type = "InterpMethodContextFrame";

class NodeList {
public:
  NodeList(const Target& target, InterpretedLists& lists) : target_(target), lists_(lists) {}

  // The runtime keeps only a hint to the newest node. Nodes that are not in use have no instruction.
  Address newest(Address hint) {
    if (hint == 0) return 0;
    if (const auto known = lists_.newest.find(hint); known != lists_.newest.end()) return known->second;
    const Address node = field(hint, "Ip") == 0 ? in_use(hint) : last_in_use(hint);
    seen_.clear();
    lists_.newest.emplace(hint, node);
    return node;
  }
  // The newest of the nodes in use that follow `node`, or the node itself.
  Address last_in_use(Address node) {
    for (;;) {
      pass(node);
      const Address next = field(node, "NextPtr");
      if (next == 0 || field(next, "Ip") == 0) return node;
      node = next;
    }
  }
  // The node itself or the first of its callers that is in use; 0: none.
  Address in_use(Address node) {
    while (node != 0 && field(node, "Ip") == 0) {
      pass(node);
      node = field(node, "ParentPtr");
    }
    return node;
  }
  InterpretedMethod read(Address node) {
    pass(node);
    InterpretedMethod method{.node = node, .ip = field(node, "Ip"), .stack = field(node, "Stack")};
    try {
      method.method_desc = target_.read_pointer(
          target_.field_address(target_.read_pointer(target_.field_address(field(node, "StartIp"),
                                                                           "InterpByteCodeStart", "Method")),
                                "InterpMethod", "MethodDesc"));
    } catch (const Error&) {
      // The code manager may know whose byte code it is.
    }
    return method;
  }
  Address caller(Address node) { return in_use(field(node, "ParentPtr")); }

private:
  Address field(Address node, std::string_view name) const {
    return target_.read_pointer(target_.field_address(node, node_type, name));
  }
  void pass(Address node) {
    if (lists_.nodes >= max_interpreted_nodes)
      throw_corrupt(
          node, fmt::format("more than {} nodes of interpreted methods on one stack", max_interpreted_nodes));
    ++lists_.nodes;
    if (!seen_.insert(node).second)
      throw_corrupt(node, "the list of interpreted methods comes back to the node");
    if (seen_.size() > max_interpreted_methods)
      throw_corrupt(node, fmt::format("more than {} interpreted methods", max_interpreted_methods));
  }

  const Target& target_;
  InterpretedLists& lists_;
  std::unordered_set<Address> seen_;
};

} // namespace

InterpretedMethods interpreted_methods(const Target& target, Address frame) {
  InterpretedLists alone;
  return interpreted_methods(target, frame, alone);
}

InterpretedMethods interpreted_methods(const Target& target, Address frame, InterpretedLists& lists) {
  InterpretedMethods result;
  try {
    NodeList list(target, lists);
    const Address hint =
        target.read_pointer(target.field_address(frame, "InterpreterFrame", "TopInterpMethodContextFrame"));
    for (Address node = list.newest(hint); node != 0; node = list.caller(node))
      result.methods.push_back(list.read(node));
    if (!result.methods.empty())
      result.methods.front().faulting =
          target.read_u8(target.field_address(frame, "InterpreterFrame", "IsFaulting")) != 0;
  } catch (const Error& error) {
    result.problem = fmt::format("InterpreterFrame at {:#x}: {}", frame, error.what());
  }
  return result;
}

} // namespace clr
