// Everything that a user asks of a core, of one whose runtime is damaged: from its descriptor to named
// stacks, and to the modules of debug information that a debugger is given.
#include "core/describe/break_targets.h"
#include "core/describe/called_methods.h"
#include "core/describe/exception_handlers.h"
#include "core/describe/named_types.h"
#include "core/describe/statement_places.h"
#include "core/dwarf/elf_module_writer.h"
#include "core/memory/page_cache.h"
#include "core/publish/code_catalog.h"
#include "core/report/save_core.h"
#include "core/report/thread_report.h"
#include "core/runtime/address_queries.h"
#include "core/runtime/call_shapes.h"
#include "core/runtime/code_listing.h"
#include "core/runtime/code_notifications.h"
#include "core/runtime/gc_report.h"
#include "core/runtime/named_code.h"
#include "core/runtime/native_names.h"
#include "tests/fuzz/recorded_core.h"
#include "tests/fuzz/written_module.h"
#include "tests/support/elf_module_builder.h"
#include "tests/support/execution_builder.h"

#include <nlohmann/json.hpp>

#include <set>

using namespace clr;
using namespace clr::fuzz;

namespace {

// Of each list: what a longer run would find, a shorter finds sooner.
constexpr std::size_t most_frames = 100, most_methods = 100, most_modules = 8;

// Counts questions, and gives up in the end: a caller's own limit of time.
std::function<bool()> patience(std::size_t questions) {
  return [left = questions]() mutable { return left == 0 || --left == 0; };
}

class WholeCore final : public RecordedScene {
public:
  // `images`: the code of ReadyToRun images is published too.
  WholeCore(const std::string& name, bool images)
      : RecordedScene(name), names_(*recorded_.core), images_(images),
        threads_(static_cast<unsigned>(recorded_.core->threads().size())) {}

  unsigned parts() const override { return threads_ + 10; }
  void ask(const Target& target, unsigned part) override {
    PageCache pages(target.memory());
    Runtime runtime(pages, recorded_.modules, recorded_.platform, nullptr);
    recorded_.give_lines(runtime);
    if (part < threads_) return walk(runtime, pages, recorded_.core->threads()[part]);
    switch (part - threads_) {
    case 0:
      dump(to_json(runtime.info()));
      attempt([&] { take_descriptor(runtime, pages); });
      break;
    case 1:
      report_threads(runtime, pages);
      break;
    case 2:
      list_methods(runtime);
      break;
    case 3:
      look_up(runtime, pages);
      break;
    case 4:
      methods_called(runtime, "Run", patience(4));
      break;
    case 5:
      publish(runtime, nullptr);
      break;
    case 6:
      damage_between_stops(runtime);
      break;
    case 7:
      search(runtime);
      break;
    case 8:
      step(runtime, pages);
      break;
    default:
      attempt([&] { save(pages); });
    }
  }

private:
  // The descriptor goes into a file, and comes back in place of the runtime's own; a file of another build
  // does not.
  void take_descriptor(const Runtime& runtime, MemoryReader& memory) {
    DescriptorFile file = parse_descriptor_file(write_descriptor_file(runtime.record_descriptor()), "saved");
    for (const bool own : {true, false}) {
      if (!own) file.build_id.push_back(0);
      const Runtime again(memory, recorded_.modules, recorded_.platform, nullptr,
                          std::make_shared<const DescriptorFile>(file));
      require(again.absence() != nullptr || again.target() != nullptr, "a runtime is there or is not");
    }
  }

  void walk(Runtime& runtime, MemoryReader& memory, const ThreadRegisters& thread) {
    StackReporter reporter(runtime, memory, [this](FrameRow& row, Address) { names_.name(row); });
    std::size_t rows = 0;
    const StackReporter::End end = reporter.walk(
        recorded_.registers_of(thread), thread.os_id,
        {.max_frames = most_frames, .registers = true, .lines = false}, [&](const FrameRow& row) {
          require(row.index == rows++, "rows are numbered from 0");
          dump(to_json(row));
          text_of(row);
          registers_of(row);
          return true;
        });
    require(!end.end.empty(), "a walk says how it ended");
  }

  void report_threads(Runtime& runtime, MemoryReader& memory) {
    if (runtime.absence() != nullptr) return;
    StackReporter reporter(runtime, memory, [](FrameRow&, Address) {});
    ExceptionReporter exceptions(runtime);
    std::size_t left = most_modules;
    for (const RuntimeThread& thread : reporter.threads().threads) {
      if (left-- == 0) break;
      const ThreadReport report = report_thread(thread, 1, exceptions);
      dump(to_json(report));
      if (report.exception)
        attempt([&] {
          for (const ExceptionReport& each : exceptions.tree(report.exception->exception.object))
            exception_json(each);
        });
    }
  }

  void list_methods(Runtime& runtime) {
    std::size_t left = most_methods;
    std::vector<Address> methods;
    runtime.for_each_method({.glob = "*", .r2r = images_}, [&](const MethodRow& row) {
      dump(to_json(row));
      if (row.method.method_desc != 0) methods.push_back(row.method.method_desc);
      return --left != 0;
    });
    if (runtime.absence() != nullptr) return;
    MethodCallShapes shapes(runtime);
    for (const Address method : methods)
      attempt([&] {
        for (const ArgumentShape& shape : shapes.of(method, false))
          require(shape.references.size() <= MethodCallShapes::max_parts, "references are bounded");
      });
  }

  void look_up(Runtime& runtime, MemoryReader& memory) {
    const NativeNamer native = [](Address) { return std::string(); };
    std::size_t left = most_methods;
    for (const Address ip : recorded_.frames) {
      if (left-- == 0) break;
      dump(to_json(answer_at(runtime, ip, native)));
      attempt([&] { dump(to_json(unwind_at(runtime, memory, ip, native).report)); });
      if (runtime.code() == nullptr) continue;
      attempt([&] {
        const CodeLookup found = runtime.code()->find(ip);
        const auto* block = std::get_if<CodeBlock>(&found);
        if (block == nullptr) return;
        std::string why;
        listing_marks(runtime, *block, runtime.describe(*block).method, why);
      });
    }
  }

  // What a breakpoint by a name or a file may mean.
  void search(Runtime& runtime) {
    const std::vector<std::string> names{"Run", "Gallery.Program.Main"}, files{"/src/Deadlocks.cs"};
    for (const SearchedCode where : {SearchedCode::jitted, SearchedCode::all}) {
      const auto named = code_named(runtime, names, patience(400), where);
      require(!named || named->size() <= max_named_code, "what a name may mean is bounded");
      code_in_files(runtime, files, patience(400), where);
    }
  }

  // Types that expressions name, and their static fields.
  void name_types(Runtime& runtime) {
    ObjectReader* const objects = runtime.objects();
    if (objects == nullptr) return;
    Omissions omissions;
    std::vector<NamedType> named = named_types(objects->finder(), omissions);
    named.resize(std::min<std::size_t>(named.size(), most_modules));
    for (const bool colons : {true, false}) {
      DebugModule module = named_types_module(objects->layouts(), named, colons, omissions);
      if (colons) write_elf_module(module);
    }
  }

  // What steps and breakpoints ask of the code on stacks.
  void step(Runtime& runtime, MemoryReader& memory) {
    ExecutionManager* const code = runtime.code();
    if (code == nullptr) return;
    std::size_t left = most_methods;
    std::set<std::string> called;
    for (const Address ip : recorded_.frames) {
      if (left-- == 0) break;
      attempt([&] {
        const CodeLookup found = code->find(ip);
        const auto* const block = std::get_if<CodeBlock>(&found);
        if (block == nullptr) return;
        const MethodAnswer answer = runtime.describe(*block);
        if (answer.source) statement_place(runtime, ip, answer.source->line);
        attempt([&] { called.merge(called_names(runtime, *block)); });
        attempt([&] { gc_marks(report_gc_info(runtime, *block)); });
        resume_places(*code, memory, *block);
      });
    }
    attempt([&] { name_types(runtime); });
    require(called_bodies(runtime, called).size() <= max_called_bodies + max_called_lambdas,
            "the methods that a line may call are bounded");
  }

  // A small copy of the damaged core, which nobody keeps. The limits are low, so that inputs reach them.
  void save(MemoryReader& memory) {
    const SaveSource source{.memory = &memory,
                            .platform = recorded_.platform,
                            .modules = recorded_.modules,
                            .threads = recorded_.core->threads(),
                            .notes = copy_notes(*recorded_.core),
                            .segments = recorded_.core->segments(),
                            .files = recorded_.core->file_mappings(),
                            .program_name = recorded_.program_name(),
                            .origin = {},
                            .symbols = {},
                            .name_native = [this](FrameRow& row, Address) { names_.name(row); }};
    SaveOptions options{.values = true, .describe = read_descriptions, .stop = patience(400)};
    options.limits = {.stack = 64 * 1024, .stacks = 256 * 1024, .objects = 100, .object = 4096};
    save_core(source, "/dev/null", options);
  }

  // Some places in each list of stubs, and where the calls of what was published lead.
  std::vector<Address> places_of_stubs(Runtime& runtime) {
    std::vector<Address> places;
    if (runtime.code() == nullptr) return places;
    std::size_t left = most_modules;
    for (const RangeSection& section : runtime.code()->sections()) {
      if ((section.flags & RangeSection::range_list_flag) == 0 || left-- == 0) continue;
      for (const Address at : {Address{0}, Address{24}, Address{0x4000}, (section.end - section.begin) / 2,
                               section.end - section.begin - 1})
        places.push_back(section.begin + at);
    }
    return places;
  }

  CatalogOptions options() const {
    CatalogOptions options;
    options.r2r = images_;
    options.grows = true;
    options.codes_at_once = 32;
    options.stop = patience(400);
    for (const ThreadRegisters& thread : recorded_.core->threads())
      if (const auto ip = recorded_.registers_of(thread).pc()) options.exact.push_back(*ip);
    for (const CoreSegment& segment : recorded_.core->segments())
      if (segment.executable && options.executable.size() < most_modules)
        options.executable.push_back({segment.begin, segment.begin + segment.memory_size});
    return options;
  }

  using Sections = std::map<std::uint64_t, std::vector<DebugSection>>; // by module

  // What is published; `known` was published before by the same catalog.
  void take(CatalogChange change, Sections& known) {
    for (const std::uint64_t id : change.gone)
      require(known.erase(id) == 1, "only what was published is withdrawn");
    std::size_t left = most_modules;
    for (SpelledModule& made : change.added) {
      require(!known.contains(made.id), "a module has a number of its own");
      if (left != 0 && !made.module.code.empty()) {
        --left;
        read_written(write_elf_module(made.module), made.module.code.front().start);
      }
      known[made.id] = std::move(made.module.sections);
    }
    std::vector<std::pair<Address, Address>> all;
    for (const auto& [id, sections] : known)
      for (const DebugSection& section : sections) all.emplace_back(section.begin, section.end);
    std::ranges::sort(all);
    for (std::size_t i = 0; i < all.size(); ++i) {
      require(all[i].first < all[i].second, "a section holds something");
      require(i == 0 || all[i - 1].second <= all[i].first, "sections do not overlap");
    }
  }

  void publish(Runtime& runtime, CodeCatalog* before) {
    CodeCatalog fresh;
    CodeCatalog& catalog = before != nullptr ? *before : fresh;
    Sections& known = known_;
    if (before == nullptr) known.clear();
    take(catalog.update(runtime, options()), known);
    for (const JittedBody& body : recorded_.bodies) {
      take(catalog.add(runtime, body.start, options()), known);
      break;
    }
    attempt([&] { take(catalog.add(runtime, places_of_stubs(runtime), options()), known); });
    take(catalog.update(runtime, options()), known);
    catalog.omissions();
  }

  // The process was sound when it stopped before.
  void damage_between_stops(Runtime& damaged) {
    CodeCatalog catalog;
    known_.clear();
    {
      PageCache pages(*recorded_.core);
      Runtime runtime(pages, recorded_.modules, recorded_.platform, nullptr);
      recorded_.give_lines(runtime);
      take(catalog.update(runtime, options()), known_);
    }
    publish(damaged, &catalog);
  }

  RecordedNames names_;
  bool images_;
  unsigned threads_;
  Sections known_;
};

// A runtime that tells of new code. Its table is published, or stands in front of the flags in the runtime's
// list of variables.
class Notifications final : public Scene {
public:
  explicit Notifications(bool published) : built_({.pointer_size = 8, .cpu = Cpu::x64}) {
    test::TargetBuilder& types = built_.types();
    types.variable("AppDomain", 0x1234);
    const Address table = types.memory().fresh(0x6000).address();
    const Address variable = types.memory().fresh(8).pointer(table).address() - 8;
    const Address flags = types.variable("DacNotificationFlags", 0);
    types.pointer_global("ClrNotificationArguments",
                         types.memory().fresh(32).u64(published ? 8 : 1).u64(1).u64(2).address() - 24);
    if (published) {
      types.pointer_global("JITNotificationTable", variable);
      types.type("JITNotification",
                 {{"State", test::Width::u16}, {"ClrModule"}, {"MethodToken", test::Width::u32}}, 24);
    } else {
      test::ElfModuleBuilder module{.platform = built_.memory().platform()};
      module.symbols = {{"g_dacTable", test::ElfModuleBuilder::data}};
      types.memory().write(module_base, module.loaded(module_base, true));
      types.memory().at(module_base + test::ElfModuleBuilder::data).u64(0).u64(variable).u64(flags);
    }
    place_ = types.write_descriptor();
    const Target target = built_.target();
    set_up(built_.memory(), target.descriptor(), target.platform());
  }

  unsigned parts() const override { return 1; }
  void ask(const Target& target, unsigned) override {
    Runtime runtime(target.memory(),
                    {{.path = "/x/libcoreclr.so",
                      .base = module_base,
                      .size = 0x5000,
                      .build_id = {},
                      .contract_descriptor = place_}},
                    target.platform(), nullptr);
    const auto places = find_code_notifications(runtime);
    if (!places) return;
    attempt([&] { read_notification(target, *places); });
    const std::vector<MethodKey> methods(2, MethodKey{0x1000, 0x0600'0001});
    notify_of(target, *places, {});
    notify_of(target, *places, methods);
  }

private:
  static constexpr Address module_base = 0x20'0000;
  test::ExecutionBuilder built_;
  Address place_ = 0;
};

} // namespace

std::vector<std::unique_ptr<Scene>> clr::fuzz::make_scenes() {
  std::vector<std::unique_ptr<Scene>> all;
  all.push_back(std::make_unique<WholeCore>("gallery-arm64", true));
  all.push_back(std::make_unique<WholeCore>("gallery-x64", false));
  for (const bool published : {true, false}) all.push_back(std::make_unique<Notifications>(published));
  for (const char* const core : {"gallery11-x64", "stuck-x64"})
    all.push_back(std::make_unique<WholeCore>(core, false));
  return all;
}
