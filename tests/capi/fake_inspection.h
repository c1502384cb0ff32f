// A process without a debugger or a core behind it: a synthetic runtime with three methods and a native
// library, one thread with two frames. The C functions reach it by clr_open_process, which this suite
// implements.
#pragma once

#include "capi/inspection.h"
#include "tests/types/runtime_types.h"

#include <memory>
#include <string>
#include <vector>

namespace clr::test {

class FakeInspection final : public capi::Inspection {
public:
  static constexpr Address run = 0x2'1000, walk_start = 0x2'2000, nameless = 0x2'3000, method_size = 0x50;
  static constexpr Address native = 0x30'0000;
  static constexpr std::uint64_t main_thread = 77;

  FakeInspection();

  void require_current() override;
  Runtime& runtime() override { return *runtime_; }
  MemoryReader& memory() override { return types_.target.memory(); }
  StackReporter& stacks() override { return *stacks_; }
  std::vector<ThreadRow> threads() override;
  std::optional<capi::FirstThread> first_thread() override {
    return capi::FirstThread{
        .index = 1, .os_id = main_thread, .why = "it had the signal", .crash = "it failed"};
  }
  std::uint64_t process_id() override { return 4711; }
  Address program_name() override { return 0; }
  StackReporter::End walk(std::uint64_t os_id, const StackReporter::Options& options,
                          const std::function<bool(const FrameRow&)>& visit) override;
  RegisterContext registers(std::uint64_t os_id) override;
  HeapReporter& heap() override { throw Error(ErrorKind::unsupported_contract, "there is no heap here"); }
  HeapHolders& holders() override { throw Error(ErrorKind::unsupported_contract, "there is no heap here"); }
  HeapRetainers& retainers() override {
    throw Error(ErrorKind::unsupported_contract, "there is no heap here");
  }
  std::string symbol_at(Address address) override;
  MemoryReport memory_report() override;
  SaveSource save_source() override;
  void publish() override { ++published; }

  Address run_desc() const { return run_desc_; }

  bool stale = false;
  unsigned questions = 0; // how often require_current was asked
  unsigned published = 0;

private:
  RuntimeTypes types_;
  Address run_desc_ = 0;
  std::vector<LoadedModule> modules_;
  std::unique_ptr<Runtime> runtime_;
  std::unique_ptr<StackReporter> stacks_;
};

// The result of clr_open_process for debugger 1, or none: the process is gone.
inline std::shared_ptr<FakeInspection> opened;

} // namespace clr::test
