#include "core/objects/static_fields.h"

#include "core/objects/attributes.h"
#include "core/objects/field_names.h"

#include "core/objects/thread_statics.h"
#include "core/objects/type_search.h"

#include <fmt/format.h>

namespace clr {
namespace {

class StaticVisit {
public:
  StaticVisit(ObjectReader& objects, const StaticSearch& search,
              const std::function<bool(const StaticRow&)>& visit)
      : target_(objects.finder().target()), objects_(objects), search_(search), visit_(visit) {}

  std::vector<std::string> run() {
    std::vector<std::string> notes =
        search_types(objects_.finder(),
                     {.wanted = [&](const Metadata& metadata, std::uint32_t rid, const std::string& text,
                                    bool generic) { return has_wanted(metadata, rid, text, generic); },
                      .visit =
                          [&](Address table, const std::string& text) {
                            visit_fields(table, text);
                            return !stopped_;
                          }});
    notes.insert(notes.end(), notes_.begin(), notes_.end());
    return notes;
  }

private:
  static constexpr std::size_t max_notes = 20; // types whose fields are not whole

  // Whether a type has a static field that may be asked for. The arguments of generic types are part of their
  // names, and known only of loaded instances.
  bool has_wanted(const Metadata& metadata, std::uint32_t rid, const std::string& text, bool generic) {
    const auto [first, last] = ranges_.of(metadata, rid);
    const bool whole = generic || (first < last && search_.accepts(text));
    for (std::uint32_t i = first; i < last; ++i) {
      const FieldRow row = metadata.field(metadata.field_at(i));
      if (!row.is_static() || row.literal()) continue;
      if (whole) return true;
      const std::string name = metadata.string(row.name), property = source_name_of_static(text, name);
      if (search_.accepts(fmt::format("{}.{}", text, name)) ||
          (!property.empty() && search_.accepts(property)) ||
          (may_be_property(name) && search_.accepts(fmt::format("{}.{}", text, name.substr(1)))))
        return true;
    }
    return false;
  }

  // VB keeps the property Title in a field _Title, which it marks as its own.
  static bool may_be_property(const std::string& field) {
    return field.size() > 1 && field.front() == '_' && field[1] != '_';
  }
  bool is_compilers(const TypeLayout& layout, const FieldLayout& field) const {
    try {
      return objects_.finder()
          .names()
          .named_modules()
          .at(layout.module)
          .metadata.with([&](MetadataNames& names) {
            return find_attribute(names, field.token, "System.Runtime.CompilerServices",
                                  "CompilerGeneratedAttribute")
                .has_value();
          });
    } catch (const Error&) {
      return false;
    }
  }

  void visit_fields(Address table, const std::string& text) {
    const TypeLayout& layout = objects_.layouts().of(table);
    const std::string& type = text.empty() ? layout.text : text;
    // The code of instances over references is shared, their statics are not.
    if (layout.table.generic() == MethodTable::Generic::shared && layout.table.canonical == table) return;
    if (!layout.problem.empty() && notes_.size() < max_notes)
      notes_.push_back(fmt::format("{}: {}", layout.text, layout.problem));
    const bool whole = search_.accepts(type);
    for (const FieldLayout& field : layout.fields) {
      if (stopped_) return;
      if (!field.is_static || field.in_image) continue;
      StaticRow row{.name = fmt::format("{}.{}", type, field.name),
                    .property = source_name_of_static(type, field.name),
                    .module = layout.module,
                    .method_table = table,
                    .token = field.token,
                    .os_id = {},
                    .address = field.address,
                    .value = {},
                    .fields = {}};
      if (const std::string vb =
              may_be_property(field.name) ? fmt::format("{}.{}", type, field.name.substr(1)) : "";
          !vb.empty() && (whole || search_.accepts(vb)) && is_compilers(layout, field))
        row.property = vb;
      if (!whole && !search_.accepts(row.name) && (row.property.empty() || !search_.accepts(row.property)))
        continue;
      if (!field.thread_static) {
        show(row, field,
             target_.has_type("DynamicStaticsInfo")
                 ? "the runtime has not made the statics of this type yet"
                 : "this runtime does not say where it keeps static fields");
        continue;
      }
      for (const StaticsThread& thread : search_.threads) {
        if (stopped_) return;
        row.os_id = thread.os_id;
        row.address.reset();
        std::string why = "this thread has not used the thread statics of this type";
        try {
          row.address = thread_static_address(target_, layout.table, field, thread.address);
        } catch (const Error& error) {
          why = error.what();
        }
        show(row, field, why);
      }
    }
  }

  void show(StaticRow& row, const FieldLayout& field, const std::string& why_missing) {
    row.value = {};
    row.fields.clear();
    row.value.type = format_type(*field.type->name);
    if (!row.address) {
      row.value.fault = why_missing;
    } else {
      try {
        Address at = *row.address;
        if (field.boxed) {
          at = target_.read_pointer(at);
          if (at == 0) throw Error(ErrorKind::unsupported_contract, "its box does not exist yet");
          at += target_.pointer_size();
        }
        row.value = inspect_value(objects_, *field.type, at, search_.limits.text);
        row.fields = inspect_structure(objects_, *field.type, at, search_.limits);
      } catch (const Error& error) {
        row.value.fault = error.what();
      }
    }
    if (!visit_(row)) stopped_ = true;
  }

  const Target& target_;
  ObjectReader& objects_;
  const StaticSearch& search_;
  const std::function<bool(const StaticRow&)>& visit_;
  FieldRanges ranges_;
  std::vector<std::string> notes_;
  bool stopped_ = false;
};

} // namespace

std::vector<std::string> for_each_static(ObjectReader& objects, const StaticSearch& search,
                                         const std::function<bool(const StaticRow&)>& visit) {
  return StaticVisit(objects, search, visit).run();
}

} // namespace clr
