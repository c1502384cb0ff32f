// Names in a damaged runtime: MethodDesc, MethodTable, Module, code versions, metadata as a process holds it.
#include "core/types/method_names.h"
#include "core/types/type_names.h"
#include "tests/fuzz/recorded_core.h"
#include "tests/types/sample_runtime.h"

using namespace clr;
using namespace clr::fuzz;

namespace {

void name_method(MethodNames& names, Address method_desc, Address start) {
  attempt([&] {
    Method method = names.describe(method_desc);
    names.add_user_method(method);
    method.shown_name();
    method.sos_name();
    method.event_name();
    method.perf_map_name();
    if (method.qualified) format_r2r_map_name(*method.qualified);
    for (const std::string* name : {&method.name, &method.full_name})
      require(name->size() < 4 * max_name_length, "a name has an end");
  });
  attempt([&] { names.describe_once(method_desc).spell(); });
  attempt([&] { names.tier(method_desc, start, CodeKind::jitted); });
  attempt([&] { names.method_arguments(method_desc); });
  attempt([&] {
    const Address table = names.method_desc(method_desc).method_table;
    names.type_name(table);
    names.types().type_of_handle(table);
    names.types().tables().generic_arguments(names.types().type(table).table);
    names.types().tables().method_chunks(names.types().type(table).table);
  });
}

class BuiltTypes final : public Scene {
public:
  explicit BuiltTypes(Platform platform) : sample_(platform) {
    sample_.runtime.versions(sample_.versioned, {{.code = 0x7000, .tier = 1}, {.code = 0x8000, .tier = 2}});
    sample_.runtime.app_domain({sample_.core_lib, sample_.app});
    sample_.runtime.call_counting({{sample_.tiered, 0}, {sample_.switched, 4}});
    test::TargetBuilder& built = sample_.runtime.target;
    set_up(built.memory(), built.contract_descriptor(), built.platform());
  }

  unsigned parts() const override { return 1; }
  void ask(const Target& target, unsigned) override {
    ExecutionManager code(target);
    MethodNames names(target, code, nullptr);
    for (const test::SampleMethod& method : sample_.methods) name_method(names, method.address, 0x7000);
    for (const Address method : {sample_.tiered, sample_.switched, sample_.versioned})
      attempt([&] { names.tier(method, 0x8000, CodeKind::jitted); });
    attempt([&] { names.modules(); });
    names.module_addresses();
    attempt([&] { names.type_name(sample_.list_of_int); });
    attempt([&] { names.types().argument(sample_.list_of_int); });
  }

private:
  test::SampleRuntime sample_;
};

class RecordedTypes final : public RecordedScene {
public:
  explicit RecordedTypes(const std::string& name) : RecordedScene(name) {
    const Target target(*recorded_.core, recorded_.descriptor, recorded_.platform);
    ExecutionManager code(target);
    for (const RangeSection& section : code.sections())
      if (section.r2r_module != 0) images_.push_back(section);
  }

  unsigned parts() const override { return groups + 2; }
  void ask(const Target& target, unsigned part) override {
    ExecutionManager code(target);
    MethodNames names(target, code, nullptr);
    if (part == groups) {
      attempt([&] { names.modules(); });
    } else if (part == groups + 1) {
      for (std::size_t i = 0; i < std::min<std::size_t>(images_.size(), 4); ++i)
        ask_image(code, names, images_[i]);
    } else {
      for (std::size_t i = part; i < recorded_.bodies.size() && i < 8 * groups; i += groups)
        name_method(names, recorded_.bodies[i].method_desc, recorded_.bodies[i].start);
    }
  }

private:
  // Of an image: what a longer walk would find, a shorter finds sooner.
  static constexpr std::size_t most_methods = 20;

  static void ask_image(ExecutionManager& code, MethodNames& names, const RangeSection& section) {
    attempt([&] {
      std::size_t left = most_methods;
      names.for_each_r2r_method(section, [&](MethodNames::R2RMethod& method) {
        method.method.spell();
        return --left != 0;
      });
    });
    attempt([&] {
      const ExecutionManager::R2RImage image = code.r2r_image(section);
      for (const Address cell : {image.base + 0x1000, image.header + 0x100}) names.import_at(cell);
    });
  }

  static constexpr unsigned groups = 16;
  std::vector<RangeSection> images_;
};

} // namespace

std::vector<std::unique_ptr<Scene>> clr::fuzz::make_scenes() {
  std::vector<std::unique_ptr<Scene>> all;
  for (const Platform& platform : test::all_platforms(Cpu::x64))
    all.push_back(std::make_unique<BuiltTypes>(platform));
  all.push_back(std::make_unique<RecordedTypes>("gallery-arm64"));
  all.push_back(std::make_unique<RecordedTypes>("gallery-x64"));
  return all;
}
