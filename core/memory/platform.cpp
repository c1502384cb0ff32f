#include "core/memory/platform.h"

#include <array>
#include <utility>

namespace clr {
namespace {
constexpr std::array<std::pair<Cpu, std::string_view>, 7> cpu_names{{{Cpu::x64, "x64"},
                                                                     {Cpu::x86, "x86"},
                                                                     {Cpu::arm64, "arm64"},
                                                                     {Cpu::arm, "arm"},
                                                                     {Cpu::loongarch64, "loongarch64"},
                                                                     {Cpu::riscv64, "riscv64"},
                                                                     {Cpu::wasm, "wasm"}}};
} // namespace

std::string_view to_string(Cpu cpu) {
  for (auto [value, name] : cpu_names)
    if (value == cpu) return name;
  return "unknown";
}

Cpu cpu_from_name(std::string_view name) {
  for (auto [value, text] : cpu_names)
    if (text == name) return value;
  return Cpu::unknown;
}

} // namespace clr
