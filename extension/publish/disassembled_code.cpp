#include "extension/publish/disassembled_code.h"

#include "core/isa/code_reference.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <set>
#include <string>

namespace clr::lldb_plugin {

namespace {

constexpr std::uint32_t max_listed_functions = 64; // of one name

// The options of `disassemble` that have a value.
struct Option {
  char letter = 0;
  std::string_view name;
};
constexpr std::array options_with_value{
    Option{'n', "name"},    Option{'a', "address"}, Option{'s', "start-address"}, Option{'e', "end-address"},
    Option{'c', "count"},   Option{'A', "arch"},    Option{'P', "plugin"},        Option{'F', "flavor"},
    Option{'C', "context"}, Option{'X', "cpu"},     Option{'Y', "features"}};

// The places that the command names.
struct Wanted {
  std::vector<std::string> names, addresses;
  void add(char letter, std::string_view value) {
    if (letter == 'n') names.emplace_back(value);
    if (letter == 'a' || letter == 's' || letter == 'e') addresses.emplace_back(value);
  }
};

// As LLDB takes its words apart: "-n NAME", "-nNAME", "-mn NAME", "--name NAME", "--name=NAME", "--na NAME".
Wanted wanted_by(std::span<const std::string_view> words) {
  Wanted wanted;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string_view word = words[i];
    const auto next = [&] { return ++i < words.size() ? words[i] : std::string_view(); };
    if (word.starts_with("--")) {
      const std::size_t equals = word.find('=');
      const std::string_view name = word.substr(2, equals == word.npos ? word.npos : equals - 2);
      const auto option = std::ranges::find_if(
          options_with_value, [&](const Option& of) { return !name.empty() && of.name.starts_with(name); });
      if (option != options_with_value.end())
        wanted.add(option->letter, equals == word.npos ? next() : word.substr(equals + 1));
    } else if (word.starts_with('-')) {
      for (std::size_t at = 1; at < word.size(); ++at) {
        if (std::ranges::find(options_with_value, word[at], &Option::letter) == options_with_value.end())
          continue;
        wanted.add(word[at], at + 1 < word.size() ? word.substr(at + 1) : next());
        break;
      }
    }
  }
  return wanted;
}

// Whether evaluating the expression could change something, where no code may run for it.
bool may_write(std::string_view expression) {
  return std::ranges::any_of(std::array<std::string_view, 3>{"=", "++", "--"}, [&](std::string_view writes) {
    return expression.find(writes) != expression.npos;
  });
}

std::optional<Address> address_of(lldb::SBTarget& target, lldb::SBFrame& frame, const std::string& text) {
  Address number = 0;
  const bool hexadecimal = text.starts_with("0x") || text.starts_with("0X");
  const char* const begin = text.data() + (hexadecimal ? 2 : 0);
  const char* const end = text.data() + text.size();
  if (const auto [rest, error] = std::from_chars(begin, end, number, hexadecimal ? 16 : 10);
      error == std::errc() && rest == end)
    return number;
  // LLDB evaluates it again, and nothing may be done twice.
  if (may_write(text)) return std::nullopt;
  lldb::SBExpressionOptions options;
  options.SetAllowJIT(false);
  lldb::SBValue value = frame.IsValid() ? frame.EvaluateExpression(text.c_str(), options)
                                        : target.EvaluateExpression(text.c_str(), options);
  if (!value.IsValid() || value.GetError().Fail()) return std::nullopt;
  return value.GetValueAsUnsigned(0);
}

std::vector<Address> places_of(Session& session, const Wanted& wanted) {
  lldb::SBTarget& target = session.target();
  lldb::SBFrame frame = target.GetProcess().GetSelectedThread().GetSelectedFrame();
  std::vector<Address> places;
  for (const std::string& text : wanted.addresses)
    if (const auto address = address_of(target, frame, text)) places.push_back(*address);
  for (const std::string& name : wanted.names) {
    lldb::SBSymbolContextList found = target.FindFunctions(name.c_str());
    for (std::uint32_t i = 0; i < std::min(found.GetSize(), max_listed_functions); ++i) {
      lldb::SBSymbolContext context = found.GetContextAtIndex(i);
      lldb::SBAddress start = context.GetFunction().IsValid() ? context.GetFunction().GetStartAddress()
                                                              : context.GetSymbol().GetStartAddress();
      places.push_back(start.GetLoadAddress(target));
    }
  }
  if (wanted.addresses.empty() && wanted.names.empty() && frame.IsValid()) places.push_back(frame.GetPC());
  return places;
}

void add_references(Session& session, const CodeRegion& region, std::uint64_t& room,
                    std::vector<Address>& found) {
  lldb::SBTarget& target = session.target();
  std::vector<std::byte> bytes(static_cast<std::size_t>(std::min(region.size, room)));
  bytes.resize(session.memory().read_some(region.start, bytes));
  room -= bytes.size();
  CodeReferences references(session.runtime().platform().cpu);
  lldb::SBInstructionList instructions =
      target.GetInstructions(lldb::SBAddress(region.start, target), bytes.data(), bytes.size());
  std::span<const std::byte> rest = bytes;
  for (std::uint32_t i = 0; i < instructions.GetSize() && !rest.empty(); ++i) {
    const std::size_t size = std::min(instructions.GetInstructionAtIndex(i).GetByteSize(), rest.size());
    if (size == 0) break;
    const Address at = region.start + (bytes.size() - rest.size());
    const auto reference = references.next(at, rest.first(size));
    if (reference && reference->kind != CodeReference::Kind::constant) found.push_back(reference->address);
    rest = rest.subspan(size);
  }
}

} // namespace

bool disassembles(std::span<const std::string_view> words) {
  return !words.empty() && words[0] == "disassemble";
}

std::vector<Address> addresses_disassembled(Session& session, std::span<const std::string_view> words) {
  std::vector<Address> found;
  ExecutionManager* const code = session.runtime().code();
  if (code == nullptr) return found;
  std::uint64_t room = max_listed_bytes;
  std::set<Address> seen;
  for (const Address place : places_of(session, wanted_by(words))) {
    const CodeLookup lookup = code->find(place);
    const auto* const block = std::get_if<CodeBlock>(&lookup);
    if (block == nullptr || block->kind == CodeKind::interpreted || !seen.insert(block->start).second)
      continue;
    for (const CodeRegion& region : session.runtime().describe(*block).code.regions)
      add_references(session, region, room, found);
  }
  return found;
}

} // namespace clr::lldb_plugin
