// One module's table of the types that the runtime has made of others: instances of generic types, arrays,
// pointers.
// Source: dotnet/runtime docs/design/datacontracts/Loader.md; src/coreclr/vm/dacenumerablehash.h (the
// chains), src/coreclr/vm/typehash.cpp (which chain an instance is in).
#pragma once

#include "core/target/target.h"
#include "core/types/method_table.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace clr {

class InstanceTable {
public:
  // The table of `module`, a Module; one without chains when it has none. The target and `tables` must
  // outlive this. Throws Error{memory_missing}, or Error{corrupt} for more than max_chains. Cost: 4 reads.
  InstanceTable(const Target& target, const MethodTables& tables, Address module);

  Address chains() const { return chains_; }
  // Visits the TypeHandles of a chain, `index` of chains(), until `visit` says false. Throws Error for
  // missing memory, and behind `most` handles. Cost: 1 read, and 2 for each handle.
  void visit(Address index, const std::function<bool(Address)>& visit, std::size_t most = max_chain) const;

  // The MethodTable of the instance of a generic type, which row `rid` of `owner` defines, with these
  // TypeHandles; 0: the table has none. Nothing when only a visit to all chains can tell: there are few, the
  // table is about to grow, the chain cannot be read or has more than max_searched, or the instances that are
  // looked at for a proof are not in the chains where we look for them. Never throws. Cost: that of the
  // chain, 2 reads for each handle, 5 more for the instances of this type; once about 100 for the proof.
  std::optional<Address> find(Address owner, std::uint32_t rid, std::span<const Address> arguments);

  // The MethodTable of the vector T[] of these elements; 0: it is not found. Never throws. Cost: as find().
  Address find_vector(Address element) const;

  static constexpr Address max_chains = 4'000'000;
  // All of a smaller table is read as fast, and by a chain of few nothing is proven.
  static constexpr Address min_chains = 64;
  static constexpr std::size_t proof_instances = 8; // that are where they should be
  static constexpr Address max_proof_chains = 256;  // in which these are looked for
  // Handles that are looked at for these. The runtime keeps some two in a chain.
  static constexpr std::size_t max_proof_handles = 10'000;
  static constexpr std::size_t max_chain = 10'000; // handles of one chain
  // Handles of a chain in which one instance is looked for: behind it, a list of all is asked faster.
  static constexpr std::size_t max_searched = 1'000;

private:
  // The chain of what begins with `first`, the token of a type or a kind.
  Address chain_of(std::uint32_t first, std::span<const Address> arguments) const;
  bool is_proven();
  bool prove() const;
  bool is_of(Address handle, Address owner, std::uint32_t rid) const;

  const Target* target_;
  const MethodTables* tables_;
  Address buckets_ = 0, chains_ = 0;
  bool grows_ = false;
  std::int64_t value_ = 0, next_ = 0; // of an entry
  std::optional<bool> proven_;
};

} // namespace clr
