#include "core/publish/code_catalog.h"

#include "core/publish/catalog_update.h"

namespace clr {

struct CodeCatalog::Impl {
  CatalogState state;
};

CodeCatalog::CodeCatalog() : impl_(std::make_unique<Impl>()) {}
CodeCatalog::~CodeCatalog() = default;

namespace {
template<typename Act>
CatalogChange guarded(const Runtime& runtime, const Act& act) {
  if (runtime.absence() != nullptr) return {};
  try {
    return act();
  } catch (const std::exception& error) {
    CatalogChange change;
    change.problems.emplace_back(error.what());
    return change;
  }
}
} // namespace

CatalogChange CodeCatalog::update(Runtime& runtime, const CatalogOptions& options) {
  return guarded(runtime, [&] { return CatalogUpdate(impl_->state, runtime, options).all(); });
}

CatalogChange CodeCatalog::add(Runtime& runtime, Address ip, const CatalogOptions& options) {
  return guarded(runtime, [&] { return CatalogUpdate(impl_->state, runtime, options).one(ip); });
}

CatalogChange CodeCatalog::add_unknown(Runtime& runtime, const CatalogOptions& options) {
  return guarded(runtime, [&] { return CatalogUpdate(impl_->state, runtime, options).unknown(); });
}

void CodeCatalog::clear() {
  impl_->state = {};
}

} // namespace clr
