#include "core/publish/code_catalog.h"

#include "core/publish/catalog_update.h"

#include <utility>

namespace clr {

struct CodeCatalog::Impl {
  CatalogState state;
  bool interrupted = false; // an update ended by an exception that was no Error

  template<typename Act>
  CatalogChange guarded(const Runtime& runtime, const Act& act) {
    if (runtime.absence() != nullptr) return {};
    if (interrupted) state.start_over();
    interrupted = true;
    CatalogChange change;
    try {
      change = act();
    } catch (const Error& error) {
      change.problems.emplace_back(error.what());
      change.gone = std::exchange(state.gone, {});
    }
    interrupted = false;
    return change;
  }
};

CodeCatalog::CodeCatalog() : impl_(std::make_unique<Impl>()) {}
CodeCatalog::~CodeCatalog() = default;

CatalogChange CodeCatalog::update(Runtime& runtime, const CatalogOptions& options) {
  return impl_->guarded(runtime, [&] { return update_all(impl_->state, runtime, options); });
}

CatalogChange CodeCatalog::add(Runtime& runtime, Address ip, const CatalogOptions& options) {
  return impl_->guarded(runtime, [&] { return update_at(impl_->state, runtime, options, ip); });
}

CatalogChange CodeCatalog::add(Runtime& runtime, std::span<const Address> places,
                               const CatalogOptions& options) {
  return impl_->guarded(runtime, [&] { return update_places(impl_->state, runtime, options, places); });
}

CatalogChange CodeCatalog::add_unknown(Runtime& runtime, const CatalogOptions& options) {
  return impl_->guarded(runtime, [&] { return update_unknown(impl_->state, runtime, options); });
}

void CodeCatalog::reconsider() {
  impl_->state.reconsider = true;
}

void CodeCatalog::clear() {
  impl_->state = {};
  impl_->interrupted = false;
}

Omissions CodeCatalog::omissions() const {
  return impl_->state.all_omissions();
}

void read_descriptions(Runtime& runtime, std::span<const Address> places) {
  CodeCatalog().add(runtime, places, {});
}

} // namespace clr
