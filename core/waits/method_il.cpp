#include "core/waits/method_il.h"

#include "core/metadata/il_code.h"
#include "core/types/module.h"

#include <string>

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
  std::vector<AwaitCall> calls;
  std::uint32_t before = 0;
  for (const IlInstruction& instruction : il_instructions(il)) {
    if (instruction.opcode != il::call && instruction.opcode != il::callvirt) continue;
    if (suspends(metadata, instruction.token())) {
      calls.push_back({before, instruction.offset});
    } else {
      const std::uint32_t token = instruction.token();
      const bool configures =
          token >> 24 == 0x0a && metadata.valid(token) &&
          metadata.string(metadata.member_ref(token & 0xff'ffff).name) == "ConfigureAwait";
      if (!configures) before = instruction.offset;
    }
  }
  return calls;
}

} // namespace clr
