#include "core/report/save_core.h"

#include "core/memory/count_text.h"
#include "core/memory/recording_reader.h"
#include "core/metadata/recorded_pdbs.h"
#include "core/objects/inspected_object.h"
#include "core/report/core_origin.h"
#include "core/report/exception_report.h"
#include "core/report/memory_use.h"
#include "core/runtime/async_report.h"
#include "core/runtime/gc_report.h"
#include "core/runtime/heap_holders.h"
#include "core/runtime/lock_report.h"
#include "core/runtime/native_names.h"
#include "core/runtime/pool_report.h"
#include "core/runtime/root_rows.h"
#include "core/runtime/source_lines.h"
#include "core/runtime/stack_reporter.h"
#include "core/target/descriptor_locator.h"

#include <algorithm>
#include <elf.h>
#include <fmt/format.h>
#include <memory>
#include <unordered_set>
#include <utility>

namespace clr {

namespace {
// Bytes above and below the stack pointer that a debugger's own unwinder reads, although ours needs only a
// word of them.
constexpr std::uint64_t stack_around = 16 * RecordingReader::page_size;

void touch_exceptions(ExceptionReporter& reporter, const RuntimeThread& thread) {
  const ExceptionReporter::OfThread found = reporter.of_thread(thread);
  std::vector<Address> objects = found.in_flight;
  if (found.last_thrown != 0) objects.push_back(found.last_thrown);
  for (const Address object : objects) {
    try {
      reporter.tree(object);
    } catch (const Error&) {
      // Memory that cannot be read cannot be recorded; the copy will report the same fault.
    }
  }
}

// A debugger knows the address of a module's descriptor from its symbols. A reader of the copy may have to
// search the module's pages for it.
void touch_descriptors(MemoryReader& memory, std::vector<LoadedModule> modules, Cpu cpu) {
  for (LoadedModule& module : modules) module.contract_descriptor.reset();
  locate_runtimes(memory, modules, cpu);
}

std::vector<LockReporter::ThreadStart> starts_of(const SaveSource& source) {
  std::vector<LockReporter::ThreadStart> starts;
  for (const ThreadRegisters& thread : source.threads)
    starts.push_back(
        {.os_id = thread.os_id, .name = {}, .registers = context_of_thread(source.platform.cpu, thread)});
  return starts;
}

// What each thread waits for, by its stack.
void touch_waits(Runtime& runtime, StackReporter& stacks, const SaveSource& source) {
  LockReporter locks(
      runtime,
      []() -> WaitObjects& { throw Error(ErrorKind::unsupported_contract, "stacks alone are looked at"); },
      stacks, [&] { return starts_of(source); });
  for (const ThreadWait& wait : locks.table_by_stacks().waits) locks.wait_text(wait);
}

void attempt(const auto& act) {
  try {
    act();
  } catch (const Error&) {
    // The copy will say so, too.
  }
}

// What the commands for async methods, locks, deadlocks, the thread pool and timers read beside the heap: the
// code of the methods that wait, their modules' metadata, and static fields of the framework.
void touch_waits_of_heap(Runtime& runtime, HeapReporter& heap, StackReporter& stacks,
                         const SaveSource& source, const HeapWalkOptions& walk) {
  WaitObjects objects(runtime, heap);
  attempt([&] {
    LockReporter locks(
        runtime, [&]() -> WaitObjects& { return objects; }, stacks, [&] { return starts_of(source); });
    locks.deadlocks(walk);
    for (const ThreadWait& wait : locks.table(walk).waits) {
      locks.wait_text(wait);
      locks.place_text(wait);
    }
  });
  attempt([&] {
    AsyncReporter async(objects);
    std::vector<ThreadTop> tops;
    for (const ThreadRegisters& thread : source.threads)
      tops.push_back({thread.os_id, context_of_thread(source.platform.cpu, thread)});
    async.set_threads(std::move(tops));
    async.stacks({}, walk);
    async.faulted({}, walk);
  });
  attempt([&] { report_pool(runtime); });
  attempt([&] { report_timers(runtime); });
}

// What the commands for handles, roots, references and objects read beside the heap: the tables of handles,
// the finalizer queue, static fields, what compiled code holds, and the fields of every type.
void touch_holders_of_heap(Runtime& runtime, HeapReporter& heap, StackReporter& stacks,
                           const SaveSource& source, const HeapWalkOptions& walk, std::uint64_t most_steps,
                           std::vector<std::string>& left_out) {
  HeapHolders holders(runtime, heap, stacks, [] { return std::vector<HeapHolders::ThreadStart>(); });
  for (const HeapRoot::Kind kind : {HeapRoot::Kind::handle, HeapRoot::Kind::finalizer,
                                    HeapRoot::Kind::thread_static, HeapRoot::Kind::static_field})
    attempt([&] { holders.roots_of(kind); });
  RootReporter roots(runtime, stacks);
  for (const ThreadRegisters& thread : source.threads)
    attempt([&] {
      roots.walk(context_of_thread(source.platform.cpu, thread), thread.os_id,
                 [](const RootRow&) { return true; });
    });
  attempt([&] { memory_use(runtime, heap, [&] { return source; }); });
  // One object of each type tells where the fields of all are.
  std::unordered_set<Address> known;
  std::uint64_t steps = most_steps;
  attempt([&] {
    heap.for_each_object(
        {},
        [&](const HeapObjectRow& row) {
          if (!known.insert(row.type->method_table).second) return true;
          attempt(
              [&] { holders.for_each_reference(row.address, [](const HeapReference&) { return true; }); });
          attempt([&] {
            inspect_object(*runtime.objects(), row.address, {.text = {.steps = &steps}, .items = 10});
          });
          return true;
        },
        walk);
  });
  if (steps == 0)
    left_out.push_back(
        fmt::format("one object of each type has more than {} values in all: what the texts of objects of "
                    "the other types need beside the heap is left out",
                    most_steps));
}

// The objects that stacks hold and what they refer to, level by level, as far as debuggers show it.
class ObjectsOfStacks {
public:
  ObjectsOfStacks(Runtime& runtime, RecordingReader& recording, const SaveOptions& options)
      : objects_(*runtime.objects()), recording_(recording), options_(options), steps_(options.limits.steps) {
  }

  void add(Address object) {
    if (object == 0 || known_.contains(object)) return;
    if (known_.size() >= options_.limits.objects) {
      full_ = true;
      return;
    }
    known_.insert(object);
    next_.push_back(object);
  }

  void touch() {
    for (unsigned level = 0; level < max_saved_levels; ++level)
      for (const Address object : std::exchange(next_, {})) {
        if (steps_ == 0 || (options_.stop && options_.stop())) return;
        attempt([&] { touch(object); });
      }
  }

  void tell(std::vector<std::string>& left_out) const {
    if (full_)
      left_out.push_back(
          fmt::format("the stacks lead to more than {} objects: the values of the others are left out",
                      options_.limits.objects));
    if (steps_ == 0)
      left_out.push_back(fmt::format(
          "what the stacks lead to has more than {} values: the others are left out", options_.limits.steps));
    if (cut_ != 0)
      left_out.push_back(fmt::format("{} {} kept to {} bytes: the rest is left out",
                                     count_text(cut_, "object"), cut_ == 1 ? "is" : "are",
                                     options_.limits.object));
  }

private:
  void touch(Address object) {
    const InspectedObject found =
        inspect_object(objects_, object, {.text = {.steps = &steps_}, .stop = options_.stop});
    steps_ -= std::min<std::uint64_t>(steps_, 1 + found.fields.size() + found.items.size());
    recording_.record(object, std::min(found.size, options_.limits.object));
    if (found.size > options_.limits.object) ++cut_;
    for (const InspectedField& field : found.fields) add(field.value.object);
    for (const InspectedItem& item : found.items) {
      if (item.key) add(item.key->object);
      add(item.value.object);
    }
  }

  ObjectReader& objects_;
  RecordingReader& recording_;
  const SaveOptions& options_;
  std::unordered_set<Address> known_;
  std::vector<Address> next_; // of the level that was not touched yet
  std::uint64_t steps_;       // of SaveLimits::steps, that are left
  bool full_ = false;         // more than SaveLimits::objects
  std::size_t cut_ = 0;       // objects of more than SaveLimits::object bytes
};

void touch_values(Runtime& runtime, RecordingReader& recording, StackReporter& stacks,
                  const SaveSource& source, const SaveOptions& options, std::vector<std::string>& left_out) {
  ObjectsOfStacks objects(runtime, recording, options);
  RootReporter roots(runtime, stacks);
  for (const ThreadRegisters& thread : source.threads)
    attempt([&] {
      roots.walk(context_of_thread(source.platform.cpu, thread), thread.os_id, [&](const RootRow& row) {
        if (row.object) objects.add(*row.object);
        return !options.stop || !options.stop();
      });
    });
  objects.touch();
  objects.tell(left_out);
}

void touch_heap(Runtime& runtime, RecordingReader& recording, StackReporter& stacks, const SaveSource& source,
                const SaveOptions& options, std::vector<std::string>& left_out) {
  try {
    HeapReporter heap(runtime);
    const HeapWalkOptions walk{
        .progress = [&](std::uint64_t, std::uint64_t) { return !options.stop || !options.stop(); }};
    heap.count_types({}, walk); // and reads the types and their names
    constexpr std::uint64_t piece = std::uint64_t{1} << 30;
    for (const HeapRange& range : heap.map().ranges)
      for (Address at = range.begin; at < range.end; at += std::min(piece, range.end - at))
        recording.record(at, std::min(piece, range.end - at));
    touch_holders_of_heap(runtime, heap, stacks, source, walk, options.limits.steps, left_out);
    touch_waits_of_heap(runtime, heap, stacks, source, walk);
  } catch (const Error&) {
    // The copy will say so, too.
  }
}

std::string core_text(const ElfCore& core) {
  const std::uint64_t process = core.notes().process_id;
  return fmt::format("core {}{}", core.path(), process == 0 ? "" : fmt::format(" of process {}", process));
}

void add_pdbs(const SourceLines& lines, std::uint64_t most, std::vector<CoreNote>& notes,
              std::vector<std::string>& left_out) {
  std::uint64_t kept = 0;
  for (const SourceLines::SeparatePdb& found : lines.separate_pdbs()) {
    std::optional<CoreNote> note = RecordedPdbs::note(*found.pdb);
    if (note && kept + note->description.size() <= most) {
      kept += note->description.size();
      notes.push_back(std::move(*note));
    } else {
      left_out.push_back(fmt::format("the PDB of {} is left out: {} bytes are too many for the copy",
                                     found.module, found.pdb->bytes().size()));
    }
  }
}

std::string origin_text(const SaveSource& source, const SaveOptions& options) {
  std::string text = "made by clr savecore";
  if (options.all_methods) text += " --all-methods";
  if (options.values) text += " --values";
  if (options.heap) text += " --heap";
  if (!options.made_by.empty()) text += fmt::format(" ({})", options.made_by);
  if (!source.origin.empty()) text += " of " + source.origin;
  return text;
}
} // namespace

SaveSource source_of(CoreSession& session, const PathMap& paths) {
  const auto names =
      std::make_shared<NativeNames>(session.memory(), session.modules(), paths, session.room());
  const auto recorded = std::make_shared<const RecordedNames>(session.core());
  const SourceLines* const lines = session.runtime().lines();
  const auto& auxiliary = session.core().notes().auxv;
  const auto name = auxiliary.find(AT_EXECFN);
  return {.memory = &session.memory(),
          .platform = session.core().platform(),
          .modules = session.modules(),
          .threads = session.core().threads(),
          .notes = copy_notes(session.core()),
          .segments = session.core().segments(),
          .files = session.core().file_mappings(),
          .program_name = name == auxiliary.end() ? 0 : name->second,
          .origin = core_text(session.core()),
          .symbols = lines == nullptr ? PdbSearch{.paths = paths, .places = {}} : lines->search(),
          .name_native =
              [names, recorded](FrameRow& row, Address lookup) {
                if (!recorded->name(row)) names->name(row, lookup);
              },
          .room = session.room()};
}

SavedCore save_core(const SaveSource& source, const std::string& path, const SaveOptions& options) {
  std::vector<std::string> left_out;
  const auto stopped = [&] { return options.stop && options.stop(); };
  RecordingReader recording(*source.memory);
  touch_for_debugger(recording, source.modules, stopped);
  touch_descriptors(recording, source.modules, source.platform.cpu);

  // A second reader without any caches, so that everything that is needed is read again.
  Runtime runtime(recording, source.modules, source.platform, nullptr);
  if (ObjectReader* const objects = runtime.objects()) objects->finder().list_all();
  if (SourceLines* lines = runtime.lines()) {
    lines->set_search(source.symbols);
    lines->share_room(source.room);
    lines->set_recorded(RecordedPdbs(source.notes));
  }
  StackReporter stacks(runtime, recording, source.name_native);
  RecordedNames names;
  std::vector<Address> managed; // instructions of the stacks, each once
  std::unordered_set<Address> known;
  std::uint64_t stack_room = options.limits.stacks;
  bool stacks_cut = false, frames_cut = false;
  std::size_t walked = 0; // frames of all stacks
  for (const ThreadRegisters& thread : source.threads) {
    if (frames_cut || stopped()) break;
    const RegisterContext context = context_of_thread(source.platform.cpu, thread);
    if (const auto sp = context.sp()) recording.record(*sp - *sp % RecordingReader::page_size, stack_around);
    std::optional<Address> bottom;
    stacks.walk(context, thread.os_id, {}, [&](const FrameRow& row) {
      frames_cut = walked == options.limits.frames;
      if (frames_cut) return false;
      if (row.sp) bottom = row.sp;
      if (row.answer) {
        // A recursion has one instruction half a million times.
        if (known.insert(row.ip).second) {
          runtime.resolve(row.ip);
          managed.push_back(row.ip);
        }
      } else {
        names.add(row);
      }
      return !(++walked % 1024 == 0 && stopped());
    });
    if (const auto sp = context.sp(); options.values && sp && bottom && *bottom > *sp) {
      const std::uint64_t size = *bottom - *sp, wanted = std::min(size, options.limits.stack),
                          kept = std::min(wanted, stack_room);
      recording.record(*sp, kept);
      stack_room -= kept;
      stacks_cut = stacks_cut || kept < wanted;
      if (wanted < size)
        left_out.push_back(fmt::format(
            "the stack of thread {} is kept to {} bytes: the values of the frames behind are left out",
            thread.os_id, options.limits.stack));
    }
  }
  if (stacks_cut)
    left_out.push_back(
        fmt::format("all stacks together are kept to {} bytes: the values of the other frames are left out",
                    options.limits.stacks));
  if (frames_cut)
    left_out.push_back(fmt::format("the stacks have more than {} frames: what the others need is left out",
                                   options.limits.frames));
  runtime.summary();
  if (runtime.absence() == nullptr) {
    ExceptionReporter exceptions(runtime);
    for (const RuntimeThread& thread : stacks.threads().threads) {
      if (stopped()) break;
      touch_exceptions(exceptions, thread);
    }
    touch_waits(runtime, stacks, source);
    runtime.names()->modules();
    if (options.all_methods) {
      runtime.info();
      runtime.for_each_method({.glob = "", .r2r = false}, [](const MethodRow&) { return true; });
    }
    if (options.values) {
      touch_values(runtime, recording, stacks, source, options, left_out);
      if (options.describe) options.describe(runtime, managed);
    }
    if (options.heap) touch_heap(runtime, recording, stacks, source, options, left_out);
  }
  std::vector<CoreNote> notes = source.notes;
  // A core made from a minimal core would otherwise have these twice.
  std::erase_if(notes, [](const CoreNote& note) { return note.owner == own_note_owner; });
  notes.push_back(origin_note(origin_text(source, options)));
  if (!names.empty()) notes.push_back(names.note());
  if (const SourceLines* lines = runtime.lines()) add_pdbs(*lines, options.limits.pdbs, notes, left_out);
  return {write_core(path, source.platform, notes, with_access_of(source.segments, recording.ranges()),
                     *source.memory, options.stop),
          std::move(left_out)};
}

} // namespace clr
