// Writes jitdump files in either byte order.
#pragma once

#include "core/memory/target_bytes.h"

#include <string_view>
#include <vector>

namespace clr::test {

class JitDumpBuilder {
public:
  struct Line {
    std::uint64_t address;
    std::uint32_t line;
    std::string_view file; // "\xff" repeats the last
  };

  explicit JitDumpBuilder(ByteOrder order)
      : platform_{.pointer_size = 8, .byte_order = order}, out_(platform_) {
    for (const std::uint32_t value : {0x4A69'5444u, 1u, 40u, 62u, 0u, 4242u}) out_.u32(value);
    out_.word(123);
    out_.word(0);
  }

  // `code`: bytes of it that the record holds.
  void load(std::uint64_t address, std::uint64_t size, std::uint64_t index, std::string_view name,
            std::size_t code) {
    TargetBytes body(platform_);
    body.u32(4242);
    body.u32(4243);
    for (const std::uint64_t value : {address, address, size, index}) body.word(value);
    body.text(name, name.size() + 1);
    for (std::size_t i = 0; i < code; ++i) body.u8(0xcc);
    record(0, body);
  }
  void move(std::uint64_t from, std::uint64_t to, std::uint64_t size, std::uint64_t index) {
    TargetBytes body(platform_);
    body.u32(4242);
    body.u32(4243);
    for (const std::uint64_t value : {to, from, to, size, index}) body.word(value);
    record(1, body);
  }
  void debug_info(std::uint64_t code, const std::vector<Line>& lines,
                  std::uint64_t claimed = ~std::uint64_t{0}) {
    TargetBytes body(platform_);
    body.word(code);
    body.word(claimed == ~std::uint64_t{0} ? lines.size() : claimed);
    for (const Line& line : lines) {
      body.word(line.address);
      body.u32(line.line);
      body.u32(0);
      body.text(line.file, line.file.size() + 1);
    }
    record(2, body);
  }
  void close() { record(3, TargetBytes(platform_)); }
  void unwinding_info(std::size_t size) {
    TargetBytes body(platform_);
    for (const std::uint64_t value : {std::uint64_t{size}, std::uint64_t{20}, std::uint64_t{size}})
      body.word(value);
    for (std::size_t i = 0; i < size; ++i) body.u8(i);
    body.align(8);
    record(4, body);
  }
  void record(std::uint32_t kind, const TargetBytes& body) { record(kind, body, 16 + body.size()); }
  void record(std::uint32_t kind, const TargetBytes& body, std::uint64_t claimed) {
    out_.u32(kind);
    out_.u32(claimed);
    out_.word(99);
    out_.append(body.bytes());
  }
  TargetBytes body() const { return TargetBytes(platform_); }

  const std::vector<std::byte>& bytes() const { return out_.bytes(); }

private:
  Platform platform_;
  TargetBytes out_;
};

} // namespace clr::test
