// Instances of generic types, looked for in the chain of the hash table where the runtime keeps them.
#include "core/memory/failing_reader.h"
#include "core/objects/instance_table.h"
#include "tests/objects/object_runtime.h"

#include <catch2/catch.hpp>

#include <map>
#include <vector>

using namespace clr;
using namespace clr::test;

namespace {

constexpr std::uint32_t first_rid = 100;

// A module's table, which the test fills.
class Chains {
public:
  Chains(ObjectRuntime& r, std::uint32_t count) : r_(&r), count_(count) {}

  // Where typehash.cpp puts what begins with `first`.
  std::uint32_t place(std::uint32_t first, const std::vector<Address>& arguments) const {
    std::uint32_t hash = (5'381u * 33) ^ first;
    for (const Address argument : arguments) hash = (hash * 33) ^ static_cast<std::uint32_t>(argument);
    return hash % count_;
  }
  Address instance(std::uint32_t rid, const std::vector<Address>& arguments, std::uint32_t beside = 0) {
    const Address type = r_->runtime.type(
        {.module = r_->core_lib, .rid = rid, .generic = MethodTable::Generic::exact, .arguments = arguments});
    put((place(0x0200'0000 | rid, arguments) + beside) % count_, type);
    return type;
  }
  void put(std::uint32_t chain, Address handle) { chains_[chain].push_back(handle); }
  // Instances enough for a proof, of types from first_rid on, over Dog.
  std::vector<Address> fill(std::uint32_t beside = 0) {
    std::vector<Address> made;
    for (std::uint32_t i = 0; i < 2 * InstanceTable::proof_instances; ++i)
      made.push_back(instance(first_rid + i, {r_->dog_type}, beside));
    return made;
  }
  void give_to(Address module, Address successor = 0) {
    const unsigned p = r_->runtime.pointer();
    const Address buckets = r_->memory.allocate(std::size_t{count_ + 3} * p);
    r_->memory.at(buckets).pointer(Address{count_}).pointer(successor).pointer(Address{1});
    for (std::uint32_t i = 0; i < count_; ++i) {
      Address next = 1;
      for (auto handle = chains_[i].rbegin(); handle != chains_[i].rend(); ++handle)
        next = r_->runtime.target.record("TypeHashEntry", {{"Value", *handle}, {"Next", next}});
      r_->memory.at(buckets + (i + 3) * p).pointer(next);
    }
    r_->runtime.target.set(
        module, "Module", "AvailableTypeParams",
        r_->runtime.target.record("EETypeHashTable", {{"Buckets", buckets}, {"Count", count_}}));
  }

private:
  ObjectRuntime* r_;
  std::uint32_t count_;
  std::map<std::uint32_t, std::vector<Address>> chains_;
};

// Whether a word was read.
class WatchedWord final : public MemoryReader {
public:
  WatchedWord(MemoryReader& next, Address watched) : next_(&next), watched_(watched) {}
  std::size_t read_some(Address address, std::span<std::byte> out) override {
    read_ = read_ || (address <= watched_ && watched_ < address + out.size());
    return next_->read_some(address, out);
  }
  bool read() const { return read_; }
  void forget() { read_ = false; }

private:
  MemoryReader* next_;
  Address watched_;
  bool read_ = false;
};

constexpr std::uint32_t chains = 67; // 2 more than the fewest that prove something

} // namespace

TEST_CASE("an instance is found in its chain, and one that is not there is not loaded", "[instance_table]") {
  for (const Platform& platform : all_platforms()) {
    INFO(to_string(platform));
    ObjectRuntime r(platform);
    Chains made(r, chains);
    const std::vector<Address> instances = made.fill();
    const Address of_two = made.instance(first_rid, {r.dog_type, r.int_type});
    made.put(made.place(0x1d, {r.dog_type}), r.ints_type); // another one's
    made.put(made.place(0x1d, {r.int_type}), r.ints_type);
    made.give_to(r.core_lib);
    const Target target = r.runtime.target.target();
    const MethodTables tables(target);
    InstanceTable table(target, tables, r.core_lib);
    CHECK(table.chains() == chains);
    const auto find = [&](std::uint32_t rid, const std::vector<Address>& arguments) {
      return table.find(r.core_lib, rid, arguments);
    };
    for (std::size_t i = 0; i < instances.size(); ++i)
      CHECK(find(first_rid + static_cast<std::uint32_t>(i), {r.dog_type}) == instances[i]);
    CHECK(find(first_rid, {r.dog_type, r.int_type}) == of_two);
    CHECK(find(first_rid, {r.int_type, r.dog_type}) == Address{0});
    CHECK(find(first_rid, {r.animal_type}) == Address{0});
    CHECK(table.find(r.app, first_rid, std::vector{r.dog_type}) == Address{0});
    CHECK(table.find_vector(r.int_type) == r.ints_type);
    CHECK(table.find_vector(r.dog_type) == 0);
  }
}

TEST_CASE("where nothing is proven a table does not tell what it lacks", "[instance_table]") {
  const Platform platform{.pointer_size = 8, .byte_order = ByteOrder::little, .cpu = Cpu::x64};
  const auto answer = [&](std::uint32_t count, std::uint32_t beside, bool whole, bool grows) {
    ObjectRuntime r(platform);
    Chains made(r, count);
    if (whole)
      made.fill(beside);
    else
      made.instance(first_rid, {r.dog_type});
    made.give_to(r.core_lib, grows ? 0x1000 : 0);
    const Target target = r.runtime.target.target();
    const MethodTables tables(target);
    return InstanceTable(target, tables, r.core_lib).find(r.core_lib, first_rid, std::vector{r.dog_type});
  };
  CHECK(answer(chains, 0, true, false).value_or(0) != 0);
  CHECK_FALSE(answer(chains, 1, true, false));  // another way to choose the chain
  CHECK_FALSE(answer(chains, 0, false, false)); // one instance
  CHECK_FALSE(answer(chains, 0, true, true));
  CHECK_FALSE(answer(InstanceTable::min_chains - 1, 0, true, false));
}

TEST_CASE("a chain without end does not go on for ever", "[instance_table]") {
  ObjectRuntime r({.pointer_size = 8, .byte_order = ByteOrder::little, .cpu = Cpu::x64});
  Chains made(r, chains);
  made.fill();
  made.give_to(r.core_lib);
  const Target target = r.runtime.target.target();
  const Address hash = target.read_pointer(target.field_address(r.core_lib, "Module", "AvailableTypeParams"));
  const Address buckets = target.read_pointer(target.field_address(hash, "EETypeHashTable", "Buckets"));
  const Address slot = buckets + (made.place(0x0200'0000 | 99, {r.dog_type}) + 3) * 8;
  const Address entry = r.runtime.target.record("TypeHashEntry", {{"Value", r.dog_type}, {"Next", 1}});
  r.runtime.target.set(entry, "TypeHashEntry", "Next", entry);
  r.memory.at(slot).pointer(entry);
  const MethodTables tables(target);
  InstanceTable table(target, tables, r.core_lib);
  CHECK_FALSE(table.find(r.core_lib, 99, std::vector{r.dog_type}));
}

TEST_CASE("a chain without end costs a list of all instances nothing else", "[instance_table]") {
  constexpr std::uint32_t locals_of_dogs = 14; // StandAloneSig: List<Dog>
  constexpr std::uint32_t list_rid = 7;
  // A pointer or the like, nothing, and a type that cannot be read: none of them is an instance.
  for (const Address handle : {Address{0x5002}, Address{0}, Address{0x6660'0000'1000}}) {
    ObjectRuntime r({.pointer_size = 8, .byte_order = ByteOrder::little, .cpu = Cpu::x64});
    Chains made(r, 3); // too few for a proof
    const Address list_of_dog = made.instance(list_rid, {r.dog_type});
    made.give_to(r.core_lib);
    const Target target = r.runtime.target.target();
    const Address hash =
        target.read_pointer(target.field_address(r.core_lib, "Module", "AvailableTypeParams"));
    const Address buckets = target.read_pointer(target.field_address(hash, "EETypeHashTable", "Buckets"));
    const Address first = r.runtime.target.record("TypeHashEntry", {{"Value", handle}, {"Next", 1}});
    const Address second = r.runtime.target.record("TypeHashEntry", {{"Value", handle}, {"Next", first}});
    r.runtime.target.set(first, "TypeHashEntry", "Next", second);
    for (std::uint32_t i = 0; i < 3; ++i)
      if (i != made.place(0x0200'0000 | list_rid, {r.dog_type}))
        r.memory.at(buckets + (i + 3) * 8).pointer(first);
    ObjectView view(r, r.memory);
    CHECK(view.objects.finder().locals(locals_of_dogs, {.module = r.app}).at(0)->method_table == list_of_dog);
  }
}

TEST_CASE("an instance is looked for without a list of all, where the chains are proven",
          "[instance_table]") {
  constexpr std::uint32_t locals_of_dogs = 14; // StandAloneSig: List<Dog>
  constexpr std::uint32_t list_rid = 7;
  struct Case {
    std::uint32_t beside;
    bool lists_all, reads_others;
  };
  for (const auto& [beside, lists_all, reads_others] :
       {Case{0, false, false}, Case{0, true, true}, Case{1, false, true}}) {
    ObjectRuntime r({.pointer_size = 8, .byte_order = ByteOrder::little, .cpu = Cpu::x64});
    Chains made(r, chains);
    made.fill(beside);
    const Address list_of_dog = made.instance(list_rid, {r.dog_type});
    // In the last chains there is one that nobody asks for, behind all that the proof looks at.
    const Address other = r.runtime.type({.module = r.core_lib,
                                          .rid = 98,
                                          .generic = MethodTable::Generic::exact,
                                          .arguments = {r.animal_type}});
    made.put(chains - 1, other);
    made.give_to(r.core_lib);
    const Target target = r.runtime.target.target();
    WatchedWord memory(r.memory, target.field_address(other, "MethodTable", "MTFlags2"));
    ObjectView view(r, memory);
    if (lists_all) view.objects.finder().list_all();
    const auto locals = view.objects.finder().locals(locals_of_dogs, {.module = r.app});
    CHECK(locals.at(0)->method_table == list_of_dog);
    CHECK(memory.read() == reads_others);
  }
}

TEST_CASE("in a chain that is too long an instance is not looked for", "[instance_table]") {
  ObjectRuntime r({.pointer_size = 8, .byte_order = ByteOrder::little, .cpu = Cpu::x64});
  Chains made(r, chains);
  made.fill();
  const std::uint32_t chain = made.place(0x0200'0000 | 98, {r.dog_type});
  for (std::size_t i = 0; i < InstanceTable::max_searched; ++i) made.put(chain, r.dog_type);
  made.instance(98, {r.dog_type});
  made.give_to(r.core_lib);
  const Target target = r.runtime.target.target();
  const MethodTables tables(target);
  InstanceTable table(target, tables, r.core_lib);
  CHECK(table.find(r.core_lib, 99, std::vector{r.dog_type}) == Address{0});
  CHECK_FALSE(table.find(r.core_lib, 98, std::vector{r.dog_type}));
}

TEST_CASE("a table whose chains hold no instances proves nothing, and soon", "[instance_table]") {
  ObjectRuntime r({.pointer_size = 8, .byte_order = ByteOrder::little, .cpu = Cpu::x64});
  Chains made(r, chains);
  made.give_to(r.core_lib);
  const Target target = r.runtime.target.target();
  const Address hash = target.read_pointer(target.field_address(r.core_lib, "Module", "AvailableTypeParams"));
  const Address buckets = target.read_pointer(target.field_address(hash, "EETypeHashTable", "Buckets"));
  // All chains are the same one.
  Address entry = 1;
  for (unsigned i = 0; i < 1'000; ++i)
    entry = r.runtime.target.record("TypeHashEntry", {{"Value", r.dog_type}, {"Next", entry}});
  for (std::uint32_t i = 0; i < chains; ++i) r.memory.at(buckets + (i + 3) * 8).pointer(entry);
  FailingReader memory(r.memory);
  const Target counted(memory, r.runtime.target.contract_descriptor(), r.runtime.target.platform());
  const MethodTables tables(counted);
  InstanceTable table(counted, tables, r.core_lib);
  CHECK_FALSE(table.find(r.core_lib, 99, std::vector{r.dog_type}));
  CHECK(memory.reads() < 10 * InstanceTable::max_proof_handles);
}

TEST_CASE("an instance that is not there is looked for once", "[instance_table]") {
  constexpr std::uint32_t locals_of_dogs = 14; // StandAloneSig: List<Dog>
  constexpr std::uint32_t list_rid = 7;
  ObjectRuntime r({.pointer_size = 8, .byte_order = ByteOrder::little, .cpu = Cpu::x64});
  Chains made(r, chains);
  made.fill();
  const Address other = r.runtime.type({.module = r.core_lib,
                                        .rid = 98,
                                        .generic = MethodTable::Generic::exact,
                                        .arguments = {r.animal_type}});
  made.put(made.place(0x0200'0000 | list_rid, {r.dog_type}), other);
  made.give_to(r.core_lib);
  const Target target = r.runtime.target.target();
  WatchedWord memory(r.memory, target.field_address(other, "MethodTable", "MTFlags2"));
  ObjectView view(r, memory);
  const auto find = [&] { return view.objects.finder().locals(locals_of_dogs, {.module = r.app}).at(0); };
  CHECK(find()->method_table == 0);
  CHECK(memory.read());
  memory.forget();
  CHECK(find()->method_table == 0);
  CHECK_FALSE(memory.read());
  view.objects.finder().forget();
  CHECK(find()->method_table == 0);
  CHECK(memory.read());
}
