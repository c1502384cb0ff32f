// The producer of the row about what is the matter.
#include "capi/locks.h"
#include "capi/queries.h"
#include "core/report/analysis_json.h"

#include <nlohmann/json.hpp>

namespace clr::capi {

RowStream::Producer analysis_rows() {
  return [](Inspection& inspection, const RowStream::Emit& emit) {
    AnalyzedProcess process{.id = inspection.process_id(), .threads = inspection.threads().size(), .why = {}};
    std::string crash;
    if (const auto first = inspection.first_thread()) {
      process.thread = first->index;
      process.os_id = first->os_id;
      process.why = first->why;
      crash = first->crash;
    }
    std::optional<TroubleReport> trouble;
    if (inspection.runtime().absence() == nullptr) {
      Locks locks(inspection);
      std::optional<AsyncReporter> async;
      TroubleSources sources{.locks = *locks,
                             .stacks = inspection.stacks(),
                             .heap = [&]() -> HeapReporter& { return locks.heap(); },
                             .async = [&]() -> AsyncReporter& {
                               if (!async) {
                                 async.emplace(locks.objects());
                                 async->set_threads(thread_tops(inspection));
                                 async->set_stacks(inspection.stacks());
                               }
                               return *async;
                             },
                             .program_name = inspection.program_name()};
      trouble = find_trouble(sources, crash);
    }
    emit(dump(analysis_json(trouble ? &*trouble : nullptr, inspection.runtime(), process,
                            inspection.memory_report())));
    return Json();
  };
}

} // namespace clr::capi
