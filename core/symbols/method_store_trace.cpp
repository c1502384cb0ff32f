#include "core/symbols/method_store_trace.h"

#include "core/symbols/net_trace_bytes.h"

namespace clr {
namespace {

class CodeEvents final : public TraceVisitor {
public:
  CodeEvents(TraceMethods& methods, const std::function<bool(std::uint64_t, std::uint64_t)>& progress)
      : methods_(methods), progress_(progress) {}

  bool wants(const symbols::EventType& type) override { return is_code_event(type); }

  bool event(const TraceEvent& event) override {
    if (faults_ == NetTrace::max_faults) return true;
    last_event_ = event.file_offset;
    try {
      const CodeEvent code = read_code_event(event);
      if (const auto* const complete = std::get_if<RundownComplete>(&code)) {
        if (complete->kind == CodeEventKind::rundown_end) methods_.rundown_complete = true;
      } else if (MethodStoreBuilder* const builder = builder_of(event)) {
        if (const auto* const method = std::get_if<MethodEvent>(&code))
          methods_.method_events += used(builder->add(*method), event);
        else if (const auto* const module = std::get_if<ModuleEvent>(&code))
          methods_.module_events += used(builder->add(*module), event);
      }
    } catch (const TraceFault& fault) {
      malformed(fault.kind_of_fault(), event);
      if (++faults_ == NetTrace::max_faults) malformed(TraceFaultKind::many_faults, event);
    }
    return true;
  }

  bool progress(std::uint64_t done, std::uint64_t size) override {
    return !progress_ || progress_(done, size);
  }

  void finish() {
    for (auto& [id, builder] : builders_) {
      const auto made = methods_.processes.emplace(id, builder.finish()).first;
      if (const std::size_t lost = made->second.lost_names(); lost != 0)
        methods_.malformed.count(TraceFaultKind::lost_text, static_cast<std::size_t>(last_event_), lost);
    }
  }

private:
  // Whether the event is used, in spite of what is wrong with it.
  bool used(std::optional<TraceFaultKind> fault, const TraceEvent& event) {
    if (fault) malformed(*fault, event);
    return !fault || *fault == TraceFaultKind::lost_text;
  }
  void malformed(TraceFaultKind what, const TraceEvent& event) {
    methods_.malformed.count(what, static_cast<std::size_t>(event.file_offset));
  }

  MethodStoreBuilder* builder_of(const TraceEvent& event) {
    if (builders_.size() >= TraceMethods::max_processes && !builders_.contains(event.process_id)) {
      malformed(TraceFaultKind::many_processes, event);
      return nullptr;
    }
    return &builders_.try_emplace(event.process_id, room_).first->second;
  }

  TraceMethods& methods_;
  const std::function<bool(std::uint64_t, std::uint64_t)>& progress_;
  std::map<std::uint64_t, MethodStoreBuilder> builders_;
  std::shared_ptr<ByteRoom> room_ = std::make_shared<ByteRoom>(MethodStoreBuilder::max_text);
  std::size_t faults_ = 0;
  std::uint64_t last_event_ = 0; // its file offset
};

} // namespace

const MethodStore* TraceMethods::of_process(std::optional<std::uint64_t> id) const {
  if (!id) return processes.size() == 1 ? &processes.begin()->second : nullptr;
  const auto found = processes.find(*id);
  return found == processes.end() ? nullptr : &found->second;
}

TraceMethods read_trace_methods(const NetTrace& trace,
                                const std::function<bool(std::uint64_t, std::uint64_t)>& progress) {
  TraceMethods methods;
  CodeEvents events(methods, progress);
  methods.trace = trace.read(events);
  events.finish();
  return methods;
}

} // namespace clr
