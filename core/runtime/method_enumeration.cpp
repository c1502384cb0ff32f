#include "core/runtime/image_walk.h"
#include "core/runtime/name_filter.h"
#include "core/runtime/runtime_parts.h"

#include <fmt/format.h>

namespace clr {

namespace {
CodeBlock block_of(const JittedBody& body) {
  CodeBlock block;
  block.ip = block.start = body.start;
  block.method_desc = body.method_desc;
  block.kind =
      (body.section.flags & RangeSection::interpreter) != 0 ? CodeKind::interpreted : CodeKind::jitted;
  block.section = body.section;
  block.code_header = body.code_header;
  return block;
}
} // namespace

// False when the visitor stopped.
bool Runtime::visit_jitted(const NameFilter& filter, const std::function<bool(const MethodRow&)>& visit) {
  bool going = true;
  parts_->code.for_each_jitted([&](const JittedBody& body) {
    MethodRow row{.method = method_at(body.method_desc), .code = {}};
    if (!filter.accepts(row.method)) return true;
    row.code = describe_code(block_of(body), false);
    going = visit(row);
    return going;
  });
  return going;
}

bool Runtime::visit_r2r(const RangeSection& section, const NameFilter& filter, ImageWalk& walk,
                        const std::function<bool(const MethodRow&)>& visit) {
  bool going = true;
  parts_->names.for_each_r2r_method(section, [&](MethodNames::R2RMethod& found) {
    if (!walk.take()) return false;
    MethodRow row{.method = std::move(found.method).spell(), .code = {}};
    if (!filter.accepts(row.method)) return true;
    try {
      row.code = describe_code(parts_->code.r2r_block(section, found.function_index), false);
    } catch (const std::exception& error) {
      row.code.kind = CodeKind::ready_to_run;
      row.code.fault = error.what();
    }
    going = visit(row);
    return going;
  });
  return going;
}

std::vector<EnumerationHole> Runtime::for_each_method(const MethodQuery& query,
                                                      const std::function<bool(const MethodRow&)>& visit) {
  std::vector<EnumerationHole> holes;
  if (!parts_) return holes;
  const NameFilter filter(query.glob);
  const auto guarded = [&](Address at, const auto& step) {
    try {
      return step();
    } catch (const std::exception& error) {
      holes.push_back({at, error.what()});
      return true;
    }
  };
  bool going = true;
  if (query.jitted) going = guarded(0, [&] { return visit_jitted(filter, visit); });
  if (query.r2r && going) {
    guarded(0, [&] {
      ImageWalk walk;
      for (const RangeSection& section : parts_->code.sections()) {
        if (!walk.enter(section)) continue;
        going = guarded(section.begin, [&] { return visit_r2r(section, filter, walk, visit); });
        if (walk.spent())
          holes.push_back(
              {section.begin, fmt::format("more than {} methods of ReadyToRun images: the rest is "
                                          "left out",
                                          ImageWalk::max_image_methods)});
        if (!going || walk.spent()) break;
      }
      return going;
    });
  }
  const std::vector<EnumerationHole>& unread = parts_->code.holes();
  holes.insert(holes.end(), unread.begin(), unread.end());
  return holes;
}

} // namespace clr
