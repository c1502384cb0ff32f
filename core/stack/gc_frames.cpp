#include "core/stack/gc_frames.h"

#include "core/target/contracts.h"

#include <fmt/format.h>

namespace clr {
namespace {

// How much of a Thread is searched for the begin of the list.
constexpr std::size_t max_thread_search = 1'024;

bool on_stack(const RuntimeThread& thread, Address address) {
  return (!thread.stack_limit || address >= *thread.stack_limit) &&
         (!thread.stack_base || address < *thread.stack_base);
}

Address field(const Target& target, Address frame, std::string_view name) {
  return target.field_address(frame, "GCFrame", name);
}

bool leads_back(const Target& target, const RuntimeThread& thread, Address frame) {
  const unsigned word = target.pointer_size();
  if (frame % word != 0 || frame == 0 || !on_stack(thread, frame)) return false;
  try {
    return target.read_pointer(field(target, frame, "Thread")) == thread.address;
  } catch (const Error&) {
    return false; // it leads to no memory
  }
}

// 0: there is no record, or none can be told from other words.
Address first_frame(const Target& target, const RuntimeThread& thread) {
  if (target.find_offset("Thread", "GCFrame"))
    return target.read_pointer(target.field_address(thread.address, "Thread", "GCFrame"));
  // From .NET 11 on the place of the list is published.
  if (target.descriptor().version >= descriptor_format_names) target.offset("Thread", "GCFrame");
  if (!target.find_offset("GCFrame", "Thread")) return 0;
  const unsigned word = target.pointer_size();
  for (std::size_t at = 0; at < max_thread_search; at += word) {
    const Address frame = target.read_pointer(thread.address + at);
    if (leads_back(target, thread, frame)) return frame;
  }
  return 0;
}

} // namespace

GcFrames read_gc_frames(const Target& target, const RuntimeThread& thread) {
  GcFrames found;
  if (!target.find_offset("GCFrame", "Next")) {
    // .NET 9 and earlier describe none.
    if (target.descriptor().version >= descriptor_format_names)
      found.problem = "the list of GCFrames is not known: the runtime's descriptor has no field GCFrame.Next";
    return found;
  }
  const Address end = target.platform().wrap(~Address{0});
  try {
    Address previous = 0;
    for (Address frame = first_frame(target, thread); frame != 0 && frame != end;) {
      if (frame <= previous || !on_stack(thread, frame) || frame % target.pointer_size() != 0) {
        found.problem = fmt::format("the list of GCFrames is corrupt: {:#x} follows {:#x}", frame, previous);
        break;
      }
      if (found.frames.size() >= max_gc_frames) {
        found.problem = fmt::format("the list of GCFrames has more than {} entries", max_gc_frames);
        break;
      }
      const GcFrame read{.address = frame,
                         .references = target.read_pointer(field(target, frame, "ObjRefs")),
                         .count = target.read_u32(field(target, frame, "NumObjRefs")),
                         .interior = target.read_u32(field(target, frame, "GCFlags")) != 0};
      if (read.count > max_protected_words) {
        found.problem = fmt::format("the GCFrame at {:#x} says that it protects {} words", frame, read.count);
        break;
      }
      found.frames.push_back(read);
      previous = frame;
      frame = target.read_pointer(field(target, frame, "Next"));
    }
  } catch (const Error& error) {
    found.problem = fmt::format("the list of GCFrames is torn: {}", error.what());
  }
  return found;
}

} // namespace clr
