#include "tests/types/sample_runtime.h"

namespace clr::test {
namespace {

// Rows that are named below by their rids.
Bytes core_lib_metadata() {
  MetadataBuilder metadata;
  metadata.assembly("System.Private.CoreLib");
  metadata.type("System", "Int32");                      // 2
  metadata.type("System", "String");                     // 3
  metadata.type("System", "__Canon");                    // 4
  metadata.type("System.Collections.Generic", "List`1"); // 5
  metadata.generic_parameter(MetadataTable::type_def, 5, 0, "T");
  metadata.method("Add", bytes_of({0x20, 1, 0x01, 0x13, 0})); // 1: instance void Add(!0)
  return metadata.build();
}

Bytes app_metadata() {
  MetadataBuilder metadata;
  metadata.assembly("app");
  const auto outer = metadata.type("Ns", "Outer");                     // 2
  metadata.nested("Inner", outer);                                     // 3
  metadata.method("Run", bytes_of({0x20, 2, 0x01, 0x08, 0x1d, 0x0e})); // 1: instance void Run(int, string[])
  metadata.method("Map", bytes_of({0x10, 1, 2, 0x01, 0x1e, 0, 0x10, 0x08})); // 2: void Map<T>(!!0, ref int)
  metadata.generic_parameter(MetadataTable::method_def, 2, 0, "T");
  const auto pair = metadata.type("Ns", "Pair`1"); // 4
  metadata.generic_parameter(MetadataTable::type_def, pair, 0, "A");
  const auto node = metadata.nested("Node`1", pair); // 5
  metadata.generic_parameter(MetadataTable::type_def, node, 0, "A");
  metadata.generic_parameter(MetadataTable::type_def, node, 1, "B");
  metadata.method("Link", bytes_of({0x20, 2, 0x01, 0x13, 0, 0x13, 1})); // 3: instance void Link(!0, !1)
  metadata.type("Ns", "Call");                                          // 6: a delegate
  metadata.method("Invoke", bytes_of({0x20, 1, 0x08, 0x0f, 0x01}));     // 4: instance int Invoke(void*)
  metadata.method("getpid", bytes_of({0x00, 0, 0x08}));                 // 5
  metadata.type("Ns", "Tiers");                                         // 7
  metadata.method("Switched", bytes_of({0x00, 0, 0x01}));               // 6
  metadata.method("Versioned", bytes_of({0x00, 0, 0x01}));              // 7
  return metadata.build();
}

Bytes join(Bytes first, const Bytes& second, const Bytes& third = {}) {
  first.insert(first.end(), second.begin(), second.end());
  first.insert(first.end(), third.begin(), third.end());
  return first;
}

} // namespace

SampleRuntime::SampleRuntime(Platform platform, unsigned seed) : runtime(platform, seed) {
  using Generic = MethodTable::Generic;
  using C = MethodClassification;
  core_lib = runtime.module({.path = "/fx/System.Private.CoreLib.dll",
                             .simple_name = "System.Private.CoreLib",
                             .metadata = core_lib_metadata(),
                             .place = MetadataPlace::mapped});
  app = runtime.module({.path = "/srv/app.dll",
                        .simple_name = "app",
                        .metadata = app_metadata(),
                        .place = MetadataPlace::flat});
  const Address int32 = runtime.type({.module = core_lib, .rid = 2, .category = 0x0007'0000});
  const Address string = runtime.type({.module = core_lib, .rid = 3});
  const Address canon = runtime.type({.module = core_lib, .rid = 4});
  list_of_int = runtime.type({.module = core_lib, .rid = 5, .generic = Generic::exact, .arguments = {int32}});
  const Address list_of_canon = runtime.type({.module = core_lib,
                                              .rid = 5,
                                              .generic = Generic::shared,
                                              .arguments = {canon},
                                              .inherited_dictionaries = 2});
  const Address open_list = runtime.type({.module = core_lib, .rid = 5, .generic = Generic::definition});
  const Address inner = runtime.type({.module = app, .rid = 3});
  // Arrays live in the module of their elements.
  const Address strings = runtime.array_of(string);
  runtime.target.set(strings, "MethodTable", "Module", core_lib);
  const Address node = runtime.type({.module = app,
                                     .rid = 5,
                                     .category = 0x0004'0000,
                                     .generic = Generic::exact,
                                     .arguments = {strings, runtime.type_desc(0x0f, int32)}});
  const Address call = runtime.type({.module = app, .rid = 6});
  const Address matrix = runtime.array_of(string, 2);
  runtime.target.set(matrix, "MethodTable", "Module", core_lib);

  tiered = runtime.method(inner, {.rid = 1, .flags3 = 8});
  const auto others = runtime.chunk(runtime.type({.module = app, .rid = 7}),
                                    {{.rid = 6, .flags3 = 8}, {.rid = 7, .flags3 = 8}});
  switched = others[0];
  versioned = others[1];
  methods.push_back({tiered, "Ns.Outer.Inner.Run(int, string[])",
                     "Ns.Outer+Inner.Run(Int32, System.String[])", MethodKind::il});
  methods.push_back({runtime.method(list_of_int, {.rid = 1}), "System.Collections.Generic.List<int>.Add(int)",
                     "System.Collections.Generic.List`1[[System.Int32, System.Private.CoreLib]].Add(Int32)",
                     MethodKind::il});
  methods.push_back(
      {runtime.method(list_of_canon, {.rid = 1}),
       "System.Collections.Generic.List<System.__Canon>.Add(System.__Canon)",
       "System.Collections.Generic.List`1[[System.__Canon, System.Private.CoreLib]].Add(System.__Canon)",
       MethodKind::il});
  methods.push_back({runtime.method(open_list, {.rid = 1}), "System.Collections.Generic.List<T>.Add(T)",
                     "System.Collections.Generic.List`1.Add(!!0)", MethodKind::il});
  methods.push_back(
      {runtime.method(inner,
                      {.rid = 2, .kind = C::instantiated, .instantiation = 2, .arguments = {list_of_int}}),
       "Ns.Outer.Inner.Map<System.Collections.Generic.List<int>>(System.Collections.Generic.List<int>, ref "
       "int)",
       "Ns.Outer+Inner.Map[[System.Collections.Generic.List`1[[System.Int32, System.Private.CoreLib]], "
       "System.Private.CoreLib]](System.Collections.Generic.List`1<Int32>, Int32 ByRef)",
       MethodKind::instantiated});
  methods.push_back(
      {runtime.method(inner, {.rid = 2, .kind = C::instantiated, .instantiation = 1, .arguments = {0xbad0}}),
       "Ns.Outer.Inner.Map<T>(T, ref int)", "Ns.Outer+Inner.Map(!!0, Int32 ByRef)",
       MethodKind::instantiated});
  methods.push_back({runtime.method(node, {.rid = 3}), "Ns.Pair<string[]>.Node<int*>.Link(string[], int*)",
                     "Ns.Pair`1+Node`1[[System.String[], System.Private.CoreLib],[System.Int32*, "
                     "System.Private.CoreLib]].Link(System.String[], Int32*)",
                     MethodKind::il});
  methods.push_back({runtime.method(call, {.rid = 4, .kind = C::eeimpl}), "Ns.Call.Invoke(void*)",
                     "Ns.Call.Invoke(Void*)", MethodKind::eeimpl});
  methods.push_back({runtime.method(call, {.rid = 5, .kind = C::pinvoke}), "Ns.Call.getpid()",
                     "Ns.Call.getpid()", MethodKind::pinvoke});
  // 4 virtual slots and 2 others come before the methods of an array.
  const auto accessors = runtime.chunk(
      matrix, {{.kind = C::array, .slot = 6, .signature = bytes_of({0x20, 2, 0x13, 0, 0x08, 0x08})},
               {.kind = C::array, .slot = 7, .signature = bytes_of({0x20, 3, 0x01, 0x08, 0x08, 0x13, 0})},
               {.kind = C::array, .slot = 8, .signature = bytes_of({0x20, 2, 0x10, 0x13, 0, 0x08, 0x08})},
               {.kind = C::array, .slot = 9, .signature = bytes_of({0x20, 2, 0x01, 0x08, 0x08})}});
  methods.push_back(
      {accessors[0], "string[,].Get(int, int)", "System.String[,].Get(Int32, Int32)", MethodKind::array});
  methods.push_back({accessors[1], "string[,].Set(int, int, string)",
                     "System.String[,].Set(Int32, Int32, System.String)", MethodKind::array});
  methods.push_back({accessors[2], "string[,].Address(int, int)", "System.String[,].Address(Int32, Int32)",
                     MethodKind::array});
  methods.push_back(
      {accessors[3], "string[,]..ctor(int, int)", "System.String[,]..ctor(Int32, Int32)", MethodKind::array});
  methods.push_back({runtime.method(inner, {.kind = C::dynamic,
                                            .name = "Lambda",
                                            .signature = join(bytes_of({0x00, 2, 0x08, 0x21}),
                                                              runtime.handle_bytes(inner), bytes_of({0x1c})),
                                            .extended_flags = 0x4000}),
                     "DynamicClass.Lambda(Ns.Outer.Inner, object)",
                     "DynamicClass.Lambda(Inner, System.Object)", MethodKind::dynamic});
  methods.push_back({runtime.method(call, {.kind = C::dynamic,
                                           .name = "IL_STUB_PInvoke",
                                           .signature = join(bytes_of({0x00, 1, 0x01, 0x10, 0x21}),
                                                             runtime.handle_bytes(call)),
                                           .extended_flags = 0x8001}),
                     "ILStubClass.IL_STUB_PInvoke(ref Ns.Call)", "ILStubClass.IL_STUB_PInvoke(Ns.Call ByRef)",
                     MethodKind::il_stub});
}

} // namespace clr::test
