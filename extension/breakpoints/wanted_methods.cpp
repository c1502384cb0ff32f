#include "extension/breakpoints/wanted_methods.h"

#include "core/describe/break_targets.h"
#include "core/memory/path_map.h"
#include "core/memory/utf8.h"
#include "core/runtime/source_lines.h"
#include "core/types/last_name.h"
#include "core/types/type_names.h"

#include <algorithm>
#include <exception>
#include <set>
#include <string>
#include <string_view>

namespace clr {

namespace {
constexpr std::uint32_t method_def_tag = 0x0600'0000;

using Tokens = std::set<std::uint32_t>;

[[noreturn]] void cannot_tell(std::string_view why) {
  throw Error(ErrorKind::corrupt, std::string(why));
}

bool is_known(const BreakpointWish& wish) {
  return wish.kind == BreakpointWish::Kind::name || wish.kind == BreakpointWish::Kind::line ||
         wish.kind == BreakpointWish::Kind::address;
}

// A name that a breakpoint is set on, in parts.
struct WantedName {
  std::string type;   // plain; empty: any
  std::string method; // its last part
  std::string made;   // in the names that compilers make for what the method holds: "<Run>"
};

std::vector<WantedName> wanted_names(std::span<const BreakpointWish> wishes) {
  std::vector<WantedName> names;
  for (const BreakpointWish& wish : wishes) {
    if (wish.kind != BreakpointWish::Kind::name) continue;
    for (const std::string& name : wish.names) {
      const std::string last(last_name(name));
      names.push_back({plain_type_name(qualifier_of(name)), last, "<" + last + ">"});
    }
  }
  return names;
}

bool is_method(std::string_view name, const WantedName& wanted) {
  // The method of an interface that is implemented by its full name.
  const bool whole = name.ends_with(wanted.method) && (name.size() == wanted.method.size() ||
                                                       name[name.size() - wanted.method.size() - 1] == '.');
  return whole || name.contains(wanted.made);
}

// Names of metadata, as they are or as they are shown.
template<typename Test>
bool is_so(const std::string& name, const Test& test) {
  return test(name) || (!is_printable(name) && test(printable(name)));
}

void add_named(Tokens& tokens, const Metadata& metadata, std::span<const WantedName> wanted) {
  std::vector<std::string> chains{""}; // by rid: the names of a type and those around it
  const std::uint32_t rows = metadata.rows(MetadataTable::type_def);
  std::size_t text = 0;        // bytes of all chains
  std::uint32_t looked_at = 0; // methods; each is of one type
  const std::uint32_t methods =
      std::max(metadata.rows(MetadataTable::method_def), metadata.rows(MetadataTable::method_ptr));
  for (std::uint32_t rid = 1; rid <= rows; ++rid) {
    const TypeDefRow type = metadata.type_def(rid);
    // Enclosing types have smaller numbers.
    const std::uint32_t around = metadata.encloser_of(rid);
    const std::string before =
        around != 0 && around < rid ? chains[around] : metadata.string(type.name_space);
    chains.push_back(plain_type_name(before.empty() ? metadata.string(type.name)
                                                    : before + "." + metadata.string(type.name)));
    text += chains.back().size();
    if (text > max_wanted_text) cannot_tell("names of types that are too long");
    std::vector<const WantedName*> here; // names that fit this type
    bool all = false;                    // one of them fits each of its methods
    for (const WantedName& each : wanted) {
      if (!is_so(chains[rid], [&](std::string_view chain) { return chain.contains(each.type); })) continue;
      here.push_back(&each);
      all = all || is_so(chains[rid], [&](std::string_view chain) { return chain.contains(each.made); });
    }
    if (here.empty()) continue;
    const auto [first, last] = metadata.method_range(rid);
    if (last - first > methods - looked_at) cannot_tell("types that share methods");
    looked_at += last - first;
    for (std::uint32_t i = first; i < last && tokens.size() <= max_notified_methods; ++i) {
      const std::uint32_t method = metadata.method_at(i);
      const std::string name = all ? std::string() : metadata.string(metadata.method_def(method).name);
      if (all || std::ranges::any_of(here, [&](const WantedName* each) {
            return is_so(name, [&](std::string_view one) { return is_method(one, *each); });
          }))
        tokens.insert(method_def_tag | method);
    }
  }
}

// Those with code at the line, or at the next line of the file that has some.
void add_at_line(Tokens& tokens, const PortablePdb& pdb, const BreakpointWish& wish) {
  std::set<std::uint32_t> documents;
  std::size_t text = 0; // bytes of all names
  for (std::uint32_t row = 1; row <= pdb.documents(); ++row) {
    const std::string name = pdb.document_name(row);
    text += name.size();
    if (text > max_wanted_text) cannot_tell("names of source files that are too long");
    if (file_name_of(printable(name)) == file_name_of(wish.file)) documents.insert(row);
  }
  std::size_t looks = 0;
  const MethodsAtLine found =
      nearest_methods(pdb, documents, wish.line, [&] { return ++looks > max_wanted_looks; });
  if (looks > max_wanted_looks) cannot_tell("too many sequence points");
  tokens.insert(found.tokens.begin(), found.tokens.end());
}

Tokens tokens_of(Runtime& runtime, std::span<const BreakpointWish> wishes, Address module) {
  Tokens tokens;
  NamedModule& named = runtime.names()->named_modules().at(module);
  if (const std::vector<WantedName> names = wanted_names(wishes); !names.empty())
    tokens = named.metadata.with([&](MetadataNames& all) {
      Tokens found;
      add_named(found, all.metadata(), names);
      return found;
    });
  const PortablePdb* pdb = nullptr;
  for (const BreakpointWish& wish : wishes) {
    if (wish.kind != BreakpointWish::Kind::line) continue;
    if (pdb == nullptr && runtime.lines() != nullptr) pdb = runtime.lines()->pdb_of(module);
    if (pdb != nullptr) add_at_line(tokens, *pdb, wish);
  }
  return tokens;
}
} // namespace

std::optional<std::vector<std::uint32_t>>
wanted_methods(Runtime& runtime, std::span<const BreakpointWish> wishes, Address module) {
  if (runtime.names() == nullptr || !std::ranges::all_of(wishes, is_known)) return std::nullopt;
  try {
    const Module& of = runtime.names()->named_modules().at(module).module;
    if (of.edit_and_continue() || of.reflection_emit()) return std::nullopt;
    const Tokens tokens = tokens_of(runtime, wishes, module);
    if (tokens.size() > max_notified_methods) return std::nullopt;
    return std::vector<std::uint32_t>(tokens.begin(), tokens.end());
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

} // namespace clr
