#include "core/runtime/named_code.h"

#include "core/memory/utf8.h"
#include "core/types/last_name.h"

#include <algorithm>
#include <string_view>

namespace clr {
namespace {

// Methods between two questions whether to stop.
constexpr std::size_t stride = 1024;

class Search {
public:
  Search(Runtime& runtime, const std::function<bool()>& stop) : runtime_(runtime), stop_(stop) {}

  bool wants(const std::string& name) {
    const std::string_view last = last_name(name);
    // Brackets and backquotes belong to the spelling of a type, not to a name in metadata.
    if (last.empty() || last.find_first_of("[]<>`: ") != last.npos) return false;
    lasts_.push_back(last);
    return true;
  }

  bool jitted() {
    runtime_.code()->for_each_jitted([&](const JittedBody& body) {
      if (may_mean(runtime_.describe_once(body.method_desc))) found_.push_back(body.start);
      return goes_on();
    });
    return going_;
  }

  bool image(const RangeSection& section) {
    runtime_.names()->for_each_r2r_method(section, [&](MethodNames::R2RMethod& method) {
      if (may_mean(method.method))
        found_.push_back(runtime_.code()->r2r_block(section, method.function_index).start);
      return goes_on();
    });
    return going_;
  }

  std::vector<Address> take() { return std::move(found_); }

private:
  bool goes_on() {
    if (found_.size() > max_named_code || (++seen_ % stride == 0 && stop_ && stop_())) going_ = false;
    return going_;
  }

  bool contains_last(std::string_view text) const {
    return std::ranges::any_of(lasts_, [&](std::string_view last) { return text.find(last) != text.npos; }) ||
           !is_printable(text); // a user types it as it is shown
  }

  bool may_mean(const MethodFacts& method) const {
    if (!method.qualified || contains_last(method.qualified->method)) return true;
    const TypeName* type = method.qualified->declaring_type.get();
    while (type != nullptr && type->element) type = type->element.get();
    return type != nullptr &&
           std::ranges::any_of(type->chain, [&](const std::string& part) { return contains_last(part); });
  }

  Runtime& runtime_;
  const std::function<bool()>& stop_;
  std::vector<std::string_view> lasts_;
  std::vector<Address> found_;
  std::size_t seen_ = 0;
  bool going_ = true;
};

} // namespace

std::optional<std::vector<Address>> code_named(Runtime& runtime, std::span<const std::string> names,
                                               const std::function<bool()>& stop) {
  if (runtime.absence() != nullptr) return std::vector<Address>{};
  Search search(runtime, stop);
  for (const std::string& name : names)
    if (!search.wants(name)) return std::nullopt;
  try {
    if (!search.jitted()) return std::nullopt;
    for (const RangeSection& section : runtime.code()->sections())
      if (section.r2r_module != 0 && !search.image(section)) return std::nullopt;
  } catch (const Error&) {
    return std::nullopt; // who describes all code tells what is wrong with it
  }
  return search.take();
}

} // namespace clr
