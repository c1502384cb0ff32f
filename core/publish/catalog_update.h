// The updates of a catalog, each the same phases in the order that catalog_phases.h draws. For code_catalog
// only.
#pragma once

#include "core/publish/catalog_state.h"
#include "core/publish/code_catalog.h"

#include <span>

namespace clr {

// See CodeCatalog::update, add and add_unknown. They throw Error where no part of the update can go on.
CatalogChange update_all(CatalogState& state, Runtime& runtime, const CatalogOptions& options);
CatalogChange update_at(CatalogState& state, Runtime& runtime, const CatalogOptions& options, Address ip);
CatalogChange update_places(CatalogState& state, Runtime& runtime, const CatalogOptions& options,
                            std::span<const Address> places);
CatalogChange update_unknown(CatalogState& state, Runtime& runtime, const CatalogOptions& options);

} // namespace clr
