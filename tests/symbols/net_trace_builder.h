// Writes nettrace files of versions 4, 5 and 6, block by block, so that tests can also write wrong ones.
#pragma once

#include "core/symbols/net_trace_event.h"

#include <string>
#include <string_view>
#include <vector>

namespace clr::test {

// Little-endian bytes of the format.
class NetTraceBytes {
public:
  NetTraceBytes& u8(std::uint64_t v) { return number(v, 1); }
  NetTraceBytes& u16(std::uint64_t v) { return number(v, 2); }
  NetTraceBytes& u32(std::uint64_t v) { return number(v, 4); }
  NetTraceBytes& u64(std::uint64_t v) { return number(v, 8); }
  NetTraceBytes& var(std::uint64_t v) {
    for (; v >= 0x80; v >>= 7) u8((v & 0x7f) | 0x80);
    return u8(v);
  }
  NetTraceBytes& raw(std::string_view text) {
    for (const char c : text) u8(static_cast<unsigned char>(c));
    return *this;
  }
  NetTraceBytes& raw(const NetTraceBytes& other) {
    bytes.insert(bytes.end(), other.bytes.begin(), other.bytes.end());
    return *this;
  }
  // Strings: a count in front (objects of versions 4 and 5; version 6), UTF-16 with a NUL behind.
  NetTraceBytes& counted32(std::string_view text) { return u32(text.size()).raw(text); }
  NetTraceBytes& counted(std::string_view text) { return var(text.size()).raw(text); }
  NetTraceBytes& utf16(std::u16string_view text) {
    for (const char16_t c : text) u16(c);
    return u16(0);
  }
  NetTraceBytes& utf16(std::string_view ascii) { return utf16(std::u16string(ascii.begin(), ascii.end())); }
  NetTraceBytes& guid() { return u64(0x1122'3344'5566'7788).u64(0x99aa'bbcc'ddee'ff00); }
  NetTraceBytes& align(std::size_t unit, std::size_t base = 0) {
    while ((base + bytes.size()) % unit != 0) u8(0);
    return *this;
  }
  std::size_t size() const { return bytes.size(); }

  std::vector<std::byte> bytes;

private:
  NetTraceBytes& number(std::uint64_t v, unsigned size) {
    for (unsigned i = 0; i < size; ++i) bytes.push_back(static_cast<std::byte>(v >> (8 * i)));
    return *this;
  }
};

struct BuiltEvent {
  std::uint32_t metadata = 1;
  std::uint64_t time = 0;
  NetTraceBytes payload;
  std::uint64_t thread = 100; // version 6: its index
  std::uint32_t sequence = 1; // of that thread
  std::uint32_t stack = 0, labels = 0, processor = 3;
};

struct BuiltType {
  std::uint32_t id = 1;
  std::string provider = "Microsoft-Windows-DotNETRuntime";
  std::uint32_t event_id = 143;
  std::uint32_t version = 1;
  std::string name;
  NetTraceBytes fields; // as the version writes them; empty: none
};

class NetTraceBuilder {
public:
  explicit NetTraceBuilder(std::uint32_t version, std::uint32_t pointer_size = 8)
      : version_(version), pointer_size_(pointer_size) {}

  // The header up to the first block. Start: 2026-11-21 15:57:22.012 UTC = tick 1000; 1,000,000 ticks a
  // second.
  NetTraceBuilder& begin() {
    out.raw("Nettrace");
    NetTraceBytes clock;
    for (const unsigned part : {2026u, 11u, 6u, 21u, 15u, 57u, 22u, 12u}) clock.u16(part);
    clock.u64(1000).u64(1'000'000).u32(pointer_size_);
    if (version_ >= 6) {
      out.u32(0).u32(version_).u32(0);
      clock.u32(3).counted("ProcessId").counted("4321").counted("HardwareThreadCount").counted("8");
      clock.counted("machine").counted("host");
      return block(1, clock);
    }
    out.counted32("!FastSerialization.1");
    clock.u32(4321).u32(8).u32(1'000'000);
    object_header("Trace", version_, 4);
    out.raw(clock).u8(6);
    return *this;
  }
  NetTraceBuilder& end() {
    if (version_ >= 6)
      out.u32(0);
    else
      out.u8(1);
    return *this;
  }

  NetTraceBuilder& types(const std::vector<BuiltType>& types) {
    NetTraceBytes rows;
    if (version_ >= 6) {
      rows.u16(2).u16(0xabcd); // a header of which readers know nothing
      for (const BuiltType& type : types) {
        NetTraceBytes row;
        row.var(type.id).counted(type.provider).var(type.event_id).counted(type.name);
        if (type.fields.size() == 0)
          row.u16(0);
        else
          row.raw(type.fields);
        NetTraceBytes optional;
        optional.u8(8).u8(4).u8(3).u64(0x10).u8(5).counted("described").u8(9).u8(type.version);
        row.u16(optional.size()).raw(optional).u8(0xee); // and what a later version may add
        rows.u16(row.size()).raw(row);
      }
      return block(3, rows);
    }
    // As the runtime writes them: compressed, without sequence numbers.
    event_block_header(rows, true);
    std::uint64_t time = 0;
    for (const BuiltType& type : types) {
      const NetTraceBytes payload = metadata_payload(type);
      rows.u8(0x80 | 0x40).var(time == 0 ? 900 : 0).var(payload.size()).raw(payload);
      time = 900;
    }
    return object("MetadataBlock", rows);
  }
  NetTraceBytes metadata_payload(const BuiltType& type) const {
    NetTraceBytes payload;
    payload.u32(type.id)
        .utf16(type.provider)
        .u32(type.event_id)
        .utf16(type.name)
        .u64(0x10)
        .u32(type.version)
        .u32(4);
    if (type.fields.size() == 0)
      payload.u32(0);
    else
      payload.raw(type.fields);
    return payload;
  }

  NetTraceBuilder& events(const std::vector<BuiltEvent>& events, bool compressed = true) {
    NetTraceBytes rows;
    event_block_header(rows, compressed);
    return event_object(rows.raw(event_rows(events, compressed)));
  }
  // The events one after the other, each as the difference to the one before.
  NetTraceBytes event_rows(const std::vector<BuiltEvent>& events, bool compressed = true) const {
    NetTraceBytes rows;
    BuiltEvent before{.metadata = 0, .thread = 0, .sequence = 0, .processor = 0};
    for (const BuiltEvent& event : events) {
      if (compressed)
        compressed_event(rows, event, before);
      else
        plain_event(rows, event);
      before = event;
    }
    return rows;
  }
  NetTraceBuilder& event_object(const NetTraceBytes& rows) {
    return version_ >= 6 ? block(2, rows) : object("EventBlock", rows);
  }
  static void event_block_header(NetTraceBytes& out, bool compressed) {
    out.u16(24).u16(compressed ? 1 : 0).u64(0).u64(UINT64_MAX).u32(0xdddd'dddd); // four bytes more than is
                                                                                 // known
  }

  NetTraceBuilder& stacks(std::uint32_t first, const std::vector<std::vector<std::uint64_t>>& stacks) {
    NetTraceBytes rows;
    rows.u32(first).u32(stacks.size());
    for (const auto& stack : stacks) {
      rows.u32(stack.size() * pointer_size_);
      for (const std::uint64_t ip : stack) pointer_size_ == 8 ? rows.u64(ip) : rows.u32(ip);
    }
    return version_ >= 6 ? block(5, rows) : object("StackBlock", rows);
  }

  NetTraceBuilder& sequence_point(const std::vector<std::pair<std::uint64_t, std::uint32_t>>& threads = {},
                                  std::uint32_t flags = 0) {
    NetTraceBytes rows;
    rows.u64(5000);
    if (version_ >= 6) rows.u32(flags);
    rows.u32(threads.size());
    for (const auto& [thread, sequence] : threads) {
      if (version_ >= 6)
        rows.var(thread).var(sequence);
      else
        rows.u64(thread).u32(sequence);
    }
    return version_ >= 6 ? block(4, rows) : object("SPBlock", rows);
  }

  // Version 6: a row of the thread table.
  NetTraceBuilder& thread(std::uint64_t index, std::uint64_t process, std::uint64_t id) {
    NetTraceBytes row, rows;
    row.var(index).u8(1).counted("worker").u8(2).var(process).u8(3).var(id).u8(4).counted("k").counted("v");
    return block(6, rows.u16(row.size()).raw(row));
  }

  // Versions 4 and 5.
  NetTraceBuilder& object_header(std::string_view name, std::uint32_t version = 2,
                                 std::uint32_t minimum = 2) {
    out.u8(5).u8(5).u8(1).u32(version).u32(minimum).counted32(name).u8(6);
    return *this;
  }
  NetTraceBuilder& object(std::string_view name, const NetTraceBytes& body) {
    return object(name, body, body.size());
  }
  // With a size that need not be true.
  NetTraceBuilder& object(std::string_view name, const NetTraceBytes& body, std::size_t stated) {
    object_header(name);
    out.u32(stated).align(4).raw(body).u8(6);
    return *this;
  }
  // Version 6.
  NetTraceBuilder& block(std::uint32_t kind, const NetTraceBytes& body) {
    return block(kind, body, body.size());
  }
  NetTraceBuilder& block(std::uint32_t kind, const NetTraceBytes& body, std::size_t stated) {
    out.u32(stated | kind << 24).raw(body);
    return *this;
  }

  NetTraceBytes out;

private:
  void compressed_event(NetTraceBytes& rows, const BuiltEvent& event, const BuiltEvent& before) const {
    const bool sequence = event.sequence != before.sequence + 1 || event.thread != before.thread ||
                          event.processor != before.processor;
    const bool labels = version_ >= 6 && event.labels != before.labels;
    std::uint8_t flags = 0x40;
    if (event.metadata != before.metadata) flags |= 1;
    if (sequence) flags |= 2;
    if (event.thread != before.thread) flags |= 4;
    if (event.stack != before.stack) flags |= 8;
    if (labels) flags |= 16;
    if (event.payload.size() != before.payload.size()) flags |= 128;
    rows.u8(flags);
    if ((flags & 1) != 0) rows.var(event.metadata);
    if (sequence)
      rows.var(static_cast<std::uint32_t>(event.sequence - before.sequence - 1))
          .var(event.thread)
          .var(event.processor);
    if ((flags & 4) != 0) rows.var(event.thread);
    if ((flags & 8) != 0) rows.var(event.stack);
    rows.var(event.time - before.time);
    if (labels) rows.var(event.labels);
    if ((flags & 128) != 0) rows.var(event.payload.size());
    rows.raw(event.payload);
  }

  void plain_event(NetTraceBytes& rows, const BuiltEvent& event) const {
    NetTraceBytes row;
    row.u32(event.metadata | 0x8000'0000)
        .u32(event.sequence)
        .u64(event.thread)
        .u64(event.thread)
        .u32(event.processor);
    row.u32(event.stack).u64(event.time);
    if (version_ >= 6)
      row.u32(event.labels);
    else
      row.guid().guid();
    row.u32(event.payload.size()).raw(event.payload);
    if (version_ < 6) row.align(4);
    rows.u32(row.size()).raw(row);
  }

  std::uint32_t version_, pointer_size_;
};

// --- payloads of the runtime's events

struct BuiltMethod {
  std::uint64_t id = 0x7000, module = 0x8000, start = 0x10'0000;
  std::uint32_t size = 0x80, token = 0x0600'0001, flags = 8 | 3 << 7; // jitted, quick
  std::string type = "Ns.Type", name = "Run", signature = "instance void  (int32)";
  unsigned version = 1;
  bool named = true;
};

inline NetTraceBytes payload_of(const BuiltMethod& method) {
  NetTraceBytes payload;
  payload.u64(method.id)
      .u64(method.module)
      .u64(method.start)
      .u32(method.size)
      .u32(method.token)
      .u32(method.flags);
  if (method.named) payload.utf16(method.type).utf16(method.name).utf16(method.signature);
  if (method.version >= 1) payload.u16(9);
  if (method.version >= 2) payload.u64(77);
  return payload;
}

inline NetTraceBytes module_payload(std::uint64_t id, std::string_view il_path,
                                    std::string_view native_path = {}) {
  NetTraceBytes payload;
  payload.u64(id).u64(0x9000).u32(8).u32(0).utf16(il_path).utf16(native_path).u16(9);
  payload.guid().u32(1).utf16("/build/app.pdb").u64(0).u64(0).u32(0).utf16("");
  return payload;
}

} // namespace clr::test
