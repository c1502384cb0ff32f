// Nettrace files from arbitrary bytes, and the method stores that are made from them. The first byte chooses:
// the rest is a whole file, or the blocks behind the header of version 4, 5 or 6.
#include "core/symbols/method_store_trace.h"

#include <algorithm>

using namespace clr;

namespace {

void append(std::vector<std::byte>& out, std::uint64_t value, unsigned size) {
  for (unsigned i = 0; i < size; ++i) out.push_back(static_cast<std::byte>(value >> (8 * i)));
}
void append(std::vector<std::byte>& out, std::string_view text) {
  for (const char c : text) out.push_back(static_cast<std::byte>(c));
}

std::vector<std::byte> header(std::uint32_t version, std::uint32_t pointer_size) {
  std::vector<std::byte> out;
  append(out, "Nettrace");
  if (version >= 6) {
    append(out, 0, 4);
    append(out, version, 4);
    append(out, 0, 4);
    append(out, 1u << 24 | 40, 4);
  } else {
    append(out, 20, 4);
    append(out, "!FastSerialization.1");
    append(out, 0x01'0505, 3);
    append(out, version, 4);
    append(out, 4, 4);
    append(out, 5, 4);
    append(out, "Trace");
    append(out, 6, 1);
  }
  for (const unsigned part : {2026u, 11u, 6u, 21u, 15u, 57u, 22u, 12u}) append(out, part, 2);
  append(out, 1000, 8);
  append(out, 1'000'000, 8);
  append(out, pointer_size, 4);
  append(out, 0, 4); // version 6: no properties
  if (version >= 6) return out;
  append(out, 0, 8); // processors, sampling rate
  append(out, 6, 1);
  return out;
}

// Looks at every byte that it is given.
class Everything final : public TraceVisitor {
public:
  bool event(const TraceEvent& event) override {
    for (std::size_t i = 0; i < event.stack.size(); ++i) sum += event.stack[i];
    for (const std::byte b : event.payload) sum += std::to_integer<unsigned>(b);
    return ++events < most_events;
  }
  std::uint64_t sum = 0, events = 0;

private:
  static constexpr std::uint64_t most_events = 100'000; // a short block may claim many of one byte each
};

// The rules of the store, as simply as they can be said.
void check(const MethodStore& store) {
  const std::vector<MethodBody>& bodies = store.bodies();
  const std::size_t count = std::min<std::size_t>(bodies.size(), 64);
  for (std::size_t i = 0; i < count; ++i) {
    const MethodBody& body = bodies[i];
    const TraceTime from = body.loaded.value_or(0);
    if (body.size == 0 || body.start + body.size < body.start) __builtin_trap();
    if (!body.there_at(from)) __builtin_trap();
    for (const Address at : {body.start, body.start + body.size - 1}) {
      if (store.find(at, from) != &body) __builtin_trap();
      if (store.find_last(at) == nullptr) __builtin_trap();
      if (body.unloaded && store.find(at, *body.unloaded) == &body) __builtin_trap();
      if (body.loaded && *body.loaded != 0 && store.find(at, *body.loaded - 1) == &body) __builtin_trap();
    }
    store.describe(body.start, from, {});
  }
  Address end = 0;
  for (const MethodBody* body : store.bodies_at(std::nullopt)) {
    if (body->start < end) __builtin_trap();
    end = body->start + body->size;
  }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const unsigned choice = data[0] % 4;
  std::vector<std::byte> file;
  if (choice != 0) file = header(3 + choice, (data[0] & 0x80) != 0 ? 4 : 8);
  const auto rest = std::as_bytes(std::span(data + 1, size - 1));
  file.insert(file.end(), rest.begin(), rest.end());
  try {
    const NetTrace trace = NetTrace::of_bytes(file, "fuzz");
    Everything everything;
    const TraceReport report = trace.read(everything);
    if (report.visited != everything.events || report.visited > report.events) __builtin_trap();
    const TraceMethods methods = read_trace_methods(trace);
    for (const auto& [process, store] : methods.processes) {
      check(store);
      if (methods.of_process(process) != &store) __builtin_trap();
    }
    if (methods.of_process(std::nullopt) != nullptr && methods.processes.size() != 1) __builtin_trap();
  } catch (const Error&) {
    if (choice != 0) __builtin_trap(); // the header is good, and the rest is never refused
  }
  return 0;
}
