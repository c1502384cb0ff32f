// A synthetic runtime of any release with one jitted method and its debug info.
#pragma once

#include "core/debuginfo/debug_info_reader.h"
#include "tests/debuginfo/debug_info_writer.h"
#include "tests/support/execution_builder.h"

#include <catch2/catch.hpp>

namespace clr::test {

constexpr Address range_begin = 0x0a0a'0000, range_end = 0x0a0a'c000;
constexpr Address method_start = range_begin + 0x1040, method_desc = 0x0101'aaa0;
constexpr std::uint64_t method_size = 0x450;

inline const std::vector<IlBoundary> map{{0, il_prolog, 2}, {0x20, 5, 2}, {0x200, 9, 0}};
inline const std::vector<IlBoundary> original{{0, il_prolog, 2}, {0x20, 3, 2}};
inline const std::vector<debuginfo::Variable> variables{
    {.number = 0, .begin = 0, .end = 0x20, .location = {.reg = 7}},
    {.number = 1,
     .begin = 0x20,
     .end = 0x450,
     .location = {.home = VariableHome::stack, .base = 5, .offset = -16}}};

enum class Form { net9, net10, net11 };
constexpr Form all_forms[] = {Form::net9, Form::net10, Form::net11};

struct Blob {
  Form form = Form::net10;
  bool flag_byte = true;
  bool patchpoints = false, rich = false, rewritten = false;
  // The map's size that the header states, if that is a lie.
  std::optional<std::uint32_t> claimed = {};
};

inline BoundsCoding bounds_coding(Form form) {
  return form == Form::net9    ? BoundsCoding::nibbles
         : form == Form::net10 ? BoundsCoding::packed_2_bits
                               : BoundsCoding::packed_3_bits;
}

// Two locals; the second is exposed.
inline Bytes patchpoint_bytes(Form form, const Platform& platform) {
  MemoryBuilder memory(platform);
  MemoryCursor out = memory.fresh(64);
  const Address begin = out.address();
  out.u64(0xFF);
  if (form != Form::net9) out.u64(method_start);
  out.u32(2).u32(0x90).u32(0xFFFF'FFFF).u32(0x18).u32(0xFFFF'FFFF).u32(static_cast<std::uint32_t>(-8));
  if (form == Form::net11) out.u32(0xFFFF'FFFF).u32(0xFFFF'FFFF);
  out.u32(static_cast<std::uint32_t>(-16 * 2)).u32(24 * 2 + 1);
  Bytes bytes(out.address() - begin);
  memory.read(begin, bytes);
  return bytes;
}

inline Bytes blob_bytes(const Blob& blob, const Platform& platform) {
  const bool x86 = platform.cpu == Cpu::x86;
  const Bytes bounds = bounds_bytes(map, bounds_coding(blob.form));
  const Bytes uninstrumented = blob.rewritten ? bounds_bytes(original, bounds_coding(blob.form)) : Bytes{};
  const Bytes vars = variables_bytes(
      variables, blob.form == Form::net11 ? VariablesCoding::number_first : VariablesCoding::from_4, x86);
  const Bytes patchpoints = blob.patchpoints ? patchpoint_bytes(blob.form, platform) : Bytes{};
  const Bytes rich = blob.rich ? Bytes(13, std::byte{0xEE}) : Bytes{};
  const auto size = [](const Bytes& part) { return static_cast<std::uint32_t>(part.size()); };
  const std::uint32_t claimed = blob.claimed.value_or(size(bounds));

  Bytes result;
  NibbleWriter header;
  if (blob.form == Form::net11) {
    if (blob.patchpoints || blob.rich || blob.rewritten)
      header.u32(0)
          .u32(claimed)
          .u32(size(vars))
          .u32(size(uninstrumented))
          .u32(size(patchpoints))
          .u32(size(rich))
          .u32(0);
    else
      header.u32(claimed).u32(size(vars));
    for (const Bytes& part : {header.bytes(), bounds, vars, uninstrumented, patchpoints, rich})
      append(result, part);
    return result;
  }
  if (blob.flag_byte) {
    result.push_back(std::byte((blob.patchpoints ? 1 : 0) | (blob.rich ? 2 : 0)));
    append(result, patchpoints);
    if (blob.rich) {
      MemoryBuilder length(platform);
      const Address at = length.fresh(4).u32(size(rich)).address() - 4;
      Bytes raw(4);
      length.read(at, raw);
      append(result, raw);
      append(result, rich);
    }
  }
  if (blob.rewritten)
    header.u32(0xFFFF'FFFF).u32(claimed).u32(size(uninstrumented)).u32(size(vars));
  else
    header.u32(claimed).u32(size(vars));
  for (const Bytes& part : {header.bytes(), bounds, uninstrumented, vars}) append(result, part);
  return result;
}

// A runtime of that release with one jitted method.
struct Runtime {
  explicit Runtime(const Platform& platform, const Blob& blob)
      : Runtime(platform, blob.form, blob_bytes(blob, platform)) {}
  Runtime(const Platform& platform, Form form, const Bytes& bytes)
      : builder(platform, form == Form::net9 ? 1 : 2) {
    address = builder.memory().place(bytes, 1);
    size = bytes.size();
    if (form == Form::net11) builder.types().as_net11();
    auto heap = builder.heap(range_begin, range_end);
    builder.method(heap, {.start = method_start,
                          .size = method_size,
                          .method_desc = method_desc,
                          .funclets = {0x300},
                          .debug_info = address});
  }
  ExecutionBuilder builder;
  Address address = 0;
  std::size_t size = 0;
};

inline CodeBlock block_at(ExecutionManager& manager, Address ip) {
  const CodeLookup found = manager.find(ip);
  if (const auto* miss = std::get_if<execution::Miss>(&found)) FAIL("a miss: " << miss->text);
  return std::get<CodeBlock>(found);
}

inline bool has_osr(const Platform& platform) {
  return platform.cpu == Cpu::x64;
}

} // namespace clr::test
