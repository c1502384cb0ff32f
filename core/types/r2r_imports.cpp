#include "core/types/r2r_imports.h"

#include "core/metadata/signature.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace clr {
namespace {

constexpr std::uint32_t import_section_size = 20;
constexpr std::uint8_t module_override = 0x80;

// READYTORUN_FIXUP_*.
namespace fixup {
constexpr std::uint8_t method_handle = 0x11, method_entry = 0x13, method_entry_def = 0x14,
                       method_entry_ref = 0x15, virtual_entry = 0x16, virtual_entry_def = 0x17,
                       virtual_entry_ref = 0x18, virtual_entry_slot = 0x19, helper = 0x1a,
                       string_handle = 0x1b, method_dictionary = 0x29, delegate_constructor = 0x2c,
                       indirect_pinvoke_target = 0x2e, pinvoke_target = 0x2f;
}

// Fixups that refer to one type, with the word for their purpose.
constexpr auto of_types = std::to_array<std::pair<std::uint8_t, std::string_view>>({
    {0x10, "type handle"},
    {0x1c, "new"},
    {0x1d, "new array"},
    {0x1e, "isinst"},
    {0x1f, "castclass"},
    {0x21, "static constructor"},
    {0x22, "statics without references"},
    {0x23, "statics with references"},
    {0x24, "thread statics without references"},
    {0x25, "thread statics with references"},
    {0x26, "offset of the fields"},
    {0x28, "generic dictionary"},
    {0x2a, "check of the layout"},
    {0x2d, "handle of the declaring type"},
    {0x37, "layout of the continuation"},
});

// READYTORUN_HELPER_*.
constexpr auto helpers = std::to_array<std::pair<std::uint32_t, std::string_view>>({
    {0x01, "Module"},
    {0x02, "GSCookie"},
    {0x03, "IndirectTrapThreads"},
    {0x08, "DelayLoad_MethodCall"},
    {0x10, "DelayLoad_Helper"},
    {0x11, "DelayLoad_Helper_Obj"},
    {0x12, "DelayLoad_Helper_ObjObj"},
    {0x20, "Throw"},
    {0x21, "Rethrow"},
    {0x22, "Overflow"},
    {0x23, "RngChkFail"},
    {0x24, "FailFast"},
    {0x25, "ThrowNullRef"},
    {0x26, "ThrowDivZero"},
    {0x27, "ThrowExact"},
    {0x30, "WriteBarrier"},
    {0x31, "CheckedWriteBarrier"},
    {0x32, "ByRefWriteBarrier"},
    {0x33, "BulkWriteBarrier"},
    {0x38, "Stelem_Ref"},
    {0x39, "Ldelema_Ref"},
    {0x40, "MemSet"},
    {0x41, "MemCpy"},
    {0x42, "PInvokeBegin"},
    {0x43, "PInvokeEnd"},
    {0x44, "GCPoll"},
    {0x45, "ReversePInvokeEnter"},
    {0x46, "ReversePInvokeExit"},
    {0x50, "GetString"},
    {0x51, "LogMethodEnter"},
    {0x54, "GetRuntimeTypeHandle"},
    {0x55, "GetRuntimeMethodHandle"},
    {0x56, "GetRuntimeFieldHandle"},
    {0x58, "Box"},
    {0x59, "Box_Nullable"},
    {0x5a, "Unbox"},
    {0x5b, "Unbox_Nullable"},
    {0x5c, "NewMultiDimArr"},
    {0x60, "NewObject"},
    {0x61, "NewArray"},
    {0x62, "CheckCastAny"},
    {0x63, "CheckInstanceAny"},
    {0x64, "GenericGcStaticBase"},
    {0x65, "GenericNonGcStaticBase"},
    {0x66, "GenericGcTlsBase"},
    {0x67, "GenericNonGcTlsBase"},
    {0x68, "VirtualFuncPtr"},
    {0x69, "IsInstanceOfException"},
    {0x6a, "NewMaybeFrozenArray"},
    {0x6b, "NewMaybeFrozenObject"},
    {0xc0, "LMul"},
    {0xc1, "LMulOfv"},
    {0xc2, "ULMulOvf"},
    {0xc3, "LDiv"},
    {0xc4, "LMod"},
    {0xc5, "ULDiv"},
    {0xc6, "ULMod"},
    {0xca, "Lng2Dbl"},
    {0xcb, "ULng2Dbl"},
    {0xd4, "Dbl2UInt"},
    {0xd6, "Dbl2ULng"},
    {0xe0, "DblRem"},
    {0xe1, "FltRem"},
    {0xf0, "PersonalityRoutine"},
    {0xf1, "PersonalityRoutineFilterFunclet"},
    {0xf8, "MonitorEnter"},
    {0xf9, "MonitorExit"},
    {0x100, "WriteBarrier_EAX"},
    {0x101, "WriteBarrier_EBX"},
    {0x102, "WriteBarrier_ECX"},
    {0x103, "WriteBarrier_ESI"},
    {0x104, "WriteBarrier_EDI"},
    {0x105, "WriteBarrier_EBP"},
    {0x106, "CheckedWriteBarrier_EAX"},
    {0x107, "CheckedWriteBarrier_EBX"},
    {0x108, "CheckedWriteBarrier_ECX"},
    {0x109, "CheckedWriteBarrier_ESI"},
    {0x10a, "CheckedWriteBarrier_EDI"},
    {0x10b, "CheckedWriteBarrier_EBP"},
    {0x110, "EndCatch"},
    {0x111, "StackProbe"},
});

template<typename Key, std::size_t Count>
std::string_view find_in(const std::array<std::pair<Key, std::string_view>, Count>& table, Key key) {
  for (const auto& [number, name] : table)
    if (number == key) return name;
  return {};
}

} // namespace

R2RImports::R2RImports(R2RImageBytes& image, const R2RHeader& header, R2RSignatures& signatures,
                       MetadataNames* own)
    : image_(image), signatures_(signatures), own_(own) {
  const auto table = header.find(R2RSection::import_sections);
  if (!table) return;
  const std::uint32_t count = table->size / import_section_size;
  if (count > max_sections) throw Error(ErrorKind::corrupt, "image with too many import sections");
  const ByteRange bytes = image.range(table->rva, count * import_section_size);
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint64_t at = std::uint64_t{i} * import_section_size;
    constexpr unsigned entry_size_offset = 11, signatures_offset = 12;
    sections_.push_back({.rva = bytes.u32(at),
                         .size = bytes.u32(at + 4),
                         .signatures = bytes.u32(at + signatures_offset),
                         .entry_size = bytes.u8(at + entry_size_offset)});
  }
}

std::optional<R2RImport> R2RImports::at(std::uint32_t rva, unsigned pointer_size) {
  for (const Section& section : sections_) {
    if (rva < section.rva || rva - section.rva >= section.size || section.signatures == 0) continue;
    const std::uint32_t width = section.entry_size != 0 ? section.entry_size : pointer_size;
    const std::uint32_t index = (rva - section.rva) / width;
    const std::uint32_t signature = image_.range(section.signatures + index * 4, 4).u32(0);
    // Only decoding tells how long the signature is, so start small: a torn image may end soon behind it.
    for (std::uint32_t size = 64;; size *= 4) {
      try {
        const BlobBytes bytes(image_.range(signature, size));
        SignatureReader reader(bytes.span());
        return decode(reader);
      } catch (const Error& error) {
        if (error.kind() != ErrorKind::corrupt || size * 4 > max_signature) throw;
      }
    }
  }
  return std::nullopt;
}

R2RImport R2RImports::decode(SignatureReader& reader) {
  R2RImport import;
  const std::uint8_t kind = reader.u8();
  MetadataNames* in = own_;
  if ((kind & module_override) != 0) in = signatures_.module(reader.compressed_unsigned());
  import.fixup = kind & static_cast<std::uint8_t>(~module_override);
  const auto method_name = [&] { return format_full_name(signatures_.method(reader, in).name()); };
  const auto token_name = [&](MetadataTable table) {
    if (in == nullptr)
      throw Error(ErrorKind::memory_missing, "the metadata of the method's module is not available");
    return format_full_name(R2RMethodReference{
        .names = in, .token = token_of(table, reader.compressed_unsigned()), .owner = nullptr}
                                .name());
  };
  switch (import.fixup) {
  case fixup::method_entry:
  case fixup::virtual_entry:
    import.method = true;
    import.text = method_name();
    return import;
  case fixup::method_entry_def:
  case fixup::virtual_entry_def:
    import.method = true;
    import.text = token_name(MetadataTable::method_def);
    return import;
  case fixup::method_entry_ref:
  case fixup::virtual_entry_ref:
    import.method = true;
    import.text = token_name(MetadataTable::member_ref);
    return import;
  case fixup::virtual_entry_slot: {
    const std::uint32_t slot = reader.compressed_unsigned();
    import.text = fmt::format("virtual slot {} of {}", slot, format_type(*signatures_.type(reader, in)));
    return import;
  }
  case fixup::helper: {
    const std::uint32_t helper = reader.compressed_unsigned();
    const std::string_view name = find_in(helpers, helper);
    import.text = name.empty() ? fmt::format("runtime helper {:#x}", helper)
                               : fmt::format("READYTORUN_HELPER_{}", name);
    return import;
  }
  case fixup::method_handle:
    import.text = "method handle of " + method_name();
    return import;
  case fixup::method_dictionary:
    import.text = "generic dictionary of " + method_name();
    return import;
  case fixup::delegate_constructor:
    import.text = "delegate constructor over " + method_name();
    return import;
  case fixup::indirect_pinvoke_target:
  case fixup::pinvoke_target:
    import.text = "native target of " + method_name();
    return import;
  case fixup::string_handle:
    import.text = "a string";
    return import;
  default:
    break;
  }
  if (const std::string_view made = find_in(of_types, import.fixup); !made.empty())
    import.text = fmt::format("{} of {}", made, format_type(*signatures_.type(reader, in)));
  else
    import.text = fmt::format("import of kind {:#x}", import.fixup);
  return import;
}

} // namespace clr
