// The layouts that .NET 10 (10.0.9, linux-x64) publishes about itself. They serve runtimes of the same
// generation whose host does not export its descriptor, and replace parts that are missing in .NET 9's
// descriptor. Data: the descriptor that this runtime exports, without pointers.
#pragma once

#include <string_view>

namespace clr {

// clang-format off
constexpr std::string_view net10_x64_layouts = R"json({"types":{
"AppDomain":{"DomainAssemblyList":576,"FriendlyName":1080,"RootAssembly":1088},
"ArgumentRegisters":{"!":48},"Array":{"!":16,"m_NumComponents":8},"ArrayClass":{"Rank":72},
"ArrayListBase":{"Count":0,"FirstBlock":8},"ArrayListBlock":{"ArrayStart":16,"Next":0,"Size":8},
"ArrayMethodDesc":{"!":32},
"Assembly":{"Error":64,"IsCollectible":48,"Level":52,"Module":16,"NotifyFlags":56},
"Bucket":{"!":64,"Keys":0,"Values":32},
"CalleeSavedRegisters":{"!":48,"R12":0,"R13":8,"R14":16,"R15":24,"Rbp":40,"Rbx":32},
"CodeHeapListNode":{"EndAddress":24,"HeaderMap":40,"MapBase":32,"Next":0,"StartAddress":16},
"CodePointer":{"!":8},"DebuggerEval":{"!":3392,"EvalDuringException":3358,"TargetContext":0},
"DynamicMetadata":{"Data":4,"Size":0},"DynamicMethodDesc":{"!":48,"MethodName":32},
"DynamicStaticsInfo":{"!":24,"GCStatics":0,"NonGCStatics":8},
"EEAllocContext":{"GCAllocationContext":8},
"EEClass":{"CorTypeAttr":40,"FieldDescList":24,"InternalCorElementType":48,"MethodDescChunk":32,"MethodTable":16,"NumInstanceFields":50,"NumMethods":52,"NumNonVirtualSlots":62,"NumStaticFields":54,"NumThreadStaticFields":58},
"EEImplMethodDesc":{"!":32},
"EETypeHashTable":{"Buckets":16,"Count":24,"VolatileEntryNextEntry":8,"VolatileEntryValue":0},
"Exception":{"_HResult":108,"_innerException":32,"_message":16,"_remoteStackTraceString":72,"_stackTrace":48,"_stackTraceString":64,"_watsonBuckets":56,"_xcode":104},
"ExceptionInfo":{"PreviousNestedInfo":0,"ThrownObject":8},"FCallMethodDesc":{"!":24},
"FaultingExceptionFrame":{"!":3280,"TargetContext":32},"FixupPrecodeData":{"MethodDesc":8},
"FnPtrTypeDesc":{"CallConv":28,"LoaderModule":16,"NumArgs":24,"RetAndArgTypes":32},"Frame":{"Next":8},
"FramedMethodFrame":{"!":32,"TransitionBlockPtr":16},"FuncEvalFrame":{"!":40,"DebuggerEvalPtr":24},
"GCAllocContext":{"Limit":8,"Pointer":0},
"GCHandle":{"!":8},"GenericsDictInfo":{"NumDicts":4,"NumTypeArgs":6},"HashMap":{"Buckets":16},
"HijackArgs":{"!":80,"CalleeSavedRegisters":24},
"HijackFrame":{"!":40,"HijackArgsPtr":32,"ReturnAddress":16},
"ILCodeVersionNode":{"Next":24,"RejitState":32,"VersionId":16},
"ILCodeVersioningState":{"ActiveVersionKind":0,"ActiveVersionMethodDef":16,"ActiveVersionModule":8,"ActiveVersionNode":8,"FirstVersionNode":24},
"ImageDataDirectory":{"!":8,"Size":4,"VirtualAddress":0},
"InlinedCallFrame":{"!":56,"CallSiteSP":24,"CalleeSavedFP":40,"CallerReturnAddress":32},
"InstMethodHashTable":{"Buckets":16,"Count":24,"VolatileEntryNextEntry":8,"VolatileEntryValue":0},
"InstantiatedMethodDesc":{"!":40,"Flags2":32,"NumGenericArgs":34,"PerInstInfo":24},
"MethodDesc":{"!":16,"ChunkIndex":2,"CodeData":8,"EntryPointFlags":3,"Flags":6,"Flags3AndTokenRemainder":0,"Slot":4},
"MethodDescChunk":{"!":24,"Count":17,"FlagsAndTokenRange":18,"MethodTable":0,"Next":8,"Size":16},
"MethodDescCodeData":{"TemporaryEntryPoint":8,"VersioningState":0},
"MethodDescVersioningState":{"Flags":8,"NativeCodeVersionNode":16},"MethodImpl":{"!":16},
"MethodTable":{"!":64,"AuxiliaryData":32,"BaseSize":4,"EEClassOrCanonMT":40,"MTFlags":0,"MTFlags2":8,"Module":24,"NumInterfaces":14,"NumVirtuals":12,"ParentMethodTable":16,"PerInstInfo":48},
"MethodTableAuxiliaryData":{"Flags":0,"LoaderModule":8,"OffsetToNonVirtualSlots":2},
"Module":{"Assembly":248,"AvailableTypeParams":600,"Base":224,"DynamicMetadata":840,"FieldDefToDescMap":512,"FileName":208,"Flags":232,"GrowableSymbolStream":408,"InstMethodHashTable":680,"LoaderAllocator":176,"ManifestModuleReferencesMap":40,"MemberRefToDescMap":72,"MethodDefToDescMap":448,"MethodDefToILCodeVersioningStateMap":480,"PEAssembly":216,"Path":200,"ReadyToRunInfo":704,"TypeDefToMethodTableMap":416,"TypeRefToMethodTableMap":8},
"ModuleLookupMap":{"Count":16,"Next":0,"SupportedFlagsMask":24,"TableData":8},"NativeCodeSlot":{"!":8},
"NativeCodeVersionNode":{"Flags":52,"ILVersionId":16,"MethodDesc":8,"NativeCode":0,"Next":24},
"NonVtableSlot":{"!":8},"Object":{"m_pMethTab":0},"PEAssembly":{"AssemblyBinder":64,"PEImage":8},
"PEImage":{"LoadedImageLayout":128,"ProbeExtensionResult":40},
"PEImageLayout":{"Base":8,"Flags":20,"Size":16},"PInvokeMethodDesc":{"!":56},
"ParamTypeDesc":{"TypeArg":16},"PlatformMetadata":{"CodePointerFlags":112,"PrecodeMachineDescriptor":0},
"PrecodeMachineDescriptor":{"FixupBytes":9,"FixupCodeOffset":7,"FixupIgnoredBytes":33,"FixupPrecodeType":6,"FixupStubPrecodeSize":8,"InvalidPrecodeType":4,"PInvokeImportPrecodeType":5,"StubBytes":59,"StubCodePageSize":0,"StubIgnoredBytes":83,"StubPrecodeSize":57,"StubPrecodeType":58,"ThisPointerRetBufPrecodeType":107,"UMEntryPrecodeType":108},
"ProbeExtensionResult":{"Type":0},
"RangeSection":{"Flags":16,"HeapList":40,"JitManager":24,"NextForDelete":64,"R2RModule":32,"RangeBegin":0,"RangeEndOpen":8},
"RangeSectionFragment":{"Next":0,"RangeBegin":8,"RangeEndOpen":16,"RangeSection":24},
"RangeSectionMap":{"TopLevelData":0},"ReadyToRunHeader":{"MajorVersion":4,"MinorVersion":6},
"ReadyToRunInfo":{"CompositeInfo":40,"DelayLoadMethodCallThunks":112,"EntryPointToMethodDescMap":360,"HotColdMap":96,"NumHotColdMap":104,"NumRuntimeFunctions":88,"ReadyToRunHeader":16,"RuntimeFunctions":80},
"RealCodeHeader":{"GCInfo":16,"MethodDesc":24,"NumUnwindInfos":32,"UnwindInfos":36},
"ResumableFrame":{"!":24,"TargetContextPtr":16},
"RuntimeFunction":{"!":12,"BeginAddress":0,"EndAddress":4,"UnwindData":8},
"RuntimeThreadLocals":{"AllocContext":0},
"SoftwareExceptionFrame":{"!":3520,"ReturnAddress":16,"TargetContext":288},
"StoredSigMethodDesc":{"ExtendedFlags":28,"Sig":16,"cSig":24},
"String":{"m_FirstChar":12,"m_StringLength":8},"StubPrecodeData":{"SecretParam":0,"Type":16},
"SystemDomain":{"GlobalLoaderAllocator":16},"ThisPtrRetBufPrecodeData":{"MethodDesc":8},
"Thread":{"ExceptionTracker":352,"Frame":8,"GCHandle":[304,"GCHandle"],"Id":16,"LastThrownObject":[336,"GCHandle"],"LinkNext":[112,"pointer"],"OSId":296,"PreemptiveGCDisabled":4,"RuntimeThreadLocals":32,"State":0,"ThreadLocalDataPtr":568},
"ThreadLocalData":{"CollectibleTlsArrayData":16,"CollectibleTlsDataCount":4,"InFlightData":32,"NonCollectibleTlsArrayData":8,"NonCollectibleTlsDataCount":0},
"ThreadStaticsInfo":{"!":40,"GCTlsIndex":4,"NonGCTlsIndex":0},
"ThreadStore":{"BackgroundCount":120,"DeadCount":128,"FirstThreadLink":88,"PendingCount":124,"ThreadCount":112,"UnstartedCount":116},
"TLSIndex":{"TLSIndexRawIndex":0},
"TransitionBlock":{"!":104,"CalleeSavedRegisters":48,"ReturnAddress":96},"TypeDesc":{"TypeAndFlags":0},
"TypeVarTypeDesc":{"Module":16,"Token":40},"UnwindInfo":{}
},
"globals":{
"CallCountingHelperFrameIdentifier":["0xa","nuint"],
"DebuggerClassInitMarkFrameIdentifier":["0xf","nuint"],"DebuggerExitFrameIdentifier":["0x10","nuint"],
"DebuggerU2MCatchHandlerFrameIdentifier":["0x11","nuint"],
"DynamicHelperFrameIdentifier":["0xd","nuint"],"ExceptionFilterFrameIdentifier":["0x12","nuint"],
"ExternalMethodFrameIdentifier":["0xc","nuint"],"FaultingExceptionFrameIdentifier":["0x4","nuint"],
"FuncEvalFrameIdentifier":["0x6","nuint"],"GCInfoVersion":["0x4","uint32"],
"HashMapSlotsPerBucket":["0x4","uint32"],"HashMapValueMask":["0x7fffffffffffffff","uint64"],
"HijackFrameIdentifier":["0x8","nuint"],"InlinedCallFrameIdentifier":["0x1","nuint"],
"MethodDescAlignment":["0x8","uint64"],"MethodDescTokenRemainderBitCount":["0xc","uint8"],
"NumberOfTlsOffsetsNotUsedInNoncollectibleArray":["0x2","uint8"],
"ObjectHeaderSize":["0x8","uint64"],"ObjectToMethodTableUnmask":["0x7","uint8"],
"PInvokeCalliFrameIdentifier":["0x7","nuint"],"PrestubMethodFrameIdentifier":["0x9","nuint"],
"ProtectValueClassFrameIdentifier":["0xe","nuint"],"PtrArrayOffsetToDataArray":["0x10","uintptr_t"],
"RedirectedThreadFrameIdentifier":["0x3","nuint"],"ResumableFrameIdentifier":["0x2","nuint"],
"SoftwareExceptionFrameIdentifier":["0x5","nuint"],"StaticsPointerMask":["0xfffffffffffffffe","uintptr_t"],"StubCodeBlockLast":["0xf","uint8"],
"StubDispatchFrameIdentifier":["0xb","nuint"],"SyncBlockValueToObjectOffset":["0x4","uint16"]
},
"contracts":{
"CodeVersions":1,"EcmaMetadata":1,"Exception":1,"ExecutionManager":2,"Loader":1,"Object":1,
"PlatformMetadata":1,"PrecodeStubs":3,"RuntimeInfo":1,"RuntimeTypeSystem":1,"StackWalk":1,"Thread":1
}})json";

// The differences of linux-arm64. Measured on guest cores of 10.0.0; dotnet/runtime src/coreclr/vm/arm64/cgencpu.h.
constexpr std::string_view net10_arm64_differences = R"json({"types":{
"RangeSection":{"NextForDelete":56},
"RuntimeFunction":{"!":8,"BeginAddress":0,"UnwindData":4},
"SoftwareExceptionFrame":{"ReturnAddress":16,"TargetContext":192},
"HijackArgs":{"!":192,"CalleeSavedRegisters":0},
"TransitionBlock":{"!":176,"CalleeSavedRegisters":0,"ReturnAddress":8},
"CalleeSavedRegisters":{"!":96},
"ArgumentRegisters":{"!":64},
"Thread":{"LinkNext":152,"OSId":336,"GCHandle":344,"LastThrownObject":376,"ExceptionTracker":392,"ThreadLocalDataPtr":608}
}})json";

// Types that .NET 9's own descriptor lacks: their offsets on x64 that differ from .NET 10. Measured on 9.0.22.
constexpr std::string_view net9_x64_differences = R"json({"types":{
"Thread":{"ThreadLocalDataPtr":928},
"Module":{"ReadyToRunInfo":984},
"ReadyToRunInfo":{"EntryPointToMethodDescMap":432}
}})json";
// The layouts that .NET 9 (9.0.22, linux-x64) publishes about itself, for its single-file hosts, which export
// nothing. Data: the descriptor that this runtime's library exports, without pointers.
constexpr std::string_view net9_x64_layouts = R"json({"types":{
"Array":{"!":16,"m_NumComponents":8},"ArrayClass":{"Rank":72},"DynamicMetadata":{"Data":4,"Size":0},
"DynamicMethodDesc":{"MethodName":32},
"EEClass":{"CorTypeAttr":40,"InternalCorElementType":48,"MethodTable":16,"NumMethods":52,"NumNonVirtualSlots":62},
"Exception":{"_HResult":108,"_innerException":32,"_message":16,"_remoteStackTraceString":72,"_stackTrace":48,"_stackTraceString":64,"_watsonBuckets":56,"_xcode":104},
"ExceptionInfo":{"PreviousNestedInfo":0,"ThrownObject":8},
"FnPtrTypeDesc":{"CallConv":28,"LoaderModule":16,"NumArgs":24,"RetAndArgTypes":32},
"GCAllocContext":{"Limit":8,"Pointer":0},"GCHandle":{"!":8},"GenericsDictInfo":{"NumTypeArgs":6},
"InstantiatedMethodDesc":{"Flags2":32,"NumGenericArgs":34,"PerInstInfo":24},"InteropSyncBlockInfo":{},
"MethodDesc":{"ChunkIndex":2,"Flags":6,"Flags3AndTokenRemainder":0,"Slot":4},
"MethodDescChunk":{"!":24,"Count":17,"FlagsAndTokenRange":18,"MethodTable":0,"Next":8,"Size":16},
"MethodTable":{"BaseSize":4,"EEClassOrCanonMT":40,"MTFlags":0,"MTFlags2":8,"Module":24,"NumInterfaces":14,"NumVirtuals":12,"ParentMethodTable":16,"PerInstInfo":48},
"Module":{"Assembly":312,"Base":288,"DynamicMetadata":1120,"FieldDefToDescMap":720,"Flags":296,"LoaderAllocator":248,"ManifestModuleReferencesMap":40,"MemberRefToDescMap":72,"MethodDefToDescMap":656,"MethodDefToILCodeVersioningStateMap":688,"Path":272,"ThunkHeap":1032,"TypeDefToMethodTableMap":624,"TypeRefToMethodTableMap":8},
"ModuleLookupMap":{"TableData":8},"Object":{"m_pMethTab":0},"ParamTypeDesc":{"TypeArg":16},
"RuntimeThreadLocals":{"AllocContext":0},"StoredSigMethodDesc":{"ExtendedFlags":28,"Sig":16,"cSig":24},
"String":{"m_FirstChar":12,"m_StringLength":8},"SyncBlock":{"InteropInfo":56},
"SyncTableEntry":{"!":16,"SyncBlock":0},
"Thread":{"ExceptionTracker":352,"Frame":8,"GCHandle":304,"Id":16,"LastThrownObject":336,"LinkNext":112,"OSId":296,"PreemptiveGCDisabled":4,"RuntimeThreadLocals":32,"State":0},
"ThreadStore":{"BackgroundCount":192,"DeadCount":200,"FirstThreadLink":160,"PendingCount":196,"ThreadCount":184,"UnstartedCount":188},
"TypeDesc":{"TypeAndFlags":0},"TypeVarTypeDesc":{"Module":16,"Token":40}
},
"globals":{
"DirectorySeparator":["0x2f","uint8"],"FeatureCOMInterop":["0x0","uint8"],
"FeatureEHFunclets":["0x1","uint8"],"MethodDescAlignment":["0x8","uint64"],
"MethodDescTokenRemainderBitCount":["0xc","uint8"],"ObjectHeaderSize":["0x8","uint64"],
"ObjectToMethodTableUnmask":["0x7","uint8"],"SOSBreakingChangeVersion":["0x5","uint8"],
"SyncBlockValueToObjectOffset":["0x4","uint16"]
},
"contracts":{"DacStreams":1,"EcmaMetadata":1,"Exception":1,"Loader":1,"Object":1,"RuntimeTypeSystem":1,"Thread":1}})json";
// clang-format on

} // namespace clr
