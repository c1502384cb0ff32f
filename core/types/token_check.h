// Whether a MethodDesc's token is its own. Parts of it lie in the MethodDesc and in its chunk; where one is
// damaged it is the token of another method, and so leads to that method's name.
// Source: dotnet/runtime docs/design/datacontracts/RuntimeTypeSystem.md;
// src/coreclr/vm/methodtablebuilder.cpp (methods of a type get their MethodDescs in the order of their
// tokens), genmeth.cpp (an instantiation takes token and slot of its definition).
#pragma once

#include "core/types/method_desc.h"
#include "core/types/method_table.h"

namespace clr {

// Throws Error{corrupt} when other methods of the type contradict the token of `method`: those beside it in
// its chunk; for the only one of a chunk, those of the same token in the chunks of its type. What cannot be
// read contradicts nothing. `table` is the type of `method`, whose module is one that does not grow. Cost: 1
// read, 3 for the last method of a chunk; for the only one, which the instantiations of generic methods are,
// 4 and 2 for each chunk of the type.
void check_token(const MethodDesc& method, const MethodTable& table, const MethodDescs& descs,
                 const MethodTables& tables);

// Methods of a type among which the one of a token is looked for; larger types are believed.
constexpr std::size_t max_methods_of_token = 4'096;

} // namespace clr
