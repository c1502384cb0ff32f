// Modules of debug information from values that make no sense: whatever the values are, the result is a file
// that libdw reads to its end.
#include "core/dwarf/elf_module_writer.h"
#include "core/memory/error.h"
#include "tests/fuzz/written_module.h"

#include <fuzzer/FuzzedDataProvider.h>
#include <limits>

namespace {

using namespace clr;

constexpr Address base = 0x7000'0000;
constexpr unsigned max_items = 8;

// Values that are right as often as not.
class Values {
public:
  Values(const std::uint8_t* data, std::size_t size) : in_(data, size) {}

  bool yes() { return in_.ConsumeBool(); }
  std::uint32_t below(std::uint32_t limit) { return in_.ConsumeIntegralInRange<std::uint32_t>(0, limit - 1); }
  template<typename T>
  T any() {
    return in_.ConsumeIntegral<T>();
  }
  std::uint32_t offset() { return below(8) == 0 ? any<std::uint32_t>() : below(0x200); }
  std::uint32_t index() { return below(8) == 0 ? any<std::uint32_t>() : below(max_items); }
  unsigned reg() { return below(8) == 0 ? any<unsigned>() : below(40); }
  std::string name() { return in_.ConsumeRandomLengthString(12); }
  RegisterOffset place() {
    return {reg(), below(8) == 0 ? any<std::int64_t>() : std::int64_t{below(256)} - 128};
  }
  template<typename T, typename Make>
  std::vector<T> some(Make make) {
    std::vector<T> all;
    for (unsigned count = below(max_items); count != 0; --count) all.push_back(make());
    return all;
  }

private:
  FuzzedDataProvider in_;
};

FrameLayout layout(Values& in) {
  FrameLayout made;
  made.cfa = in.place();
  made.saved = in.some<SavedRegister>([&] { return SavedRegister{in.reg(), in.place()}; });
  // Where a call leaves the return address. One offset in eight is any number, the smallest one too.
  if (in.yes() && made.cfa.offset >= std::numeric_limits<std::int64_t>::min() + 8)
    made.saved.push_back({16, {made.cfa.reg, made.cfa.offset - 8}});
  if (in.yes()) made.stack_pointer_at = in.place();
  made.interrupted = in.below(8) == 0;
  made.signed_return_address = in.yes();
  made.outermost = in.below(8) == 0;
  return made;
}

DebugUnwindRange unwind_range(Values& in) {
  DebugUnwindRange range{
      .begin = in.offset(), .end = in.offset(), .exact = in.yes(), .interrupted = in.below(8) == 0};
  range.rows = in.some<DebugUnwindRow>([&] { return DebugUnwindRow{in.offset(), layout(in)}; });
  return range;
}

DebugVariable variable(Values& in) {
  DebugVariable made;
  made.name = in.yes() ? "this" : in.name();
  made.type = in.index();
  made.parameter = in.yes();
  made.artificial = in.yes();
  made.scope_begin = in.offset();
  made.scope_end = in.offset();
  made.ranges = in.some<DebugVariableRange>([&] {
    VariableLocation location{.home = static_cast<VariableHome>(in.below(13)),
                              .reg = in.reg(),
                              .reg2 = in.reg(),
                              .base = in.reg(),
                              .offset = in.any<std::int32_t>()};
    return DebugVariableRange{in.offset(), in.offset(), location,
                              in.some<std::uint32_t>([&] { return in.offset(); })};
  });
  return made;
}

DebugType type(Values& in) {
  DebugType made;
  made.kind = static_cast<DebugType::Kind>(in.below(12));
  made.name = in.name();
  made.size = in.yes() ? 1u << in.below(5) : in.offset();
  made.element = in.index();
  made.count = in.offset();
  made.fields = in.some<DebugField>([&] {
    DebugField field{in.name(), in.index(), in.offset(), in.below(4) == 0, in.yes()};
    if (in.below(4) == 0) field.static_address = in.any<Address>();
    field.static_boxed = in.yes();
    return field;
  });
  made.enumerators = in.some<DebugEnumerator>([&] {
    return DebugEnumerator{in.name(), in.any<std::int64_t>()};
  });
  return made;
}

DebugCode code(Values& in) {
  DebugCode made;
  made.start = in.below(8) == 0 ? in.any<Address>() : base + in.below(0x2000);
  made.size = in.below(8) == 0 ? in.any<std::uint64_t>() : in.below(0x400);
  made.name = in.name();
  made.full_name = in.name();
  made.aliases = in.some<std::string>([&] { return in.name(); });
  made.function = in.yes();
  made.unit = in.name();
  made.return_type = in.index();
  made.unwind = in.some<DebugUnwindRange>([&] { return unwind_range(in); });
  made.lines = in.some<DebugLineRow>(
      [&] { return DebugLineRow{in.offset(), in.index(), in.offset(), in.offset(), in.yes(), in.yes()}; });
  made.variables = in.some<DebugVariable>([&] { return variable(in); });
  return made;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Values in(data, size);
  DebugModule module;
  module.platform = {in.yes() ? 8u : 4u, in.yes() ? ByteOrder::little : ByteOrder::big,
                     in.yes() ? Cpu::x64 : Cpu::arm64, Os::unix_like};
  module.sections.push_back({base, base + 0x1000, {}});
  if (in.yes()) module.sections.push_back({base + 0x1000, base + 0x1010, std::vector<std::byte>(16)});
  module.files = {"/a/b.cs", "c.cs", in.name(), "C:\\d\\e.cs"};
  module.types = in.some<DebugType>([&] { return type(in); });
  module.code = in.some<DebugCode>([&] { return code(in); });
  fuzz::read_written(write_elf_module(module), base);
  return 0;
}
