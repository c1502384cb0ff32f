// clr object: an object, taken apart.
#include "core/objects/object_path.h"
#include "core/objects/type_search.h"
#include "core/report/answer_json.h"
#include "core/report/object_json.h"
#include "core/runtime/presence.h"
#include "extension/commands/command.h"
#include "extension/commands/object_argument.h"
#include "extension/commands/parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace clr::lldb_plugin {

namespace {

constexpr std::size_t max_printed_objects = 10'000;

class PrintObject final : public CommandRun {
public:
  explicit PrintObject(CLI::App& app) {
    app.add_option("OBJECT", words_,
                   "An address or a variable, and a path from there: order.Items[3].Name, prices[\"tea\"], "
                   "grid[1,2].")
        ->required();
    app.add_option("-a,--as", type_, "Read the memory there as this type: Ns.Type, Ns.Cache<string>.")
        ->type_name("TYPE");
    add_count(app, "-d,--depth", depth_, {1, 16},
              "Print the objects that it refers to as well, N levels in all and 10,000 "
              "objects at most; 1, itself alone, by default. JSON has one level.");
    add_count(app, "-n,--items", items_, {0, InspectionLimits::max_items},
              "Elements of an array or collection that are printed; 100 by default.");
    add_json(app, json_);
  }

  void run(Invocation& invocation) override {
    Session& session = invocation.session();
    Output& out = invocation.out;
    require_runtime(session.runtime());
    ObjectReader& objects = *session.runtime().objects();
    limits_.items = items_;
    limits_.stop = [&out] { return out.interrupted(); };
    const std::string text = fmt::format("{}", fmt::join(words_, " "));
    const auto [head, path] = split(text);
    const Address start = evaluate_object(session.target(), head);
    if (json_ && type_.empty()) return out.line("{}", object_json(session.runtime(), start, path, limits_));
    if (path.empty()) return show(session, out, start);
    const ValuePlace place = follow_path(objects, start, path, declared_type(session.target(), head));
    const Address object =
        place.type->is_reference() ? session.runtime().target()->read_pointer(place.at) : Address{0};
    if (object == 0 && !type_.empty())
      throw Error(ErrorKind::invalid_argument,
                  fmt::format("--as is for an object, and {} is {}", text,
                              place.type->is_reference() ? "null" : "a value within one"));
    object != 0 ? show(session, out, object) : show_value(objects, out, place);
  }

private:
  // "order" and ".Items[3]" of "order.Items[3]"; an expression of LLDB's stays whole.
  static std::pair<std::string, std::string> split(const std::string& text) {
    const std::size_t end = text.find_first_of(".[");
    const bool plain =
        end != std::string::npos && end != 0 &&
        std::all_of(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(end),
                    [](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == '$' || c == '@'; });
    return plain ? std::pair(text.substr(0, end), text.substr(end)) : std::pair(text, std::string());
  }

  void show(Session& session, Output& out, Address object) {
    Runtime& runtime = session.runtime();
    ObjectReader& objects = *runtime.objects();
    if (type_.empty()) runtime.require_object_start(object);
    const InspectedObject found =
        type_.empty() ? inspect_object(objects, object, limits_)
                      : inspect_object_as(objects, object, find_type(objects, type_), limits_);
    if (json_) return out.line("{}", json_text(found));
    out.line("{:#018x} {}, {} bytes: {}", found.address, found.type, found.size, found.text);
    path_.push_back(found.address);
    print_parts(objects, out, found, 1);
  }

  void show_value(ObjectReader& objects, Output& out, const ValuePlace& place) {
    const InspectedValue value = inspect_value(objects, *place.type, place.at, limits_.text);
    const std::vector<InspectedField> fields = inspect_structure(objects, *place.type, place.at, limits_);
    if (json_) {
      std::string text;
      JsonWriter json(text);
      write_json(json, value, fields);
      return out.line("{}", text);
    }
    out.line("{:#018x} {}: {}", place.at, value.type, shown_text(value));
    for (const InspectedField& field : fields) print_field(objects, out, field, 1);
  }

  void print_parts(ObjectReader& objects, Output& out, const InspectedObject& object, unsigned level) {
    for (const InspectedField& field : object.fields) {
      if (out.interrupted()) return;
      print_field(objects, out, field, level);
    }
    std::uint64_t index = 0;
    for (const InspectedItem& item : object.items) {
      if (out.interrupted()) return;
      const std::string name =
          item.key ? fmt::format("[{}]", shown_text(*item.key)) : fmt::format("[{}]", index);
      print_value(objects, out, name, item.value, level);
      ++index;
    }
    if (object.item_count && *object.item_count > object.items.size() && object.fault.empty())
      out.line("{:{}}... {} of {} elements; `--items N` prints more", "", 2 * level, object.items.size(),
               *object.item_count);
    if (!object.fault.empty()) out.line("{:{}}<{}>", "", 2 * level, object.fault);
  }

  void print_field(ObjectReader& objects, Output& out, const InspectedField& field, unsigned level) {
    const std::string& name = field.property.empty() ? field.name : field.property;
    print_value(objects, out, name, field.value, level);
    // A structure with a text of its own needs no more lines.
    if (!field.value.text.starts_with('{')) return;
    for (const InspectedField& part : field.fields) print_field(objects, out, part, level + 1);
  }

  void print_value(ObjectReader& objects, Output& out, const std::string& name, const InspectedValue& value,
                   unsigned level) {
    out.line("{:{}}{}: {} = {}", "", 2 * level, name, shown_type(value), shown_text(value));
    if (level >= depth_ || value.kind != InspectedValue::Kind::reference || value.object == 0 ||
        !value.fault.empty() || value.text.starts_with('"'))
      return;
    if (std::find(path_.begin(), path_.end(), value.object) != path_.end()) return;
    if (++printed_ > max_printed_objects) {
      if (printed_ == max_printed_objects + 1)
        out.warning(fmt::format("more than {} objects: the others are not printed", max_printed_objects));
      return;
    }
    try {
      const InspectedObject inner = inspect_object(objects, value.object, limits_);
      path_.push_back(value.object);
      print_parts(objects, out, inner, level + 1);
      path_.pop_back();
    } catch (const Error& error) {
      out.line("{:{}}<{}>", "", 2 * level + 2, error.what());
    }
  }

  std::vector<std::string> words_;
  std::string type_;
  unsigned depth_ = 1;
  std::uint64_t items_ = 100;
  bool json_ = false;
  InspectionLimits limits_;
  std::vector<Address> path_; // the objects around the one that is printed
  std::size_t printed_ = 0;
};

} // namespace

CommandSpec object_command() {
  return {
      "object",
      nullptr,
      "Show an object by its address or from a variable: the type it really has, its fields and elements.",
      "clr object order.Items[3]",
      "shows the fourth element of a variable's list.",
      [](CLI::App& app) -> std::unique_ptr<CommandRun> { return std::make_unique<PrintObject>(app); }};
}

} // namespace clr::lldb_plugin
