#include "core/execution/precode.h"

#include <fmt/format.h>

#include <array>
#include <vector>

namespace clr {
namespace {

constexpr std::size_t max_precode_size = 256;
constexpr std::uint64_t max_page_size = 1 << 20;

} // namespace

std::string_view to_string(PrecodeKind kind) {
  switch (kind) {
  case PrecodeKind::invalid:
    return "no precode";
  case PrecodeKind::stub:
    return "precode";
  case PrecodeKind::pinvoke_import:
    return "P/Invoke import precode";
  case PrecodeKind::this_ret_buf:
    return "return buffer precode";
  case PrecodeKind::um_entry:
    return "unmanaged entry precode";
  case PrecodeKind::interpreter:
    return "interpreter precode";
  case PrecodeKind::dynamic_helper:
    return "dynamic helper precode";
  case PrecodeKind::fixup:
    return "fixup precode";
  }
  return "no precode";
}

// PrecodeMachineDescriptor: the form of the precodes in this build of the runtime.
struct Precodes::Machine {
  unsigned form = 0; // contract_form::precodes_...
  CodePointers code_pointers;
  std::uint64_t page_size = 0;
  std::uint8_t stub_size = 0, fixup_size = 0;
  std::array<std::pair<std::optional<std::uint8_t>, PrecodeKind>, 6> stub_types{};
  std::optional<std::uint8_t> fixup_type;
  // Precodes by bytes: patterns; positions with a non-zero mask do not count.
  std::vector<std::byte> stub_bytes, stub_mask, fixup_bytes, fixup_mask;
  // Others: the place of the type in the instructions.
  unsigned type_width = 0, type_offset = 0, type_shift = 0;

  static bool matches(std::span<const std::byte> code, const std::vector<std::byte>& bytes,
                      const std::vector<std::byte>& mask) {
    if (bytes.empty() || code.size() < bytes.size()) return false;
    for (std::size_t i = 0; i < bytes.size(); ++i)
      if (mask[i] == std::byte{0} && code[i] != bytes[i]) return false;
    return true;
  }
  std::uint8_t size_of(PrecodeKind kind) const { return kind == PrecodeKind::fixup ? fixup_size : stub_size; }
  PrecodeKind stub_kind(std::uint8_t type) const {
    if (type == 0) return PrecodeKind::invalid; // an unused slot
    for (auto [value, kind] : stub_types)
      if (value == type) return kind;
    return PrecodeKind::invalid;
  }
};

Precodes::Precodes(const Target& target) : target_(&target) {}

Precodes::~Precodes() = default;

const Precodes::Machine& Precodes::machine() const {
  if (machine_) return *machine_;
  const Target& target = *target_;
  const auto form = target.find_contract_form("PrecodeStubs");
  if (!form) throw Error(ErrorKind::unsupported_contract, "the runtime publishes no contract PrecodeStubs");
  auto made = std::make_unique<Machine>();
  made->form = *form;
  made->code_pointers = read_code_pointers(target);
  constexpr std::string_view type = "PrecodeMachineDescriptor";
  const Address base =
      target.field_address(target.global("PlatformMetadata"), "PlatformMetadata", "PrecodeMachineDescriptor");
  const auto u8 = [&](std::string_view field) -> std::optional<std::uint8_t> {
    if (!target.find_offset(type, field)) return std::nullopt;
    return target.read_u8(target.field_address(base, type, field));
  };
  made->page_size = target.read_u32(target.field_address(base, type, "StubCodePageSize"));
  if (made->page_size == 0 || (made->page_size & (made->page_size - 1)) != 0 ||
      made->page_size > max_page_size)
    throw_corrupt(base, fmt::format("precode pages of {} bytes", made->page_size));
  made->stub_types = {{{u8("StubPrecodeType"), PrecodeKind::stub},
                       {u8("PInvokeImportPrecodeType"), PrecodeKind::pinvoke_import},
                       {u8("ThisPointerRetBufPrecodeType"), PrecodeKind::this_ret_buf},
                       {u8("UMEntryPrecodeType"), PrecodeKind::um_entry},
                       {u8("InterpreterPrecodeType"), PrecodeKind::interpreter},
                       {u8("DynamicHelperPrecodeType"), PrecodeKind::dynamic_helper}}};
  made->fixup_type = u8("FixupPrecodeType");
  if (made->form == contract_form::precodes_by_bytes) {
    const auto bytes = [&](std::string_view field, std::size_t size) {
      std::vector<std::byte> raw(size);
      target.read_bytes(target.field_address(base, type, field), raw);
      return raw;
    };
    made->stub_size = target.read_u8(target.field_address(base, type, "StubPrecodeSize"));
    target.offset(type, "StubPrecodeType"); // every build has precodes of this type
    made->stub_bytes = bytes("StubBytes", made->stub_size);
    made->stub_mask = bytes("StubIgnoredBytes", made->stub_size);
    if (const auto size = u8("FixupStubPrecodeSize")) {
      made->fixup_size = *size;
      made->fixup_bytes = bytes("FixupBytes", *size);
      made->fixup_mask = bytes("FixupIgnoredBytes", *size);
    }
  } else {
    made->type_width = u8("ReadWidthOfPrecodeType").value_or(1);
    made->type_offset = u8("OffsetOfPrecodeType").value_or(0);
    made->type_shift = u8("ShiftOfPrecodeType").value_or(0);
  }
  machine_ = std::move(made);
  return *machine_;
}

Precodes::Precode Precodes::at_entry(Address entry) const {
  const Target& target = *target_;
  const Machine& machine = this->machine();
  const Address code_at = machine.code_pointers.address(entry);
  Precode precode{.entry = code_at};
  if (code_at % target.pointer_size() != 0) return precode;
  const Address data = target.platform().wrap(code_at + machine.page_size);
  const auto stub_type = [&] {
    return target.read_u8(target.field_address(data, "StubPrecodeData", "Type"));
  };
  if (machine.form == contract_form::precodes_by_bytes) {
    std::array<std::byte, max_precode_size> raw;
    const std::size_t want = std::max<std::size_t>(machine.stub_size, machine.fixup_size);
    const std::size_t got = target.memory().read_some(code_at, std::span(raw).first(want));
    if (got == 0) throw_missing(code_at);
    const auto code = std::span<const std::byte>(raw).first(got);
    if (Machine::matches(code, machine.stub_bytes, machine.stub_mask))
      precode.kind = machine.stub_kind(stub_type());
    else if (Machine::matches(code, machine.fixup_bytes, machine.fixup_mask))
      precode.kind = PrecodeKind::fixup;
  } else {
    const Address at = code_at + machine.type_offset;
    const unsigned raw = machine.type_width == 2 ? target.read_u16(at) : target.read_u8(at);
    constexpr unsigned most_shift = 15; // the type is read as 16 bits at most
    if (machine.type_shift > most_shift) throw_corrupt(at, "a precode type behind the bits that hold it,");
    const auto type = static_cast<std::uint8_t>(raw >> machine.type_shift);
    if (machine.stub_types[0].first == type)
      precode.kind = machine.stub_kind(stub_type());
    else if (machine.fixup_type == type)
      precode.kind = PrecodeKind::fixup;
    else
      precode.kind = machine.stub_kind(type);
    if (machine.form == contract_form::precodes_by_type && precode.kind == PrecodeKind::this_ret_buf)
      precode.kind = PrecodeKind::invalid;
  }
  const auto secret = [&] {
    return target.read_pointer(
        target.field_address(data, "StubPrecodeData",
                             machine.form == contract_form::precodes_by_type ? "MethodDesc" : "SecretParam"));
  };
  Address method = 0;
  switch (precode.kind) {
  case PrecodeKind::stub:
  case PrecodeKind::pinvoke_import:
    method = secret();
    break;
  case PrecodeKind::fixup:
    method = target.read_pointer(target.field_address(data, "FixupPrecodeData", "MethodDesc"));
    break;
  case PrecodeKind::this_ret_buf:
    method = target.read_pointer(target.field_address(secret(), "ThisPtrRetBufPrecodeData", "MethodDesc"));
    break;
  case PrecodeKind::interpreter: {
    const Address byte_code =
        target.read_pointer(target.field_address(data, "InterpreterPrecodeData", "ByteCodeAddr"));
    const Address interp_method =
        target.read_pointer(target.field_address(byte_code, "InterpByteCodeStart", "Method"));
    method = target.read_pointer(target.field_address(interp_method, "InterpMethod", "MethodDesc"));
    break;
  }
  default:
    break;
  }
  if (method != 0) precode.method_desc = method;
  return precode;
}

Precodes::Precode Precodes::containing(Address address) const {
  const Machine& machine = this->machine();
  const Address pc = machine.code_pointers.address(address);
  const Address page = pc & ~(machine.page_size - 1);
  for (const std::uint8_t size : {machine.stub_size, machine.fixup_size}) {
    if (size == 0) continue;
    Precode precode = at_entry(page + (pc - page) / size * size);
    // One of the other size would end before the address, or begin elsewhere.
    if (precode.kind != PrecodeKind::invalid && machine.size_of(precode.kind) == size) return precode;
  }
  return {};
}

std::optional<Precodes::Part> Precodes::part_at(Address address) const {
  const Machine& machine = this->machine();
  for (const bool code : {true, false}) {
    const Address distance = code ? 0 : machine.page_size;
    if (address < distance) break;
    Precode precode;
    try {
      precode = containing(address - distance);
    } catch (const Error&) {
      // There may be nothing before the first page of code.
      if (code) throw;
    }
    if (!precode.method_desc) continue;
    const Address begin = precode.entry + distance, end = begin + machine.size_of(precode.kind);
    if (end <= begin) continue; // its words would go on at address 0
    return Part{
        .begin = begin, .end = end, .method_desc = *precode.method_desc, .code = code, .kind = precode.kind};
  }
  return std::nullopt;
}

} // namespace clr
