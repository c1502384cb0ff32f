// A synthetic runtime of one or two modules whose methods breakpoints may mean.
#pragma once

#include "core/runtime/runtime.h"
#include "tests/types/runtime_types.h"

#include <vector>

namespace clr::test {

// app.dll: 1 Shop.Orders.Place(), 2 Shop.Orders.get_Count(), 3 Shop.Orders+<Place>d__1.MoveNext(),
// 4 Shop.Orders+<>c.<Place>b__0(), 5 Shop.Other.Place(), 6 Shop.Other.IShop.Place(), 7 Shop.Other.Replace().
// late.dll, which is in no app domain: 1 Late.Orders.Place().
struct WatchedProgram {
  explicit WatchedProgram(Platform platform = {.pointer_size = 8,
                                               .byte_order = ByteOrder::little,
                                               .cpu = Cpu::x64,
                                               .os = Os::unix_like})
      : types(platform) {
    const Bytes nothing = bytes_of({0, 0, 1});
    MetadataBuilder metadata;
    metadata.assembly("app");
    const std::uint32_t orders = metadata.type("Shop", "Orders");
    metadata.method("Place", nothing);
    metadata.method("get_Count", nothing);
    metadata.nested("<Place>d__1", orders);
    metadata.method("MoveNext", nothing);
    metadata.nested("<>c", orders);
    metadata.method("<Place>b__0", nothing);
    metadata.type("Shop", "Other");
    metadata.method("Place", nothing);
    metadata.method("IShop.Place", nothing);
    metadata.method("Replace", nothing);
    app = types.module(
        {.path = "/app/app.dll", .file_name = "app.dll", .simple_name = "app", .metadata = metadata.build()});
    MetadataBuilder other;
    other.assembly("late");
    other.type("Late", "Orders");
    other.method("Place", nothing);
    late = types.module(
        {.path = "/app/late.dll", .file_name = "late.dll", .simple_name = "late", .metadata = other.build()});
    edited = types.module({.path = "/app/edited.dll",
                           .file_name = "edited.dll",
                           .simple_name = "edited",
                           .metadata = other.build(),
                           .flags = 0x8811 | 0x8});
    types.app_domain({app});
  }

  Runtime runtime() {
    return {types.target.memory(),
            {{.path = "/usr/share/dotnet/libcoreclr.so",
              .base = 0x20'0000,
              .size = 0x1'0000,
              .build_id = {},
              .contract_descriptor = types.target.write_descriptor()}},
            types.target.platform(),
            nullptr};
  }

  RuntimeTypes types;
  Address app = 0, late = 0, edited = 0;
};

} // namespace clr::test
