// Makes a Method from one MethodDesc: where each kind of method has its name and signature, and what name is
// left when a part is missing. Source: dotnet/runtime docs/design/datacontracts/RuntimeTypeSystem.md.
#pragma once

#include "core/types/method.h"
#include "core/types/method_desc.h"
#include "core/types/token_check.h"
#include "core/types/type_names.h"

namespace clr {

class MethodDescriber {
public:
  // Both must outlive this. No reads; layouts are resolved on first use.
  MethodDescriber(const Target& target, TypeNames& types);

  // A MethodDesc that was checked against its MethodTable and module. check() throws Error{memory_missing}
  // when one of them cannot be read and Error{corrupt} when `method_desc` is no MethodDesc. Cost: 2 reads,
  // and once those of its type.
  struct Checked {
    MethodDesc desc;
    const RuntimeType* type = nullptr;
  };
  Checked check(Address method_desc);

  // Never throws for a bad name: it degrades to "app.dll!0x06000123" and says why.
  UnspelledMethod describe(const Checked& method, MethodParts parts = MethodParts::all);

  const MethodDescs& descs();

private:
  struct Draft;
  // Whether the runtime made it, where an async method has two.
  void read_async(const MethodDesc& desc, Draft& draft);
  void name_from_metadata(const Checked& method, Draft& draft);
  void check_owner(const Checked& checked, const Metadata& metadata, Draft& draft);
  void name_array_method(const Checked& method, Draft& draft);
  void name_dynamic_method(const Checked& method, Draft& draft);
  void add_method_arguments(const Checked& method, Draft& draft);
  void add_stored_signature(const Checked& method, const StoredSignature& where, Draft& draft);

  const Target* target_;
  TypeNames* types_;
  std::optional<MethodDescs> descs_;
  TokenCheck tokens_;
};

} // namespace clr
