#include "tests/objects/object_runtime.h"

namespace clr::test {
namespace {

constexpr std::uint32_t value_category = 0x0004'0000, nullable_category = 0x0005'0000,
                        enum_category = 0x0006'0000, primitive_category = 0x0007'0000;
constexpr std::uint32_t field_static = 0x10, field_literal = 0x50;

// A type whose fields are the rows that follow.
std::uint32_t begin_type(MetadataBuilder& metadata, std::string_view name_space, std::string_view name) {
  const std::uint32_t rid = metadata.type(name_space, name);
  metadata.set(MetadataTable::type_def, rid, 4, metadata.rows(MetadataTable::field) + 1);
  return rid;
}

std::uint32_t field(MetadataBuilder& metadata, std::string_view name, std::initializer_list<unsigned> type,
                    std::uint32_t flags = 0) {
  Bytes signature = bytes_of({6});
  for (const unsigned byte : type) signature.push_back(static_cast<std::byte>(byte));
  return metadata.add(MetadataTable::field, {flags, metadata.string(name), metadata.blob(signature)});
}

void enumerator(MetadataBuilder& metadata, std::string_view name, unsigned type_def, unsigned value) {
  const std::uint32_t rid = field(metadata, name, {0x11, type_def << 2}, field_literal);
  metadata.add(MetadataTable::constant, {0x08, 0, rid << 2, metadata.blob(bytes_of({value, 0, 0, 0}))});
}

Bytes core_lib_metadata() {
  MetadataBuilder metadata;
  metadata.assembly("System.Private.CoreLib");
  begin_type(metadata, "System", "Object");                                       // 2
  begin_type(metadata, "System", "String");                                       // 3
  begin_type(metadata, "System", "Int32");                                        // 4
  begin_type(metadata, "System", "Char");                                         // 5
  begin_type(metadata, "System", "DateTime");                                     // 6
  field(metadata, "_dateData", {0x0b});                                           // field 1
  const auto list = begin_type(metadata, "System.Collections.Generic", "List`1"); // 7
  metadata.generic_parameter(MetadataTable::type_def, list, 0, "T");
  field(metadata, "_items", {0x1d, 0x13, 0});                         // 2
  field(metadata, "_size", {0x08});                                   // 3
  const auto nullable = begin_type(metadata, "System", "Nullable`1"); // 8
  metadata.generic_parameter(MetadataTable::type_def, nullable, 0, "T");
  field(metadata, "hasValue", {0x02});              // 4
  field(metadata, "value", {0x13, 0});              // 5
  begin_type(metadata, "System", "Exception");      // 9
  field(metadata, "_message", {0x0e});              // 6
  begin_type(metadata, "System", "FlagsAttribute"); // 10
  metadata.method(".ctor", bytes_of({0x20, 0, 0x01}));
  begin_type(metadata, "System", "TimeSpan"); // 11
  field(metadata, "_ticks", {0x0a});          // 7
  begin_type(metadata, "System", "DateOnly"); // 12
  field(metadata, "_dayNumber", {0x08});      // 8
  begin_type(metadata, "System", "TimeOnly"); // 13
  field(metadata, "_ticks", {0x0b});          // 9
  begin_type(metadata, "System", "Guid");     // 14
  field(metadata, "_a", {0x08});              // 10
  field(metadata, "_b", {0x06});              // 11
  field(metadata, "_c", {0x06});              // 12
  for (const char* const name : {"_d", "_e", "_f", "_g", "_h", "_i", "_j", "_k"})
    field(metadata, name, {0x05});                                    // 13 to 20
  begin_type(metadata, "System", "Decimal");                          // 15
  field(metadata, "_flags", {0x08});                                  // 21
  field(metadata, "_hi32", {0x09});                                   // 22
  field(metadata, "_lo64", {0x0b});                                   // 23
  begin_type(metadata, "System.Collections.Generic", "Entry");        // 16
  field(metadata, "next", {0x08});                                    // 24
  field(metadata, "Next", {0x08});                                    // 25
  field(metadata, "key", {0x08});                                     // 26
  field(metadata, "value", {0x0e});                                   // 27
  field(metadata, "Value", {0x08});                                   // 28
  begin_type(metadata, "System.Collections.Generic", "Dictionary`2"); // 17
  field(metadata, "_entries", {0x1d, 0x11, 16u << 2});                // 29
  field(metadata, "_count", {0x08});                                  // 30
  field(metadata, "_freeCount", {0x08});                              // 31
  begin_type(metadata, "System.Collections.Generic", "HashSet`1");    // 18
  field(metadata, "_entries", {0x1d, 0x11, 16u << 2});                // 32
  field(metadata, "_count", {0x08});                                  // 33
  field(metadata, "_freeCount", {0x08});                              // 34
  begin_type(metadata, "System", "Delegate");                         // 19
  field(metadata, "_methodPtr", {0x18});                              // 35
  field(metadata, "_methodPtrAux", {0x18});                           // 36
  begin_type(metadata, "System", "Numbers");                          // 20: one of every number
  for (const unsigned number : {0x02u, 0x04u, 0x05u, 0x06u, 0x0au, 0x0cu, 0x0du, 0x18u})
    field(metadata, "_", {number});                  // 37 to 44
  field(metadata, "_", {0x0f, 0x08});                // 45: a pointer
  begin_type(metadata, "System", "__Canon");         // 21
  begin_type(metadata, "System", "Task");            // 22
  field(metadata, "m_taskId", {0x08});               // 46
  field(metadata, "m_stateFlags", {0x08});           // 47
  begin_type(metadata, "System", "Builder");         // 23
  field(metadata, "m_task", {0x1c});                 // 48
  begin_type(metadata, "System", "<Run>d");          // 24
  field(metadata, "<>1__state", {0x08});             // 49
  field(metadata, "<>t__builder", {0x11, 23u << 2}); // 50
  return metadata.build();
}

Bytes app_metadata() {
  MetadataBuilder metadata;
  metadata.assembly("app");
  const auto core = metadata.assembly_ref("System.Private.CoreLib");
  metadata.type_ref("System", "FlagsAttribute", core);             // TypeRef 1
  metadata.type_ref("System", "DateTime", core);                   // 2
  metadata.type_ref("System.Collections.Generic", "List`1", core); // 3
  metadata.add(MetadataTable::member_ref,
               {1u << 3 | 1, metadata.string(".ctor"), metadata.blob(bytes_of({0x20, 0, 0x01}))});
  const auto color = begin_type(metadata, "Ns", "Color");   // 2
  field(metadata, "value__", {0x08});                       // field 1
  enumerator(metadata, "Red", color, 0);                    // 2
  enumerator(metadata, "Blue", color, 2);                   // 3
  const auto access = begin_type(metadata, "Ns", "Access"); // 3
  field(metadata, "value__", {0x08});                       // 4
  enumerator(metadata, "None", access, 0);                  // 5
  enumerator(metadata, "Read", access, 1);                  // 6
  enumerator(metadata, "Write", access, 2);                 // 7
  metadata.add(MetadataTable::custom_attribute, {access << 5 | 3, 1u << 3 | 3, 0});
  begin_type(metadata, "Ns", "Point");                           // 4
  field(metadata, "X", {0x08});                                  // 8
  field(metadata, "Y", {0x08});                                  // 9
  begin_type(metadata, "Ns", "Animal");                          // 5
  field(metadata, "Name", {0x0e});                               // 10
  field(metadata, "Made", {0x08}, field_static);                 // 11
  field(metadata, "Kingdom", {0x0e}, field_static);              // 12
  begin_type(metadata, "Ns", "Dog");                             // 6
  field(metadata, "Friend", {0x12, 5u << 2});                    // 13
  field(metadata, "<Place>k__BackingField", {0x11, 4u << 2});    // 14
  field(metadata, "Born", {0x11, 2u << 2 | 1});                  // 15
  field(metadata, "Scores", {0x15, 0x12, 3u << 2 | 1, 1, 0x08}); // 16: List<int>
  begin_type(metadata, "Ns", "Buffer");                          // 7
  field(metadata, "FixedElementField", {0x05});                  // 17
  // Specifications: List<int>, and one that consists of itself.
  for (const Bytes& type : {bytes_of({0x15, 0x12, 3u << 2 | 1, 1, 0x08}), bytes_of({0x12, 2u << 2 | 2})})
    metadata.add(MetadataTable::type_spec, {metadata.blob(type)});
  // Types that only locals have: int[,], ref int, pinned ref int, delegate*<int, int>, the specifications,
  // !!0, a modified int, TypedReference, void*; lists of Point, int[], int*, Dog, object.
  const auto list_of = [](std::initializer_list<unsigned> argument) {
    Bytes type = bytes_of({0x15, 0x12, 3u << 2 | 1, 1});
    append(type, bytes_of(argument));
    return type;
  };
  for (const Bytes& type :
       {bytes_of({0x14, 0x08, 2, 0, 0}), bytes_of({0x10, 0x08}), bytes_of({0x45, 0x10, 0x08}),
        bytes_of({0x1b, 0x00, 1, 0x08, 0x08}), bytes_of({0x12, 1u << 2 | 2}), bytes_of({0x12, 2u << 2 | 2}),
        bytes_of({0x1e, 0}), bytes_of({0x20, 1u << 2 | 1, 0x08}), bytes_of({0x16}), bytes_of({0x0f, 0x01}),
        list_of({0x11, 4u << 2}), list_of({0x1d, 0x08}), list_of({0x0f, 0x08}), list_of({0x12, 6u << 2}),
        list_of({0x1c}), list_of({0x14, 0x08, 2, 0, 0})}) {
    Bytes locals = bytes_of({0x07, 1});
    append(locals, type);
    metadata.add(MetadataTable::stand_alone_sig, {metadata.blob(locals)});
  }
  metadata.add(MetadataTable::stand_alone_sig, {metadata.blob(bytes_of({0x06, 0x08}))}); // that of a field
  return metadata.build();
}

} // namespace

ObjectRuntime::ObjectRuntime(Platform platform) : runtime(platform), memory(runtime.target.memory()) {
  describe();
  const unsigned p = runtime.pointer();
  core_lib = runtime.module({.path = "/fx/System.Private.CoreLib.dll",
                             .simple_name = "System.Private.CoreLib",
                             .metadata = core_lib_metadata()});
  app = runtime.module({.path = "/srv/app.dll", .simple_name = "app", .metadata = app_metadata()});
  using Generic = MethodTable::Generic;
  object_type = runtime.type({.module = core_lib, .rid = 2});
  shape(object_type, 0, 0, {});
  string_type = runtime.type({.module = core_lib, .rid = 3});
  runtime.target.set(string_type, "MethodTable", "MTFlags", 0x8000'0002);
  shape(string_type, 6, 0, {});
  int_type = runtime.type({.module = core_lib, .rid = 4, .category = primitive_category});
  shape(int_type, 4, 0, {});
  char_type = runtime.type({.module = core_lib, .rid = 5, .category = primitive_category});
  shape(char_type, 2, 0, {});
  runtime.overlay(runtime.ee_class_of(int_type), "EEClass", {{"InternalCorElementType", 0x08}});
  runtime.overlay(runtime.ee_class_of(char_type), "EEClass", {{"InternalCorElementType", 0x03}});
  date_type = runtime.type({.module = core_lib, .rid = 6, .category = value_category});
  shape(date_type, 8, 0, {{1, 0, 0x0b}});
  list_of_int =
      runtime.type({.module = core_lib, .rid = 7, .generic = Generic::exact, .arguments = {int_type}});
  shape(list_of_int, p + 4, 0, {{2, 0, 0x1d}, {3, p, 0x08}});
  const Address open_list = runtime.type({.module = core_lib, .rid = 7, .generic = Generic::definition});
  nullable_int = runtime.type({.module = core_lib,
                               .rid = 8,
                               .category = nullable_category,
                               .generic = Generic::exact,
                               .arguments = {int_type}});
  shape(nullable_int, 8, 0, {{4, 0, 0x02}, {5, 4, 0x13}});
  exception_type = runtime.type({.module = core_lib, .rid = 9});
  shape(exception_type, p, 0, {{6, 0, 0x0e}});
  color_type = runtime.type({.module = app, .rid = 2, .category = enum_category});
  shape(color_type, 4, 0, {{1, 0, 0x08}});
  access_type = runtime.type({.module = app, .rid = 3, .category = enum_category});
  shape(access_type, 4, 0, {{4, 0, 0x08}});
  for (const Address type : {color_type, access_type})
    runtime.overlay(runtime.ee_class_of(type), "EEClass", {{"InternalCorElementType", 0x08}});
  point_type = runtime.type({.module = app, .rid = 4, .category = value_category});
  shape(point_type, 8, 0, {{8, 0, 0x08}, {9, 4, 0x08}});
  buffer_type = runtime.type({.module = app, .rid = 7, .category = value_category});
  shape(buffer_type, 5, 0, {{17, 0, 0x05}});
  animal_type = runtime.type({.module = app, .rid = 5});
  shape(animal_type, p, 0, {{10, 0, 0x0e}, {11, 16, 0x08, true}, {12, 24, 0x0e, true}});
  dog_type = runtime.type({.module = app, .rid = 6});
  shape(dog_type, 3 * p + 16, 1,
        {{16, 2 * p, 0x15}, {13, p, 0x12}, {14, 3 * p, 0x11}, {15, 3 * p + 8, 0x11}});
  const auto value_type = [&](std::uint32_t rid, std::uint32_t size, const std::vector<Field>& fields) {
    const Address type = runtime.type({.module = core_lib, .rid = rid, .category = value_category});
    shape(type, size, 0, fields);
    return type;
  };
  time_span_type = value_type(11, 8, {{7, 0, 0x0a}});
  date_only_type = value_type(12, 4, {{8, 0, 0x08}});
  time_only_type = value_type(13, 8, {{9, 0, 0x0b}});
  std::vector<Field> parts{{10, 0, 0x08}, {11, 4, 0x06}, {12, 6, 0x06}};
  for (std::uint32_t i = 0; i < 8; ++i) parts.push_back({13 + i, 8 + i, 0x05});
  guid_type = value_type(14, 16, parts);
  decimal_type = value_type(15, 16, {{21, 0, 0x08}, {22, 4, 0x09}, {23, 8, 0x0b}});
  entry_type =
      value_type(16, 4 * 4 + p,
                 {{27, 0, 0x0e}, {24, p, 0x08}, {25, p + 4, 0x08}, {26, p + 8, 0x08}, {28, p + 12, 0x08}});
  entries_type = runtime.array_of(entry_type);
  runtime.target.set(entries_type, "MethodTable", "Module", core_lib);
  runtime.target.set(entries_type, "MethodTable", "MTFlags", 0x800a'0000u | (16 + p));
  numbers_type = value_type(20, 40,
                            {{37, 0, 0x02},
                             {38, 1, 0x04},
                             {39, 2, 0x05},
                             {40, 4, 0x06},
                             {41, 8, 0x0a},
                             {42, 16, 0x0c},
                             {43, 24, 0x0d},
                             {44, 32, 0x18},
                             {45, 32, 0x0f}});
  dictionary_type = runtime.type({.module = core_lib, .rid = 17});
  shape(dictionary_type, p + 8, 0, {{29, 0, 0x1d}, {30, p, 0x08}, {31, p + 4, 0x08}});
  hash_set_type = runtime.type({.module = core_lib, .rid = 18});
  shape(hash_set_type, p + 8, 0, {{32, 0, 0x1d}, {33, p, 0x08}, {34, p + 4, 0x08}});
  canon_type = runtime.type({.module = core_lib, .rid = 21});
  shape(canon_type, 0, 0, {});
  task_type = runtime.type({.module = core_lib, .rid = 22});
  shape(task_type, 8, 0, {{46, 0, 0x08}, {47, 4, 0x08}});
  builder_type = value_type(23, p, {{48, 0, 0x12}});
  machine_type = runtime.type({.module = core_lib, .rid = 24});
  shape(machine_type, 2 * p, 0, {{49, p, 0x08}, {50, 0, 0x11}});
  delegate_type = runtime.type({.module = core_lib, .rid = 19});
  shape(delegate_type, 2 * p, 0, {{35, 0, 0x18}, {36, p, 0x18}});
  for (const Address type : {string_type, animal_type, exception_type, delegate_type})
    runtime.target.set(type, "MethodTable", "ParentMethodTable", object_type);
  runtime.target.set(dog_type, "MethodTable", "ParentMethodTable", animal_type);
  ints_type = runtime.array_of(int_type);
  objects_type = runtime.array_of(object_type);
  grid_type = runtime.array_of(int_type, 2);
  for (const Address type : {ints_type, objects_type, grid_type})
    runtime.target.set(type, "MethodTable", "Module", core_lib);
  for (const Address type : {ints_type, grid_type}) {
    const bool vector = type == ints_type;
    runtime.target.set(type, "MethodTable", "MTFlags", (vector ? 0x800a'0000u : 0x8008'0000u) | 4);
  }
  map_types(core_lib, {{2, object_type},
                       {3, string_type},
                       {4, int_type},
                       {6, date_type},
                       {7, open_list},
                       {9, exception_type},
                       {11, time_span_type},
                       {14, guid_type},
                       {15, decimal_type},
                       {23, builder_type}});
  map_types(app, {{2, color_type},
                  {3, access_type},
                  {4, point_type},
                  {5, animal_type},
                  {6, dog_type},
                  {7, buffer_type}});
  runtime.app_domain({core_lib, app});
  runtime.target.variable("ObjectMethodTable", object_type);
  runtime.target.variable("StringMethodTable", string_type);
  // The instances of generic types: one chain, which ends with a tagged pointer.
  const Address entry = runtime.target.record("TypeHashEntry", {{"Value", list_of_int}, {"Next", 1}});
  const Address buckets = memory.allocate(std::size_t{4} * p);
  memory.at(buckets).pointer(Address{1}).pointer(Address{0}).pointer(Address{1}).pointer(entry);
  runtime.target.set(core_lib, "Module", "AvailableTypeParams",
                     runtime.target.record("EETypeHashTable", {{"Buckets", buckets}, {"Count", 1}}));
  // The statics of Animal lie in front of its auxiliary data.
  const std::uint64_t statics = runtime.target.size_of("DynamicStaticsInfo");
  const Address info = memory.allocate(statics + 4 * std::size_t{p});
  runtime.overlay(info, "DynamicStaticsInfo", {{"GCStatics", 0x50'0001}, {"NonGCStatics", 0x60'0000}});
  runtime.target.set(animal_type, "MethodTable", "AuxiliaryData", info + statics);
  runtime.target.set(animal_type, "MethodTable", "MTFlags2", 5u << 8 | 2);
}

void ObjectRuntime::describe() {
  const std::int64_t p = runtime.pointer();
  using W = Width;
  runtime.target
      .type("EEClass", {{"InternalCorElementType", W::u8, 0, 9 * p},
                        {"BaseSizePadding", W::u8},
                        {"NumInstanceFields", W::u16},
                        {"NumStaticFields", W::u16}})
      .type("FieldDesc", {{"MTOfEnclosingClass"}, {"DWord1", W::u32}, {"DWord2", W::u32}})
      .type("Object", {{"m_pMethTab"}})
      .type("String", {{"m_pMethTab"}, {"m_StringLength", W::u32}, {"m_FirstChar", W::u16}})
      .type("Array", {{"m_pMethTab"}, {"m_NumComponents", W::u32}}, static_cast<std::uint32_t>(2 * p))
      .type("Module",
            {{"AvailableTypeParams"}, {"TypeRefToMethodTableMap", W::bytes, static_cast<std::size_t>(4 * p)}})
      .type("EETypeHashTable", {{"Buckets"},
                                {"Count", W::u32},
                                {"VolatileEntryValue", W::pointer, 0, 0},
                                {"VolatileEntryNextEntry", W::pointer, 0, p}})
      .type("TypeHashEntry", {{"Value"}, {"Next"}})
      .type("DynamicStaticsInfo", {{"GCStatics"}, {"NonGCStatics"}, {"MethodTable"}});
  runtime.target.global("ObjectToMethodTableUnmask", 7, "uint8")
      .global("StaticsPointerMask", ~std::uint64_t{1});
}

void ObjectRuntime::shape(Address type, std::uint32_t field_bytes, unsigned inherited,
                          const std::vector<Field>& fields) {
  const unsigned p = runtime.pointer();
  const std::uint32_t base_size = std::max(3 * p, 2 * p + (field_bytes + p - 1) / p * p);
  runtime.target.set(type, "MethodTable", "BaseSize", base_size);
  const std::size_t statics = static_cast<std::size_t>(
      std::count_if(fields.begin(), fields.end(), [](const Field& f) { return f.is_static; }));
  const Address list =
      memory.allocate(std::max<std::size_t>(1, fields.size()) * runtime.target.size_of("FieldDesc"));
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const Field& f = fields[i];
    runtime.overlay(list + i * runtime.target.size_of("FieldDesc"), "FieldDesc",
                    {{"MTOfEnclosingClass", type},
                     {"DWord1", f.rid | (f.is_static ? 1u << 24 : 0)},
                     {"DWord2", f.offset | f.element << 27}});
  }
  runtime.overlay(runtime.ee_class_of(type), "EEClass",
                  {{"FieldDescList", fields.empty() ? 0 : list},
                   {"BaseSizePadding", base_size - field_bytes},
                   {"NumInstanceFields", inherited + fields.size() - statics},
                   {"NumStaticFields", statics}});
}

void ObjectRuntime::map_types(Address module, const std::map<std::uint32_t, Address>& types) {
  const unsigned p = runtime.pointer();
  const std::uint32_t count = std::max(16u, types.rbegin()->first + 1);
  const Address table = memory.allocate(std::size_t{count} * p);
  for (const auto& [rid, type] : types) memory.at(table + rid * p).pointer(type | 1);
  const Address map =
      module + static_cast<Address>(runtime.target.offset("Module", "TypeDefToMethodTableMap"));
  runtime.overlay(map, "ModuleLookupMap",
                  {{"TableData", table}, {"Count", count}, {"SupportedFlagsMask", 1}});
}

Address ObjectRuntime::instance(Address type, std::size_t fields_size) {
  const unsigned header = 2 * runtime.pointer(); // keeps the alignment of allocate()
  const Address object = memory.allocate(header + runtime.pointer() + fields_size) + header;
  memory.at(object).pointer(type);
  return object;
}

Address ObjectRuntime::string(std::u16string_view text) {
  const Address object = instance(string_type, 4 + 2 * (text.size() + 1));
  memory.at(fields_of(object)).u32(text.size()).utf16(text);
  return object;
}

Address ObjectRuntime::array(Address type, std::uint32_t count, std::size_t bytes) {
  const Address object = instance(type, runtime.pointer() + bytes);
  memory.at(fields_of(object)).u32(count);
  return object;
}

} // namespace clr::test
