// clr u: the code of a managed method, with IL offsets, source lines and the names of what it calls.
#include "core/report/gc_json.h"
#include "core/report/json.h"
#include "core/runtime/code_listing.h"
#include "core/runtime/presence.h"
#include "extension/commands/body_argument.h"
#include "extension/commands/command.h"
#include "extension/commands/parser.h"
#include "extension/commands/source_text.h"
#include "extension/commands/text.h"
#include "extension/lldb/modules.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <vector>

namespace clr::lldb_plugin {

namespace {

// Instructions of one part of a method that are shown. LLDB takes some 30 us and 500 bytes for each, so it
// gets them in pieces.
constexpr std::uint64_t max_instructions = 100'000;
constexpr std::uint64_t longest_instruction = 16;
constexpr std::uint64_t piece_size = 64 * 1024; // bytes

class Disassemble final : public CommandRun {
public:
  explicit Disassemble(CLI::App& app) {
    body_.add_to(app);
    auto* const no_lines =
        app.add_flag("--no-lines", no_lines_, "Show no IL offsets and no source lines: PDBs are not read.");
    app.add_flag(
        "--gc", gc_,
        "Mark what the garbage collector knows: safe points, ranges that may be interrupted, and the "
        "registers and stack words that begin or cease to hold references.");
    app.add_flag("--any", any_,
                 "Show also lines of a file that is not, or may not be, the one that was compiled.")
        ->excludes(no_lines);
    add_json(app, json_);
  }

  void run(Invocation& invocation) override {
    session_ = &invocation.session();
    out_ = &invocation.out;
    texts_ = SourceTexts(any_);
    Runtime& runtime = session_->runtime();
    require_runtime(runtime);
    const CodeBlock block = body_.find(*session_, *out_, json_);
    const MethodAnswer answer = runtime.describe(block);
    if (answer.code.regions.empty())
      throw Error(ErrorKind::memory_missing, fmt::format("where the code of {} ends is not known: {}",
                                                         answer.method.full_name, answer.code.fault));
    std::string why;
    if (!no_lines_) marks_ = listing_marks(runtime, block, answer.method, why);
    if (gc_) mark_gc(report_gc_info(runtime, block));
    if (json_) {
      Json json;
      json["method"] = to_json(answer.method);
      json["code"] = to_json(answer.code);
      json["instructions"] = Json::array();
      json_list_ = &json["instructions"];
      list(answer);
      out_->line("{}", dump(json));
      return;
    }
    out_->line("{}`{} [{}]", answer.method.module, answer.method.shown_name(), describe_kind(answer.code));
    if (!why.empty()) out_->line("(no IL offsets: {})", why);
    list(answer);
    for (const std::string& problem : texts_.problems()) out_->warning(problem);
  }

private:
  void mark_gc(const GcReport& report) {
    if (!report.fault.empty()) out_->warning(report.fault);
    gc_marks_ = gc_marks(report);
  }

  void list(const MethodAnswer& answer) {
    std::uint64_t linear = 0; // offset of the region
    mark_ = marks_.begin();
    gc_mark_ = gc_marks_.begin();
    for (const CodeRegion& region : answer.code.regions) {
      if (!json_ && answer.code.regions.size() > 1) out_->line("{} part", to_string(region.part));
      list(region, linear, answer);
      linear += region.size;
    }
  }

  void list(const CodeRegion& region, std::uint64_t linear, const MethodAnswer& answer) {
    lldb::SBTarget& target = session_->target();
    std::vector<std::byte> bytes(
        static_cast<std::size_t>(std::min(region.size, max_instructions * longest_instruction)));
    bytes.resize(session_->memory().read_some(region.start, bytes));
    CodeReferences references(session_->runtime().platform().cpu);
    std::uint64_t done = 0, shown = 0;
    while (done < bytes.size() && shown < max_instructions) {
      const auto piece = std::span(bytes).subspan(
          static_cast<std::size_t>(done),
          static_cast<std::size_t>(std::min<std::uint64_t>(piece_size, bytes.size() - done)));
      const std::uint64_t before = done;
      lldb::SBInstructionList instructions =
          target.GetInstructions(lldb::SBAddress(region.start + done, target), piece.data(), piece.size());
      for (std::uint32_t i = 0; i < instructions.GetSize() && shown < max_instructions; ++i, ++shown) {
        if (out_->interrupted()) return;
        const std::uint64_t left = before + piece.size() - done;
        // The last instruction of a piece may go on in the next one.
        if (left < longest_instruction && before + piece.size() < bytes.size()) break;
        lldb::SBInstruction instruction = instructions.GetInstructionAtIndex(i);
        const std::uint64_t size = std::min<std::uint64_t>(instruction.GetByteSize(), left);
        if (size == 0) break;
        print_marks(linear + done);
        print_gc_marks(linear + done);
        const auto code = std::span<const std::byte>(bytes).subspan(static_cast<std::size_t>(done),
                                                                    static_cast<std::size_t>(size));
        print(instruction, region.start + done, linear + done, code, references, answer);
        done += size;
      }
      if (done == before) break;
    }
    if (done < region.size) {
      const std::string text = fmt::format("{} of {} bytes at {:#x} {}", region.size - done, region.size,
                                           region.start + done, why_left(done, bytes.size(), shown));
      if (json_)
        out_->warning(text);
      else
        out_->line("({})", text);
    }
  }

  static std::string why_left(std::uint64_t done, std::uint64_t read, std::uint64_t shown) {
    if (shown == max_instructions)
      return fmt::format("are left out: at most {} instructions are shown", max_instructions);
    return done == read ? "cannot be read" : "cannot be disassembled";
  }

  // Prints the marks at or before a native offset that are not printed yet.
  void print_marks(std::uint64_t offset) {
    for (; mark_ != marks_.end() && mark_->offset <= offset; ++mark_) {
      current_ = &*mark_;
      if (json_ || (std::next(mark_) != marks_.end() && std::next(mark_)->offset <= offset)) continue;
      if (!mark_->source) {
        out_->line("{}", mark_->mark == IlMark::no_mapping ? "(no IL)"
                                                           : fmt::format("({})", to_string(mark_->mark)));
        continue;
      }
      const SourceLine& source = *mark_->source;
      out_->line("IL_{:04x}{}", source.il_offset, source_position(source));
      if (source.file.empty()) continue;
      if (const auto text = texts_.line(*session_, source)) out_->line("{:>6}  {}", source.line, *text);
    }
  }

  // The same of what the collector knows.
  void print_gc_marks(std::uint64_t offset) {
    gc_here_.clear();
    for (; gc_mark_ != gc_marks_.end() && gc_mark_->offset <= offset; ++gc_mark_) {
      gc_here_.push_back(*gc_mark_);
      if (!json_) out_->line("(gc: {})", gc_mark_->text);
    }
  }

  void print(lldb::SBInstruction& instruction, Address at, std::uint64_t offset,
             std::span<const std::byte> code, CodeReferences& references, const MethodAnswer& answer) {
    lldb::SBTarget& target = session_->target();
    const auto text_or_empty = [](const char* text) { return std::string(text == nullptr ? "" : text); };
    std::string mnemonic = text_or_empty(instruction.GetMnemonic(target));
    const std::string operands = text_or_empty(instruction.GetOperands(target));
    const bool decoded = !mnemonic.empty();
    if (!decoded) mnemonic = "(not an instruction)";
    const auto reference = references.next(at, code);
    std::optional<ReferenceName> name;
    if (reference && !within(answer.code, *reference))
      name = name_reference(session_->runtime(), session_->memory(), *reference,
                            [&](Address address) { return symbol_at(target, address); });
    if (json_) {
      json_list_->push_back(json_of(at, offset, code, decoded ? fmt::format("{} {}", mnemonic, operands) : "",
                                    reference, name));
      return;
    }
    std::string comment;
    if (name)
      comment = name->named ? name->text : fmt::format("({})", name->text);
    else if (reference && reference->kind == CodeReference::Kind::branch)
      comment = fmt::format("<+{}>", offset_of(answer.code, reference->address));
    const char* const arrow =
        body_.asked() && *body_.asked() >= at && *body_.asked() < at + code.size() ? "->" : "  ";
    const std::string left = fmt::format("{}  {:#014x} <+{}>:", arrow, at, offset);
    const std::string line = fmt::format("{:<28} {:<7} {}", left, mnemonic, operands);
    if (comment.empty())
      out_->line("{}", line);
    else
      out_->line("{:<60} ; {}", line, comment);
  }

  Json json_of(Address at, std::uint64_t offset, std::span<const std::byte> code, const std::string& text,
               const std::optional<CodeReference>& reference,
               const std::optional<ReferenceName>& name) const {
    Json json;
    json["address"] = hex(at);
    json["offset"] = offset;
    json["size"] = code.size();
    json["text"] = text.empty() ? Json(nullptr) : Json(text);
    if (current_ != nullptr) {
      if (current_->source)
        json["source"] = to_json(*current_->source);
      else
        json["mark"] = to_string(current_->mark);
    }
    if (body_.asked() && *body_.asked() >= at && *body_.asked() < at + code.size()) json["asked"] = true;
    if (!gc_here_.empty()) {
      Json& marks = json["gc"] = Json::array();
      for (const GcMark& mark : gc_here_) marks.push_back(to_json(mark));
    }
    if (reference && (name || reference->transfers)) {
      Json& to = json["target"];
      to["address"] = hex(name && name->address ? *name->address : reference->address);
      if (reference->kind == CodeReference::Kind::cell) to["cell"] = hex(reference->address);
      if (name) to[name->named ? "name" : "unnamed"] = name->text;
    }
    return json;
  }

  // Whether this is a branch within the body: the name of the body would say nothing about its target.
  static bool within(const runtime::Code& code, const CodeReference& reference) {
    return reference.kind == CodeReference::Kind::branch && reference.address != code.start &&
           std::ranges::any_of(code.regions, [&](const CodeRegion& region) {
             return reference.address - region.start < region.size;
           });
  }

  static std::uint64_t offset_of(const runtime::Code& code, Address address) {
    std::uint64_t linear = 0;
    for (const CodeRegion& region : code.regions) {
      if (address - region.start < region.size) return linear + (address - region.start);
      linear += region.size;
    }
    return linear;
  }

  BodyArgument body_;
  bool no_lines_ = false, any_ = false, gc_ = false, json_ = false;
  Session* session_ = nullptr;
  Output* out_ = nullptr;
  Json* json_list_ = nullptr;
  SourceTexts texts_{false};
  std::vector<ListingMark> marks_;
  std::vector<ListingMark>::const_iterator mark_;
  const ListingMark* current_ = nullptr;
  std::vector<GcMark> gc_marks_, gc_here_; // of the body; of the instruction
  std::vector<GcMark>::const_iterator gc_mark_;
};

} // namespace

CommandSpec disassemble_command() {
  return {"u",
          nullptr,
          "Disassemble a managed method, with IL offsets, source lines and the names of what it calls.",
          "clr u *Program.Main*",
          "lists the code of Program.Main with its IL offsets and source lines.",
          [](CLI::App& app) -> std::unique_ptr<CommandRun> { return std::make_unique<Disassemble>(app); }};
}

} // namespace clr::lldb_plugin
