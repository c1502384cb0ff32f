#include "core/runtime/named_code.h"

#include "core/memory/path_map.h"
#include "core/memory/utf8.h"
#include "core/runtime/image_walk.h"
#include "core/runtime/source_lines.h"
#include "core/types/last_name.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace clr {
namespace {

// Methods between two questions whether to stop.
constexpr std::size_t stride = 1024;

// All bodies whose method `wanted` wants.
class Search {
public:
  Search(Runtime& runtime, const std::function<bool()>& stop, std::function<bool(const MethodFacts&)> wanted)
      : runtime_(runtime), stop_(stop), wanted_(std::move(wanted)) {}

  std::optional<std::vector<Address>> run(SearchedCode where) {
    if (runtime_.absence() != nullptr) return std::vector<Address>{};
    try {
      if (!jitted()) return std::nullopt;
      if (where == SearchedCode::jitted) return std::move(found_);
      for (const RangeSection& section : runtime_.code()->sections())
        if (walk_.enter(section) && !image(section)) return std::nullopt;
    } catch (const Error&) {
      return std::nullopt; // who describes all code tells what is wrong with it
    }
    return std::move(found_);
  }

private:
  bool jitted() {
    runtime_.code()->for_each_jitted([&](const JittedBody& body) {
      const bool interpreted = (body.section.flags & RangeSection::interpreter) != 0;
      if (!interpreted && wanted_(named(body.method_desc))) found_.push_back(body.start);
      return goes_on();
    });
    return going_;
  }

  // The name alone: nearly all methods are not meant.
  UnspelledMethod named(Address method_desc) {
    try {
      return runtime_.names()->describe_once(method_desc, MethodParts::without_signature);
    } catch (const Error&) {
      return {}; // it has no name
    }
  }

  bool image(const RangeSection& section) {
    runtime_.names()->for_each_r2r_method(
        section,
        [&](MethodNames::R2RMethod& method) {
          if (!walk_.take()) return going_ = false;
          if (wanted_(method.method))
            found_.push_back(runtime_.code()->r2r_block(section, method.function_index).start);
          return goes_on();
        },
        MethodParts::without_signature);
    return going_;
  }

  bool goes_on() {
    if (found_.size() > max_named_code || (++seen_ % stride == 0 && stop_ && stop_())) going_ = false;
    return going_;
  }

  Runtime& runtime_;
  const std::function<bool()>& stop_;
  std::function<bool(const MethodFacts&)> wanted_;
  std::vector<Address> found_;
  std::size_t seen_ = 0;
  ImageWalk walk_;
  bool going_ = true;
};

// The last parts of names.
class Names {
public:
  bool add(const std::string& name) {
    const std::string_view last = last_name(name);
    // Brackets and backquotes belong to the spelling of a type, not to a name in metadata.
    if (last.empty() || last.find_first_of("[]<>`: ") != last.npos) return false;
    lasts_.push_back(last);
    return true;
  }

  bool may_mean(const MethodFacts& method) const {
    if (!method.qualified || contains_last(method.qualified->method)) return true;
    const TypeName* type = method.qualified->declaring_type.get();
    while (type != nullptr && type->element) type = type->element.get();
    return type != nullptr &&
           std::ranges::any_of(type->chain, [&](const std::string& part) { return contains_last(part); });
  }

private:
  bool contains_last(std::string_view text) const {
    return std::ranges::any_of(lasts_, [&](std::string_view last) { return text.find(last) != text.npos; }) ||
           !is_printable(text); // a user types it as it is shown
  }

  std::vector<std::string_view> lasts_;
};

// The methods with code of some files, by module.
class FileMethods {
public:
  FileMethods(Runtime& runtime, std::span<const std::string> files) : runtime_(runtime), files_(files) {}

  bool contains(const MethodFacts& method) {
    if (method.token == 0 || method.runtime_module == 0) return false;
    const auto [known, is_new] = by_module_.try_emplace(method.runtime_module);
    if (is_new) known->second = read(method.runtime_module);
    return known->second.contains(method.token);
  }

  // Some symbols cannot tell.
  bool is_unsure() const { return unsure_; }

private:
  using Tokens = std::unordered_set<std::uint32_t>;

  bool is_wanted(std::string_view document) const {
    return std::ranges::any_of(files_, [&](const std::string& file) {
      return file_name_of(printable(document)) == file_name_of(printable(file));
    });
  }

  Tokens read(Address module) {
    try {
      const PortablePdb* const pdb = runtime_.lines()->pdb_of(module);
      return pdb == nullptr ? Tokens() : read(*pdb);
    } catch (const Error&) {
      unsure_ = true;
      return {};
    }
  }

  Tokens read(const PortablePdb& pdb) const {
    Tokens tokens;
    std::set<std::uint32_t> documents;
    for (std::uint32_t row = 1; row <= pdb.documents(); ++row)
      if (is_wanted(pdb.document_name(row))) documents.insert(row);
    if (documents.empty()) return tokens;
    const std::uint32_t methods = pdb.metadata().rows(MetadataTable::method_debug_information);
    for (std::uint32_t rid = 1; rid <= methods; ++rid) {
      const std::uint32_t token = token_of(MetadataTable::method_def, rid);
      if (std::ranges::any_of(pdb.sequence_points(token),
                              [&](const SequencePoint& point) { return documents.contains(point.document); }))
        tokens.insert(token);
    }
    return tokens;
  }

  Runtime& runtime_;
  std::span<const std::string> files_;
  std::unordered_map<Address, Tokens> by_module_;
  bool unsure_ = false;
};

} // namespace

std::optional<std::vector<Address>> code_named(Runtime& runtime, std::span<const std::string> names,
                                               const std::function<bool()>& stop, SearchedCode where) {
  if (runtime.absence() != nullptr) return std::vector<Address>{};
  Names wanted;
  for (const std::string& name : names)
    if (!wanted.add(name)) return std::nullopt;
  return Search(runtime, stop, [&](const MethodFacts& method) { return wanted.may_mean(method); }).run(where);
}

std::optional<std::vector<Address>> code_in_files(Runtime& runtime, std::span<const std::string> files,
                                                  const std::function<bool()>& stop, SearchedCode where) {
  FileMethods wanted(runtime, files);
  auto found =
      Search(runtime, stop, [&](const MethodFacts& method) { return wanted.contains(method); }).run(where);
  if (wanted.is_unsure()) return std::nullopt;
  return found;
}

} // namespace clr
