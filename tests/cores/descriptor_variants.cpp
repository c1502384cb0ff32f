// Asks a core the same questions through a descriptor and through each of its variants: descriptor_variants
// CORE DESCRIPTOR [NAME]. A variant lacks one type, field, size, global or contract, or has one contract in a
// version that nobody knows. Prints a line of JSON for each whose answers differ: what was changed, and for
// each question the two answers. net11_variants.py judges them. With NAME, only the variants whose change has
// that word in it.
#include "core/objects/object_reader.h"
#include "core/report/answer_json.h"
#include "core/report/json.h"
#include "core/report/thread_report.h"
#include "core/runtime/core_session.h"
#include "core/runtime/root_rows.h"
#include "core/runtime/stack_reporter.h"
#include "tests/cores/wait_answers.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cstdio>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace {

using namespace clr;

constexpr std::size_t most_frames = 200, most_methods = 120, most_threads = 12, most_objects = 60;

using Answers = std::map<std::string, Json>;

struct Questions {
  std::set<Address> addresses, objects;
};

// Everything that is asked of a runtime. The first one also collects what to ask of all.
class Asker {
public:
  Asker(CoreSession& session, std::shared_ptr<const DescriptorFile> descriptor, Questions& questions)
      : session_(session), assemblies_(PathMap{}), questions_(questions),
        runtime_(session.memory(), session.modules(), session.core().platform(), &assemblies_,
                 std::move(descriptor)) {}

  Answers ask(bool first) {
    if (runtime_.target() == nullptr) {
      answers_["runtime"] = Json::parse(json_text(runtime_.resolve(0)));
      return std::move(answers_);
    }
    if (first) collect_sections();
    threads(first);
    methods(first);
    waits();
    roots();
    for (const Address address : questions_.addresses)
      add(fmt::format("address {:#x}", address),
          [&] { return Json::parse(json_text(runtime_.resolve(address))); });
    ExceptionReporter exceptions(runtime_);
    for (const Address object : questions_.objects) {
      add(fmt::format("object {:#x}", object),
          [&] { return Json(runtime_.objects()->describe_object(object)); });
      add(fmt::format("exception {:#x}", object), [&] {
        Json list = Json::array();
        for (const ExceptionReport& report : exceptions.tree(object))
          list.push_back(Json::parse(exception_json(report)));
        return list;
      });
    }
    add("modules", [&] {
      Json list = Json::array();
      const RuntimeInfo info = runtime_.info();
      for (const ModuleDescription& module : info.modules)
        list.push_back({{"address", hex(module.module)},
                        {"name", module.name},
                        {"path", module.path.empty() ? Json(nullptr) : Json(module.path)},
                        {"base", hex(module.base)},
                        {"methods", module.method_count ? Json(*module.method_count) : Json(nullptr)},
                        {"fault", module.method_count ? "" : module.metadata_note}});
      return Json{{"modules", list}, {"notes", info.problems}};
    });
    return std::move(answers_);
  }

private:
  template<typename Ask>
  void add(const std::string& question, const Ask& ask) {
    try {
      answers_[question] = ask();
    } catch (const Error& error) {
      answers_[question] = Json{{"fault", error.what()}};
    }
  }

  void collect_sections() {
    for (const RangeSection& section : runtime_.code()->sections())
      if ((section.flags & RangeSection::range_list_flag) != 0)
        for (Address at = section.begin; at < section.begin + 0x120 && at < section.end; at += 0x18)
          questions_.addresses.insert(at);
    for (const LoadedModule& module : runtime_.modules()) questions_.addresses.insert(module.base + 0x10);
    questions_.addresses.insert(0x10);
  }

  void threads(bool first) {
    StackReporter reporter(runtime_, session_.memory(), [](FrameRow&, Address) {});
    ExceptionReporter exceptions(runtime_);
    const ThreadList& list = reporter.threads();
    Json rows = Json::array();
    for (const RuntimeThread& thread : list.threads) {
      rows.push_back(to_json(report_thread(thread, 0, exceptions)));
      if (first && thread.managed_object != 0) questions_.objects.insert(thread.managed_object);
      if (first)
        if (const Address object = exceptions.of_thread(thread).current()) questions_.objects.insert(object);
    }
    answers_["threads"] = Json{{"threads", rows}, {"problem", list.problem}};
    std::size_t walked = 0;
    for (const ThreadRegisters& registers : session_.core().threads()) {
      if (walked++ == most_threads) break;
      Json frames = Json::array();
      StackReporter::Options options;
      options.max_frames = most_frames;
      const auto end = reporter.walk(context_of_thread(session_.core().platform().cpu, registers),
                                     registers.os_id, options, [&](const FrameRow& row) {
                                       frames.push_back(to_json(row));
                                       if (first && row.answer) questions_.addresses.insert(row.ip);
                                       return true;
                                     });
      answers_[fmt::format("stack {}", registers.os_id)] =
          Json{{"frames", frames}, {"end", end.end}, {"notes", end.notes}};
    }
  }

  void roots() {
    StackReporter stacks(runtime_, session_.memory(), [](FrameRow&, Address) {});
    std::size_t walked = 0;
    for (const ThreadRegisters& registers : session_.core().threads()) {
      if (walked++ == most_threads) break;
      add(fmt::format("roots {}", registers.os_id), [&] {
        RootReporter reporter(runtime_, stacks);
        Json rows = Json::object();
        const auto end =
            reporter.walk(context_of_thread(session_.core().platform().cpu, registers), registers.os_id,
                          [&](const RootRow& row) {
                            Json& frame = rows[hex(row.sp)];
                            frame[fmt::format("{} {:#x}{}", place_of(row), row.root.value,
                                              row.root.why_uncertain.empty() ? "" : " uncertain")] =
                                row.type.empty() ? Json() : Json(row.type);
                            return true;
                          });
        return Json{{"roots", rows}, {"end", end.end}, {"notes", end.notes}};
      });
    }
  }

  void waits() {
    StackReporter reporter(runtime_, session_.memory(), [](FrameRow&, Address) {});
    test::WaitAnswers waits(runtime_, session_.core(), reporter);
    add("locks", [&] { return waits.locks(); });
    add("async", [&] { return waits.async(); });
  }

  void methods(bool first) {
    Json rows = Json::object();
    std::size_t seen = 0;
    const auto holes =
        runtime_.for_each_method({.glob = {}, .jitted = true, .r2r = false}, [&](const MethodRow& row) {
          rows[hex(row.code.start)] = Json::parse(json_text(row));
          if (first && seen % 4 == 0) questions_.addresses.insert(row.code.start + 1);
          return ++seen < most_methods;
        });
    if (first)
      for (const EnumerationHole& hole : holes) known_holes_.insert(hole.what);
    Json notes = Json::array();
    for (std::size_t i = 0; i < std::min<std::size_t>(holes.size(), 3); ++i) notes.push_back(holes[i].what);
    answers_["methods"] = Json{{"methods", rows}, {"notes", notes}};
  }

  CoreSession& session_;
  HostAssemblies assemblies_;
  Questions& questions_;
  Runtime runtime_;
  std::set<std::string> known_holes_;
  Answers answers_;
};

struct Variant {
  std::string change;
  std::vector<std::string> names; // of which an excuse must tell one
  Json descriptor;
};

std::vector<Variant> variants_of(const Json& whole) {
  std::vector<Variant> all;
  const auto add = [&](std::string change, std::vector<std::string> names, const auto& edit) {
    Variant variant{std::move(change), std::move(names), whole};
    edit(variant.descriptor);
    all.push_back(std::move(variant));
  };
  for (const auto& [type, fields] : whole["types"].items()) {
    add("type " + type, {type}, [&](Json& d) { d["types"].erase(type); });
    for (const auto& [field, place] : fields.items())
      add(fmt::format("field {}.{}", type, field), {field == "!" ? type : field},
          [&](Json& d) { d["types"][type].erase(field); });
  }
  for (const auto& [global, value] : whole["globals"].items())
    add("global " + global, {global}, [&](Json& d) { d["globals"].erase(global); });
  for (const auto& [contract, version] : whole["contracts"].items()) {
    add("contract " + contract, {contract}, [&](Json& d) { d["contracts"].erase(contract); });
    add(fmt::format("contract {} c9", contract), {contract},
        [&](Json& d) { d["contracts"][contract] = "c9"; });
  }
  return all;
}

int run(const std::vector<std::string>& words) {
  const auto session = CoreSession::open(words.at(0), {});
  const DescriptorFile file = read_descriptor_file(words.at(1));
  Questions questions;
  const auto ask = [&](const std::string& json, bool first) {
    auto descriptor = std::make_shared<DescriptorFile>(file);
    descriptor->json = json;
    return Asker(*session, std::move(descriptor), questions).ask(first);
  };
  ask(file.json, true);
  while (questions.objects.size() > most_objects) questions.objects.erase(std::prev(questions.objects.end()));
  const Answers whole = ask(file.json, false);
  std::size_t asked = 0;
  for (const Variant& variant : variants_of(Json::parse(file.json))) {
    if (words.size() > 2 && variant.change.find(words[2]) == std::string::npos) continue;
    ++asked;
    const Answers answers = ask(variant.descriptor.dump(), false);
    Json differs = Json::object();
    for (const auto& [question, answer] : whole) {
      const auto other = answers.find(question);
      // Without a runtime all questions have one answer.
      const Json& got = other != answers.end() ? other->second : answers.begin()->second;
      if (got != answer) differs[question] = Json::array({answer, got});
    }
    if (!differs.empty())
      fmt::print("{}\n",
                 Json{{"change", variant.change}, {"names", variant.names}, {"differs", differs}}.dump());
  }
  fmt::print("{}\n", Json{{"questions", whole.size()}, {"variants", asked}}.dump());
  return 0;
}

} // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  try {
    if (words.size() >= 2) return run(words);
  } catch (const std::exception& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return 1;
  }
  std::fputs("usage: descriptor_variants CORE DESCRIPTOR [NAME]\n", stderr);
  return 2;
}
