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
    try {
      const CodeEvent code = read_code_event(event);
      if (const auto* const complete = std::get_if<RundownComplete>(&code)) {
        if (complete->kind == CodeEventKind::rundown_end) methods_.rundown_complete = true;
      } else if (MethodStoreBuilder* const builder = builder_of(event)) {
        if (const auto* const method = std::get_if<MethodEvent>(&code)) {
          if (builder->add(*method))
            ++methods_.method_events;
          else
            malformed(TraceFaultKind::impossible_code, event);
        } else if (const auto* const module = std::get_if<ModuleEvent>(&code)) {
          builder->add(*module);
          ++methods_.module_events;
        }
      }
    } catch (const TraceFault& fault) {
      malformed(fault.kind_of_fault(), event);
    }
    return true;
  }

  bool progress(std::uint64_t done, std::uint64_t size) override {
    return !progress_ || progress_(done, size);
  }

  void finish() {
    for (auto& [id, builder] : builders_) methods_.processes.emplace(id, builder.finish());
  }

private:
  void malformed(TraceFaultKind what, const TraceEvent& event) {
    methods_.malformed.count(what, static_cast<std::size_t>(event.file_offset));
  }

  MethodStoreBuilder* builder_of(const TraceEvent& event) {
    if (builders_.size() >= TraceMethods::max_processes && !builders_.contains(event.process_id)) {
      malformed(TraceFaultKind::many_processes, event);
      return nullptr;
    }
    return &builders_[event.process_id];
  }

  TraceMethods& methods_;
  const std::function<bool(std::uint64_t, std::uint64_t)>& progress_;
  std::map<std::uint64_t, MethodStoreBuilder> builders_;
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
