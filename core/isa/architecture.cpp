#include "core/isa/architecture.h"

#include "core/isa/known_architectures.h"
#include "core/memory/error.h"

#include <array>
#include <fmt/format.h>

namespace clr {
namespace {

// In the order of Cpu.
constexpr std::array<const Architecture*, 8> architectures{
    &unknown_architecture, &x64_architecture,         &x86_architecture,     &arm64_architecture,
    &arm_architecture,     &loongarch64_architecture, &riscv64_architecture, &wasm_architecture};

} // namespace

const Architecture& architecture_of(Cpu cpu) {
  const auto index = static_cast<std::size_t>(cpu);
  return index < architectures.size() ? *architectures[index] : unknown_architecture;
}

const Architecture& architecture_with_stacks(Cpu cpu) {
  const Architecture& architecture = architecture_of(cpu);
  if (!architecture.walks_stacks())
    throw Error(ErrorKind::unsupported_contract,
                fmt::format("stacks of the CPU {} are not supported", to_string(cpu)));
  return architecture;
}

} // namespace clr
