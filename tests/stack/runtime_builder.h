// A synthetic runtime for tests of threads, Frames and exceptions: a descriptor with the layouts that .NET 10
// publishes for the CPU, over StackMemory.
#pragma once

#include "tests/support/stack_memory.h"

#include "core/target/target.h"

namespace clr::test {

inline ContractDescriptor runtime_descriptor(Cpu cpu) {
  ContractDescriptor d;
  d.platform = {.pointer_size = 8, .byte_order = ByteOrder::little, .cpu = cpu, .os = Os::unix_like};
  const auto type = [&](const char* name, std::initializer_list<std::pair<const char*, std::int64_t>> fields,
                        std::optional<std::uint32_t> size = std::nullopt) {
    TypeDescriptor t{.size = size};
    for (const auto& [field, offset] : fields) t.fields.emplace(field, FieldDescriptor{.offset = offset});
    d.types.emplace(name, std::move(t));
  };
  const auto global = [&](const char* name, std::uint64_t value, bool indirect = false) {
    d.globals.emplace(name, GlobalDescriptor{.number = value, .indirect = indirect});
  };
  type("ThreadStore", {{"FirstThreadLink", 88}});
  type("Thread", {{"State", 0},
                  {"PreemptiveGCDisabled", 4},
                  {"Frame", 8},
                  {"Id", 16},
                  {"LinkNext", 112},
                  {"OSId", 296},
                  {"GCHandle", 304},
                  {"LastThrownObject", 336},
                  {"ExceptionTracker", 352}});
  type("Frame", {{"Next", 8}});
  type("InlinedCallFrame", {{"CallSiteSP", 24}, {"CallerReturnAddress", 32}, {"CalleeSavedFP", 40}}, 56);
  type("FramedMethodFrame", {{"TransitionBlockPtr", 16}}, 32);
  type("ResumableFrame", {{"TargetContextPtr", 16}}, 24);
  type("FaultingExceptionFrame", {{"TargetContext", 32}});
  type("SoftwareExceptionFrame", {{"ReturnAddress", 16}, {"TargetContext", cpu == Cpu::arm64 ? 192 : 288}});
  type("FuncEvalFrame", {{"DebuggerEvalPtr", 24}}, 40);
  type("DebuggerEval", {{"EvalDuringException", 3358}, {"TargetContext", 0}}, 3392);
  type("HijackFrame", {{"ReturnAddress", 16}, {"HijackArgsPtr", 32}}, 40);
  if (cpu == Cpu::arm64) {
    type("HijackArgs", {{"CalleeSavedRegisters", 0}}, 192);
    type("TransitionBlock", {{"CalleeSavedRegisters", 0}, {"ReturnAddress", 8}}, 176);
    type("CalleeSavedRegisters", {}, 96);
  } else {
    type("HijackArgs", {{"CalleeSavedRegisters", 24}}, 80);
    type("TransitionBlock", {{"CalleeSavedRegisters", 48}, {"ReturnAddress", 96}}, 104);
    type("CalleeSavedRegisters", {{"R12", 0}, {"R13", 8}, {"R14", 16}, {"R15", 24}, {"Rbx", 32}, {"Rbp", 40}},
         48);
  }
  type("ExceptionInfo", {{"PreviousNestedInfo", 0}, {"ThrownObject", 8}});
  type("Exception", {{"_message", 16},
                     {"_innerException", 32},
                     {"_stackTrace", 48},
                     {"_remoteStackTraceString", 72},
                     {"_HResult", 108}});
  type("Object", {{"m_pMethTab", 0}});
  type("String", {{"m_StringLength", 8}, {"m_FirstChar", 12}});
  type("Array", {{"m_NumComponents", 8}}, 16);
  type("MethodTable", {{"MTFlags", 0}, {"ParentMethodTable", 16}}, 64);
  const char* kinds[] = {"InlinedCall",
                         "Resumable",
                         "RedirectedThread",
                         "FaultingException",
                         "SoftwareException",
                         "FuncEval",
                         "PInvokeCalli",
                         "Hijack",
                         "PrestubMethod",
                         "CallCountingHelper",
                         "StubDispatch",
                         "ExternalMethod",
                         "DynamicHelper",
                         "ProtectValueClass",
                         "DebuggerClassInitMark",
                         "DebuggerExit",
                         "DebuggerU2MCatchHandler",
                         "ExceptionFilter"};
  std::uint64_t identifier = 0;
  for (const char* kind : kinds) global((std::string(kind) + "FrameIdentifier").c_str(), ++identifier);
  global("ThreadStore", 0x1000, true);
  global("StringMethodTable", 0x1008, true);
  global("ExceptionMethodTable", 0x1010, true);
  global("ObjectToMethodTableUnmask", 7);
  return d;
}

} // namespace clr::test
