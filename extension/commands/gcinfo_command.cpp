// clr gcinfo: the GC info of a method.
#include "core/report/gc_json.h"
#include "core/runtime/presence.h"
#include "extension/commands/body_argument.h"
#include "extension/commands/command.h"
#include "extension/commands/parser.h"

#include <nlohmann/json.hpp>

namespace clr::lldb_plugin {

namespace {

std::string place_text(Cpu cpu, const GcHeader& header, GcBase base, std::int64_t offset) {
  return gc_slot_name(cpu, header, {.base = base, .offset = offset});
}

std::string_view owner_text(GcContextKind kind) {
  switch (kind) {
  case GcContextKind::method_table:
    return "the MethodTable of the exact type";
  case GcContextKind::method_desc:
    return "the MethodDesc of the exact method";
  case GcContextKind::this_object:
    return "`this`, whose type tells";
  }
  return "";
}

class GcInfo final : public CommandRun {
public:
  explicit GcInfo(CLI::App& app) {
    body_.add_to(app);
    app.add_flag("-a,--all", all_,
                 "Show also every safe point and range, with what is live there. JSON always has them.");
    add_json(app, json_);
  }

  void run(Invocation& invocation) override {
    Session& session = invocation.session();
    Output& out = invocation.out;
    Runtime& runtime = session.runtime();
    require_runtime(runtime);
    const GcReport report = report_gc_info(runtime, body_.find(session, out, json_));
    if (json_) {
      out.line("{}", dump(to_json(report)));
      return;
    }
    out.line("{:#018x}: {}", report.address, method_and_offset(report.answer.method, report.answer.code));
    out.line("  GC info {} at {:#x}: {} bytes of code", report.version, report.gc_info, report.code_length);
    if (report.header) print(out, report, *report.header);
    if (!report.fault.empty()) out.error(report.fault);
  }

private:
  void print(Output& out, const GcReport& report, const GcHeader& header) const {
    const auto place = [&](GcBase base, std::int64_t offset) {
      return place_text(report.cpu, header, base, offset);
    };
    if (header.varargs) out.line("  a method with a variable number of arguments");
    if (header.prolog_end) out.line("  the prolog ends at +{}", *header.prolog_end);
    if (header.context)
      out.line("  generic context from +{} on: {} at {}", *header.prolog_end,
               owner_text(header.context->kind),
               place(header.context->place.base, header.context->place.offset));
    if (header.cookie)
      out.line("  GS cookie from +{} to +{}: {}", header.cookie->valid_begin, header.cookie->valid_end,
               place(GcBase::caller_sp, header.cookie->offset));
    if (header.psp_symbol) out.line("  PSPSym: {}", place(GcBase::caller_sp, *header.psp_symbol));
    if (header.reverse_pinvoke)
      out.line("  called by native code, with a frame at {}",
               place(header.reverse_pinvoke->base, header.reverse_pinvoke->offset));
    if (header.outgoing_area != 0)
      out.line("  arguments of calls: {} bytes at {}", header.outgoing_area, place(GcBase::sp, 0));
    if (header.enc_bytes) out.line("  Edit and Continue keeps {} bytes of the frame", *header.enc_bytes);
    out.line("  {} slots, {} safe points, {} ranges", report.slots.slots.size(), report.safe_points.size(),
             report.ranges.size());
    if (!report.slots.slots.empty()) out.line("  slots:");
    for (std::uint32_t slot = 0; slot < report.slots.slots.size() && !out.interrupted(); ++slot)
      out.line("    {:>3}  {}", slot, describe_gc_slot(report, slot));
    if (body_.asked()) print_spot(out, report);
    if (all_) print_lists(out, report);
  }

  static void print_spot(Output& out, const GcReport& report) {
    switch (report.spot) {
    case GcReport::Spot::safe_point:
      out.line("  at +{}, behind a call where a collection may run, live: {}", report.offset,
               describe_gc_slots(report, report.live));
      return;
    case GcReport::Spot::range:
      out.line("  at +{}, where the method may be interrupted, live: {}", report.offset,
               describe_gc_slots(report, report.live));
      return;
    case GcReport::Spot::nowhere:
      out.line("  at +{}, neither a safe point nor in a range: no tracked slot is live", report.offset);
      return;
    }
  }

  static void print_lists(Output& out, const GcReport& report) {
    if (!report.safe_points.empty()) out.line("  safe points:");
    for (const GcReport::SafePoint& point : report.safe_points) {
      if (out.interrupted()) return;
      out.line("    +{:<6}{}", point.offset, describe_gc_slots(report, point.live));
    }
    if (!report.ranges.empty()) out.line("  ranges:");
    for (const GcReport::Range& range : report.ranges) {
      out.line("    +{} to +{}", range.range.begin, range.range.end);
      for (const GcReport::Change& change : range.changes) {
        if (out.interrupted()) return;
        out.line("      +{:<6}{} {}", change.offset, describe_gc_slot(report, change.slot),
                 change.live ? "becomes live" : "dies");
      }
    }
  }

  BodyArgument body_;
  bool all_ = false, json_ = false;
};

} // namespace

CommandSpec gcinfo_command() {
  return {
      "gcinfo",
      nullptr,
      "Show what the garbage collector knows of a method: where references are, and at which instructions.",
      "clr gcinfo --all *Program.Main*",
      "lists where Program.Main keeps references, and at which instructions.",
      [](CLI::App& app) -> std::unique_ptr<CommandRun> { return std::make_unique<GcInfo>(app); }};
}

} // namespace clr::lldb_plugin
