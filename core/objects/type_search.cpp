#include "core/objects/type_search.h"

#include <fmt/format.h>

#include <algorithm>

namespace clr {
namespace {

constexpr std::size_t max_notes = 20; // of one search

struct Definition {
  std::uint32_t rid = 0;
  bool generic = false;
};

std::vector<Definition> wanted_types(NamedModule& module, const TypeSearch& search) {
  return module.metadata.with([&](MetadataNames& names) {
    std::vector<Definition> found;
    const Metadata& metadata = names.metadata();
    for (std::uint32_t rid = 1; rid <= metadata.rows(MetadataTable::type_def); ++rid) {
      const TypeNamePtr type = names.type_def(rid);
      // The parameters of a generic type count for the types within it, too.
      const bool generic = std::any_of(type->chain.begin(), type->chain.end(), [](const std::string& part) {
        return part.find('`') != std::string::npos;
      });
      if (search.wanted(metadata, rid, declared_name(*type), generic)) found.push_back({rid, generic});
    }
    return found;
  });
}

std::string text_of(NamedModule& module, std::uint32_t rid) {
  return module.metadata.with([&](MetadataNames& names) { return declared_name(*names.type_def(rid)); });
}

} // namespace

std::pair<std::uint32_t, std::uint32_t> FieldRanges::of(const Metadata& metadata,
                                                        std::uint32_t type_def_rid) {
  if (type_def_rid == 1) seen_ = 0;
  const auto range = metadata.field_range(type_def_rid);
  if (range.first < range.second) seen_ += range.second - range.first;
  if (seen_ > std::max(metadata.rows(MetadataTable::field), metadata.rows(MetadataTable::field_ptr)))
    throw Error(ErrorKind::corrupt, "types of a module that have fields in common");
  return range;
}

std::string declared_name(const TypeName& type) {
  std::string text = type.name_space;
  for (const std::string& part : type.chain) text += (text.empty() ? "" : ".") + part;
  return text;
}

std::vector<std::string> search_types(TypeFinder& finder, const TypeSearch& search) {
  std::vector<std::string> notes;
  MethodNames& names = finder.names();
  bool stopped = false;
  const auto attempt = [&](const auto& act) {
    try {
      act();
    } catch (const Error& error) {
      if (notes.size() < max_notes) notes.emplace_back(error.what());
    }
  };
  const auto visit = [&](Address table, const std::string& text) {
    if (table != 0 && !stopped) attempt([&] { stopped = !search.visit(table, text); });
  };
  for (const Address module : names.module_addresses()) {
    if (stopped) break;
    attempt([&] {
      NamedModule& named = names.named_modules().at(module);
      for (const Definition& type : wanted_types(named, search)) {
        if (stopped) return;
        attempt([&] {
          const std::uint32_t type_def = token_of(MetadataTable::type_def, type.rid);
          if (!type.generic) return visit(finder.loaded(module, type_def), text_of(named, type.rid));
          for (const Address instance : finder.instances(module, type_def)) visit(instance, {});
        });
      }
    });
  }
  return notes;
}

Address find_type(ObjectReader& objects, const std::string& text) {
  const std::string plain = text.substr(0, text.find('<'));
  std::vector<Address> found;
  TypeLayouts& layouts = objects.layouts();
  const TypeSearch search{.wanted =
                              [&](const Metadata&, std::uint32_t, const std::string& name, bool generic) {
                                return generic ? name.substr(0, name.find_first_of("<`")) == plain
                                               : name == text;
                              },
                          .visit =
                              [&](Address table, const std::string& name) {
                                if (name == text || layouts.of(table).text == text) found.push_back(table);
                                return true;
                              }};
  const std::vector<std::string> notes = search_types(objects.finder(), search);
  if (found.size() == 1) return found.front();
  if (found.empty())
    throw Error(ErrorKind::invalid_argument,
                notes.empty() ? fmt::format("the runtime has loaded no type {}", text)
                              : fmt::format("no type {} was found, and not everything could be searched: {}",
                                            text, notes.front()));
  throw Error(ErrorKind::invalid_argument, fmt::format("{} modules have a type {}", found.size(), text));
}

} // namespace clr
