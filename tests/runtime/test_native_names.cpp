#include "core/runtime/native_names.h"

#include "tests/support/elf_core_builder.h"

#include <catch2/catch.hpp>

using namespace clr;
using namespace clr::test;

namespace {

constexpr Platform x64{8, ByteOrder::little, Cpu::x64, Os::unix_like};

FrameRow row(Address ip, std::string module = {}, std::string symbol = {}, std::string position = {}) {
  FrameRow made;
  made.ip = ip;
  made.module = std::move(module);
  made.symbol = std::move(symbol);
  made.position = std::move(position);
  return made;
}

std::string named(const RecordedNames& names, Address ip) {
  FrameRow asked = row(ip);
  if (!names.name(asked)) return "(none)";
  return asked.module + "`" + asked.symbol + asked.position;
}

std::vector<std::byte> text(std::string_view content) {
  const auto bytes = std::as_bytes(std::span(content));
  return {bytes.begin(), bytes.end()};
}

RecordedNames read(const std::vector<CoreNote>& notes) {
  ElfCoreBuilder builder(x64);
  for (const CoreNote& note : notes) builder.note(note.owner, note.type, note.description);
  const std::vector<std::byte> bytes = builder.segment(0x1000, pattern(16)).build();
  const ElfCore core(bytes);
  return RecordedNames(core);
}

} // namespace

TEST_CASE("names of native code travel in a note of the core") {
  RecordedNames names;
  CHECK(names.empty());
  names.add(row(0x7fff'0000'1234, "libc.so.6", "__GI_raise", " at raise.c:26"));
  names.add(row(0x10, "", "operator new(unsigned long)", " + 18"));
  names.add(row(0x20, "a\tb.so", "two\nlines", ""));
  names.add(row(0x30, "nameless.so"));     // no symbol: nothing worth keeping
  names.add(row(0x10, "", "another", "")); // the first name of an address stays

  const RecordedNames again = read({names.note()});
  CHECK(named(again, 0x7fff'0000'1234) == "libc.so.6`__GI_raise at raise.c:26");
  CHECK(named(again, 0x10) == "`operator new(unsigned long) + 18");
  CHECK(named(again, 0x20) == "a b.so`two lines");
  CHECK(named(again, 0x30) == "(none)");
  CHECK(named(again, 0x11) == "(none)");
}

TEST_CASE("long names of native code are cut: each frame of a stack has them") {
  const std::string symbol(RecordedNames::max_symbol + 1, 's'), module(RecordedNames::max_text + 1, 'm');
  const RecordedNames long_ones = read({{own_note_owner, RecordedNames::note_type,
                                         text("10\t" + module + "\t" + symbol + "\t" + module + "\n")}});
  const std::string cut = module.substr(1);
  CHECK(named(long_ones, 0x10) == cut + "`" + symbol.substr(1) + cut);
  RecordedNames added;
  added.add(row(0x10, module, symbol, module));
  CHECK(named(read({added.note()}), 0x10) == named(long_ones, 0x10));
}

TEST_CASE("a core without the note has no names, and torn lines of it are left out") {
  CHECK(read({}).empty());
  CHECK(read({{"other", RecordedNames::note_type, text("10\ta\tb\tc\n")}}).empty());
  CHECK(read({{own_note_owner, RecordedNames::note_type + 1, text("10\ta\tb\tc\n")}}).empty());

  const RecordedNames torn = read({{own_note_owner, RecordedNames::note_type,
                                    text("\n\t\t\t\nzz\ta\tb\tc\n10\n11\ta\n12\ta\tb\n123456789abcdef01\ta\tb"
                                         "\tc\n13 \ta\tb\tc\n14\ta\tb")}});
  CHECK(named(torn, 0x12) == "a`b");
  CHECK(named(torn, 0x14) == "a`b");
  for (const Address ip : {0x0, 0x10, 0x11, 0x13}) CHECK(named(torn, ip) == "(none)");
}
