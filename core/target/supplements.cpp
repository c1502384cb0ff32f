#include "core/target/supplements.h"

#include "core/target/contract_members.h"

#include <array>

namespace clr {
namespace {

// The CPUs on which a field of the runtime's types has this offset: it was measured there.
enum class For : std::uint8_t { both, x64, arm64 };

struct Row {
  For cpu;
  Supplement supplement;
};

constexpr std::string_view codeman = "src/coreclr/vm/codeman.h, measured on 10.0.12";
constexpr std::string_view codeversion = "src/coreclr/vm/codeversion.h, measured on 10.0.12";
constexpr std::string_view callcounting = "src/coreclr/vm/callcounting.h, inc/shash.h, measured on 10.0.12";
constexpr std::string_view loaderallocator = "src/coreclr/vm/loaderallocator.hpp, measured on 10.0.12";
constexpr std::string_view ceeload = "src/coreclr/vm/ceeload.h, measured on 10.0.12";
constexpr std::string_view fielddesc = "src/coreclr/vm/field.h, measured on 10.0.12";
constexpr std::string_view eeclass = "src/coreclr/vm/class.h, measured on 10.0.12";
constexpr std::string_view method = "src/coreclr/vm/method.hpp, measured on 10.0.12";
constexpr std::string_view stubs = "src/coreclr/vm/ilstubresolver.h, measured on 10.0.12";
constexpr std::string_view frames = "src/coreclr/vm/frames.h, measured on 10.0.12";
constexpr std::string_view threads = "src/coreclr/vm/threads.h, measured on 10.0.12";
constexpr std::string_view syncblk = "src/coreclr/vm/syncblk.h, measured on 10.0.12";
constexpr std::string_view threadstatics = "src/coreclr/vm/threadstatics.h, measured on 10.0.12";
constexpr std::string_view cgencpu = "src/coreclr/vm/arm64/cgencpu.h, measured on 10.0.0 arm64";
constexpr std::string_view managed_thread =
    "src/coreclr/System.Private.CoreLib/src/System/Threading/Thread.CoreCLR.cs, measured on 10.0.12";

// For 64-bit Unix and descriptors in the format of .NET 10: later ones publish what they mean.
constexpr std::array rows{
    Row{For::both, {"RealCodeHeader", "DebugInfo", 0, codeman}},
    Row{For::both, {"RealCodeHeader", "EHInfo", 8, codeman}},
    Row{For::both, {"RangeSection", "RangeList", 48, codeman}},
    Row{For::both, {"CodeRangeMapRangeList", "RangeListType", 0x120, codeman}},
    Row{For::both, {"CodeHeapListNode", "Heap", 8, codeman}},
    Row{For::both, {"CodeHeapListNode", "CLRPersonalityRoutine", 72, codeman}},
    Row{For::both, {"EEJitManager", "AllCodeHeaps", 16, codeman}},
    Row{For::both, {"NativeCodeVersionNode", "OptimizationTier", 36, codeversion}},
    Row{For::both, {"NativeCodeVersionNode", "PatchpointInfo", 40, codeversion}},
    Row{For::both, {"AsyncMethodData", "!", 24, method}},
    Row{For::both, {"AsyncMethodData", "Kind", 0, method}},
    Row{For::both, {"AsyncMethodData", "Sig", 8, method}},
    Row{For::both, {"AsyncMethodData", "cSig", 16, method}},
    Row{For::both, {"DynamicMethodDesc", "Resolver", 40, method}},
    Row{For::both, {"ILStubResolver", "CompileTimeState", 8, stubs}},
    Row{For::both, {"ILStubCompileTimeState", "CodeSize", 4, stubs}},
    Row{For::both, {"ILStubCompileTimeState", "Code", 16, stubs}},
    Row{For::x64, {"LoaderAllocator", "CallCountingManager", 1992, loaderallocator}},
    Row{For::both, {"CallCountingManager", "InfoByCodeVersion", 0, callcounting}},
    Row{For::both, {"CallCountingInfo", "StorageKind", 0, callcounting}},
    Row{For::both, {"CallCountingInfo", "MethodDesc", 8, callcounting}},
    Row{For::both, {"CallCountingInfo", "Stage", 26, callcounting}},
    Row{For::both, {"SHash", "Table", 0, callcounting}},
    Row{For::both, {"SHash", "TableSize", 8, callcounting}},
    Row{For::both, {"SHash", "TableCount", 12, callcounting}},
    Row{For::both, {"SHash", "TableOccupied", 16, callcounting}},
    Row{For::both, {"SHash", "TableMax", 20, callcounting}},
    Row{For::both, {"Module", "SimpleName", 192, ceeload}},
    Row{For::both, {"EEClass", "BaseSizePadding", 49, eeclass}},
    Row{For::both, {"FieldDesc", "!", 16, fielddesc}},
    Row{For::both, {"FieldDesc", "MTOfEnclosingClass", 0, fielddesc}},
    Row{For::both, {"FieldDesc", "DWord1", 8, fielddesc}},
    Row{For::both, {"FieldDesc", "DWord2", 12, fielddesc}},
    Row{For::both, {"InlinedCallFrame", "Datum", 16, frames}},
    Row{For::both, {"FramedMethodFrame", "MethodDesc", 24, frames}},
    Row{For::both, {"ExternalMethodFrame", "Indirection", 40, frames}},
    Row{For::both, {"StubDispatchFrame", "Indirection", 56, frames}},
    Row{For::both, {"StubDispatchFrame", "RepresentativeMTPtr", 32, frames}},
    Row{For::both, {"StubDispatchFrame", "RepresentativeSlot", 40, frames}},
    Row{For::both, {"DynamicHelperFrame", "DynamicHelperFrameFlags", 32, frames}},
    Row{For::x64, {"TransitionBlock", "ArgumentRegisters", 0, frames}},
    Row{For::arm64, {"TransitionBlock", "ArgumentRegisters", 112, cgencpu}},
    Row{For::x64, {"TransitionBlock", "FirstGCRefMapSlot", 0, frames}},
    Row{For::arm64, {"TransitionBlock", "FirstGCRefMapSlot", 104, cgencpu}},
    Row{For::both, {"GCFrame", "Next", 0, frames}},
    Row{For::both, {"GCFrame", "Thread", 8, frames}},
    Row{For::both, {"GCFrame", "ObjRefs", 16, frames}},
    Row{For::both, {"GCFrame", "NumObjRefs", 24, frames}},
    Row{For::both, {"GCFrame", "GCFlags", 28, frames}},
    Row{For::both, {"ManagedThread", "_name", 24, managed_thread}},
    Row{For::both, {"ManagedThread", "_DONT_USE_InternalThread", 40, managed_thread}},
    Row{For::both, {"SyncTableEntry", "Object", 8, syncblk}},
    Row{For::both, {"AwareLock", "State", 0, syncblk}},
    Row{For::both, {"AwareLock", "Recursion", 4, syncblk}},
    Row{For::both, {"AwareLock", "OwnerManagedId", 8, syncblk}},
    Row{For::both, {"AwareLock", "OwnerOsId", 16, syncblk}},
    Row{For::both, {"AwareLock", "SyncIndex", 28, syncblk}},
    Row{For::both, {"ThreadLocalData", "ThreadBlockingInfo", 40, threadstatics}},
    Row{For::x64, {"Thread", "CachedStackBase", 120, threads}},
    Row{For::x64, {"Thread", "CachedStackLimit", 128, threads}},
    Row{For::x64, {"HijackArgs", "Rax", 0, frames}},
    Row{For::x64, {"HijackArgs", "Rdx", 8, frames}},
    Row{For::arm64, {"HijackArgs", "X0", 96, cgencpu}},
    Row{For::arm64, {"HijackArgs", "X1", 104, cgencpu}},
    Row{For::arm64, {"CalleeSavedRegisters", "Fp", 0, cgencpu}},
    Row{For::arm64, {"CalleeSavedRegisters", "Lr", 8, cgencpu}},
    Row{For::arm64, {"CalleeSavedRegisters", "X19", 16, cgencpu}},
    Row{For::arm64, {"CalleeSavedRegisters", "X20", 24, cgencpu}},
    Row{For::arm64, {"CalleeSavedRegisters", "X21", 32, cgencpu}},
    Row{For::arm64, {"CalleeSavedRegisters", "X22", 40, cgencpu}},
    Row{For::arm64, {"CalleeSavedRegisters", "X23", 48, cgencpu}},
    Row{For::arm64, {"CalleeSavedRegisters", "X24", 56, cgencpu}},
    Row{For::arm64, {"CalleeSavedRegisters", "X25", 64, cgencpu}},
    Row{For::arm64, {"CalleeSavedRegisters", "X26", 72, cgencpu}},
    Row{For::arm64, {"CalleeSavedRegisters", "X27", 80, cgencpu}},
    Row{For::arm64, {"CalleeSavedRegisters", "X28", 88, cgencpu}},
};

bool applies(const Row& row, const Target& target) {
  if (target.descriptor().version != descriptor_format_integers) return false;
  if (target.pointer_size() != 8 || target.platform().os == Os::windows) return false;
  if (!contract_use(target.descriptor(), contract_of_type(row.supplement.type)).fault.empty()) return false;
  switch (row.cpu) {
  case For::both:
    return true;
  case For::x64:
    return target.platform().cpu == Cpu::x64;
  case For::arm64:
    return target.platform().cpu == Cpu::arm64;
  }
  return false;
}

std::optional<std::int64_t> find(const Target& target, std::string_view type, std::string_view field) {
  for (const Row& row : rows)
    if (row.supplement.type == type && row.supplement.field == field && applies(row, target))
      return row.supplement.value;
  return std::nullopt;
}

bool described(const Target& target, const Supplement& supplement) {
  const auto type = target.descriptor().types.find(supplement.type);
  if (type == target.descriptor().types.end()) return false;
  return supplement.field == "!" ? type->second.size.has_value()
                                 : type->second.fields.contains(supplement.field);
}

} // namespace

std::optional<std::int64_t> supplement_offset(const Target& target, std::string_view type,
                                              std::string_view field) {
  return find(target, type, field);
}

std::optional<std::uint64_t> supplement_size(const Target& target, std::string_view type) {
  return find(target, type, "!");
}

std::vector<Supplement> supplements_in_use(const Target& target) {
  std::vector<Supplement> in_use;
  for (const Row& row : rows)
    if (applies(row, target) && !described(target, row.supplement)) in_use.push_back(row.supplement);
  return in_use;
}

} // namespace clr
