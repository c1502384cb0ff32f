// The recorded cores of tests/cores and of cores/ as sound memory for scenes: what a real runtime looks like.
// Nothing is read from files of this machine but the PDBs that lie beside some cores: these hold every page
// that the commands need.
#pragma once

#include "core/memory/elf_core.h"
#include "core/memory/module_list.h"
#include "core/runtime/runtime.h"
#include "core/runtime/source_lines.h"
#include "core/runtime/stack_reporter.h"
#include "tests/fuzz/scenes.h"

#include <elf.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

namespace clr::fuzz {

struct RecordedCore {
  // `name`: "gallery-x64".
  explicit RecordedCore(const std::string& name)
      : core(ElfCore::open(CLR_FUZZ_CORES "/" + name + ".core")), platform(core->platform()),
        modules(list_modules(*core, *core).modules), pdb(CLR_FUZZ_CORES "/" + name + ".pdb") {
    Runtime runtime(*core, modules, platform, nullptr);
    if (runtime.target() == nullptr) throw Error(ErrorKind::corrupt, name + " has no runtime");
    descriptor = runtime.target()->descriptor();
    platform = runtime.platform();
    runtime.code()->for_each_jitted([&](const JittedBody& body) {
      bodies.push_back(body);
      return true;
    });
    StackReporter reporter(runtime, *core, [](FrameRow&, Address) {});
    for (const ThreadRegisters& thread : core->threads())
      reporter.walk(registers_of(thread), thread.os_id, {.lines = false}, [&](const FrameRow& row) {
        if (row.ip != 0) frames.push_back(row.ip);
        return true;
      });
    std::ranges::sort(frames);
    frames.erase(std::unique(frames.begin(), frames.end()), frames.end());
  }

  RegisterContext registers_of(const ThreadRegisters& thread) const {
    return context_of_thread(platform.cpu, thread);
  }

  // Gives `runtime` the PDB of the program, if there is one.
  void give_lines(Runtime& runtime) const {
    if (runtime.lines() != nullptr && std::filesystem::exists(pdb))
      runtime.lines()->set_search({.paths = {}, .places = {pdb}});
  }

  // Where the kernel put the program's name, behind its environment (AT_EXECFN).
  Address program_name() const {
    const auto found = core->notes().auxv.find(AT_EXECFN);
    return found == core->notes().auxv.end() ? 0 : found->second;
  }

  std::unique_ptr<ElfCore> core;
  Platform platform;
  std::vector<LoadedModule> modules;
  std::string pdb;
  ContractDescriptor descriptor;
  std::vector<JittedBody> bodies;
  std::vector<Address> frames; // every ip of the stacks, ascending
};

class RecordedScene : public Scene {
protected:
  explicit RecordedScene(const std::string& name) : recorded_(name) {
    set_up(*recorded_.core, recorded_.descriptor, recorded_.platform);
  }

  RecordedCore recorded_;
};

} // namespace clr::fuzz
