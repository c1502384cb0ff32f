#include "tests/objects/framework_types.h"

#include <algorithm>
#include <vector>

namespace clr::test {
namespace {

// Fields as words: "_size i" is an int, "s" a string, "o" an object, "n" int[], "a" object[], "c" char[], "b"
// a byte, "h" a ushort, "l" a ulong, "w" a native integer, "r" a byref to int, "v:NAME" a structure, "x:NAME"
// an array of structures, "g:NAME" a class over int.
struct Spec {
  std::string_view name_space, name;
  bool value = false;
  std::vector<std::pair<std::string_view, std::string_view>> fields;
  std::string_view base = {};
};

const std::vector<Spec>& specs() {
  constexpr std::string_view generic = "System.Collections.Generic",
                             concurrent = "System.Collections.Concurrent",
                             immutable = "System.Collections.Immutable", threading = "System.Threading",
                             tasks = "System.Threading.Tasks", compiler = "System.Runtime.CompilerServices",
                             model = "System.Collections.ObjectModel";
  static const std::vector<Spec> all{
      {generic, "Queue`1", false, {{"_array", "n"}, {"_head", "i"}, {"_size", "i"}}},
      {generic, "Stack`1", false, {{"_array", "n"}, {"_size", "i"}}},
      {generic, "LinkedList`1", false, {{"head", "o"}, {"count", "i"}}},
      {generic, "LinkedListNode`1", false, {{"next", "o"}, {"item", "i"}}},
      {generic, "SortedSet`1", false, {{"root", "o"}, {"count", "i"}}},
      {generic, "SetNode", false, {{"<Item>k__BackingField", "i"}, {"Left", "o"}, {"Right", "o"}}},
      {generic, "SortedDictionary`2", false, {{"_set", "o"}}},
      {generic, "KeyValuePair`2", true, {{"key", "i"}, {"value", "s"}}},
      {generic, "PairNode", false, {{"Item", "v:KeyValuePair`2"}, {"Left", "o"}, {"Right", "o"}}},
      {generic, "SortedList`2", false, {{"keys", "n"}, {"values", "n"}, {"_size", "i"}}},
      {generic, "PriorityQueue`2", false, {{"_nodes", "n"}, {"_size", "i"}}},
      {concurrent, "ConcurrentDictionary`2", false, {{"_tables", "o"}}},
      {concurrent, "Tables", false, {{"_buckets", "a"}, {"_countPerLock", "n"}}},
      {concurrent, "Node", false, {{"_next", "o"}, {"_key", "i"}, {"_value", "i"}}},
      {concurrent, "ConcurrentQueue`1", false, {{"_head", "o"}}},
      {concurrent, "Slot", true, {{"Item", "i"}, {"SequenceNumber", "i"}}},
      {concurrent, "Ends", true, {{"Head", "i"}, {"Tail", "i"}}},
      {concurrent,
       "Segment",
       false,
       {{"_slots", "x:Slot"},
        {"_nextSegment", "o"},
        {"_headAndTail", "v:Ends"},
        {"_slotsMask", "i"},
        {"_frozenForEnqueues", "b"}}},
      {concurrent, "ConcurrentStack`1", false, {{"_head", "o"}}},
      {"System", "ArraySegment`1", true, {{"_array", "n"}, {"_offset", "i"}, {"_count", "i"}}},
      {immutable, "ImmutableList`1", false, {{"_root", "o"}}},
      {immutable,
       "ListNode",
       false,
       {{"_left", "o"}, {"_right", "o"}, {"_key", "i"}, {"_count", "i"}, {"_height", "b"}}},
      {immutable, "ImmutableSortedDictionary`2", false, {{"_root", "o"}, {"_count", "i"}}},
      {immutable,
       "MapNode",
       false,
       {{"_left", "o"}, {"_right", "o"}, {"_key", "i"}, {"_value", "i"}, {"_height", "b"}}},
      {immutable, "ImmutableHashSet`1", false, {{"_root", "o"}, {"_count", "i"}}},
      {immutable, "Bucket", true, {{"_additionalElements", "o"}, {"_firstValue", "i"}}},
      {immutable,
       "BucketNode",
       false,
       {{"_left", "o"}, {"_right", "o"}, {"_value", "v:Bucket"}, {"_height", "b"}}},
      {immutable, "ImmutableArray`1", true, {{"array", "n"}}},
      {model, "Collection`1", false, {{"items", "o"}}},
      {model, "ObservableCollection`1", false, {{"_busy", "i"}}, "Collection`1"},
      {"Microsoft.FSharp.Collections", "FSharpList`1", false, {{"tail", "o"}, {"head", "i"}}},
      {"Microsoft.FSharp.Core", "FSharpOption`1", false, {{"item", "o"}}},
      {"System", "Uri", false, {{"_string", "s"}}},
      {"System", "Lazy`1", false, {{"_state", "o"}, {"_value", "i"}}},
      {"System", "WeakReference", false, {{"_taggedHandle", "w"}}},
      {"System.Collections", "BitArray", false, {{"m_array", "n"}, {"m_length", "i"}}},
      {"System.Text",
       "StringBuilder",
       false,
       {{"m_ChunkChars", "c"}, {"m_ChunkPrevious", "o"}, {"m_ChunkLength", "i"}}},
      {"System", "Version", false, {{"_Major", "i"}, {"_Minor", "i"}, {"_Build", "i"}, {"_Revision", "i"}}},
      {"System", "RuntimeType", false, {{"m_handle", "w"}}},
      {threading, "CancellationTokenSource", false, {{"_state", "i"}}},
      {threading, "CancellationToken", true, {{"_source", "o"}}},
      {"System", "Tuple`2", false, {{"m_Item2", "s"}, {"m_Item1", "i"}}},
      {"System", "ValueTuple`1", true, {{"Item1", "s"}}},
      {"System", "ValueTuple`8", true, {{"Item1", "i"}, {"Rest", "v:ValueTuple`1"}}},
      {tasks,
       "Task",
       false,
       {{"m_contingentProperties", "o"},
        {"m_action", "o"},
        {"m_continuationObject", "o"},
        {"m_stateFlags", "i"}}},
      {tasks, "Task`1", false, {{"m_result", "i"}}, "Task"},
      {tasks, "Properties", false, {{"m_exceptionsHolder", "o"}, {"m_parent", "o"}}},
      {tasks, "Holder", false, {{"m_faultExceptions", "o"}}},
      {tasks, "Dispatch", false, {{"_exception", "o"}}},
      {"System", "Memory`1", true, {{"_object", "o"}, {"_index", "i"}, {"_length", "i"}}},
      {"System", "Span`1", true, {{"_reference", "r"}, {"_length", "i"}}},
      {"System", "Date", true, {{"_dateData", "l"}}},
      {"System", "DateTimeOffset", true, {{"_dateTime", "v:Date"}, {"_offsetMinutes", "i"}}},
      {"System", "Half", true, {{"_value", "h"}}},
      {"System", "Int128", true, {{"_lower", "l"}, {"_upper", "l"}}},
      {"System.Numerics", "BigInteger", true, {{"_bits", "n"}, {"_sign", "i"}}},
      {"System", "Index", true, {{"_value", "i"}}},
      {tasks, "Awaited", false, {{"m_continuationObject", "o"}, {"m_action", "o"}, {"_target", "o"}}},
      {tasks, "Continuations", false, {{"_items", "a"}}},
      {tasks, "Box", false, {{"StateMachine", "o"}}},
      {generic, "List`1", false, {{"_items", "a"}, {"_size", "i"}}},
      {tasks, "Task+SetOnInvokeMres", false, {{"m_lock", "o"}}},
      {tasks, "Task+DelayPromise", false, {{"_timer", "o"}}, "Task"},
      {tasks, "Task+WhenAllPromise", false, {{"_remainingToComplete", "i"}}, "Task"},
      {tasks, "Task+CancellationPromise`1", false, {{"_task", "o"}}, "Task"},
      {threading,
       "SemaphoreSlim",
       false,
       {{"m_asyncHead", "o"}, {"m_lockObjAndDisposed", "o"}, {"m_currentCount", "i"}, {"m_waitCount", "i"}}},
      {threading, "SemaphoreSlim+TaskNode", false, {{"Next", "o"}}, "Task"},
      {compiler, "Builder", true, {{"m_task", "o"}}},
      {compiler, "Machine", false, {{"<>1__state", "i"}, {"<>t__builder", "v:Builder"}, {"<>u__1", "o"}}},
      {compiler, "AsyncTaskMethodBuilder`1+AsyncStateMachineBox`1", false, {{"StateMachine", "o"}}, "Task"},
      {compiler, "PooledMachine", true, {{"<>1__state", "i"}, {"<>t__builder", "v:Builder"}}},
      {"System.Threading.Tasks.Sources",
       "ManualResetValueTaskSourceCore`1",
       true,
       {{"_continuation", "o"}, {"_continuationState", "o"}}},
      {compiler,
       "PoolingAsyncValueTaskMethodBuilder`1+StateMachineBox`1",
       false,
       {{"_valueTaskSource", "v:ManualResetValueTaskSourceCore`1"}, {"StateMachine", "v:PooledMachine"}}},
      {tasks, "Source", false, {{"_core", "v:ManualResetValueTaskSourceCore`1"}}},
      {compiler, "AsyncHelpers+ThunkTask", false, {{"m_stateObject", "o"}}, "Task"},
      {compiler, "Continuation", false, {{"Next", "o"}, {"GCData", "a"}, {"Resume", "w"}, {"State", "i"}}},
      {threading, "TimerQueue", false, {{"_shortTimers", "o"}, {"_longTimers", "o"}}},
      {threading,
       "TimerQueueTimer",
       false,
       {{"_next", "o"},
        {"_timerCallback", "o"},
        {"_state", "o"},
        {"_startTicks", "l"},
        {"_notifyWhenNoCallbacksRunning", "o"},
        {"_dueTime", "i"},
        {"_period", "i"}}},
      {threading, "Counts", true, {{"_data", "l"}}},
      {threading, "Separated", true, {{"counts", "v:Counts"}}},
      {threading, "PortableThreadPool", false, {{"_separated", "v:Separated"}, {"_minThreads", "i"}}},
      {threading,
       "WorkStealingQueue",
       false,
       {{"m_array", "a"}, {"m_mask", "i"}, {"m_headIndex", "i"}, {"m_tailIndex", "i"}}},
      {"System", "Wide0", true, {{"A", "i"}, {"B", "i"}, {"C", "i"}, {"D", "i"}, {"E", "i"}, {"F", "i"}}},
      {"System",
       "Wide1",
       true,
       {{"A", "v:Wide0"},
        {"B", "v:Wide0"},
        {"C", "v:Wide0"},
        {"D", "v:Wide0"},
        {"E", "v:Wide0"},
        {"F", "v:Wide0"}}},
      {"System",
       "Wide2",
       true,
       {{"A", "v:Wide1"},
        {"B", "v:Wide1"},
        {"C", "v:Wide1"},
        {"D", "v:Wide1"},
        {"E", "v:Wide1"},
        {"F", "v:Wide1"}}},
      {"System",
       "Wide3",
       true,
       {{"A", "v:Wide2"},
        {"B", "v:Wide2"},
        {"C", "v:Wide2"},
        {"D", "v:Wide2"},
        {"E", "v:Wide2"},
        {"F", "v:Wide2"}}},
      {"System",
       "Wide4",
       true,
       {{"A", "v:Wide3"},
        {"B", "v:Wide3"},
        {"C", "v:Wide3"},
        {"D", "v:Wide3"},
        {"E", "v:Wide3"},
        {"F", "v:Wide3"}}},
      {"System",
       "Wide5",
       true,
       {{"A", "v:Wide4"},
        {"B", "v:Wide4"},
        {"C", "v:Wide4"},
        {"D", "v:Wide4"},
        {"E", "v:Wide4"},
        {"F", "v:Wide4"}}},
      {threading,
       "Lock",
       false,
       {{"_waitEvent", "o"}, {"_owningThreadId", "i"}, {"_state", "i"}, {"_recursionCount", "i"}}},
      {threading,
       "Lock#11",
       false,
       {{"_waitEventOrCondition", "o"}, {"_owningThreadId", "i"}, {"_state", "i"}, {"_recursionCount", "i"}}},
      {threading,
       "ReaderWriterLockSlim",
       false,
       {{"_writeEvent", "o"},
        {"_lockID", "l"},
        {"_writeLockOwnerId", "i"},
        {"_upgradeLockOwnerId", "i"},
        {"_owners", "i"},
        {"_numWriteWaiters", "i"},
        {"_numReadWaiters", "i"},
        {"_numWriteUpgradeWaiters", "i"},
        {"_numUpgradeWaiters", "i"}}},
      {threading,
       "ReaderWriterCount",
       false,
       {{"next", "o"}, {"lockID", "l"}, {"readercount", "i"}, {"writercount", "i"}, {"upgradecount", "i"}}},
      {threading,
       "ReaderWriterLock",
       false,
       {{"_lockID", "l"}, {"_state", "i"}, {"_writerID", "i"}, {"_writerLevel", "h"}}},
      {threading,
       "ReaderWriterLock+ThreadLocalLockEntry",
       false,
       {{"_next", "o"}, {"_lockID", "l"}, {"_readerLevel", "h"}}},
      {threading, "Barrier", false, {{"_currentTotalCount", "i"}}},
      {"Microsoft.Win32.SafeHandles", "SafeWaitHandle", false, {{"handle", "w"}}},
      {"System.Collections", "ArrayList", false, {{"_items", "a"}, {"_size", "i"}}},
      {"System.Collections", "HashBucket", true, {{"key", "o"}, {"val", "o"}, {"hash_coll", "i"}}},
      {"System.Collections", "Hashtable", false, {{"_buckets", "x:HashBucket"}, {"_count", "i"}}},
      {"System.Collections",
       "Hashtable+SyncHashtable",
       false,
       {{"_buckets", "x:HashBucket"}, {"_table", "o"}}},
      {generic, "OrderedEntry", true, {{"Next", "i"}, {"Key", "i"}, {"Value", "i"}}},
      {generic, "OrderedDictionary`2", false, {{"_entries", "x:OrderedEntry"}, {"_count", "i"}}},
      {immutable, "ImmutableStack`1", false, {{"_tail", "o"}, {"_head", "i"}}},
      {immutable, "ImmutableQueue`1", false, {{"_backwards", "o"}, {"_forwards", "o"}}},
      {concurrent, "ConcurrentBag`1", false, {{"_workStealingQueues", "o"}}},
      {concurrent,
       "BagQueue",
       false,
       {{"_array", "n"}, {"_nextQueue", "o"}, {"_headIndex", "i"}, {"_tailIndex", "i"}, {"_mask", "i"}}},
      {concurrent, "BlockingCollection`1", false, {{"_collection", "o"}}},
      {"System.Collections.Frozen", "FrozenDictionary`2", false, {{"Comparer", "o"}}},
      {"System.Collections.Frozen",
       "SmallFrozenDictionary`2",
       false,
       {{"_keys", "n"}, {"_values", "n"}},
       "FrozenDictionary`2"},
      {"System.Collections.Frozen", "FrozenSet`1", false, {{"Comparer", "o"}}},
      {"System.Collections.Frozen", "ItemsFrozenSet`2", false, {{"_items", "n"}}, "FrozenSet`1"},
      {"System.Linq", "Grouping`2", false, {{"_elements", "n"}, {"_count", "i"}}},
      {"", "<>z__ReadOnlyArray`1", false, {{"_items", "n"}}},
      {"", "<>z__ReadOnlyList`1", false, {{"_items", "o"}}},
      {"", "<>z__ReadOnlySingleElementList`1", false, {{"_item", "i"}}},
      {threading, "Thread", false, {{"_DONT_USE_InternalThread", "w"}}},
      {tasks, "ForEachAsyncState`1", false, {{"_task", "o"}}},
      {"System.Threading.Tasks.Parallel",
       "Worker",
       false,
       {{"state", "g:ForEachAsyncState`1"}, {"<>1__state", "i"}, {"<>t__builder", "v:Builder"}}},
      {threading, "CancellationTokenSource+Registrations", false, {{"ThreadIDExecutingCallbacks", "i"}}},
      {threading, "ThreadPoolWorkQueue", false, {{"_assignableWorkItemQueues", "a"}}},
      {threading, "SemaphoreSlim+TaskNode#prev", false, {{"Prev", "o"}}, "Task"},
      {tasks, "TaskFactory+CompleteOnInvokePromise", false, {{"_tasks", "a"}}, "Task"},
      {tasks, "AwaitTaskContinuation", false, {{"m_action", "o"}}},
      {compiler,
       "Continuation#11",
       false,
       {{"Next", "o"}, {"GCData", "a"}, {"ResumeInfo", "w"}, {"State", "i"}}},
  };
  return all;
}

std::uint32_t row_of(std::string_view name) {
  const auto& all = specs();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Spec& spec) { return spec.name == name; });
  return static_cast<std::uint32_t>(found - all.begin()) + 2; // row 1 is <Module>
}

Bytes signature_of(std::string_view word) {
  switch (word.front()) {
  case 's':
    return bytes_of({6, 0x0e});
  case 'o':
    return bytes_of({6, 0x1c});
  case 'n':
    return bytes_of({6, 0x1d, 0x08});
  case 'a':
    return bytes_of({6, 0x1d, 0x1c});
  case 'c':
    return bytes_of({6, 0x1d, 0x03});
  case 'b':
    return bytes_of({6, 0x05});
  case 'h':
    return bytes_of({6, 0x07});
  case 'l':
    return bytes_of({6, 0x0b});
  case 'w':
    return bytes_of({6, 0x18});
  case 'r':
    return bytes_of({6, 0x10, 0x08});
  case 'v':
  case 'x':
  case 'g': {
    Bytes signature = word.front() == 'v'   ? bytes_of({6, 0x11})
                      : word.front() == 'x' ? bytes_of({6, 0x1d, 0x11})
                                            : bytes_of({6, 0x15, 0x12});
    const std::uint32_t token = row_of(word.substr(2)) << 2;
    append(signature, token < 0x80 ? bytes_of({token}) : bytes_of({0x80 | token >> 8, token & 0xff}));
    if (word.front() == 'g') append(signature, bytes_of({1, 0x08}));
    return signature;
  }
  default:
    return bytes_of({6, 0x08});
  }
}

unsigned element_of(std::string_view word) {
  constexpr unsigned value = 0x11, object = 0x12;
  switch (word.front()) {
  case 'i':
    return 0x08;
  case 'b':
    return 0x05;
  case 'h':
    return 0x07;
  case 'l':
    return 0x0b;
  case 'w':
  case 'r':
    return 0x18;
  case 'v':
    return value;
  default:
    return object;
  }
}

} // namespace

FrameworkTypes::FrameworkTypes(ObjectRuntime& runtime) : r_(&runtime) {
  constexpr std::uint32_t value_category = 0x0004'0000;
  const unsigned p = r_->runtime.pointer();
  MetadataBuilder metadata;
  metadata.assembly("System.Collections");
  std::vector<std::vector<std::uint32_t>> rows;
  for (const Spec& spec : specs()) {
    // What stands behind the mark tells two of one name apart.
    const std::uint32_t type =
        metadata.type(spec.name_space, std::string_view(spec.name).substr(0, spec.name.find('#')));
    metadata.set(MetadataTable::type_def, type, 4, metadata.rows(MetadataTable::field) + 1);
    rows.emplace_back();
    for (const auto& [name, word] : spec.fields)
      rows.back().push_back(
          metadata.add(MetadataTable::field, {0, metadata.string(name), metadata.blob(signature_of(word))}));
  }
  const Address module = r_->runtime.module({.path = "/fx/System.Collections.dll",
                                             .simple_name = "System.Collections",
                                             .metadata = metadata.build()});
  std::map<std::uint32_t, Address> by_row;
  for (std::size_t i = 0; i < specs().size(); ++i) {
    const Spec& spec = specs()[i];
    const std::string name(spec.name), base(spec.base);
    const Address type = r_->runtime.type({.module = module,
                                           .rid = static_cast<std::uint32_t>(i) + 2,
                                           .category = spec.value ? value_category : 0});
    std::uint32_t offset = base.empty() ? 0 : sizes_.at(base);
    const unsigned inherited =
        base.empty() ? 0 : static_cast<unsigned>(specs()[row_of(base) - 2].fields.size());
    std::vector<ObjectRuntime::Field> fields;
    for (std::size_t f = 0; f < spec.fields.size(); ++f) {
      const auto& [field, word] = spec.fields[f];
      const char kind = word.front();
      const unsigned width = kind == 'i'   ? 4
                             : kind == 'b' ? 1
                             : kind == 'h' ? 2
                             : kind == 'l' ? 8
                             : kind == 'v' ? sizes_.at(std::string(word.substr(2)))
                                           : p;
      const unsigned alignment = kind == 'v' ? p : width;
      offset = (offset + alignment - 1) / alignment * alignment;
      fields.push_back({.rid = rows[i][f], .offset = offset, .element = element_of(word)});
      fields_[{name, std::string(field)}] = {offset, width};
      offset += width;
    }
    offset = (offset + p - 1) / p * p;
    r_->shape(type, offset, inherited, fields);
    r_->runtime.target.set(type, "MethodTable", "ParentMethodTable",
                           base.empty() ? r_->object_type : types_.at(base));
    types_[name] = type;
    sizes_[name] = offset;
    by_row[static_cast<std::uint32_t>(i) + 2] = type;
  }
  r_->map_types(module, by_row);
}

Address FrameworkTypes::make(std::string_view type, const Values& values) {
  const Address object = r_->instance((*this)[type], sizes_.at(std::string(type)));
  for (const auto& [field, value] : values) set(type, r_->fields_of(object), field, value);
  return object;
}

void FrameworkTypes::set(std::string_view type, Address fields, std::string_view field, std::uint64_t value) {
  std::string owner(type);
  auto found = fields_.find({owner, std::string(field)});
  if (found == fields_.end()) {
    owner = specs()[row_of(type) - 2].base;
    found = fields_.find({owner, std::string(field)});
  }
  auto at = r_->memory.at(fields + found->second.offset);
  switch (found->second.width) {
  case 1:
    at.u8(static_cast<unsigned>(value));
    return;
  case 2:
    at.u16(static_cast<unsigned>(value));
    return;
  case 4:
    at.u32(static_cast<std::uint32_t>(value));
    return;
  default:
    at.u64(value);
  }
}

Address FrameworkTypes::place(std::string_view type, Address object, std::string_view field) const {
  return r_->fields_of(object) + fields_.at({std::string(type), std::string(field)}).offset;
}

Address FrameworkTypes::numbers(std::initializer_list<std::uint32_t> values) {
  const Address array =
      r_->array(r_->ints_type, static_cast<std::uint32_t>(values.size()), 4 * values.size());
  auto at = r_->memory.at(r_->elements_of(array));
  for (const std::uint32_t value : values) at.u32(value);
  return array;
}

Address FrameworkTypes::objects(std::initializer_list<Address> values) {
  const unsigned p = r_->runtime.pointer();
  const Address array =
      r_->array(r_->objects_type, static_cast<std::uint32_t>(values.size()), p * values.size());
  auto at = r_->memory.at(r_->elements_of(array));
  for (const Address value : values) at.pointer(value);
  return array;
}

Address FrameworkTypes::structures(std::string_view type, std::uint32_t count) {
  const std::string name(type);
  Address& array_type = arrays_[name];
  if (array_type == 0) {
    array_type = r_->runtime.array_of((*this)[type]);
    r_->runtime.target.set(array_type, "MethodTable", "Module", r_->core_lib);
    r_->runtime.target.set(array_type, "MethodTable", "MTFlags", 0x800a'0000u | sizes_.at(name));
  }
  return r_->array(array_type, count, std::size_t{count} * sizes_.at(name));
}

Address FrameworkTypes::structure_at(std::string_view type, Address array, std::uint32_t index) const {
  return r_->elements_of(array) + std::size_t{index} * sizes_.at(std::string(type));
}

std::vector<Address> framework_samples(ObjectRuntime& runtime, FrameworkTypes& t) {
  const unsigned p = runtime.runtime.pointer();
  const Address numbers = t.numbers({1, 2, 3, 4}), text = runtime.string(u"text");
  const Address list = runtime.instance(runtime.list_of_int, p + 4);
  runtime.memory.at(runtime.fields_of(list)).pointer(numbers).u32(2);
  const Address node = t.make("LinkedListNode`1", {{"item", 5}});
  const Address left = t.make("SetNode", {{"<Item>k__BackingField", 1}});
  const Address root = t.make("SetNode", {{"<Item>k__BackingField", 2}, {"Left", left}});
  const Address pair = t.make("PairNode", {});
  t.set("KeyValuePair`2", t.place("PairNode", pair, "Item"), "value", text);
  const Address single = t.make("Node", {{"_key", 1}, {"_value", 10}});
  const Address tables =
      t.make("Tables", {{"_buckets", t.objects({0, single})}, {"_countPerLock", t.numbers({0, 1})}});
  const Address segment = t.make("Segment", {{"_slots", t.structures("Slot", 4)}, {"_slotsMask", 3}});
  t.set("Ends", t.place("Segment", segment, "_headAndTail"), "Tail", 2);
  const Address end = t.make("ListNode", {}), no_map = t.make("MapNode", {});
  const Address leaf = t.make("ListNode", {{"_left", end}, {"_right", end}, {"_count", 1}, {"_height", 1}});
  const Address map = t.make("MapNode", {{"_left", no_map}, {"_right", no_map}, {"_height", 1}});
  const Address bucket = t.make("BucketNode", {{"_height", 1}});
  t.set("Bucket", t.place("BucketNode", bucket, "_value"), "_additionalElements", leaf);
  const Address exception = runtime.instance(runtime.exception_type, p);
  runtime.memory.at(runtime.fields_of(exception)).pointer(text);
  const Address faults = runtime.instance(runtime.list_of_int, p + 4);
  runtime.memory.at(runtime.fields_of(faults))
      .pointer(t.objects({t.make("Dispatch", {{"_exception", exception}})}))
      .u32(1);
  const Address properties =
      t.make("Properties", {{"m_exceptionsHolder", t.make("Holder", {{"m_faultExceptions", faults}})}});
  const Address source = t.make("CancellationTokenSource", {{"_state", 2}});
  const Address characters_type = runtime.runtime.array_of(runtime.char_type);
  runtime.runtime.target.set(characters_type, "MethodTable", "Module", runtime.core_lib);
  runtime.runtime.target.set(characters_type, "MethodTable", "MTFlags", 0x800a'0000u | 2);
  const Address characters = runtime.array(characters_type, 2, 4);
  const Address offset = t.make("DateTimeOffset", {{"_offsetMinutes", 60}});
  t.set("Date", t.place("DateTimeOffset", offset, "_dateTime"), "_dateData", 0x089f'7ff5'f7b5'8000);
  const Address eight = t.make("ValueTuple`8", {{"Item1", 1}});
  t.set("ValueTuple`1", t.place("ValueTuple`8", eight, "Rest"), "Item1", text);
  const Address chunk = t.make("StringBuilder", {{"m_ChunkChars", characters}, {"m_ChunkLength", 2}});
  const Address buckets = t.structures("HashBucket", 3);
  t.set("HashBucket", t.structure_at("HashBucket", buckets, 1), "key", text);
  t.set("HashBucket", t.structure_at("HashBucket", buckets, 2), "key", buckets);
  const Address table = t.make("Hashtable", {{"_buckets", buckets}, {"_count", 1}});
  const Address bottom = t.make("ImmutableStack`1", {});
  const auto pushed = [&](std::uint32_t value, Address tail) {
    return t.make("ImmutableStack`1", {{"_head", value}, {"_tail", tail}});
  };
  const Address queue =
      t.make("BagQueue", {{"_array", numbers}, {"_headIndex", 3}, {"_tailIndex", 5}, {"_mask", 3}});
  return {list,
          t.make("Queue`1", {{"_array", numbers}, {"_head", 3}, {"_size", 2}}),
          t.make("Stack`1", {{"_array", numbers}, {"_size", 2}}),
          t.make("LinkedList`1", {{"head", node}, {"count", 1}}),
          t.make("SortedSet`1", {{"root", root}, {"count", 2}}),
          t.make("SortedDictionary`2", {{"_set", t.make("SortedSet`1", {{"root", pair}, {"count", 1}})}}),
          t.make("SortedList`2", {{"keys", numbers}, {"values", numbers}, {"_size", 2}}),
          t.make("PriorityQueue`2", {{"_nodes", numbers}, {"_size", 2}}),
          t.make("ConcurrentDictionary`2", {{"_tables", tables}}),
          t.make("ConcurrentQueue`1", {{"_head", segment}}),
          t.make("ConcurrentStack`1", {{"_head", single}}),
          t.make("ArraySegment`1", {{"_array", numbers}, {"_offset", 1}, {"_count", 2}}),
          t.make("ImmutableList`1", {{"_root", leaf}}),
          t.make("ImmutableSortedDictionary`2", {{"_root", map}, {"_count", 1}}),
          t.make("ImmutableHashSet`1", {{"_root", bucket}, {"_count", 2}}),
          t.make("ImmutableArray`1", {{"array", numbers}}),
          t.make("ObservableCollection`1", {{"items", list}}),
          t.make("FSharpList`1", {{"head", 3}, {"tail", t.make("FSharpList`1", {})}}),
          t.make("FSharpOption`1", {{"item", text}}),
          t.make("Uri", {{"_string", text}}),
          t.make("Lazy`1", {{"_value", 5}}),
          t.make("WeakReference", {{"_taggedHandle", 0}}),
          t.make("BitArray", {{"m_array", t.numbers({5, 1})}, {"m_length", 33}}),
          t.make("StringBuilder",
                 {{"m_ChunkChars", characters}, {"m_ChunkPrevious", chunk}, {"m_ChunkLength", 1}}),
          t.make("Version", {{"_Major", 1}, {"_Build", 0xffff'ffff}}),
          t.make("RuntimeType", {{"m_handle", runtime.list_of_int}}),
          source,
          t.make("CancellationToken", {{"_source", source}}),
          t.make("CancellationToken", {}),
          t.make("Tuple`2", {{"m_Item2", text}}),
          eight,
          t.make("Task`1", {{"m_stateFlags", 0x100'0000}, {"m_result", 5}}),
          t.make("Task", {{"m_stateFlags", 0x20'0000}, {"m_contingentProperties", properties}}),
          t.make("Memory`1", {{"_object", numbers}, {"_index", 1}, {"_length", 2}}),
          t.make("Memory`1", {{"_object", text}, {"_index", 1}, {"_length", 2}}),
          t.make("Memory`1", {}),
          t.make("Span`1", {{"_reference", runtime.elements_of(numbers)}, {"_length", 2}}),
          offset,
          t.make("Half", {{"_value", 0x3e00}}),
          t.make("Int128", {{"_upper", 1}}),
          t.make("BigInteger", {{"_sign", 1}, {"_bits", numbers}}),
          t.make("BigInteger", {{"_sign", 7}}),
          t.make("Index", {{"_value", 0xffff'fffe}}),
          t.make("ArrayList", {{"_items", t.objects({text, list, 0})}, {"_size", 2}}),
          table,
          t.make("Hashtable+SyncHashtable", {{"_table", table}}),
          t.make("OrderedDictionary`2", {{"_entries", t.structures("OrderedEntry", 3)}, {"_count", 2}}),
          t.make("ImmutableQueue`1",
                 {{"_forwards", pushed(1, pushed(2, bottom))}, {"_backwards", pushed(3, bottom)}}),
          t.make("ConcurrentBag`1", {{"_workStealingQueues", queue}}),
          t.make("BlockingCollection`1", {{"_collection", list}}),
          t.make("SmallFrozenDictionary`2", {{"_keys", numbers}, {"_values", numbers}}),
          t.make("ItemsFrozenSet`2", {{"_items", numbers}}),
          t.make("Grouping`2", {{"_elements", numbers}, {"_count", 2}}),
          t.make("<>z__ReadOnlyArray`1", {{"_items", numbers}}),
          t.make("<>z__ReadOnlyList`1", {{"_items", list}}),
          t.make("<>z__ReadOnlySingleElementList`1", {{"_item", 7}})};
}

} // namespace clr::test
