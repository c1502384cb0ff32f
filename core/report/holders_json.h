// Who holds what, as JSON: the forms of `clr handles`, `clr finalizers`, `clr refs` and `clr root` with
// --json.
#pragma once

#include "core/report/json.h"
#include "core/runtime/heap_holders.h"
#include "core/runtime/heap_retainers.h"

#include <functional>
#include <string_view>

namespace clr {

// A row of `clr handles --json`.
Json to_json(const GcHandle& handle, HeapHolders& holders);
// The form of `clr finalizers --json`, to `write` piece by piece: a queue has millions of objects. Its lists
// end where `write` returns false; what closes them is written all the same.
void write_finalizers_json(HeapHolders& holders, const std::function<bool(std::string_view)>& write);
// An element of "out" and of "in" in `clr refs --json`, as text: an array has millions of references.
std::string out_json(const HeapReference& reference, HeapHolders& holders);
std::string in_json(const HeapReference& reference, HeapHolders& holders);
Json to_json(const HeapRoot& root);
// The same with the type of its object: a row of `clr roots --json` that is not of a stack.
Json root_json(const HeapRoot& root, const std::string& type);
// The form of `clr heap --verify --json`.
Json to_json(const HeapVerification& found);
// The form of `clr retained ADDRESS --json`, and a row of the others.
Json to_json(const RetainedObject& found);
Json to_json(const RetainedRow& row);
// An element of "paths" in `clr root --json`.
Json to_json(const HeapPath& path);

} // namespace clr
