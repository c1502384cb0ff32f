#include "extension/session/process_source.h"

#include "core/memory/process_memory.h"
#include "core/runtime/source_lines.h"
#include "extension/lldb/core_file.h"
#include "extension/lldb/memory.h"
#include "extension/lldb/registers.h"

#include <algorithm>
#include <elf.h>
#include <fmt/format.h>
#include <string_view>

namespace clr::lldb_plugin {

namespace {

ThreadRegisters registers_as_values(lldb::SBThread& thread, Cpu cpu) {
  ThreadRegisters registers{.os_id = thread.GetThreadID(), .values = {}};
  const RegisterContext context = registers_of(thread, cpu);
  for (unsigned reg = 0; reg < register_roles(cpu).count; ++reg)
    registers.values.push_back(context.find(reg).value_or(0));
  if (thread.GetStopReason() == lldb::eStopReasonSignal)
    registers.signal = static_cast<int>(thread.GetStopReasonDataAtIndex(0));
  return registers;
}

// The selected one first: a debugger that opens the core selects it again.
std::vector<ThreadRegisters> threads_of(lldb::SBProcess& process, Cpu cpu) {
  std::vector<ThreadRegisters> threads;
  const lldb::tid_t selected = process.GetSelectedThread().GetThreadID();
  for (std::uint32_t i = 0; i < process.GetNumThreads(); ++i) {
    lldb::SBThread thread = process.GetThreadAtIndex(i);
    threads.push_back(registers_as_values(thread, cpu));
  }
  std::stable_partition(threads.begin(), threads.end(),
                        [&](const ThreadRegisters& thread) { return thread.os_id == selected; });
  return threads;
}

std::vector<FileMapping> file_mappings(const std::string& folder) {
  std::vector<FileMapping> files;
  for (ProcessMapping& mapping : process_mappings(folder))
    if (mapping.path.starts_with('/'))
      files.push_back({mapping.begin, mapping.end, mapping.file_offset, std::move(mapping.path)});
  return files;
}

std::vector<CoreSegment> segments_of(lldb::SBProcess& process) {
  std::vector<CoreSegment> segments;
  lldb::SBMemoryRegionInfoList regions = process.GetMemoryRegions();
  for (std::uint32_t i = 0; i < regions.GetSize(); ++i) {
    lldb::SBMemoryRegionInfo region;
    if (!regions.GetMemoryRegionAtIndex(i, region) || !region.IsMapped()) continue;
    const Address begin = region.GetRegionBase();
    segments.push_back({.begin = begin,
                        .memory_size = region.GetRegionEnd() - begin,
                        .readable = region.IsReadable(),
                        .writable = region.IsWritable(),
                        .executable = region.IsExecutable()});
  }
  std::sort(segments.begin(), segments.end(),
            [](const CoreSegment& a, const CoreSegment& b) { return a.begin < b.begin; });
  return segments;
}

} // namespace

SaveSource process_source(lldb::SBTarget& target, Runtime& runtime, MemoryReader& memory) {
  lldb::SBProcess process = target.GetProcess();
  const Platform platform = runtime.platform();
  CoreNotes described;
  described.threads = threads_of(process, platform.cpu);
  described.process_id = process.GetProcessID();
  const char* name = target.GetExecutable().GetFilename();
  described.name = described.arguments = name == nullptr ? "" : name;
  if (on_this_host(target)) {
    const std::string folder = fmt::format("/proc/{}", described.process_id);
    described.files = file_mappings(folder);
    if (platform.pointer_size == 8) described.auxv = auxiliary_vector(folder);
  }
  if (!described.threads.empty() && described.threads.front().signal != 0)
    described.signal = SignalInfo{.number = described.threads.front().signal};
  const SourceLines* const lines = runtime.lines();
  SaveSource source{
      .memory = &memory,
      .platform = platform,
      .modules = runtime.modules(),
      .threads = {},
      .notes = make_notes(platform, described),
      .segments = segments_of(process),
      .files = described.files,
      .program_name = described.auxv.contains(AT_EXECFN) ? described.auxv.at(AT_EXECFN) : 0,
      .origin = fmt::format("{} {}", is_core(process) ? "core of process" : "process", described.process_id),
      .symbols = lines == nullptr ? PdbSearch() : lines->search(),
      .name_native = {}};
  source.threads = std::move(described.threads);
  return source;
}

} // namespace clr::lldb_plugin
