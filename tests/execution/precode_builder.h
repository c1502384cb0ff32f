// Synthetic precodes: the machine descriptor of a CPU in every version of the contract, and stubs that it
// describes.
#pragma once

#include "tests/support/execution_builder.h"
#include "tests/support/net11_builder.h"

#include <string_view>
#include <vector>

namespace clr::test {

namespace precode_type {
constexpr std::uint8_t stub = 0x4c, pinvoke = 5, fixup = 2, um_entry = 7, ret_buf = 8, interpreter = 6;
} // namespace precode_type

// Where the instructions of a CPU show the type in versions 1 and 2.
struct PrecodeTypePlace {
  unsigned offset = 0, width = 1, shift = 0;
  std::uint8_t stub = precode_type::stub;
};

inline PrecodeTypePlace precode_type_place(Cpu cpu) {
  switch (cpu) {
  case Cpu::arm64:
    return {.stub = 0x4a};
  case Cpu::riscv64:
    return {.stub = 0x17};
  case Cpu::loongarch64:
    return {.width = 2, .shift = 5, .stub = 4};
  case Cpu::arm:
    return {.offset = 7, .stub = 0xff};
  default:
    return {};
  }
}

struct PrecodeCase {
  Platform platform;
  unsigned version, seed = 0; // PrecodeBuilder's
};

inline std::vector<PrecodeCase> precode_cases() {
  std::vector<Platform> platforms = all_platforms();
  for (const Cpu cpu : {Cpu::x64, Cpu::arm64, Cpu::loongarch64, Cpu::riscv64, Cpu::arm})
    platforms.push_back({.pointer_size = cpu == Cpu::arm ? 4u : 8u, .cpu = cpu});
  std::vector<PrecodeCase> all;
  for (const Platform& platform : platforms)
    for (const PrecodeCase& of : {PrecodeCase{{}, 1}, PrecodeCase{{}, 2}, PrecodeCase{{}, 3},
                                  PrecodeCase{{}, 3, 1}, PrecodeCase{{}, 3, 2}})
      all.push_back({platform, of.version, of.seed});
  return all;
}

class PrecodeBuilder {
public:
  // `seed`, for version 3 only: of the order of fields in a descriptor of .NET 11; 0: .NET 10's. `code`:
  // where the page of precodes begins.
  PrecodeBuilder(Platform platform, unsigned version, unsigned seed = 0, Address code = 0x60'0000)
      : b(platform), version_(version), place_(precode_type_place(platform.cpu)),
        thumb_(platform.cpu == Cpu::arm), page_(thumb_ ? 0x1000 : 0x4000), code_(code) {
    TargetBuilder& t = b.types();
    t.contract("PrecodeStubs", version);
    if (seed != 0) t.as_net11();
    t.type("PrecodeMachineDescriptor", {{"StubCodePageSize", Width::u32},
                                        {"InvalidPrecodeType", Width::u8},
                                        {"StubPrecodeType", Width::u8},
                                        {"PInvokeImportPrecodeType", Width::u8},
                                        {"FixupPrecodeType", Width::u8},
                                        {"ThisPointerRetBufPrecodeType", Width::u8},
                                        {"UMEntryPrecodeType", Width::u8}});
    if (version == 3)
      t.type("PrecodeMachineDescriptor", {{"StubPrecodeSize", Width::u8},
                                          {"FixupStubPrecodeSize", Width::u8},
                                          {"InterpreterPrecodeType", Width::u8},
                                          {"StubBytes", Width::bytes, 24, 32},
                                          {"StubIgnoredBytes", Width::bytes, 24, 56},
                                          {"FixupBytes", Width::bytes, 24, 80},
                                          {"FixupIgnoredBytes", Width::bytes, 24, 104}});
    else
      t.type("PrecodeMachineDescriptor", {{"OffsetOfPrecodeType", Width::u8},
                                          {"ReadWidthOfPrecodeType", Width::u8},
                                          {"ShiftOfPrecodeType", Width::u8}});
    t.type("StubPrecodeData", {{version == 1 ? "MethodDesc" : "SecretParam"}, {"Type", Width::u8}})
        .type("FixupPrecodeData", {{"Target"}, {"MethodDesc"}})
        .type("ThisPtrRetBufPrecodeData", {{"Target"}, {"MethodDesc"}})
        .type("InterpreterPrecodeData", {{"ByteCodeAddr"}})
        .type("InterpByteCodeStart", {{"Method"}})
        .type("InterpMethod", {{"Pad"}, {"MethodDesc"}});
    shuffle_fields(t, "PrecodeMachineDescriptor",
                   {"InvalidPrecodeType", "StubPrecodeType", "PInvokeImportPrecodeType", "FixupPrecodeType",
                    "ThisPointerRetBufPrecodeType", "UMEntryPrecodeType"},
                   seed);
    if (version == 3)
      shuffle_fields(t, "PrecodeMachineDescriptor",
                     {"StubBytes", "StubIgnoredBytes", "FixupBytes", "FixupIgnoredBytes"}, seed);
    for (const char* data : {"FixupPrecodeData", "ThisPtrRetBufPrecodeData"})
      shuffle_fields(t, data, {"Target", "MethodDesc"}, seed);
    shuffle_fields(t, "InterpMethod", {"Pad", "MethodDesc"}, seed);
    const Address metadata = b.platform_metadata(thumb_ ? 1 : 0);
    FieldValues values{{"StubCodePageSize", page_},
                       {"InvalidPrecodeType", 0xff},
                       {"StubPrecodeType", version == 3 ? 3 : place_.stub},
                       {"PInvokeImportPrecodeType", precode_type::pinvoke},
                       {"FixupPrecodeType", precode_type::fixup},
                       {"ThisPointerRetBufPrecodeType", precode_type::ret_buf},
                       {"UMEntryPrecodeType", precode_type::um_entry}};
    if (place_.stub == 0xff) values[1].second = 0;
    const FieldValues own = version == 3 ? FieldValues{{"StubPrecodeSize", 24},
                                                       {"FixupStubPrecodeSize", 24},
                                                       {"InterpreterPrecodeType", precode_type::interpreter}}
                                         : FieldValues{{"OffsetOfPrecodeType", place_.offset},
                                                       {"ReadWidthOfPrecodeType", place_.width},
                                                       {"ShiftOfPrecodeType", place_.shift}};
    values.insert(values.end(), own.begin(), own.end());
    b.types().record_at(metadata, "PrecodeMachineDescriptor", values);
    if (version == 3) {
      const auto field = [&](std::string_view name) {
        return metadata + static_cast<Address>(t.offset("PrecodeMachineDescriptor", name));
      };
      b.memory().at(field("StubBytes")).bytes({0x11, 0x22, 0x33, 0x44}).fill(20);
      b.memory().at(field("StubIgnoredBytes")).bytes({0, 0, 1, 0}).fill(20, 1);
      b.memory().at(field("FixupBytes")).bytes({0x55, 0x66, 0x77, 0x88}).fill(20);
      b.memory().at(field("FixupIgnoredBytes")).bytes({0, 1, 0, 0}).fill(20, 1);
    }
    b.memory().at(code_).fill(2 * page_);
  }

  Address data_of(Address code) const { return code + page_; }
  // An entry point with code as the runtime writes it; data is the test's affair.
  Address precode(unsigned number, bool fixup, std::uint8_t type) {
    const Address code = code_ + 24 * number;
    if (version_ == 3) {
      if (fixup)
        b.memory().at(code).bytes({0x55, 0xEE, 0x77, 0x88}).fill(20, 0xCC);
      else
        b.memory().at(code).bytes({0x11, 0x22, 0xEE, 0x44}).fill(20, 0xCC);
    } else {
      const std::uint8_t shown = fixup ? precode_type::fixup : place_.stub;
      b.memory().write_integer(code + place_.offset, std::uint64_t{shown} << place_.shift, place_.width);
    }
    if (!fixup) b.types().set(data_of(code), "StubPrecodeData", "Type", type);
    return thumb_ ? code | 1 : code;
  }
  Address code(unsigned number) const { return code_ + 24 * number; }
  std::uint8_t stub_data_type() const { return version_ == 3 ? 3 : place_.stub; }
  std::string_view secret() const { return version_ == 1 ? "MethodDesc" : "SecretParam"; }

  ExecutionBuilder b;

private:
  unsigned version_;
  PrecodeTypePlace place_;
  bool thumb_;
  Address page_, code_;
};

} // namespace clr::test
