// What `clr object` and `clr static` are asked about a core that may be damaged, and what their answers must
// be whatever the core holds: bounded, JSON that is JSON, and refused with an Error where no object is.
#pragma once

#include "core/objects/object_path.h"
#include "core/objects/static_fields.h"
#include "core/objects/type_search.h"
#include "core/report/object_json.h"
#include "core/runtime/runtime.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

namespace clr::test {

class ObjectQuestions {
public:
  // `step`: runs its second argument and counts how it ends, under the name of its first; Errors are good
  // ends.
  using Step = std::function<void(const char*, const std::function<void()>&)>;
  // All must outlive this. `types`: MethodTables, whole or not.
  ObjectQuestions(Runtime& runtime, const std::vector<Address>& types, std::uint64_t seed, Step step)
      : runtime_(&runtime), types_(&types), random_(seed), step_(std::move(step)) {
    limits_.items = 50;
  }

  // Everything about one address, where an object may be or not.
  void ask(Address at) {
    ObjectReader& objects = *runtime_->objects();
    step_("object", [&] { runtime_->require_object_start(at); });
    std::string path;
    step_("object's parts", [&] {
      const InspectedObject found = inspect_object(objects, at, limits_);
      bound(found);
      path = path_into(found);
    });
    step_("object as JSON", [&] { parse(object_json(*runtime_, at, {}, limits_)); });
    step_("object's text", [&] { bound(objects.describe_object(at, limits_.text)); });
    if (!path.empty()) step_("path", [&] { follow(at, path); });
    if (!types_->empty())
      step_("object as another type",
            [&] { bound(inspect_object_as(objects, at, (*types_)[random_() % types_->size()], limits_)); });
  }

  // The object read as a type by its name, and all static fields.
  void ask_names(Address at, const std::string& type) {
    ObjectReader& objects = *runtime_->objects();
    step_("object as a named type",
          [&] { bound(inspect_object_as(objects, at, find_type(objects, type), limits_)); });
    step_("statics", [&] {
      std::size_t rows = 0;
      const auto every = [](const std::string&) { return true; };
      for_each_static(objects, {.accepts = every, .threads = {}, .limits = limits_},
                      [&](const StaticRow& row) {
                        std::string text;
                        JsonWriter json(text);
                        write_json(json, row);
                        parse(text);
                        return ++rows < most_statics;
                      });
    });
  }

private:
  static constexpr std::size_t most_statics = 3000, most_json = 64 << 20;

  static void demand(bool holds, const std::string& what) {
    if (!holds) throw std::runtime_error(what);
  }

  void bound(const std::string& text) const {
    demand(text.size() <= limits_.text.text + 16, fmt::format("a text of {} bytes", text.size()));
  }

  void bound(const InspectedObject& found) const {
    bound(found.text);
    demand(found.items.size() <= limits_.items, fmt::format("{} elements", found.items.size()));
    demand(count(found.fields) <= InspectionLimits::max_fields + 1,
           fmt::format("{} fields", count(found.fields)));
    for (const InspectedField& field : found.fields) bound(field.value.text);
    for (const InspectedItem& item : found.items) bound(item.value.text);
  }

  static std::size_t count(const std::vector<InspectedField>& fields) {
    std::size_t all = fields.size();
    for (const InspectedField& field : fields) all += count(field.fields);
    return all;
  }

  // Throws what is no Error, which ends the run, where the text is no JSON.
  static void parse(const std::string& text) {
    demand(text.size() <= most_json, fmt::format("{} bytes of JSON", text.size()));
    demand(nlohmann::json::accept(text), "no JSON: " + text.substr(0, 500));
  }

  // ".Next.Name", "[3]": parts that the object says it has, and one that it may not have.
  std::string path_into(const InspectedObject& found) {
    std::string path;
    if (!found.fields.empty())
      path += "." + found.fields[random_() % found.fields.size()].name;
    else if (found.item_count)
      path += fmt::format("[{}]", random_() % (*found.item_count + 1));
    if (!path.empty() && random_() % 2 == 0) path += random_() % 2 == 0 ? "[0]" : "._items[1]";
    return path;
  }

  void follow(Address at, const std::string& path) {
    ObjectReader& objects = *runtime_->objects();
    const ValuePlace place = follow_path(objects, at, path);
    const InspectedValue value = inspect_value(objects, *place.type, place.at, limits_.text);
    bound(value.text);
    const std::vector<InspectedField> fields = inspect_structure(objects, *place.type, place.at, limits_);
    demand(count(fields) <= InspectionLimits::max_fields + 1, fmt::format("{} fields", count(fields)));
    std::string text;
    JsonWriter json(text);
    write_json(json, value, fields);
    parse(text);
    parse(object_json(*runtime_, at, path, limits_));
  }

  Runtime* runtime_;
  const std::vector<Address>* types_;
  std::mt19937_64 random_;
  Step step_;
  InspectionLimits limits_;
};

} // namespace clr::test
