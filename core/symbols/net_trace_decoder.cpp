#include "core/symbols/net_trace_decoder.h"

#include <type_traits>

namespace clr {
namespace {

// Bits of the first byte of a compressed header: they say which parts follow.
constexpr std::uint8_t has_metadata_id = 1, has_sequence = 2, has_thread = 4, has_stack = 8,
                       has_activity = 16, has_related_activity = 32, has_payload_size = 128;
constexpr std::uint16_t compressed_flag = 1;
constexpr std::uint32_t id_mask = 0x7fff'ffff; // the highest bit says whether the event is sorted
constexpr std::uint32_t drop_threads = 1, drop_metadata = 2;
// The visitor may end the reading after so many events of one block.
constexpr std::uint32_t events_of_step = 1u << 16;

// Without a look at each bucket: a file may fill a table once and empty it a million times.
void forget(auto& table) {
  if (!table.empty()) table = std::remove_reference_t<decltype(table)>();
}

} // namespace

bool TraceDecoder::read(TraceBlock block) {
  bool more = true;
  try {
    more = read_rows(block);
  } catch (const TraceFault& fault) {
    // In a block that is cut, the last row is cut too; that is reported only once.
    if (block.cut)
      ++faults_;
    else
      malformed(fault);
  }
  if (!too_damaged()) return more;
  malformed(TraceFaultKind::many_faults, block.body.offset());
  return false;
}

bool TraceDecoder::read_rows(TraceBlock& block) {
  switch (block.kind) {
  case TraceBlockKind::event:
    return each_event(block.body, false,
                      [this](const symbols::EventHeader& header, const TraceBytes& payload) {
                        return visit(header, payload);
                      });
  case TraceBlockKind::metadata:
    if (info_.version >= 6) {
      read_metadata_rows(block.body);
      return true;
    }
    return each_event(block.body, true, [this](const symbols::EventHeader&, const TraceBytes& payload) {
      try {
        add_type(payload, read_metadata_event);
      } catch (const TraceFault& fault) {
        malformed(fault);
      }
      return true;
    });
  case TraceBlockKind::sequence_point:
    read_sequence_point(block.body);
    break;
  case TraceBlockKind::stack:
    read_stacks(block.body);
    break;
  case TraceBlockKind::thread:
    read_threads(block.body);
    break;
  case TraceBlockKind::remove_thread:
    read_removed_threads(block.body);
    break;
  case TraceBlockKind::label_list:
    read_labels(block.body);
    break;
  case TraceBlockKind::trace:
  case TraceBlockKind::unknown:
  case TraceBlockKind::end:
    ++report_.skipped_blocks;
    break;
  }
  return true;
}

void TraceDecoder::malformed(const TraceFault& fault) {
  ++faults_;
  malformed(fault.kind_of_fault(), fault.offset());
}

void TraceDecoder::malformed(TraceFaultKind what, std::uint64_t offset) {
  report_.malformed.count(what, static_cast<std::size_t>(offset));
}

// --- events

template<typename Use>
bool TraceDecoder::each_event(TraceBytes& body, bool metadata, Use use) {
  const std::uint64_t begin = body.offset();
  const std::uint16_t header_size = body.u16();
  const bool compressed = (body.u16() & compressed_flag) != 0;
  const std::uint64_t fixed = body.offset() - begin;
  if (header_size < fixed) body.fail(TraceFaultKind::short_block_header);
  body.skip(static_cast<std::size_t>(header_size - fixed));

  symbols::EventHeader header;
  for (std::uint32_t count = 1; !body.at_end() && !too_damaged(); ++count) {
    bool more = true;
    if (compressed) {
      take_compressed(body, header, metadata);
      more = use(header, body.part(header.payload_size));
    } else {
      more = use(header, take_uncompressed(body, header));
      if (info_.version < 6) body.align(4);
    }
    if (!more) return false;
    if (count % events_of_step == 0 && !visitor_.progress(body.offset(), size_)) {
      report_.stopped = true;
      return false;
    }
  }
  return true;
}

void TraceDecoder::take_compressed(TraceBytes& bytes, symbols::EventHeader& header, bool metadata) const {
  const std::uint8_t flags = bytes.u8();
  if ((flags & has_metadata_id) != 0) header.metadata_id = bytes.var32();
  if ((flags & has_sequence) != 0) {
    header.sequence += bytes.var32();
    header.capture_thread = bytes.var64();
    header.processor = bytes.var32();
  }
  if (info_.version >= 6 || (!metadata && header.metadata_id != 0)) ++header.sequence;
  if ((flags & has_thread) != 0) header.thread = bytes.var64();
  if ((flags & has_stack) != 0) header.stack_id = bytes.var32();
  header.time += bytes.var64();
  if (info_.version >= 6) {
    if ((flags & has_activity) != 0) header.labels_id = bytes.var32();
  } else {
    if ((flags & has_activity) != 0) bytes.skip(trace_guid_size);
    if ((flags & has_related_activity) != 0) bytes.skip(trace_guid_size);
  }
  if ((flags & has_payload_size) != 0) header.payload_size = bytes.var32();
}

TraceBytes TraceDecoder::take_uncompressed(TraceBytes& bytes, symbols::EventHeader& header) const {
  TraceBytes row = bytes.part(bytes.size32());
  header.metadata_id = row.u32() & id_mask;
  header.sequence = row.u32();
  header.thread = row.u64();
  header.capture_thread = row.u64();
  header.processor = row.u32();
  header.stack_id = row.u32();
  header.time = row.u64();
  if (info_.version >= 6)
    header.labels_id = row.u32();
  else
    row.skip(2 * trace_guid_size);
  return row.part(row.size32());
}

bool TraceDecoder::visit(const symbols::EventHeader& header, const TraceBytes& payload) {
  ++report_.events;
  count_dropped(header);
  const auto known = types_.find(header.metadata_id);
  if (known == types_.end()) {
    malformed(TraceFaultKind::unknown_event_type, payload.offset());
    return true;
  }
  if (!known->second.wanted) return true;

  TraceEvent event;
  event.type = &known->second.type;
  event.version = event.type->version;
  event.time = header.time;
  event.process_id = info_.process_id.value_or(0);
  event.processor = header.processor;
  if (info_.version >= 6) {
    if (const auto thread = threads_.find(header.thread); thread != threads_.end()) {
      event.thread_id = thread->second.thread_id.value_or(0);
      event.process_id = thread->second.process_id.value_or(event.process_id);
    } else {
      malformed(TraceFaultKind::unknown_thread, payload.offset());
    }
    if (const auto labels = labels_.find(header.labels_id); labels != labels_.end())
      event.version = labels->second.version.value_or(event.version);
  } else {
    event.thread_id = header.thread;
  }
  event.stack = stack(header.stack_id, payload.offset());
  TraceBytes rest = payload;
  event.payload = rest.take(rest.left());
  event.file_offset = payload.offset();
  ++report_.visited;
  if (visitor_.event(event)) return true;
  report_.stopped = true;
  return false;
}

// --- events that the writer had no room for: each thread numbers its events from 1

void TraceDecoder::check_sequence(std::uint64_t thread, std::uint32_t last) {
  const auto found = sequences_.find(thread);
  if (found == sequences_.end() && sequences_.size() >= NetTrace::max_threads) return;
  std::uint32_t& before = found == sequences_.end() ? sequences_[thread] : found->second;
  const std::uint32_t missing = last - before;
  // A number that runs backwards belongs to another thread with the same id.
  if (missing < 0x8000'0000) report_.dropped += missing;
  before = last;
}

void TraceDecoder::count_dropped(const symbols::EventHeader& header) {
  const auto found = sequences_.find(header.capture_thread);
  if (found != sequences_.end() && found->second + 1 == header.sequence) {
    found->second = header.sequence;
    return;
  }
  check_sequence(header.capture_thread, header.sequence - 1);
  const auto now = sequences_.find(header.capture_thread);
  if (now != sequences_.end()) now->second = header.sequence;
}

void TraceDecoder::read_sequence_point(TraceBytes& body) {
  // The ids of stacks and labels begin anew, whatever else the block says.
  stacks_.clear();
  located_ = 0;
  forget(labels_);
  body.u64(); // time
  const bool v6 = info_.version >= 6;
  const std::uint32_t flags = v6 ? body.u32() : 0;
  if ((flags & drop_metadata) != 0) {
    forget(types_);
    fields_left_ = NetTrace::max_fields;
  }
  if ((flags & drop_threads) != 0) forget(threads_);
  for (std::uint32_t left = body.size32(); left != 0; --left) {
    const std::uint64_t thread = v6 ? body.var64() : body.u64();
    check_sequence(thread, v6 ? body.var32() : body.u32());
  }
  if ((flags & drop_threads) != 0) forget(sequences_);
}

// --- tables

template<typename ReadType>
void TraceDecoder::add_type(const TraceBytes& row, ReadType read_type) {
  std::size_t left = fields_left_;
  symbols::EventType type = read_type(row, left);
  const std::size_t fields = fields_left_ - left;
  if (!type.fields_fault.empty()) ++faults_;
  if (types_.size() >= NetTrace::max_event_types && !types_.contains(type.id))
    row.fail(TraceFaultKind::many_event_types);
  KnownType& known = types_[type.id];
  fields_left_ += known.fields;
  known = {};
  known.wanted = visitor_.wants(type);
  if (!known.wanted) return;
  known.fields = fields;
  fields_left_ -= fields;
  known.type = std::move(type);
}

void TraceDecoder::read_metadata_rows(TraceBytes& body) {
  body.skip(body.u16()); // a header without known contents
  while (!body.at_end() && !too_damaged()) {
    const TraceBytes row = body.part(body.u16());
    try {
      add_type(row, read_metadata_row);
    } catch (const TraceFault& fault) {
      malformed(fault);
    }
  }
}

void TraceDecoder::read_stacks(TraceBytes& body) {
  const std::uint32_t first = body.u32();
  StackRun run;
  run.count = body.size32();
  run.rows = body;
  if (stacks_.size() >= NetTrace::max_stack_runs && !stacks_.contains(first))
    body.fail(TraceFaultKind::many_stacks);
  stacks_.insert_or_assign(first, std::move(run));
}

TraceStack TraceDecoder::stack(std::uint32_t id, std::uint64_t offset) {
  if (id == 0) return {};
  const auto behind = stacks_.upper_bound(id);
  const auto lost = [&] {
    malformed(TraceFaultKind::missing_stack, offset);
    return TraceStack{};
  };
  if (behind == stacks_.begin()) return lost();
  auto& [first, run] = *std::prev(behind);
  try {
    while (run.stacks.size() <= id - first && run.stacks.size() < run.count) {
      if (located_ >= NetTrace::max_stacks) run.rows.fail(TraceFaultKind::many_stacks);
      run.stacks.push_back(run.rows.take(run.rows.size32()));
      ++located_;
    }
  } catch (const TraceFault& fault) {
    run.count = static_cast<std::uint32_t>(run.stacks.size());
    malformed(fault);
  }
  if (id - first < run.stacks.size()) return {run.stacks[id - first], info_.pointer_size};
  return lost();
}

void TraceDecoder::read_threads(TraceBytes& body) {
  while (!body.at_end() && !too_damaged()) {
    const TraceBytes row = body.part(body.u16());
    try {
      const TraceThread thread = read_thread_row(row);
      if (threads_.size() < NetTrace::max_threads || threads_.contains(thread.index))
        threads_.insert_or_assign(thread.index, thread);
      else
        row.fail(TraceFaultKind::many_threads);
    } catch (const TraceFault& fault) {
      malformed(fault);
    }
  }
}

void TraceDecoder::read_removed_threads(TraceBytes& body) {
  while (!body.at_end()) {
    const std::uint64_t index = body.var64();
    check_sequence(index, body.var32());
    threads_.erase(index);
    sequences_.erase(index);
  }
}

void TraceDecoder::read_labels(TraceBytes& body) {
  const std::uint32_t first = body.u32();
  const std::uint32_t count = body.size32();
  for (std::uint32_t i = 0; i < count; ++i) {
    const EventLabels labels = take_label_list(body);
    if (!labels.version) continue;
    if (labels_.size() >= NetTrace::max_label_lists && !labels_.contains(first + i))
      body.fail(TraceFaultKind::many_labels);
    labels_.insert_or_assign(first + i, labels);
  }
}

} // namespace clr
