// The contract descriptor from arbitrary bytes. The first byte chooses word size, byte order and form: JSON
// alone, a descriptor file (bit 4), or a whole memory that contains structure, JSON and pointer table, with
// the right magic (unless bit 3 is set), and perhaps sub-descriptors. Both shapes of JSON, that of .NET 9 and
// 10 and that of .NET 11, lead to the layouts that the library resolves by it.
#include "core/execution/execution_manager.h"
#include "core/heap/gc_state.h"
#include "core/memory/byte_range.h"
#include "core/stack/frame_chain.h"
#include "core/stack/interpreted_methods.h"
#include "core/stack/threads.h"
#include "core/target/descriptor_locator.h"
#include "core/target/supplements.h"
#include "core/target/target.h"
#include "core/types/code_versions.h"
#include "core/types/method_desc.h"
#include "core/types/method_table.h"
#include "tests/fuzz/attempt.h"

#include <algorithm>
#include <array>
#include <cstring>

using namespace clr;
using namespace clr::fuzz;

namespace {

// Asks a target for everything that its descriptor has.
void ask(MemoryReader& memory, const ContractDescriptor& descriptor) {
  const Target target(memory, descriptor, {.cpu = Cpu::x64, .os = Os::unix_like});
  for (const auto& [name, type] : descriptor.types) {
    target.find_size(name);
    for (const auto& [field, where] : type.fields) {
      target.field_address(where.offset < 0 ? 0 : ~Address{0}, name, field);
      target.is_supplemented(name, field);
    }
  }
  attempt([&] { target.offset("Module", "Path"); });
  attempt([&] { target.size_of("Object"); });
  attempt([&] { target.global("AppDomain"); });
  for (const auto& [name, global] : descriptor.globals) {
    target.find_global_string(name);
    const auto value = target.find_global(name);
    if (!value) continue;
    attempt([&] { target.read_utf8(*value, 16); });
    attempt([&] { target.read_utf16(*value, 16); });
    attempt([&] { target.read_utf16_units(*value, static_cast<std::size_t>(*value)); });
  }
  for (const auto& [name, version] : descriptor.contracts) attempt([&] { target.find_contract_form(name); });
  attempt([&] { check_descriptor_format(descriptor); });
  describes_native_aot(descriptor);
  for (const char letter : {'n', 'c', '1'}) contracts_beginning_with(descriptor, letter);
  for (const auto& [name, version] : descriptor.contracts) is_contract_read(name);
  supplements_in_use(target);
  attempt([&] { MethodTables{target}; });
  attempt([&] { MethodDescs{target}; });
  attempt([&] { CodeVersions{target}; });
  attempt([&] { FrameChain(target).read(0, {}, {}); });
  attempt([&] { read_threads(target); });
  attempt([&] { read_gc_state(target, 0); });
  attempt([&] { interpreted_methods(target, 0); });
  attempt([&] {
    ExecutionManager manager(target);
    manager.find(0x1000);
    manager.method_desc_of_entry_point(0x1000);
  });
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::uint8_t choice = data[0];
  const auto input = std::as_bytes(std::span(data + 1, size - 1));
  try {
    if ((choice & 16) != 0) {
      const std::vector<std::byte> zeros(64);
      HostMemory memory(zeros);
      const DescriptorFile file =
          parse_descriptor_file({reinterpret_cast<const char*>(input.data()), input.size()}, "file");
      write_descriptor_file(file);
      ask(memory, place_descriptor(memory, file, 0));
      return 0;
    }
    if ((choice & 1) != 0) {
      HostMemory memory({});
      ask(memory, parse_contract_json({reinterpret_cast<const char*>(input.data()), input.size()}));
      return 0;
    }
    constexpr std::array<unsigned char, 8> magic{'D', 'N', 'C', 'C', 'D', 'A', 'C', 0};
    std::vector<std::byte> bytes(input.begin(), input.end());
    bytes.resize(std::max<std::size_t>(bytes.size(), 40));
    if ((choice & 8) == 0) std::memcpy(bytes.data(), magic.data(), magic.size());
    bytes[8] = static_cast<std::byte>((choice & 2) != 0 ? 3 : 1);
    if ((choice & 4) != 0) {
      std::reverse(bytes.begin(), bytes.begin() + 8);
      std::swap(bytes[8], bytes[11]);
    }
    HostMemory memory(bytes);
    ask(memory, read_contract_descriptor(memory, 0));
  } catch (const Error&) {
  }
  return 0;
}
