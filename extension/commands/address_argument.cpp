#include "extension/commands/address_argument.h"

#include "core/memory/error.h"
#include "core/memory/utf8.h"
#include "extension/lldb/lldb_error.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>

namespace clr::lldb_plugin {

namespace {
constexpr std::uint32_t evaluation_timeout_us = 2'000'000;

std::optional<Address> parse_digits(std::string_view digits, int base) {
  Address value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
  if (digits.empty() || error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return value;
}

// What an error says ends at a NUL, which a line of a file may have.
[[noreturn]] void refuse(const std::string& text, std::string_view why) {
  throw Error(ErrorKind::invalid_argument, fmt::format("'{}' is not an address: {}", printable(text), why));
}

// The first line of an error of LLDB's.
std::string message_of(const lldb::SBError& error) {
  const std::string message = error_line(error);
  return message.empty() ? "it has no value" : message;
}

bool is_address_type(lldb::SBType type) {
  const std::uint32_t flags = type.GetTypeFlags();
  return (flags & (lldb::eTypeIsPointer | lldb::eTypeIsInteger | lldb::eTypeIsEnumeration)) != 0;
}

Address value_of(lldb::SBValue value, const std::string& text) {
  if (!value.IsValid()) refuse(text, "it has no value");
  if (value.GetError().Fail()) refuse(text, message_of(value.GetError()));
  lldb::SBType type = value.GetType();
  if ((type.GetTypeFlags() & lldb::eTypeIsFuncPrototype) != 0) {
    const Address at = value.GetLoadAddress();
    if (at != LLDB_INVALID_ADDRESS) return at;
  }
  if (!is_address_type(type)) {
    const char* name = type.GetDisplayTypeName();
    refuse(text, fmt::format("it is a value of type {}", name == nullptr ? "?" : name));
  }
  lldb::SBError error;
  const Address result = value.GetValueAsUnsigned(error, 0);
  if (error.Fail()) refuse(text, message_of(error));
  return result;
}

// In a core without its executable LLDB may know a register's value and no type of it.
Address register_value(lldb::SBValue value, const std::string& text) {
  if (value.GetType().GetTypeFlags() != 0 || value.GetByteSize() > sizeof(Address))
    return value_of(value, text);
  lldb::SBError error;
  const Address result = value.GetValueAsUnsigned(error, 0);
  if (error.Fail()) refuse(text, message_of(error));
  return result;
}

// Finds "read" and "read+18" among LLDB's symbols: without debug information they are no expression for it.
std::optional<Address> symbol_address(lldb::SBTarget& target, std::string_view text) {
  const auto sign = text.find_first_of("+-");
  std::string name(text.substr(0, sign));
  while (!name.empty() && name.back() == ' ') name.pop_back();
  const bool plain = !name.empty() && (std::isdigit(static_cast<unsigned char>(name[0])) == 0) &&
                     std::all_of(name.begin(), name.end(), [](unsigned char c) {
                       return std::isalnum(c) != 0 || c == '_' || c == ':' || c == '.' || c == '@';
                     });
  if (!plain) return std::nullopt;
  Address offset = 0;
  if (sign != std::string_view::npos) {
    std::string_view number = text.substr(sign + 1);
    number.remove_prefix(std::min(number.find_first_not_of(' '), number.size()));
    const auto parsed = parse_number(number);
    if (!parsed) return std::nullopt;
    offset = text[sign] == '-' ? 0 - *parsed : *parsed;
  }
  const auto first_of = [&](lldb::SBSymbolContextList found) -> std::optional<Address> {
    for (std::uint32_t i = 0; i < found.GetSize(); ++i) {
      lldb::SBSymbolContext context = found.GetContextAtIndex(i);
      lldb::SBAddress start = context.GetSymbol().IsValid() ? context.GetSymbol().GetStartAddress()
                                                            : context.GetFunction().GetStartAddress();
      const Address at = start.GetLoadAddress(target);
      if (at != LLDB_INVALID_ADDRESS) return at + offset;
    }
    return std::nullopt;
  };
  if (const auto at = first_of(target.FindSymbols(name.c_str()))) return at;
  // Published methods without lines have no symbols.
  return first_of(target.FindFunctions(name.c_str(), lldb::eFunctionNameTypeFull));
}

// As the names of types and methods are.
bool is_dotted_name(std::string_view text) {
  return text.find('.') != std::string_view::npos &&
         std::ranges::all_of(text,
                             [](unsigned char c) {
                               return std::isalnum(c) != 0 ||
                                      std::string_view("._<>,`").find(static_cast<char>(c)) !=
                                          std::string_view::npos;
                             }) &&
         std::isalpha(static_cast<unsigned char>(text.front())) != 0;
}

// A number, or a register of the selected frame.
std::optional<Address> number_or_register(lldb::SBFrame frame, const std::string& text) {
  if (const auto number = parse_number(text)) return *number;
  if (text.starts_with('-') && parse_number(std::string_view(text).substr(1))) refuse(text, "it is negative");
  if (text.find_first_not_of(' ') == std::string::npos) refuse(text, "it is empty");
  if (!text.starts_with('$') || !frame.IsValid()) return std::nullopt;
  lldb::SBValue found = frame.FindRegister(text.c_str() + 1);
  return found.IsValid() ? std::optional(register_value(found, text)) : std::nullopt;
}

lldb::SBFrame selected_frame(lldb::SBTarget& target) {
  return target.GetProcess().GetSelectedThread().GetSelectedFrame();
}

} // namespace

std::optional<Address> parse_number(std::string_view text) {
  if (text.starts_with("0x") || text.starts_with("0X")) return parse_digits(text.substr(2), 16);
  const bool digits = !text.empty() && std::all_of(text.begin(), text.end(),
                                                   [](unsigned char c) { return std::isxdigit(c) != 0; });
  if (!digits || std::isdigit(static_cast<unsigned char>(text[0])) == 0) return std::nullopt;
  const bool decimal =
      std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
  const bool padded = text.size() >= 12 && text[0] == '0';
  return parse_digits(text, decimal && !padded ? 10 : 16);
}

Address evaluate_address(lldb::SBTarget& target, const std::string& text) {
  lldb::SBFrame frame = selected_frame(target);
  if (const auto address = number_or_register(frame, text)) return *address;
  lldb::SBExpressionOptions options;
  options.SetAllowJIT(false);
  options.SetIgnoreBreakpoints(true);
  options.SetTryAllThreads(false);
  options.SetUnwindOnError(true);
  options.SetSuppressPersistentResult(true);
  options.SetTimeoutInMicroSeconds(evaluation_timeout_us);
  lldb::SBValue value = frame.IsValid() ? frame.EvaluateExpression(text.c_str(), options)
                                        : target.EvaluateExpression(text.c_str(), options);
  if (value.IsValid() && value.GetError().Success()) return value_of(value, text);
  if (const auto address = symbol_address(target, text)) return *address;
  if (is_dotted_name(text) && value.IsValid() && value.GetError().Fail())
    refuse(text, fmt::format("{}; `clr methods` tells where a method's code is, `clr objects` where the "
                             "objects of a type are",
                             message_of(value.GetError())));
  return value_of(value, text);
}

Address plain_address(lldb::SBTarget& target, const std::string& text) {
  if (const auto address = number_or_register(selected_frame(target), text)) return *address;
  if (const auto address = symbol_address(target, text)) return *address;
  refuse(text, "a file may have numbers, registers ($pc) and symbols (read + 4)");
}

} // namespace clr::lldb_plugin
