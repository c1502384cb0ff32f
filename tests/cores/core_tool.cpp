// Uses the core library on a core file, without a debugger. Prints the JSON that the plugin's commands print
// with --json:
//   core_tool info|methods|stacks CORE     clr info, clr methods, clrbt all
//   core_tool threads CORE                 clr threads, of the runtime's threads
//   core_tool exceptions CORE              clr pe --nested, of each of the runtime's threads
//   core_tool waits CORE                   clr locks, waits of clr threads, clr async --each, --faulted
//   core_tool descriptor CORE              clr info --save-descriptor
//   core_tool sections CORE                the ranges of code that the runtime knows
//   core_tool ip2md CORE FILE              clrip2md --from FILE
//   core_tool ilmap CORE                   the IL map of every method with code, a line of JSON each
//   core_tool pdb FILE                     all of a PDB as lines; FILE may also be an assembly, whose PDB
//                                          is then searched
// The descriptor in the file that the variable CLR_DESCRIPTOR names takes the place of the core's own.
#include "core/debuginfo/debug_info_reader.h"
#include "core/report/answer_json.h"
#include "core/report/exception_report.h"
#include "core/report/json.h"
#include "core/report/thread_report.h"
#include "core/runtime/core_session.h"
#include "core/runtime/native_names.h"
#include "core/runtime/stack_reporter.h"
#include "tests/cores/pdb_dump.h"
#include "tests/cores/wait_answers.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

namespace {

using namespace clr;

Json stacks(CoreSession& session) {
  NativeNames names(session.memory(), session.modules(), {});
  const RecordedNames recorded(session.core());
  StackReporter reporter(session.runtime(), session.memory(), [&](FrameRow& row, Address lookup) {
    if (!recorded.name(row)) names.name(row, lookup);
  });
  Json threads = Json::array();
  unsigned index = 0;
  for (const ThreadRegisters& registers : session.core().threads()) {
    Json frames = Json::array();
    const auto end = reporter.walk(context_of_thread(session.core().platform().cpu, registers),
                                   registers.os_id, {}, [&](const FrameRow& row) {
                                     frames.push_back(to_json(row));
                                     return true;
                                   });
    ThreadRow row;
    row.index = ++index;
    row.os_id = registers.os_id;
    if (const RuntimeThread* thread = reporter.thread_of(registers.os_id)) {
      row.managed_id = thread->managed_id;
      row.name = thread->name.value_or("");
    }
    Json described = to_json(row);
    if (!end.notes.empty()) described["notes"] = end.notes;
    described["frames"] = std::move(frames);
    described["end"] = end.end;
    threads.push_back(std::move(described));
  }
  return Json{{"threads", std::move(threads)}};
}

Json threads(CoreSession& session) {
  StackReporter reporter(session.runtime(), session.memory(), [](FrameRow&, Address) {});
  ExceptionReporter exceptions(session.runtime());
  Json list = Json::array();
  for (const RuntimeThread& thread : reporter.threads().threads)
    list.push_back(to_json(report_thread(thread, 0, exceptions)));
  return Json{{"threads", std::move(list)}, {"problem", reporter.threads().problem}};
}

// Those in flight, each with its inner ones; by the thread's address.
Json exceptions(CoreSession& session) {
  StackReporter reporter(session.runtime(), session.memory(), [](FrameRow&, Address) {});
  ExceptionReporter exceptions(session.runtime());
  Json threads = Json::object();
  for (const RuntimeThread& thread : reporter.threads().threads) {
    const ExceptionReporter::OfThread found = exceptions.of_thread(thread);
    Json list = Json::array();
    for (const Address object : found.in_flight)
      for (const ExceptionReport& report : exceptions.tree(object))
        list.push_back(Json::parse(exception_json(report)));
    if (!list.empty()) threads[hex(thread.address)] = std::move(list);
  }
  return threads;
}

Json waits(CoreSession& session) {
  StackReporter reporter(session.runtime(), session.memory(), [](FrameRow&, Address) {});
  test::WaitAnswers answers(session.runtime(), session.core(), reporter);
  const auto of = [&](const auto& ask) {
    try {
      return ask();
    } catch (const Error& error) {
      return Json{{"fault", error.what()}};
    }
  };
  return Json{{"locks", of([&] { return answers.locks(); })}, {"async", of([&] { return answers.async(); })}};
}

Json sections(CoreSession& session) {
  Json list = Json::array();
  if (ExecutionManager* const code = session.runtime().code())
    for (const RangeSection& section : code->sections())
      list.push_back({{"begin", hex(section.begin)},
                      {"end", hex(section.end)},
                      {"flags", section.flags},
                      {"range_list", hex(section.range_list)}});
  return list;
}

void print_list(const std::function<void(JsonList&)>& fill) {
  JsonList list([](std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); });
  fill(list);
  list.end();
  std::fputc('\n', stdout);
}

void print_addresses(CoreSession& session, const std::string& file) {
  std::ifstream in(file);
  print_list([&](JsonList& list) {
    for (std::string line; std::getline(in, line);)
      if (!line.empty()) list.add_text(json_text(session.runtime().resolve(std::stoull(line, nullptr, 16))));
  });
}

void print_methods(CoreSession& session) {
  print_list([&](JsonList& list) {
    session.runtime().for_each_method({}, [&](const MethodRow& row) {
      list.add_text(json_text(row));
      return true;
    });
  });
}

// One line {method_desc, start, kind, map: [[native, il, source]...]} or {..., error}.
void print_il_map(DebugInfoReader& reader, const CodeBlock& block) {
  Json line{{"start", fmt::format("{:#x}", block.start)},
            {"method_desc", fmt::format("{:#x}", block.method_desc)},
            {"kind", to_string(block.kind)}};
  try {
    Json entries = Json::array();
    for (const IlBoundary& boundary : reader.il_map(block)->boundaries())
      entries.push_back({boundary.native, boundary.il, boundary.source});
    line["map"] = std::move(entries);
    line["variables"] = reader.variables(block).size();
    if (const auto patchpoints = reader.patchpoint_info(block))
      line["patchpoint_locals"] = patchpoints->locals.size();
  } catch (const Error& error) {
    line["error"] = error.what();
  }
  fmt::print("{}\n", line.dump());
}

void print_il_maps(CoreSession& session) {
  ExecutionManager* const code = session.runtime().code();
  if (code == nullptr) throw Error(ErrorKind::invalid_argument, "the core has no runtime that can be read");
  DebugInfoReader reader(*code);
  code->for_each_jitted([&](const JittedBody& body) {
    print_il_map(reader, {.ip = body.start,
                          .start = body.start,
                          .method_desc = body.method_desc,
                          .kind = CodeKind::jitted,
                          .section = body.section,
                          .code_header = body.code_header});
    return true;
  });
  for (const RangeSection& section : code->sections()) {
    if (section.r2r_module == 0) continue;
    const std::uint32_t count = code->r2r_image(section).function_count;
    for (std::uint32_t i = 0; i < count; ++i) {
      const CodeBlock block = code->r2r_block(section, i);
      // Funclets and cold parts have no map of their own.
      if (block.method_index == i) print_il_map(reader, block);
    }
  }
}

int run(const std::vector<std::string>& words) {
  if (words.at(0) == "pdb") {
    dump_pdb(words.at(1));
    return 0;
  }
  const std::string& command = words.at(0);
  std::shared_ptr<const DescriptorFile> descriptor;
  if (const char* file = std::getenv("CLR_DESCRIPTOR"))
    descriptor = std::make_shared<const DescriptorFile>(read_descriptor_file(file));
  const auto session = CoreSession::open(words.at(1), {}, std::move(descriptor));
  if (command == "info") {
    fmt::print("{}\n", dump(to_json(session->runtime().info())));
  } else if (command == "descriptor") {
    fmt::print("{}", write_descriptor_file(session->runtime().record_descriptor()));
  } else if (command == "sections") {
    fmt::print("{}\n", dump(sections(*session)));
  } else if (command == "threads") {
    fmt::print("{}\n", dump(threads(*session)));
  } else if (command == "exceptions") {
    fmt::print("{}\n", dump(exceptions(*session)));
  } else if (command == "waits") {
    fmt::print("{}\n", dump(waits(*session)));
  } else if (command == "stacks") {
    fmt::print("{}\n", dump(stacks(*session)));
  } else if (command == "methods") {
    print_methods(*session);
  } else if (command == "ilmap") {
    print_il_maps(*session);
  } else if (command == "ip2md" && words.size() > 2) {
    print_addresses(*session, words[2]);
  } else {
    return 2;
  }
  for (const std::string& problem : session->problems()) fmt::print(stderr, "{}\n", problem);
  for (const auto& use : session->overlay().files())
    if (!use.refusal.empty()) fmt::print(stderr, "{}: {}\n", use.target_path, use.refusal);
  return 0;
}

} // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  int result = 2;
  try {
    if (words.size() >= 2) result = run(words);
  } catch (const Error& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return 1;
  }
  if (result == 2)
    std::fputs("usage: core_tool info|methods|stacks|threads|waits|descriptor|sections|ilmap CORE | "
               "core_tool ip2md CORE "
               "FILE | core_tool pdb FILE\n",
               stderr);
  return result;
}
