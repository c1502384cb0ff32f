// Objects of a damaged runtime: their texts, the layouts of their types, types behind tokens and signatures.
#include "core/objects/inspected_object.h"
#include "core/objects/loaded_types.h"
#include "core/objects/object_condition.h"
#include "core/objects/object_path.h"
#include "core/objects/object_reader.h"
#include "core/objects/spelled_types.h"
#include "core/objects/state_machine.h"
#include "core/objects/static_fields.h"
#include "core/objects/thread_statics.h"
#include "core/objects/tuple_names.h"
#include "core/objects/type_search.h"
#include "core/objects/value_parts.h"
#include "core/runtime/heap_report.h"
#include "core/types/type_names.h"
#include "tests/fuzz/recorded_core.h"
#include "tests/objects/framework_types.h"
#include "tests/objects/union_types.h"

#include <array>
#include <set>

using namespace clr;
using namespace clr::fuzz;

namespace {

constexpr TextLimits limits{.string_units = 64, .elements = 6, .depth = 4, .text = 1024};

void tell(ObjectReader& objects, Address object) {
  const std::string text = objects.describe_object(object, limits);
  require(text.size() <= limits.text + 3, "a text has its length");
  attempt([&] { objects.layouts().of(objects.method_table_of(object)); });
}

TypeNamePtr generic_type(std::string name_space, std::string name, std::vector<TypeNamePtr> arguments) {
  TypeName type;
  type.shape = TypeShape::definition;
  type.name_space = std::move(name_space);
  type.chain = {std::move(name)};
  return instantiate(make_type(std::move(type)), std::move(arguments));
}

// Names of the elements of tuples: of the type itself, and of tuples of it that stand in other types. A name
// that is cut is taken apart, too.
void name_tuples(ObjectReader& objects, const TypeUsePtr& use) {
  const std::vector<std::string> names{"Id", "", "Far", "a", "b", "c", "d", "e", "Last", "Pair"};
  const TypeNamePtr pair = generic_type("System", "ValueTuple`2", {use->name, use->name});
  std::vector<TypeNamePtr> eight(7, use->name);
  eight.push_back(pair);
  const TypeNamePtr longest = generic_type("System", "ValueTuple`8", std::move(eight));
  TypeName array;
  array.shape = TypeShape::szarray;
  array.element = longest;
  const std::array types{use->name, pair, longest, make_type(std::move(array)),
                         generic_type("Ns", "Map`2", {pair, longest})};
  for (const TypeNamePtr& type : types)
    for (const bool generic : {false, true}) {
      TypeUse typed = *use;
      typed.name = type;
      if (type != use->name) typed.kind = TypeUse::Kind::reference;
      const TypeUsePtr named =
          with_tuple_names(objects.layouts(), std::make_shared<TypeUse>(std::move(typed)), names, generic);
      const std::string text = format_type(*named->name);
      without_tuple_names(text);
      for (const std::size_t length : {text.size(), text.size() - text.size() / 3, text.size() / 2})
        item_with_names(objects.layouts(), use, named_arguments(std::string_view(text).substr(0, length)));
    }
}

// The type of a handle: its layout, and a value of it at `at`.
void tell_type(ObjectReader& objects, Address type, Address at) {
  attempt([&] {
    const TypeLayout& layout = objects.layouts().of(type);
    for (const FieldLayout& field : layout.fields) require(field.type != nullptr, "a field has a type");
  });
  const TypeUsePtr use = objects.finder().of_handle(type);
  require(use != nullptr && use->name != nullptr, "a type has a name");
  attempt([&] { objects.layouts().size_of(*use); });
  name_tuples(objects, use);
  require(objects.describe_value(*use, at, limits).size() <= limits.text + 3, "a text has its length");
}

// Each of the object's fields compared with values of every kind, and conditions that are none.
void judge(ObjectReader& objects, Address object) {
  static constexpr std::array values{"0x10", "'y'",        "\"text\"",         "1.5", "-1",
                                     "null", "1970-01-02", "1970-01-02T00:00", "true"};
  static constexpr std::array signs{"=", "!=", "<", "<=", ">", ">="};
  constexpr std::size_t most_fields = 6, values_of_field = 3;
  attempt([&] {
    std::size_t number = 0;
    for (const InspectedField& field : inspect_object(objects, object, {.text = limits}).fields) {
      if (++number > most_fields) break;
      std::vector<std::string> all;
      for (std::size_t i = 0; i < values_of_field; ++i)
        all.push_back(field.name + " " + signs[number % signs.size()] + " " +
                      values[(object / 8 + number * values_of_field + i) % values.size()]);
      all.push_back(field.name + " <= " + field.value.text);
      for (const std::string& text : all)
        attempt([&] {
          ObjectConditions conditions(std::vector<std::string>{text});
          const bool first = conditions.hold(objects, object);
          require(conditions.hold(objects, object) == first, "a condition holds or does not");
          conditions.problem();
        });
    }
  });
  for (const char* const text : {"", "= 1", "Name", "Name['=']", "[\"a=b\"] = 1"})
    attempt([&] {
      std::string why;
      ObjectCondition(text).holds(objects, object, why);
    });
}

// The object as values, and the places that paths lead to from it.
void take_apart(ObjectReader& objects, Address object) {
  const InspectionLimits bounds{.text = limits, .items = 6, .structure_depth = 4};
  attempt([&] {
    const InspectedObject found = inspect_object(objects, object, bounds);
    require(found.items.size() <= bounds.items, "elements have their limit");
    for (const InspectedField& field : found.fields) {
      require(!field.value.type.empty(), "a value has a type");
      attempt([&] { follow_path(objects, object, "." + field.name + "[1]"); });
    }
  });
  StateMachines machines(objects.finder().target(), objects.layouts());
  attempt([&] {
    const auto machine = machines.read(objects.method_table_of(object), object);
    if (!machine) return;
    attempt([&] { machines.continuation(*machine); });
    attempt([&] { machines.is_done(*machine); });
    machines.task_number(*machine);
  });
  attempt([&] {
    ValueParts parts = ValueParts::of_object(objects, object);
    for (const std::uint64_t index :
         {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{5}, parts.count() - 1})
      attempt([&] {
        const auto part = parts.at(objects, index);
        if (!part) return;
        require(part->type != nullptr && index < parts.count(), "a part has a type");
        parts.find(part->name);
        if (part->type->kind == TypeUse::Kind::value)
          ValueParts::of_value(objects, part->type->method_table, part->at);
      });
    parts.find("[1]");
  });
  judge(objects, object);
  for (const char* const condition : {"_size >= 2", "Name = \"text\"", "Place.X < 1.5", "_items[0] != null",
                                      "value__ = Red", "Name > 'a'", "flag = true"}) {
    std::string why;
    if (!ObjectCondition(condition).holds(objects, object, why))
      require(!why.empty(), "a condition that cannot be judged says why");
  }
  for (const char* const path :
       {"[0]", "[1,1]", "[\"text\"]", ".Name._stringLength", "._items[1]", ".Place.X"})
    attempt([&] { follow_path(objects, object, path); });
}

class BuiltObjects final : public Scene {
public:
  explicit BuiltObjects(Platform platform) : built_(platform), framework_(built_) {
    const unsigned p = built_.runtime.pointer();
    const Address text = built_.string(u"a text"), empty = built_.string(u"");
    const Address ints = built_.array(built_.ints_type, 3, 12);
    built_.memory.at(built_.elements_of(ints)).u32(1).u32(2).u32(3);
    const Address grid = built_.array(built_.grid_type, 4, 32);
    built_.memory.at(built_.elements_of(grid)).u32(2).u32(2).u32(0).u32(0).u32(1).u32(2).u32(3).u32(4);
    const Address list = built_.instance(built_.list_of_int, p + 4);
    built_.memory.at(built_.fields_of(list)).pointer(ints).u32(2);
    const Address dog = built_.instance(built_.dog_type, 3 * p + 16);
    built_.memory.at(built_.fields_of(dog)).pointer(text).pointer(dog).pointer(list).u32(7).u32(8).u64(0);
    const Address mixed = built_.array(built_.objects_type, 3, 3 * p);
    built_.memory.at(built_.elements_of(mixed)).pointer(dog).pointer(mixed).pointer(text);
    const Address exception = built_.instance(built_.exception_type, p);
    built_.memory.at(built_.fields_of(exception)).pointer(text);
    objects_ = {text, empty, ints, grid, list, dog, mixed, exception};
    for (const Address type : {built_.int_type, built_.char_type, built_.color_type, built_.access_type,
                               built_.point_type, built_.nullable_int, built_.date_type}) {
      const Address box = built_.instance(type, 8);
      built_.memory.at(built_.fields_of(box)).u32(1).u32(1);
      objects_.push_back(box);
    }
    for (const Address type : {built_.time_span_type, built_.date_only_type, built_.time_only_type,
                               built_.guid_type, built_.decimal_type, built_.numbers_type}) {
      const Address box = built_.instance(type, 40);
      built_.memory.at(built_.fields_of(box)).u32(0).u32(7).u32(1).u32(0xffff'ffff).u64(ints);
      objects_.push_back(box);
      types_.push_back(type);
    }
    // Two entries and a removed one.
    const Address entries = built_.array(built_.entries_type, 4, 4 * (16 + std::size_t{p}));
    for (unsigned i = 0; i < 3; ++i) {
      const std::uint32_t next = i == 1 ? 0xffff'fffd : 0xffff'ffff;
      built_.memory.at(built_.elements_of(entries) + i * (16 + p))
          .pointer(text)
          .u32(next)
          .u32(next)
          .u32(i)
          .u32(i);
    }
    for (const Address type : {built_.dictionary_type, built_.hash_set_type}) {
      const Address map = built_.instance(type, p + 8);
      built_.memory.at(built_.fields_of(map)).pointer(entries).u32(3).u32(1);
      objects_.push_back(map);
    }
    auto heap = built_.runtime.execution.heap(0x0a0a'0000, 0x0a0a'c000);
    built_.runtime.execution.method(heap,
                                    {.start = 0x0a0a'0200,
                                     .size = 0x100,
                                     .method_desc = built_.runtime.method(built_.animal_type, {.rid = 1})});
    for (const Address aux : {Address{0}, Address{0x0a0a'0200}}) {
      const Address call = built_.instance(built_.delegate_type, 2 * p);
      built_.memory.at(built_.fields_of(call)).pointer(Address{0x0a0a'0200}).pointer(aux);
      objects_.push_back(call);
    }
    const Address long_text = built_.string(std::u16string(100, u'\n') + u"\r\t\\\"\u00e9");
    const Address many = built_.array(built_.ints_type, 9, 36);
    objects_.insert(objects_.end(), {long_text, many});
    types_.insert(types_.end(), {built_.object_type, built_.point_type, built_.animal_type, built_.dog_type,
                                 built_.list_of_int, built_.grid_type, built_.nullable_int,
                                 built_.objects_type, built_.access_type});
    for (const unsigned over : {0x0fu, 0x10u, 0x13u})
      types_.push_back(built_.runtime.type_desc(over, built_.int_type));
    const Address function = built_.memory.allocate(256);
    built_.runtime.overlay(function, "TypeDesc", {{"TypeAndFlags", 0x1b}});
    built_.runtime.overlay(function, "FnPtrTypeDesc", {{"NumArgs", 0}});
    built_.memory
        .at(function + static_cast<Address>(built_.runtime.target.offset("FnPtrTypeDesc", "RetAndArgTypes")))
        .pointer(built_.int_type);
    types_.insert(types_.end(), {function | 2, built_.canon_type});
    at_ = built_.fields_of(dog);
    samples_ = test::framework_samples(built_, framework_);
    // Behind all others, whose addresses are in the corpus.
    test::UnionTypes unions(built_);
    const std::vector<Address> cases = test::union_samples(unions);
    samples_.insert(samples_.end(), cases.begin(), cases.end());
    const Address buffer = built_.instance(built_.buffer_type, 8); // one field, five times
    built_.memory.at(built_.fields_of(buffer)).u32(0x0403'0201).u8(5);
    objects_.push_back(buffer);
    set_up(built_.memory, built_.runtime.target.contract_descriptor(), platform);
  }

  unsigned parts() const override { return 4; }
  void ask(const Target& target, unsigned part) override {
    ExecutionManager code(target);
    MethodNames names(target, code, nullptr);
    ObjectReader objects(target, names);
    if (part == 0) {
      for (const Address object : objects_) tell(objects, object);
    } else if (part == 2) {
      for (const Address object : samples_) {
        tell(objects, object);
        take_apart(objects, object);
      }
    } else if (part == 3) {
      for (const Address object : objects_) take_apart(objects, object);
      for_each_static(objects,
                      {.accepts = [](const std::string&) { return true; },
                       .threads = {{.os_id = 1, .address = at_}},
                       .limits = {.text = limits, .items = 6, .structure_depth = 4}},
                      [](const StaticRow& row) { return !row.name.empty(); });
      for (const char* const name : {"Ns.Dog", "System.Collections.Generic.List<int>", "No"})
        attempt([&] { find_type(objects, name); });
      attempt([&] {
        std::vector<std::string> spelled;
        for (const char* const text :
             {"Ns::Dog::Count + (Ns.Point*)p->x", "System.Collections.Generic.List_int_.a",
              "\"a.b\" + 1.5f + 'c' + Ns.Dog.Name"})
          for (const SpelledName& name : spelled_names(text)) {
            std::string joined;
            for (const std::string& part : name.parts) joined += (joined.empty() ? "" : ".") + part;
            spelled.push_back(spelled_type(joined));
          }
        find_spelled(objects, spelled);
      });
    } else {
      for (const Address type : types_) tell_type(objects, type, at_);
      for (const Address module : {built_.core_lib, built_.app})
        for (std::uint32_t rid = 1; rid < 20; ++rid) {
          attempt([&] { objects.finder().loaded(module, 0x0200'0000 | rid); });
          attempt([&] { objects.finder().loaded(module, 0x0100'0000 | rid); });
          attempt([&] { objects.finder().field(rid, {.module = module}); });
          attempt([&] { objects.finder().method(rid, {.module = module}); });
          attempt([&] { objects.finder().locals(rid, {.module = module}); });
        }
      objects.forget();
    }
  }

private:
  test::ObjectRuntime built_;
  test::FrameworkTypes framework_;
  std::vector<Address> objects_, samples_, types_;
  Address at_ = 0;
};

// The objects to which the stacks of a recorded core refer.
class RecordedObjects final : public RecordedScene {
public:
  explicit RecordedObjects(const std::string& name) : RecordedScene(name) {
    const Target target(*recorded_.core, recorded_.descriptor, recorded_.platform);
    ExecutionManager code(target);
    MethodNames names(target, code, nullptr);
    ObjectReader objects(target, names);
    for (const ThreadRegisters& thread : recorded_.core->threads()) {
      const RegisterContext context = recorded_.registers_of(thread);
      if (!context.sp()) continue;
      for (unsigned word = 0; word < words_of_stack && objects_.size() < most_objects; ++word)
        attempt([&] { look_at(objects, target.read_pointer(*context.sp() + 8 * word)); });
    }
    attempt([&] { look_at_heap(); });
    for (const JittedBody& body : recorded_.bodies)
      attempt([&] { types_.insert(names.method_desc(body.method_desc).method_table); });
  }

  // Its objects and types in groups; the static fields of all threads; the types that are loaded.
  unsigned parts() const override { return groups + 2; }
  void ask(const Target& target, unsigned part) override {
    ExecutionManager code(target);
    MethodNames names(target, code, nullptr);
    ObjectReader objects(target, names);
    if (part == groups) {
      tell_statics(objects);
      attempt([&] {
        std::size_t left = most_threads; // each place that is tried makes a Target of its own
        for (const RuntimeThread& thread : read_threads(target).threads) {
          if (left-- == 0) break;
          for (const Address type : types_) attempt([&] { thread_statics(objects, type, thread.address); });
        }
      });
      return;
    }
    if (part > groups) {
      const LoadedTypes loaded = loaded_types(objects.finder(), [](const Error&) {});
      require(loaded.types.size() <= max_loaded_types, "types are bounded");
      mark_of_loaded_types(objects.finder());
      return;
    }
    unsigned number = 0;
    for (const Address object : objects_)
      if (number++ % groups == part) {
        tell(objects, object);
        take_apart(objects, object);
      }
    number = 0;
    for (const Address type : types_)
      if (number < 8 * groups && number++ % groups == part) tell_type(objects, type, type);
  }

private:
  // What a debugger steps from: async methods that wait, and what holds several of them.
  void look_at_heap() {
    Runtime runtime(*recorded_.core, recorded_.modules, recorded_.platform, nullptr);
    HeapReporter heap(runtime);
    for (const char* const type : {"*<*>d__*", "System.Collections.Generic.List<object>"}) {
      std::size_t left = most_of_heap;
      heap.for_each_object({.glob = type}, [&](const HeapObjectRow& row) {
        objects_.insert(row.address);
        return --left != 0;
      });
    }
  }

  // Thread statics of every kind, in the place of those that the type has.
  static void thread_statics(ObjectReader& objects, Address table, Address thread) {
    const Target& target = objects.finder().target();
    const TypeLayout& layout = objects.layouts().of(table);
    for (const FieldLayout& field : layout.fields) {
      if (!field.is_static || !field.thread_static) continue;
      const Address info = target.read_pointer(target.field_address(table, "MethodTable", "AuxiliaryData")) -
                           target.size_of("ThreadStaticsInfo");
      const Address index = target.field_address(info, "ThreadStaticsInfo",
                                                 field.in_gc_statics ? "GCTlsIndex" : "NonGCTlsIndex");
      for (std::uint32_t kind = 0; kind < 4; ++kind)
        for (const std::uint32_t number : {0U, 1U, 0xffffU})
          attempt([&] {
            EditedMemory edited(target.memory(), {{.width = 4, .at = index, .value = kind << 24 | number}},
                                target.platform().byte_order);
            const Target other(edited, target.descriptor(), target.platform());
            thread_static_address(other, layout.table, field, thread);
          });
    }
  }

  void look_at(ObjectReader& objects, Address word) {
    if (word % 8 != 0 || objects_.contains(word)) return;
    objects.layouts().of(objects.method_table_of(word));
    objects_.insert(word);
  }

  static void tell_statics(ObjectReader& objects) {
    StaticSearch search{.accepts = [](const std::string& name) { return name.find("System.") != 0; },
                        .threads = {},
                        .limits = {.text = limits, .items = 6, .structure_depth = 4}};
    attempt([&] {
      for (const RuntimeThread& thread : read_threads(objects.finder().target()).threads)
        if (search.threads.size() < most_threads)
          search.threads.push_back({.os_id = thread.os_id.value_or(0), .address = thread.address});
    });
    for_each_static(objects, search, [](const StaticRow& row) { return !row.name.empty(); });
    search.accepts = [](const std::string& name) { return name.find("System.Threading.Thread") == 0; };
    for_each_static(objects, search, [](const StaticRow& row) { return !row.name.empty(); });
  }

  static constexpr unsigned groups = 16, words_of_stack = 1024;
  static constexpr std::size_t most_objects = 320, most_of_heap = 40, most_threads = 4;
  std::set<Address> objects_, types_;
};

} // namespace

std::vector<std::unique_ptr<Scene>> clr::fuzz::make_scenes() {
  std::vector<std::unique_ptr<Scene>> all;
  for (const Platform& platform : test::all_platforms(Cpu::x64))
    all.push_back(std::make_unique<BuiltObjects>(platform));
  all.push_back(std::make_unique<RecordedObjects>("gallery-arm64"));
  all.push_back(std::make_unique<RecordedObjects>("gallery-x64"));
  all.push_back(std::make_unique<RecordedObjects>("waiting-x64"));
  all.push_back(std::make_unique<RecordedObjects>("stuck-x64"));
  return all;
}
