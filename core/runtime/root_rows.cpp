#include "core/runtime/root_rows.h"

#include "core/objects/object_reader.h"

#include <fmt/format.h>

namespace clr {

RootReporter::RootReporter(Runtime& runtime, StackReporter& stacks)
    : runtime_(&runtime), stacks_(&stacks), shapes_(runtime),
      roots_(*runtime.target(), *runtime.code(), &shapes_) {}

std::string RootReporter::type_of(Address value) {
  const Address method_table = runtime_->objects()->method_table_of(value);
  auto known = types_.find(method_table);
  if (known == types_.end()) {
    if (types_.size() >= max_known_types) types_.clear();
    known = types_.emplace(method_table, runtime_->names()->type_name(method_table)).first;
  }
  return known->second;
}

// A damaged stack may hold the same wrong value a million times: an exception for each would take minutes.
void RootReporter::name_object(RootRow& row) {
  if (row.root.slot.interior) return;
  row.object = row.root.value;
  auto none = no_objects_.find(row.root.value);
  if (none == no_objects_.end()) {
    try {
      row.type = type_of(row.root.value);
      return;
    } catch (const Error& error) {
      if (no_objects_.size() >= max_known_types) no_objects_.clear();
      none = no_objects_
                 .emplace(row.root.value, error.kind() == ErrorKind::corrupt ? error.what() : std::string())
                 .first;
    }
  }
  // Memory that the core lacks says nothing about the root.
  if (!none->second.empty() && row.root.why_uncertain.empty())
    row.root.why_uncertain = fmt::format("no object can be there: {}", none->second);
}

std::shared_ptr<const MethodAnswer> RootReporter::answer_of(const FrameRoots& frame) {
  if (const auto known = answers_.find(frame.ip); known != answers_.end()) return known->second;
  MethodAnswer answer = runtime_->describe(*frame.code, BodyFound::by_address);
  // The byte before a return address may have been looked up; the row shows the return address.
  if (answer.code.offset) *answer.code.offset += frame.ip - frame.code->ip;
  if (answers_.size() >= max_known_methods) answers_.clear();
  return answers_.emplace(frame.ip, std::make_shared<const MethodAnswer>(std::move(answer))).first->second;
}

StackReporter::End RootReporter::walk(const RegisterContext& start, std::uint64_t os_id,
                                      const std::function<bool(const RootRow&)>& visit) {
  const StackRoots::Visit each = [&](const FrameRoots& frame) {
    RootRow row{.os_id = os_id,
                .frame = frame.frame,
                .ip = frame.ip,
                .sp = frame.sp,
                .frame_type = frame.frame_type,
                .answer = frame.code ? answer_of(frame) : nullptr,
                .method = {},
                .cpu = start.cpu(),
                .header = frame.header,
                .root = {},
                .object = {},
                .type = {}};
    if (frame.method_desc)
      row.method = std::make_shared<const Method>(runtime_->describe(*frame.method_desc));
    for (const StackRoot& root : frame.roots) {
      row.root = root;
      row.object.reset();
      row.type.clear();
      name_object(row);
      if (!visit(row)) return false;
    }
    return true;
  };
  roots_.begin(each, stacks_->thread_without_name(os_id));
  stack::Walk walk =
      stacks_->walk_frames(start, os_id, [&](const StackFrame& frame) { return roots_.add(frame); });
  std::vector<std::string> notes = roots_.finish();
  walk.notes.insert(walk.notes.end(), notes.begin(), notes.end());
  return {walk_end_text(walk), std::move(walk.notes)};
}

std::string holder_of(const RootRow& row) {
  if (row.answer) return text_behind_address(*row.answer).substr(1);
  const std::string method =
      row.method ? fmt::format(" {}`{}", row.method->module, row.method->shown_name()) : std::string();
  return fmt::format("[{}]{}", row.frame_type, method);
}

std::string frame_of(const RootRow& row) {
  return fmt::format("{:#018x} {}", row.answer ? row.ip : row.sp, holder_of(row));
}

std::string place_of(const RootRow& row) {
  if (!row.header) return row.frame_type == "GCFrame" ? "variable" : "argument";
  return gc_slot_name(row.cpu, *row.header, row.root.slot);
}

std::vector<std::string_view> words_of(const RootRow& row) {
  std::vector<std::string_view> words = gc_slot_words(row.root.slot);
  if (!row.root.why_uncertain.empty()) words.emplace_back("uncertain");
  return words;
}

} // namespace clr
