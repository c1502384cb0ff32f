// A visitor that keeps everything that it visits.
#pragma once

#include "core/symbols/net_trace.h"

#include <functional>

namespace clr::test {

struct SeenEvent {
  std::string provider;
  std::uint32_t event_id = 0, version = 0;
  TraceTime time = 0;
  std::uint64_t process = 0, thread = 0;
  std::uint32_t processor = 0;
  std::vector<std::uint64_t> stack;
  std::vector<std::byte> payload;
};

class Listener final : public TraceVisitor {
public:
  bool wants(const symbols::EventType& type) override {
    types.push_back(type);
    return !wanted || wanted(type);
  }
  bool event(const TraceEvent& event) override {
    SeenEvent& seen = events.emplace_back();
    seen.provider = event.type->provider;
    seen.event_id = event.type->event_id;
    seen.version = event.version;
    seen.time = event.time;
    seen.process = event.process_id;
    seen.thread = event.thread_id;
    seen.processor = event.processor;
    for (std::size_t i = 0; i < event.stack.size(); ++i) seen.stack.push_back(event.stack[i]);
    seen.payload.assign(event.payload.begin(), event.payload.end());
    return events.size() < stop_after;
  }
  bool progress(std::uint64_t done, std::uint64_t size) override {
    steps.push_back({done, size});
    return steps.size() < stop_after_blocks;
  }

  std::function<bool(const symbols::EventType&)> wanted;
  std::size_t stop_after = SIZE_MAX, stop_after_blocks = SIZE_MAX;
  std::vector<symbols::EventType> types;
  std::vector<SeenEvent> events;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> steps;
};

} // namespace clr::test
