// Portable PDBs from arbitrary bytes, and PDBs embedded in assemblies. The input is a PE image when it starts
// like one, else a PDB. The magics are always valid, so that mutation gets past the first checks.
#include "core/metadata/pe_debug_directory.h"
#include "core/metadata/portable_pdb.h"

#include <algorithm>
#include <cstring>

using namespace clr;

namespace {

// Of each kind: what a longer run would find, a shorter finds sooner.
constexpr std::uint32_t most_rows = 64;

template<typename Act>
void attempt(const Act& act) {
  try {
    act();
  } catch (const Error&) {
  }
}

void read_pdb(std::vector<std::byte> bytes) {
  const auto pdb = PortablePdb::of_bytes(std::move(bytes), "fuzz.pdb");
  attempt([&] { pdb->source_link(); });
  for (std::uint32_t row = 0; row <= std::min(pdb->documents(), most_rows); ++row) {
    attempt([&] { pdb->document_name(row); });
    attempt([&] { pdb->embedded_source(row); });
  }
  const std::uint32_t methods = std::min(pdb->assembly_rows(MetadataTable::method_def), most_rows);
  for (std::uint32_t rid = 0; rid <= methods; ++rid) {
    const std::uint32_t method = token_of(MetadataTable::method_def, rid);
    attempt([&] { pdb->sequence_points(method); });
    attempt([&] { pdb->sequence_point(method, rid); });
    attempt([&] { pdb->locals(method, rid); });
    attempt([&] {
      for (const LocalScope& scope : pdb->local_scopes(method)) pdb->constants(scope);
    });
    attempt([&] { pdb->kickoff_method(method); });
    attempt([&] { pdb->async_method(method); });
    attempt([&] { pdb->hoisted_scopes(method); });
  }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 64) return 0;
  std::vector<std::byte> bytes(size);
  std::memcpy(bytes.data(), data, size);
  const bool image = data[0] == 'M';
  std::memcpy(bytes.data(), image ? "MZ" : "BSJB", image ? 2 : 4);
  attempt([&] {
    if (!image) return read_pdb(std::move(bytes));
    HostMemory memory(bytes);
    const PeDebugDirectory debug = read_debug_directory(PeImage(memory, 0, (data[1] & 1) != 0));
    if (debug.embedded) read_pdb(expand(*debug.embedded));
  });
  return 0;
}
