#include "core/describe/line_rows.h"

#include "core/describe/constructor_lines.h"
#include "core/runtime/source_lines.h"
#include "core/types/type_names.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace clr {
namespace {

// Makes the rows of one body.
class RowMaker {
public:
  RowMaker(const PortablePdb& pdb, const FoundBody& body, const IlMap& map, DocumentFiles& documents,
           SourceFiles& files)
      : pdb_(pdb), module_(body.method.runtime_module), points_(pdb.sequence_points(body.method.token)),
        stretches_(map.stretches()), documents_(documents), files_(files) {
    first_ = std::ranges::find_if(stretches_, [&](const IlStretch& stretch) { return visible(stretch); }) -
             stretches_.begin();
    // Of a method that only reads a field, say: the runtime, too, then shows the line at which it begins.
    if (!map.maps_any() && !stretches_.empty()) only_ = points_.at(0).visible;
  }

  // Nothing in the body belongs to a line.
  bool empty() const { return first_ == std::ssize(stretches_) && only_ == nullptr; }

  void add(DescribedPart& part) {
    DebugBody& code = *part.code;
    if (!part.instructions || only_ != nullptr) {
      DebugLineRow row =
          row_of(only_ != nullptr ? *only_ : *point_of(stretches_[static_cast<std::size_t>(first_)]).visible);
      row.prologue_end = true;
      if (part.offset == 0) code.lines.push_back(row);
      return;
    }
    const auto end = part.offset + code.size;
    for (std::size_t i = 0; i < stretches_.size(); ++i) {
      const IlStretch& stretch = stretches_[i];
      // A stretch may begin in the part before: its rest is the first row of this part.
      const std::uint64_t begin = std::max<std::uint64_t>(stretch.begin, part.offset);
      const std::uint64_t stretch_end = std::min<std::uint64_t>(stretch.end, end);
      if (begin >= stretch_end) continue;
      const auto from = static_cast<std::uint32_t>(begin - part.offset);
      const auto to = static_cast<std::uint32_t>(stretch_end - part.offset);
      if (!part.instructions->begins_at(from)) continue;
      std::optional<DebugLineRow> row = row_for(i, part.instructions->calls(from, to));
      if (!row) continue;
      row->offset = from;
      row->prologue_end = static_cast<std::ptrdiff_t>(i) == first_;
      if (code.lines.empty() || row->prologue_end || !same_place(code.lines.back(), *row))
        code.lines.push_back(*row);
    }
  }

private:
  LinePoint point_of(const IlStretch& stretch) const {
    return stretch.position.mark == IlMark::mapped ? points_.at(stretch.position.il) : LinePoint();
  }
  // Belongs to a line of its own.
  bool visible(const IlStretch& stretch) const {
    const LinePoint point = point_of(stretch);
    return point.own != nullptr && !point.own->hidden;
  }

  DebugLineRow row_of(const SequencePoint& point) {
    return {.file = file_of(point.document), .line = point.start_line, .column = point.start_column};
  }

  // The index of a document in the table of files; it enters the table when its name was read.
  std::uint32_t file_of(std::uint32_t document) {
    const std::pair key(module_, document);
    if (const auto known = files_.indexes.find(key); known != files_.indexes.end()) return known->second;
    std::string name = pdb_.document_name(document);
    if (!documents_.may_name(name)) name.clear();
    const auto index = static_cast<std::uint32_t>(files_.names.size());
    files_.names.push_back(std::move(name));
    files_.indexes.emplace(key, index);
    return index;
  }

  // Nothing: the row before goes on.
  std::optional<DebugLineRow> row_for(std::size_t index, bool calls) {
    const IlStretch& stretch = stretches_[index];
    // Before the first line of the method there is only the prologue, and what the JIT puts behind it.
    if (static_cast<std::ptrdiff_t>(index) < first_ && stretch.position.mark != IlMark::mapped)
      return row_of(*point_of(stretches_[static_cast<std::size_t>(first_)]).visible);
    switch (stretch.position.mark) {
    case IlMark::mapped: {
      const LinePoint point = point_of(stretch);
      if (point.own == nullptr) return DebugLineRow{};
      if (!point.own->hidden) return row_of(*point.own);
      return calls && point.visible != nullptr ? row_of(*point.visible) : DebugLineRow{};
    }
    case IlMark::prolog: // of a funclet
      for (std::size_t next = index + 1; next < stretches_.size(); ++next) {
        if (stretches_[next].position.mark == IlMark::prolog) break;
        if (visible(stretches_[next])) return row_of(*point_of(stretches_[next]).visible);
      }
      return DebugLineRow{};
    case IlMark::epilog:
      return std::nullopt;
    case IlMark::none:
    case IlMark::before_first:
    case IlMark::no_mapping:
      break;
    }
    return DebugLineRow{};
  }

  static bool same_place(const DebugLineRow& a, const DebugLineRow& b) {
    return a.line == b.line && a.column == b.column && (a.file == b.file || a.line == 0);
  }

  const PortablePdb& pdb_;
  Address module_;
  LinePoints points_;
  std::vector<IlStretch> stretches_;
  DocumentFiles& documents_;
  SourceFiles& files_;
  std::ptrdiff_t first_;                // the first stretch of a line
  const SequencePoint* only_ = nullptr; // of all of the body
};

} // namespace

const SequencePoint* point_at(const std::vector<SequencePoint>& points, std::uint32_t il_offset) {
  const auto after = std::ranges::upper_bound(points, il_offset, {}, &SequencePoint::il_offset);
  return after == points.begin() ? nullptr : &*std::prev(after);
}

LinePoints::LinePoints(std::vector<SequencePoint> points) : points_(std::move(points)) {
  visible_.reserve(points_.size());
  std::uint32_t last = 0;
  for (const SequencePoint& point : points_) {
    if (!point.hidden) last = static_cast<std::uint32_t>(visible_.size() + 1);
    visible_.push_back(last);
  }
}

LinePoint LinePoints::at(std::uint32_t il_offset) const {
  LinePoint result{.own = point_at(points_, il_offset)};
  if (result.own == nullptr) return result;
  const std::uint32_t last = visible_[static_cast<std::size_t>(result.own - points_.data())];
  if (last != 0) result.visible = &points_[last - 1];
  return result;
}

bool has_symbols(Runtime& runtime, Address module) {
  return module != 0 && runtime.lines()->pdb_of(module) != nullptr;
}

bool LineRows::has_symbols(const MethodFacts& method) {
  return method.token != 0 && clr::has_symbols(*runtime_, method.runtime_module);
}

bool LineRows::starts_machine(const MethodFacts& method) {
  if (!has_symbols(method)) return false;
  const auto [found, is_new] = kickoffs_.try_emplace(method.runtime_module);
  if (is_new) found->second = runtime_->lines()->pdb_of(method.runtime_module)->kickoff_methods();
  return std::ranges::binary_search(found->second, method.token);
}

void LineRows::add(std::vector<DescribedPart>& parts, const FoundBody& body, SourceFiles& files) {
  if (!has_symbols(body.method)) return;
  const PortablePdb& pdb = *runtime_->lines()->pdb_of(body.method.runtime_module);
  const std::shared_ptr<const IlMap> map = runtime_->lines()->debug_info().il_map(body.block);
  if (!documents_) documents_.emplace(runtime_->lines()->paths());
  RowMaker maker(pdb, body, *map, *documents_, files);
  if (maker.empty()) return;
  const std::uint32_t declaration = declaration_line_of(body.method, pdb);
  for (DescribedPart& part : parts) {
    maker.add(part);
    part.code->declaration_line = declaration;
  }
}

std::uint32_t LineRows::declaration_line_of(const UnspelledMethod& method, const PortablePdb& pdb) {
  if (!method.qualified || !is_constructor(method.qualified->method)) return 0;
  const auto [known, is_new] = declarations_.try_emplace({method.runtime_module, method.token});
  if (!is_new) return known->second;
  try {
    known->second = declaration_line(pdb.sequence_points(method.token), points_of_others(method, pdb));
  } catch (const Error&) {
    // The lines are right without it.
  }
  return known->second;
}

std::vector<SequencePoint> LineRows::points_of_others(const UnspelledMethod& method, const PortablePdb& pdb) {
  return runtime_->names()
      ->named_modules()
      .at(method.runtime_module)
      .metadata.with([&](MetadataNames& names) {
        const Metadata& metadata = names.metadata();
        const std::uint32_t own = rid_of(method.token);
        const auto [first, last] = metadata.method_range(metadata.owner_of_method(own));
        std::vector<SequencePoint> others;
        for (std::uint32_t i = first; i < last && others.size() < max_points_of_others; ++i) {
          const std::uint32_t rid = metadata.method_at(i);
          if (rid == own) continue;
          const std::vector<SequencePoint> points =
              pdb.sequence_points(token_of(MetadataTable::method_def, rid));
          others.insert(others.end(), points.begin(), points.end());
        }
        return others;
      });
}

std::vector<std::string> LineRows::take_problems() {
  return documents_ ? documents_->take_problems() : std::vector<std::string>();
}

} // namespace clr
