// Compares the published debug information of a core's bodies with the answers of the commands: the unwind
// rows at every instruction with the layouts of the stack walk, and the lines of calls with those of clrbt.
//   check_rows CORE [CODE]     CODE: writes the code of all bodies there, and where its instructions begin,
//                              one a line, to CODE.starts (offsets in that file), for a disassembler to check
#include "core/describe/image_bodies.h"
#include "core/describe/line_rows.h"
#include "core/isa/x64/frame_pointer.h"
#include "core/runtime/core_session.h"
#include "core/runtime/source_lines.h"
#include "core/stack/managed_unwinder.h"

#include <fmt/format.h>

#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

namespace {

using namespace clr;

// The layout of the walk, where rows count from the frame pointer instead: from the same place, as far as one
// instruction can tell.
FrameLayout as_row(const FrameLayout& truth, const FrameLayout& row) {
  if (truth.cfa.reg != x64_register::rsp || row.cfa.reg != x64_register::rbp) return truth;
  const auto changed = x64_layout_by_frame_pointer(truth, truth.cfa.offset - row.cfa.offset);
  return changed ? *changed : truth;
}

bool same(const FrameLayout& a, const FrameLayout& b) {
  return a.cfa == b.cfa && a.saved == b.saved && a.stack_pointer_at == b.stack_pointer_at &&
         a.interrupted == b.interrupted && a.signed_return_address == b.signed_return_address;
}

std::string text(const FrameLayout& layout) {
  std::string result = fmt::format("cfa r{}{:+}", layout.cfa.reg, layout.cfa.offset);
  for (const SavedRegister& saved : layout.saved)
    result += fmt::format(" r{}@r{}{:+}", saved.reg, saved.at.reg, saved.at.offset);
  return result;
}

class Check {
public:
  Check(Runtime& runtime, const std::string& code_file)
      : runtime_(runtime), describer_(runtime.target()->memory(), runtime.target()->platform().cpu),
        unwinder_(*runtime.code()), lines_(runtime) {
    if (code_file.empty()) return;
    code_.open(code_file, std::ios::binary);
    starts_.open(code_file + ".starts");
  }

  void body(const FoundBody& body) {
    ++bodies;
    std::string fault;
    std::vector<DescribedPart> parts;
    describer_.describe(body, true, NameForms::few, parts, fault);
    try {
      lines_.add(parts, body, files_);
    } catch (const std::exception& error) {
      fault = error.what();
    }
    for (const DescribedPart& part : parts) {
      this->part(body, part);
      if (!part.code.lines.empty()) this->lines(body, part);
    }
    if (fault.empty()) return;
    ++faults;
    if (faults <= 5) fmt::print("{}: {}\n", body.method.full_name, fault);
  }

  std::size_t bodies = 0, functions = 0, exact = 0, instructions = 0, rows = 0, wrong = 0, faults = 0;
  std::size_t by_frame_pointer = 0; // instructions
  std::size_t line_rows = 0, calls = 0, calls_without_line = 0, calls_wrong = 0;

private:
  // Calls with their lines: what frames that wait for a callee show.
  void lines(const FoundBody& body, const DescribedPart& part) {
    line_rows += part.code.lines.size();
    const auto size = static_cast<std::uint32_t>(part.code.size);
    const auto starts = part.instructions->between(0, size);
    for (std::size_t i = 0; i + 1 < starts.size(); ++i) {
      if (!part.instructions->calls(starts[i], starts[i + 1])) continue;
      ++calls;
      const DebugLineRow* row = nullptr;
      for (const DebugLineRow& candidate : part.code.lines)
        if (candidate.offset < starts[i + 1]) row = &candidate;
      const CodeLookup found = runtime_.code()->find(part.code.start + starts[i + 1]);
      const auto* const block = std::get_if<CodeBlock>(&found);
      if (block == nullptr) continue;
      const auto source = runtime_.lines()->at(*block, body.method, NativeOffsetKind::return_address);
      const std::uint32_t line = source ? source->line : 0;
      if (row != nullptr && row->line == line) continue;
      if (row == nullptr || row->line == 0) {
        ++calls_without_line;
      } else if (++calls_wrong <= 20) {
        fmt::print("{} + {:#x}: line {} instead of {}\n", body.method.full_name, starts[i], row->line, line);
      }
    }
  }

  void part(const FoundBody& body, const DescribedPart& part) {
    if (!part.instructions) return;
    if (code_.is_open()) {
      const auto bytes = part.instructions->from(0).first(part.code.size);
      code_.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
      for (const std::uint32_t at : part.instructions->between(0, static_cast<std::uint32_t>(part.code.size)))
        starts_ << written_ + at << '\n';
      written_ += part.code.size;
    }
    for (const DebugUnwindRange& range : part.code.unwind) {
      ++functions;
      exact += range.exact ? 1 : 0;
      rows += range.rows.size();
      if (range.exact) this->range(body, part, range);
    }
  }

  void range(const FoundBody& body, const DescribedPart& part, const DebugUnwindRange& range) {
    std::size_t row = 0;
    std::optional<std::int64_t> frame_pointer; // rbp - rsp, the same in all of a function
    for (const std::uint32_t at : part.instructions->between(range.begin, range.end)) {
      while (row + 1 < range.rows.size() && range.rows[row + 1].offset <= at) ++row;
      ++instructions;
      CodeBlock block = body.block;
      const CodeLookup found = runtime_.code()->find(part.code.start + at);
      if (const auto* known = std::get_if<CodeBlock>(&found)) block = *known;
      try {
        const FrameLayout& truth = unwinder_.layout(block, true);
        const FrameLayout& layout = range.rows[row].layout;
        if (layout.cfa.reg != truth.cfa.reg) {
          const std::int64_t distance = truth.cfa.offset - layout.cfa.offset;
          if (!frame_pointer) frame_pointer = distance;
          by_frame_pointer += distance == *frame_pointer ? 1 : 0;
          wrong += distance == *frame_pointer ? 0 : 1;
        }
        if (same(as_row(truth, layout), layout)) continue;
        if (++wrong <= 20)
          fmt::print("{} + {:#x}: {} instead of {}\n", body.method.full_name, at,
                     text(range.rows[row].layout), text(truth));
      } catch (const std::exception& error) {
        if (++wrong <= 20) fmt::print("{} + {:#x}: {}\n", body.method.full_name, at, error.what());
      }
    }
  }

  Runtime& runtime_;
  BodyDescriber describer_;
  ManagedUnwinder unwinder_;
  LineRows lines_;
  SourceFiles files_;
  std::ofstream code_, starts_;
  std::uint64_t written_ = 0;
};

int run(const std::string& core, const std::string& code_file) {
  const auto session = CoreSession::open(core, {});
  Runtime& runtime = session->runtime();
  if (runtime.code() == nullptr) throw Error(ErrorKind::invalid_argument, "the core has no runtime to read");
  Check check(runtime, code_file);
  runtime.code()->for_each_jitted([&](const JittedBody& found) {
    CodeBlock block{.ip = found.start, .start = found.start, .method_desc = found.method_desc};
    block.section = found.section;
    block.code_header = found.code_header;
    try {
      check.body(find_body(*runtime.code(), block, runtime.describe(found.method_desc)));
    } catch (const std::exception& error) {
      if (++check.faults <= 5) fmt::print("{:#x}: {}\n", found.start, error.what());
    }
    return true;
  });
  const auto report = [&](std::string_view kind) {
    fmt::print(
        "{}: {} bodies, {} functions, {} of them exact, {} rows; {} instructions ({} by frame pointer), "
        "{} with another layout; {} rows of lines, {} calls, {} of them with another line, {} with none; {} "
        "faults\n",
        kind, check.bodies, check.functions, check.exact, check.rows, check.instructions,
        check.by_frame_pointer, check.wrong, check.line_rows, check.calls, check.calls_wrong,
        check.calls_without_line, check.faults);
  };
  report("jitted");
  for (const RangeSection& section : runtime.code()->sections()) {
    if (section.r2r_module == 0) continue;
    try {
      for_each_image_body(
          runtime, section,
          [&](const FoundBody& body) {
            check.body(body);
            return true;
          },
          [&](const Method& method, const std::string& fault) {
            if (++check.faults <= 5) fmt::print("{}: {}\n", method.full_name, fault);
          });
    } catch (const std::exception& error) {
      if (++check.faults <= 5) fmt::print("image at {:#x}: {}\n", section.begin, error.what());
    }
  }
  report("all");
  return check.wrong == 0 ? 0 : 1;
}

} // namespace

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3) {
    std::fputs("usage: check_rows CORE [CODE]\n", stderr);
    return 2;
  }
  try {
    return run(argv[1], argc > 2 ? argv[2] : "");
  } catch (const std::exception& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return 2;
  }
}
