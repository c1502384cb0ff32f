// The runtime's answer about one address, as a value: the method with its body, the reason why there is none,
// or the fault that made an answer impossible. Commands, scripts and tests print these values.
#pragma once

#include "core/execution/code_block.h"
#include "core/memory/error.h"
#include "core/types/method.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace clr {

enum class CodePart : std::uint8_t { hot, cold };
std::string_view to_string(CodePart part);

struct CodeRegion {
  CodePart part = CodePart::hot;
  Address start = 0;
  std::uint64_t size = 0; // bytes
};

// The parts of a body: none, the hot one, or both. As a list, without memory of its own.
class CodeRegions {
public:
  CodeRegions() = default;
  CodeRegions(std::initializer_list<CodeRegion> regions) {
    for (const CodeRegion& region : regions) push_back(region);
  }
  void push_back(const CodeRegion& region) { regions_.at(size_++) = region; }
  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }
  const CodeRegion* begin() const { return regions_.data(); }
  const CodeRegion* end() const { return regions_.data() + size_; }
  const CodeRegion& operator[](std::size_t i) const { return regions_[i]; }
  const CodeRegion& front() const { return regions_[0]; }
  const CodeRegion& back() const { return regions_[size_ - 1]; }

private:
  std::array<CodeRegion, 2> regions_;
  std::size_t size_ = 0;
};

namespace runtime {

// One body of a method.
struct Code {
  CodeKind kind = CodeKind::jitted;
  Tier tier = Tier::unknown;
  Address start = 0;
  // Bytes from the start, counting the cold part directly behind the hot part; nothing when it is not known
  // or was not requested.
  std::optional<std::uint64_t> offset;
  CodeRegions regions;            // hot first; empty when `fault` says why
  std::optional<Address> funclet; // start of the funclet that holds the address; nothing in the main body
  std::string fault; // which of the members above could not be read, and why; empty when all could
};

} // namespace runtime

struct SourceLine {
  std::uint32_t il_offset = 0;
  std::string file; // empty: no symbols
  std::uint32_t line = 0;
  std::uint32_t column = 0;
  // Where the PDB may contain the text of the source file: the Module and the row of its Document; 0 without
  // symbols.
  Address module = 0;
  std::uint32_t document = 0;
};

struct MethodAnswer {
  Method method;
  runtime::Code code;
  std::optional<SourceLine> source;
};

struct MissAnswer {
  MissReason reason = MissReason::outside;
  std::string text;             // part of a sentence, for people
  std::optional<Method> method; // the method of the precode; for a gap the method before it
  std::string module;           // native: file name of the module that holds the address
  std::string symbol;           // native: "libc.so.6`read + 18"; empty when no name is known
};

struct FaultAnswer {
  ErrorKind kind = ErrorKind::corrupt;
  std::optional<Address> at;
  std::string text;
};

namespace runtime {

struct Answer {
  Address address = 0; // the address that was asked for
  std::variant<MethodAnswer, MissAnswer, FaultAnswer> result;
};

} // namespace runtime

FaultAnswer to_fault(const Error& error);

// The position in the form with which LLDB ends the line of a frame: " at Program.cs:41:9"; empty when the
// line is not known.
std::string source_position(const std::optional<SourceLine>& source);

// The code of a frame in LLDB's form: "app.dll`Ns.Type.Run(int, string[]) + 44".
std::string method_and_offset(const Method& method, const runtime::Code& code);

} // namespace clr
