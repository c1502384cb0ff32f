#include "core/runtime/code_notifications.h"

#include "core/memory/elf_image.h"

#include <algorithm>
#include <fmt/format.h>

namespace clr {

namespace {

// [rt] src/coreclr/inc/xclrdata.idl, CLRDATA_METHNOTIFY_GENERATED and CLRDATA_NOTIFY_ON_MODULE_LOAD
constexpr std::uint64_t when_generated = 1, on_module_load = 1;
// [rt] src/coreclr/vm/util.hpp, DACNotify
constexpr std::uint64_t module_load_kind = 1, code_kind = 8;
constexpr std::uint64_t max_dac_table = 8192;     // bytes; .NET 10 has some 800
constexpr std::size_t max_notification_row = 256; // bytes; .NET 10 has 24
// Bytes of the values in a row: 16 bits, a pointer and 32 bits.
constexpr std::size_t state_size = 2, token_size = 4;

// [rt] src/coreclr/vm/util.hpp, struct JITNotification. Each value stands at its natural place where the
// descriptor does not tell; what the descriptor tells must fit into a row, for rows are written.
struct RowLayout {
  std::size_t state, module, token, size;
};
RowLayout layout_of(const Target& target) {
  const std::size_t word = target.pointer_size();
  const auto of = [&](std::string_view field, std::size_t otherwise) {
    return static_cast<std::size_t>(
        target.find_offset("JITNotification", field).value_or(static_cast<std::int64_t>(otherwise)));
  };
  const RowLayout row{.state = of("State", 0),
                      .module = of("ClrModule", word),
                      .token = of("MethodToken", 2 * word),
                      .size =
                          static_cast<std::size_t>(target.find_size("JITNotification").value_or(3 * word))};
  const auto fits = [&](std::size_t at, std::size_t size) { return at <= row.size && size <= row.size - at; };
  if (row.size > max_notification_row || !fits(row.state, state_size) || !fits(row.module, word) ||
      !fits(row.token, token_size))
    throw Error(ErrorKind::unsupported_contract,
                fmt::format("a JITNotification of {} bytes, with values at {}, {} and {}", row.size,
                            row.state, row.module, row.token));
  return row;
}

void put(std::span<std::byte> row, std::size_t at, std::uint64_t value, std::size_t size, ByteOrder order) {
  for (std::size_t i = 0; i < size; ++i) {
    const std::size_t shift = 8 * (order == ByteOrder::little ? i : size - 1 - i);
    row[at + i] = static_cast<std::byte>(value >> shift);
  }
}

// The variable before that of the flags, in the list of variables that the runtime exports. [rt]
// src/coreclr/inc/dacvars.h
std::optional<Address> variable_before(Runtime& runtime, Address flags) {
  const Target& target = *runtime.target();
  const LoadedModule* const module = runtime.runtime_module();
  if (module == nullptr) return std::nullopt;
  const auto table = ElfImage(target.memory(), module->base).find_symbol("g_dacTable");
  if (!table || table->size > max_dac_table) return std::nullopt;
  Address before = 0;
  for (std::uint64_t at = 0; at + target.pointer_size() <= table->size; at += target.pointer_size()) {
    const Address slot = target.read_pointer(table->address + at);
    if (slot == flags && before != 0) return before;
    before = slot;
  }
  return std::nullopt;
}

std::optional<CodeNotifications> find(Runtime& runtime) {
  const Target& target = *runtime.target();
  const auto flags = target.find_global("DacNotificationFlags");
  const auto arguments = target.find_global("ClrNotificationArguments");
  if (!flags || !arguments) return std::nullopt;
  std::optional<Address> variable = target.find_global("JITNotificationTable");
  if (!variable) variable = variable_before(runtime, *flags);
  if (!variable) return std::nullopt;
  const Address table = target.read_pointer(*variable);
  if (table == 0) return std::nullopt;
  // A table that is none has another word there.
  const std::uint32_t used = target.read_u32(table + layout_of(target).token);
  if (used > max_notified_methods) return std::nullopt;
  return CodeNotifications{.table = table, .flags = *flags, .arguments = *arguments};
}

} // namespace

std::optional<CodeNotifications> find_code_notifications(Runtime& runtime) {
  if (runtime.absence() != nullptr || runtime.target() == nullptr) return std::nullopt;
  try {
    return find(runtime);
  } catch (const Error&) {
    return std::nullopt;
  }
}

std::vector<TargetWrite> notify_of(const Target& target, const CodeNotifications& places,
                                   std::span<const MethodKey> methods) {
  if (methods.size() > max_notified_methods)
    throw Error(ErrorKind::invalid_argument, fmt::format("the runtime tells of {} methods at once, not {}",
                                                         max_notified_methods, methods.size()));
  const RowLayout row = layout_of(target);
  const ByteOrder order = target.platform().byte_order;
  std::vector<std::byte> rows(methods.size() * row.size), count(4), flags(4);
  for (std::size_t i = 0; i < methods.size(); ++i) {
    const std::span<std::byte> at = std::span(rows).subspan(i * row.size, row.size);
    put(at, row.state, when_generated, state_size, order);
    put(at, row.module, methods[i].module, target.pointer_size(), order);
    put(at, row.token, methods[i].token, token_size, order);
  }
  put(count, 0, methods.size(), 4, order);
  put(flags, 0, methods.empty() ? 0 : on_module_load, 4, order);
  std::vector<TargetWrite> writes;
  if (!rows.empty()) writes.push_back({places.table + row.size, std::move(rows)});
  writes.push_back({places.table + row.token, std::move(count)});
  writes.push_back({places.flags, std::move(flags)});
  return writes;
}

CodeNotification read_notification(const Target& target, const CodeNotifications& places) {
  const auto argument = [&](unsigned i) {
    return target.read_pointer(places.arguments + i * target.pointer_size());
  };
  switch (argument(0)) {
  case module_load_kind:
    return ModuleLoaded{argument(1)};
  case code_kind:
    return CodeReady{.method_desc = argument(1), .code = argument(2)};
  default:
    return {};
  }
}

} // namespace clr
