// MethodDesc and MethodDescChunk: the runtime's own record of a method.
// Source: dotnet/runtime docs/design/datacontracts/RuntimeTypeSystem.md; src/coreclr/vm/method.hpp.
#pragma once

#include "core/target/record.h"
#include "core/target/target.h"

#include <array>
#include <cstdint>
#include <functional>
#include <optional>

namespace clr {

// MethodDesc.Flags, low three bits: which subclass of MethodDesc this is.
enum class MethodClassification : std::uint8_t {
  il = 0,
  fcall = 1,
  pinvoke = 2,
  eeimpl = 3,
  array = 4,
  instantiated = 5,
  com_interop = 6,
  dynamic = 7,
};

struct MethodDesc {
  Address address = 0;
  Address chunk = 0;
  Address method_table = 0; // that of the chunk: the canonical one for shared generics
  Address code_data = 0;    // MethodDescCodeData; 0 none
  std::uint32_t rid = 0;    // row in MethodDef; 0: no metadata
  std::uint16_t flags = 0;
  std::uint16_t slot = 0;
  std::uint8_t flags3 = 0; // top four bits of Flags3AndTokenRemainder, shifted down

  MethodClassification classification() const { return static_cast<MethodClassification>(flags & 7); }
  // 0 when the method has no metadata, whatever a damaged record says of its row.
  std::uint32_t token() const {
    const bool made =
        classification() == MethodClassification::dynamic || classification() == MethodClassification::array;
    return rid == 0 || made ? 0 : 0x0600'0000 | rid;
  }
  bool has_non_vtable_slot() const { return (flags & 0x08) != 0; }
  bool has_method_impl() const { return (flags & 0x10) != 0; }
  bool has_native_code_slot() const { return (flags & 0x20) != 0; }
  bool has_async_data() const { return (flags & 0x40) != 0; } // .NET 10 and later
  bool is_static() const { return (flags & 0x80) != 0; }
  bool has_stable_entry_point() const { return (flags3 & 0x1) != 0; }
  bool has_precode() const { return (flags3 & 0x2) != 0; }
  bool is_unboxing_stub() const { return (flags3 & 0x4) != 0; }
  bool is_eligible_for_tiering() const { return (flags3 & 0x8) != 0; }
};

// Where a signature lies that the runtime itself keeps: dynamic methods, IL stubs, delegate and array
// methods.
struct StoredSignature {
  Address address = 0; // 0: none
  std::uint32_t size = 0;
};

struct DynamicMethod {
  Address name = 0; // UTF-8, NUL-terminated; 0 none
  bool lcg = false; // System.Reflection.Emit.DynamicMethod
  bool il_stub = false;
};

struct MethodInstantiation {
  enum class Kind : std::uint8_t { none, definition, unshared, shared, stub };
  Kind kind = Kind::none;
  Address arguments = 0; // array of TypeHandles; 0 for the definition
  std::uint16_t count = 0;
};

class MethodDescs {
public:
  // Resolves the layouts; no reads. Throws Error{unsupported_contract} when one is missing.
  explicit MethodDescs(const Target& target);

  // The method at `address`. Throws Error{memory_missing}, or Error{corrupt} when it cannot be a MethodDesc
  // (alignment, position in its chunk); the caller checks the MethodTable and the token. Cost: 2 reads, as a
  // rule of one page.
  MethodDesc read(Address address) const;

  // The methods right before and behind `method` in its chunk, which holds methods of one type in the order
  // of their tokens. Nothing for one that does not exist or cannot be read. Never throws. Cost: 2 reads, as a
  // rule of the page of `method`.
  struct Neighbours {
    std::optional<MethodDesc> before, behind;
    bool passed_over = false; // other methods of the chunk lie where `method` begins
  };
  Neighbours neighbours(const MethodDesc& method) const;
  // Only the one behind; nothing also where the chunk ends with `method`. Never throws. Cost: 1 read, of the
  // page of `method` as a rule. What lies behind a chunk's end may look like one more method of it.
  std::optional<MethodDesc> looks_like_behind(const MethodDesc& method) const;

  // GetMethodDescSize: size in bytes with all optional slots. Reads 1 byte of the runtime's own size table if
  // there is one, once. Nothing when there is no such table and the size of some part is not known.
  std::optional<std::uint32_t> size(std::uint16_t flags) const;
  // Address of the slot that holds the entry point of the default code version; nothing when the method has
  // no such slot.
  std::optional<Address> native_code_slot(const MethodDesc& method) const;

  // Data of the subclasses, 1 read each. The MethodDesc must have the right classification.
  StoredSignature stored_signature(const MethodDesc& method) const; // dynamic, eeimpl, array
  DynamicMethod dynamic(const MethodDesc& method) const;
  MethodInstantiation instantiation(const MethodDesc& method) const;
  // AsyncMethodData: flags, and the signature of an async variant, whose address is 0 when its place is not
  // known. Nothing when the method has none. Throws Error{unsupported_contract} when its layout is not known.
  struct AsyncData {
    bool variant = false; // takes the calling convention of runtime-async methods: returns the task's result
    bool thunk = false;   // made by the runtime, between the two conventions
    // The method itself is not async: the variant is its own IL, compiled for callers that await it.
    bool converted = false;
    StoredSignature signature;
  };
  std::optional<AsyncData> async_data(const MethodDesc& method) const;
  // ": the runtime's descriptor has no field ..."; empty when the place of such a signature is known.
  std::string why_no_async_signature() const;

  // Every MethodDesc of the chunk chain at `chunk`, in memory order; false from `visit` stops. Throws
  // Error{corrupt} for a chain longer than max_chunks and for a chunk whose methods overrun it.
  void for_each(Address chunk, const std::function<bool(const MethodDesc&)>& visit) const;

  static constexpr std::size_t max_chunks = 65'536;
  static constexpr std::uint32_t max_signature = 1 << 20; // bytes
  static constexpr std::uint16_t max_arguments = 1'024;   // of one instantiation

private:
  struct Chunk {
    Address method_table = 0, next = 0;
    std::uint32_t size_units = 0, count = 0; // payload in units of the alignment; number of methods
    std::uint32_t token_range = 0;
  };
  // Of InstantiatedMethodDesc.
  struct Instantiated {
    explicit Instantiated(const Target& target);
    RecordSpan span{"InstantiatedMethodDesc"};
    std::int64_t arguments, flags, count;
  };
  Chunk read_chunk(Address address) const;
  void add_behind_damage(const MethodDesc& method, Neighbours& result) const;
  MethodDesc decode(Address address, Address chunk_address, const Chunk& chunk,
                    const target::Record& raw) const;
  std::string_view type_of(MethodClassification kind) const;
  std::optional<std::uint32_t> base_size(MethodClassification kind) const;
  // Throws Error{unsupported_contract} with the type whose size is missing.
  [[noreturn]] void throw_sizes_not_known(std::uint16_t flags) const;
  StoredSignature async_signature(Address data) const;
  // Visits the methods of one chunk in memory order; false from `visit` stops, and is the result. Throws
  // Error{corrupt} when they overrun it, and Error{memory_missing}.
  template<typename Visit>
  bool walk(Address chunk_address, const Chunk& chunk, const Visit& visit) const;
  std::optional<std::uint32_t> offset_behind(const MethodDesc& method, std::uint16_t parts) const;

  const Target* target_;
  RecordSpan span_{"MethodDesc"}, chunk_span_{"MethodDescChunk"};
  std::int64_t token_remainder_, chunk_index_, slot_, flags_;
  std::optional<std::int64_t> code_data_;
  std::int64_t chunk_method_table_, chunk_next_, chunk_size_, chunk_count_, chunk_token_range_;
  std::uint64_t chunk_header_, alignment_;
  unsigned remainder_bits_;
  bool net11_async_ = false;                // AsyncMethodData has flags, not a number
  std::optional<std::uint64_t> size_table_; // MethodDescSizeTable
  // By the bits of MethodDesc.Flags that decide the size; 0: not looked up yet.
  mutable std::array<std::uint32_t, 128> sizes_{};
  mutable std::optional<Instantiated> instantiated_;
};

} // namespace clr
