#include "core/waits/method_il.h"

#include "core/metadata/il_code.h"
#include "core/types/module.h"

#include <algorithm>
#include <string>
#include <unordered_map>

namespace clr {
namespace {

bool of_async_helpers(const Metadata& metadata, std::uint32_t parent) {
  if (parent >> 24 != 0x01 || !metadata.valid(parent)) return false;
  const TypeRefRow type = metadata.type_ref(parent & 0xff'ffff);
  return metadata.string(type.name) == "AsyncHelpers" &&
         metadata.string(type.name_space) == "System.Runtime.CompilerServices";
}

bool suspends(const Metadata& metadata, std::uint32_t token) {
  if (!metadata.valid(token)) return false;
  if (token >> 24 == 0x2b) token = metadata.method_spec(token & 0xff'ffff).method;
  if (token >> 24 != 0x0a || !metadata.valid(token)) return false;
  const MemberRefRow method = metadata.member_ref(token & 0xff'ffff);
  const std::string name = metadata.string(method.name);
  return (name == "Await" || name == "AwaitAwaiter" || name == "UnsafeAwaitAwaiter") &&
         of_async_helpers(metadata, method.parent);
}

// The name of the method that is called; "" for other instructions.
std::string called_name(const Metadata& metadata, const IlInstruction& instruction) {
  const std::uint32_t token = instruction.token();
  if (instruction.opcode != il::call && instruction.opcode != il::callvirt) return {};
  if (!metadata.valid(token)) return {};
  if (token >> 24 == 0x06) return metadata.string(metadata.method_def(token & 0xff'ffff).name);
  return token >> 24 == 0x0a ? metadata.string(metadata.member_ref(token & 0xff'ffff).name) : std::string();
}

// The first stores of local variables, by their numbers: indexes of instructions.
std::unordered_map<std::uint32_t, std::size_t> first_stores(const std::vector<IlInstruction>& code) {
  std::unordered_map<std::uint32_t, std::size_t> stores;
  for (std::size_t i = 0; i < code.size(); ++i)
    if (const auto variable = stored_variable(code[i])) stores.try_emplace(*variable, i);
  return stores;
}

// The store of the variable that the call with the index `call` is made on.
std::optional<std::uint32_t> store_before(const std::vector<IlInstruction>& code, std::size_t call,
                                          const std::unordered_map<std::uint32_t, std::size_t>& stores) {
  constexpr std::size_t distance = 3; // instructions from the load to the call
  for (std::size_t i = call; i-- > 0 && call - i <= distance;) {
    const auto variable = loaded_variable(code[i]);
    if (!variable) continue;
    const auto store = stores.find(*variable);
    return store != stores.end() && store->second < i ? std::optional(code[store->second].offset)
                                                      : std::nullopt;
  }
  return std::nullopt;
}

} // namespace

void with_method_il(ObjectReader& objects, Address module_address, std::uint32_t token,
                    const std::function<void(const Metadata&, std::span<const std::byte>)>& visit) {
  NamedModule& module = objects.finder().names().named_modules().at(module_address);
  const Target& target = objects.finder().target();
  const ImageMapping mapping = image_mapping(target, module.module);
  if (mapping.base == 0) return;
  module.metadata.with([&](MetadataNames& named) {
    const PeImage image = mapping.mapped ? PeImage(target.memory(), mapping.base, *mapping.mapped)
                                         : PeImage::detect(target.memory(), mapping.base);
    const auto il = il_code(image, named.metadata().method_def(token & 0xff'ffff).rva);
    visit(named.metadata(), il);
  });
}

std::vector<AwaitCall> await_calls(const Metadata& metadata, std::span<const std::byte> il) {
  const std::vector<IlInstruction> code = il_instructions(il);
  const auto stores = first_stores(code);
  std::vector<AwaitCall> calls;
  std::size_t before = 0; // the last call, by its index
  for (std::size_t i = 0; i < code.size(); ++i) {
    if (code[i].opcode != il::call && code[i].opcode != il::callvirt) continue;
    const std::uint32_t token = code[i].token();
    if (suspends(metadata, token)) {
      AwaitCall call{.before = before < code.size() ? code[before].offset : 0, .offset = code[i].offset};
      if (called_name(metadata, code[before]) == "DisposeAsync")
        call.dispose_store = store_before(code, before, stores);
      calls.push_back(call);
    } else if (called_name(metadata, code[i]) != "ConfigureAwait") {
      before = i;
    }
  }
  return calls;
}

bool is_in_loop(std::span<const std::byte> il, std::uint32_t offset) {
  return std::ranges::any_of(il_instructions(il), [&](const IlInstruction& instruction) {
    return il::is_jump(instruction.opcode) && instruction.offset >= offset &&
           std::int64_t{instruction.next} + instruction.operand <= std::int64_t{offset};
  });
}

} // namespace clr
