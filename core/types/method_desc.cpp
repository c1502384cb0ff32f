#include "core/types/method_desc.h"

#include <fmt/format.h>

namespace clr {
namespace {

// MethodDesc.Flags: the bits that stand for a slot behind the object, in the order of the slots.
constexpr std::uint16_t non_vtable_slot = 0x08, method_impl = 0x10, native_code_slot_bit = 0x20,
                        async_data_bit = 0x40;
constexpr std::uint16_t size_bits = 0x7f;
constexpr std::pair<std::uint16_t, std::string_view> optional_parts[] = {
    {non_vtable_slot, "NonVtableSlot"},
    {method_impl, "MethodImpl"},
    {native_code_slot_bit, "NativeCodeSlot"},
    {async_data_bit, "AsyncMethodData"}};

constexpr std::uint32_t dynamic_lcg = 0x4000, dynamic_il_stub = 0x8000;

// AsyncMethodData.Flags of .NET 11. [rt] vm/method.hpp, AsyncMethodFlags. A variant that is flagged as a
// thunk is none: it is compiled from the IL of a method that returns a task and is not async. [rt] pull
// request 128384; measured on 11.0.0
constexpr std::uint32_t async_variant = 4, async_thunk = 0x10, async_drops_result = 0x20;
// AsyncMethodData.Kind of .NET 10, a number. Where the user's body is the variant, the method that returns a
// task is a thunk, and the other way round. [rt] vm/method.hpp, AsyncMethodType
constexpr std::uint32_t kind_task_thunk = 2, kind_variant = 3, kind_variant_thunk = 4, kind_explicit = 5;

} // namespace

MethodDescs::MethodDescs(const Target& target) : target_(&target) {
  const std::size_t pointer = target.pointer_size();
  token_remainder_ = span_.require(target, "Flags3AndTokenRemainder", 2);
  chunk_index_ = span_.require(target, "ChunkIndex", 1);
  slot_ = span_.require(target, "Slot", 2);
  flags_ = span_.require(target, "Flags", 2);
  code_data_ = span_.optional(target, "CodeData", pointer);
  chunk_method_table_ = chunk_span_.require(target, "MethodTable", pointer);
  chunk_next_ = chunk_span_.require(target, "Next", pointer);
  chunk_size_ = chunk_span_.require(target, "Size", 1);
  chunk_count_ = chunk_span_.require(target, "Count", 1);
  chunk_token_range_ = chunk_span_.require(target, "FlagsAndTokenRange", 2);
  chunk_header_ = target.size_of("MethodDescChunk");
  alignment_ = target.global("MethodDescAlignment");
  const std::uint64_t bits = target.global("MethodDescTokenRemainderBitCount");
  if (bits == 0 || bits > 16 || alignment_ == 0 || alignment_ > 64 || (alignment_ & (alignment_ - 1)) != 0 ||
      chunk_header_ > target::Record::max_size)
    throw Error(
        ErrorKind::unsupported_contract,
        fmt::format("MethodDesc alignment {}, token remainder of {} bits and chunk header of {} bytes "
                    "are not plausible",
                    alignment_, bits, chunk_header_));
  remainder_bits_ = static_cast<unsigned>(bits);
  size_table_ = target.find_global("MethodDescSizeTable");
  net11_async_ = target.find_contract_form("RuntimeTypeSystem") == contract_form::net11;
}

MethodDescs::Chunk MethodDescs::read_chunk(Address address) const {
  const target::Record raw(*target_, address, chunk_span_);
  return Chunk{.method_table = raw.pointer(chunk_method_table_),
               .next = raw.pointer(chunk_next_),
               .size_units = raw.u8(chunk_size_) + 1u,
               .count = raw.u8(chunk_count_) + 1u,
               .token_range = raw.u16(chunk_token_range_)};
}

MethodDesc MethodDescs::decode(Address address, Address chunk_address, const Chunk& chunk,
                               const target::Record& raw) const {
  const std::uint32_t remainder = raw.u16(token_remainder_);
  const std::uint32_t range_mask = (1u << (24 - remainder_bits_)) - 1;
  const std::uint32_t remainder_mask = (1u << remainder_bits_) - 1;
  return MethodDesc{.address = address,
                    .chunk = chunk_address,
                    .method_table = chunk.method_table,
                    .code_data = code_data_ ? raw.pointer(*code_data_) : 0,
                    .rid = (chunk.token_range & range_mask) << remainder_bits_ | (remainder & remainder_mask),
                    .flags = raw.u16(flags_),
                    .slot = raw.u16(slot_),
                    .flags3 = static_cast<std::uint8_t>(remainder >> 12)};
}

MethodDesc MethodDescs::read(Address address) const {
  address = target_->platform().wrap(address);
  if (address == 0 || address % alignment_ != 0) throw_corrupt(address, "no MethodDesc can lie");
  const target::Record raw(*target_, address, span_);
  const Address behind_header = raw.u8(chunk_index_) * alignment_;
  if (address < chunk_header_ + behind_header)
    throw_corrupt(address, "MethodDesc without room for its chunk");
  const Address chunk_address = address - chunk_header_ - behind_header;
  const Chunk chunk = read_chunk(chunk_address);
  if (behind_header >= chunk.size_units * alignment_) throw_corrupt(address, "MethodDesc outside its chunk");
  return decode(address, chunk_address, chunk, raw);
}

std::string_view MethodDescs::type_of(MethodClassification kind) const {
  switch (kind) {
  case MethodClassification::il:
    return "MethodDesc";
  case MethodClassification::fcall:
    return "FCallMethodDesc";
  case MethodClassification::pinvoke:
    return target_->find_size("PInvokeMethodDesc") ? "PInvokeMethodDesc" : "NDirectMethodDesc";
  case MethodClassification::eeimpl:
    return "EEImplMethodDesc";
  case MethodClassification::array:
    return "ArrayMethodDesc";
  case MethodClassification::instantiated:
    return "InstantiatedMethodDesc";
  case MethodClassification::com_interop:
    return "CLRToCOMCallMethodDesc";
  case MethodClassification::dynamic:
    return "DynamicMethodDesc";
  }
  return "MethodDesc";
}

std::optional<std::uint32_t> MethodDescs::base_size(MethodClassification kind) const {
  const auto size = target_->find_size(type_of(kind));
  if (!size || *size > target::Record::max_size) return std::nullopt;
  return static_cast<std::uint32_t>(*size);
}

void MethodDescs::throw_sizes_not_known(std::uint16_t flags) const {
  const auto need = [&](std::string_view type) { target_->size_of(type); }; // throws where it is missing
  need(type_of(MethodDesc{.flags = flags}.classification()));
  for (const auto& [bit, type] : optional_parts)
    if ((flags & bit) != 0) need(type);
  throw Error(ErrorKind::unsupported_contract, "the sizes of method descriptions are not known");
}

// Distance in bytes from the start of a method to the end of those of the optional `parts` that the method
// has.
std::optional<std::uint32_t> MethodDescs::offset_behind(const MethodDesc& method, std::uint16_t parts) const {
  const std::uint16_t present = method.flags & parts;
  if (size_table_) return target_->read_u8(*size_table_ + (present | (method.flags & 7u)));
  auto total = base_size(method.classification());
  for (const auto& [bit, type] : optional_parts) {
    if ((present & bit) == 0) continue;
    const auto size = target_->find_size(type);
    if (!total || !size || *size > target::Record::max_size) return std::nullopt;
    *total += static_cast<std::uint32_t>(*size);
  }
  return total;
}

std::optional<std::uint32_t> MethodDescs::size(std::uint16_t flags) const {
  std::uint32_t& known = sizes_[flags & size_bits];
  if (known == 0) known = offset_behind(MethodDesc{.flags = flags}, size_bits & ~7).value_or(0);
  if (known == 0) return std::nullopt;
  return known;
}

std::optional<Address> MethodDescs::native_code_slot(const MethodDesc& method) const {
  if (!method.has_native_code_slot()) return std::nullopt;
  const auto offset = offset_behind(method, non_vtable_slot | method_impl);
  if (!offset) return std::nullopt;
  return target_->platform().wrap(method.address + *offset);
}

StoredSignature MethodDescs::stored_signature(const MethodDesc& method) const {
  RecordSpan span("StoredSigMethodDesc");
  const auto sig = span.require(*target_, "Sig", target_->pointer_size());
  const auto size = span.require(*target_, "cSig", 4);
  const target::Record raw(*target_, method.address, span);
  const StoredSignature result{raw.pointer(sig), raw.u32(size)};
  if (result.size > max_signature) throw_corrupt(method.address, "stored signature beyond the limit");
  return result;
}

DynamicMethod MethodDescs::dynamic(const MethodDesc& method) const {
  const auto flags =
      target_->read_u32(target_->field_address(method.address, "StoredSigMethodDesc", "ExtendedFlags"));
  const auto name =
      target_->read_pointer(target_->field_address(method.address, "DynamicMethodDesc", "MethodName"));
  return DynamicMethod{name, (flags & dynamic_lcg) != 0, (flags & dynamic_il_stub) != 0};
}

MethodDescs::Instantiated::Instantiated(const Target& target)
    : arguments(span.require(target, "PerInstInfo", target.pointer_size())),
      flags(span.require(target, "Flags2", 2)), count(span.require(target, "NumGenericArgs", 2)) {}

MethodInstantiation MethodDescs::instantiation(const MethodDesc& method) const {
  if (!instantiated_) instantiated_.emplace(*target_);
  const Instantiated& layout = *instantiated_;
  const target::Record raw(*target_, method.address, layout.span);
  MethodInstantiation result;
  const unsigned kind = raw.u16(layout.flags) & 7u;
  if (kind > 4) throw_corrupt(method.address, "instantiated method of an unknown kind");
  result.kind = static_cast<MethodInstantiation::Kind>(kind);
  result.count = raw.u16(layout.count);
  if (result.count > max_arguments) throw_corrupt(method.address, "too many generic arguments of a method");
  if (result.kind != MethodInstantiation::Kind::definition) result.arguments = raw.pointer(layout.arguments);
  return result;
}

std::optional<MethodDescs::AsyncData> MethodDescs::async_data(const MethodDesc& method) const {
  if (!method.has_async_data()) return std::nullopt;
  const std::int64_t what = target_->offset("AsyncMethodData", net11_async_ ? "Flags" : "Kind");
  const auto behind = offset_behind(method, non_vtable_slot | method_impl | native_code_slot_bit);
  if (!behind) throw_sizes_not_known(method.flags);
  const Address base = method.address + *behind;
  const std::uint32_t value = target_->read_u32(base + static_cast<Address>(what));
  AsyncData result;
  if (net11_async_) {
    result.variant = (value & async_variant) != 0;
    result.converted =
        (value & (async_variant | async_thunk | async_drops_result)) == (async_variant | async_thunk);
    result.thunk = (value & (async_thunk | async_drops_result)) != 0 && !result.converted;
  } else {
    if (value > kind_explicit) throw_corrupt(base, fmt::format("an async method of kind {}", value));
    result.variant = value >= kind_variant;
    result.thunk = value == kind_task_thunk || value == kind_variant_thunk;
  }
  result.signature = async_signature(base);
  return result;
}

std::string MethodDescs::why_no_async_signature() const {
  try {
    target_->offset("AsyncMethodData", net11_async_ ? "Signature" : "Sig");
    target_->offset(net11_async_ ? "Signature" : "AsyncMethodData",
                    net11_async_ ? "SignaturePointer" : "Sig");
    target_->offset(net11_async_ ? "Signature" : "AsyncMethodData",
                    net11_async_ ? "SignatureLength" : "cSig");
  } catch (const Error& error) {
    return std::string(": ") + error.what();
  }
  return {};
}

// .NET 11 embeds a structure Signature.
StoredSignature MethodDescs::async_signature(Address data) const {
  const auto embedded = target_->find_offset("AsyncMethodData", "Signature");
  const auto sig = embedded ? target_->find_offset("Signature", "SignaturePointer")
                            : target_->find_offset("AsyncMethodData", "Sig");
  const auto size = embedded ? target_->find_offset("Signature", "SignatureLength")
                             : target_->find_offset("AsyncMethodData", "cSig");
  if (!sig || !size) return {};
  const Address base = data + static_cast<Address>(embedded.value_or(0));
  const StoredSignature result{target_->read_pointer(base + static_cast<Address>(*sig)),
                               target_->read_u32(base + static_cast<Address>(*size))};
  if (result.size > max_signature) throw_corrupt(data, "stored signature beyond the limit");
  return result;
}

template<typename Visit>
bool MethodDescs::walk(Address chunk_address, const Chunk& chunk, const Visit& visit) const {
  // All methods by one read; where a part is missing, those that are there.
  const Address first = chunk_address + chunk_header_;
  std::vector<std::byte> raw(chunk.size_units * alignment_);
  raw.resize(target_->memory().read_some(target_->platform().wrap(first), raw));
  std::uint64_t at = 0;
  for (std::uint32_t i = 0; i < chunk.count; ++i) {
    if (at >= chunk.size_units * alignment_) throw_corrupt(chunk_address, "methods overrun their chunk");
    const Address address = first + at;
    const std::uint64_t fields = at + static_cast<std::uint64_t>(span_.begin());
    const bool read = span_.begin() >= 0 && fields + span_.size() <= raw.size();
    const target::Record record = read ? target::Record(*target_, std::span(raw).subspan(fields), span_)
                                       : target::Record(*target_, address, span_);
    if (record.u8(chunk_index_) * alignment_ != at)
      throw_corrupt(address, "MethodDesc that does not know its place in the chunk");
    const MethodDesc method = decode(address, chunk_address, chunk, record);
    if (!visit(method)) return false;
    const auto bytes = size(method.flags);
    if (!bytes) throw_sizes_not_known(method.flags);
    at += *bytes;
  }
  return true;
}

std::optional<MethodDesc> MethodDescs::looks_like_behind(const MethodDesc& method) const {
  try {
    const auto bytes = size(method.flags);
    if (!bytes) return std::nullopt;
    const Address address = method.address + *bytes;
    const target::Record record(*target_, address, span_);
    if (record.u8(chunk_index_) * alignment_ != address - method.chunk - chunk_header_) return std::nullopt;
    // The token's high bits are those of the chunk.
    const Chunk chunk{.method_table = method.method_table, .token_range = method.rid >> remainder_bits_};
    return decode(address, method.chunk, chunk, record);
  } catch (const Error&) {
    return std::nullopt;
  }
}

// Where the way from the chunk's start to `method` is damaged, the one behind is found from `method` itself.
void MethodDescs::add_behind_damage(const MethodDesc& method, Neighbours& result) const {
  const std::optional<MethodDesc> behind = looks_like_behind(method);
  if (!behind) return;
  try {
    const Address end = method.chunk + chunk_header_ + read_chunk(method.chunk).size_units * alignment_;
    if (behind->address < end) result.behind = behind;
  } catch (const Error&) {
    // The chunk's size is missing.
  }
}

MethodDescs::Neighbours MethodDescs::neighbours(const MethodDesc& method) const {
  Neighbours result;
  bool met = false;
  try {
    std::optional<MethodDesc> before;
    walk(method.chunk, read_chunk(method.chunk), [&](const MethodDesc& other) {
      if (other.address > method.address) {
        if (met) result.behind = other;
        return false;
      }
      met = other.address == method.address;
      if (met)
        result.before = before;
      else
        before = other;
      return true;
    });
    result.passed_over = !met;
  } catch (const Error& error) {
    // What was met before is true all the same.
    if (!met && error.kind() == ErrorKind::corrupt) add_behind_damage(method, result);
  }
  return result;
}

void MethodDescs::for_each(Address chunk_address, const std::function<bool(const MethodDesc&)>& visit) const {
  for (std::size_t chunks = 0; chunk_address != 0; ++chunks) {
    if (chunks == max_chunks) throw_corrupt(chunk_address, "chain of MethodDesc chunks does not end");
    const Chunk chunk = read_chunk(chunk_address);
    if (!walk(chunk_address, chunk, visit)) return;
    chunk_address = target_->platform().wrap(chunk.next);
  }
}

} // namespace clr
