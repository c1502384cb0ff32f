// Portable PDBs from arbitrary bytes, PDBs embedded in assemblies, and those that a small core keeps. The
// form of an input: metadata_input.h.
#include "core/metadata/pe_debug_directory.h"
#include "core/metadata/portable_pdb.h"
#include "core/metadata/recorded_pdbs.h"
#include "tests/fuzz/attempt.h"
#include "tests/fuzz/metadata_input.h"
#include "tests/support/elf_core_builder.h"

#include <algorithm>
#include <cstring>
#include <span>

using namespace clr;
using namespace clr::fuzz;

namespace {

// Of each kind: what a longer run would find, a shorter finds sooner.
constexpr std::uint32_t most_rows = 64;

// A note of a core with any bytes, which name the PDB themselves, behind one of somebody else's.
void read_kept(const std::vector<std::byte>& bytes) {
  const CoreNote notes[] = {{"CORE", RecordedPdbs::note_type, bytes},
                            {own_note_owner, RecordedPdbs::note_type, bytes}};
  PdbId id;
  if (bytes.size() < sizeof id.guid + sizeof id.stamp) return;
  std::memcpy(id.guid.data(), bytes.data(), sizeof id.guid);
  std::memcpy(&id.stamp, bytes.data() + sizeof id.guid, sizeof id.stamp);
  test::ElfCoreBuilder builder({});
  for (const CoreNote& note : notes) builder.note(note.owner, note.type, note.description);
  const ElfCore core(builder.build());
  attempt([&] { RecordedPdbs(core).open(id, "kept.pdb"); });
  const RecordedPdbs kept(notes);
  const std::uint64_t size = kept.size_of(id);
  if (const auto pdb = kept.open(id, "kept.pdb"); pdb && pdb->bytes().size() != size)
    __builtin_trap(); // it has the size that it says
}

void read_pdb(std::vector<std::byte> bytes) {
  attempt([&] { read_kept(bytes); });
  const auto pdb = PortablePdb::of_bytes(std::move(bytes), "fuzz.pdb");
  if (const auto note = RecordedPdbs::note(*pdb)) {
    const auto again = RecordedPdbs(std::span(&*note, 1)).open(pdb->id(), "kept.pdb");
    if (again == nullptr || !std::ranges::equal(again->bytes(), pdb->bytes()))
      __builtin_trap(); // the same PDB
  }
  attempt([&] { pdb->source_link(); });
  attempt([&] { pdb->kickoff_methods(); });
  for (std::uint32_t row = 0; row <= std::min(pdb->documents(), most_rows); ++row) {
    attempt([&] { pdb->document_name(row); });
    attempt([&] { pdb->embedded_source(row); });
    attempt([&] { pdb->document_hash(row); });
  }
  const std::uint32_t methods = std::min(pdb->assembly_rows(MetadataTable::method_def), most_rows);
  for (std::uint32_t rid = 0; rid <= methods; ++rid) {
    const std::uint32_t method = token_of(MetadataTable::method_def, rid);
    attempt([&] { pdb->sequence_points(method); });
    attempt([&] { pdb->sequence_point(method, rid); });
    attempt([&] { pdb->local_signature(method); });
    attempt([&] { pdb->custom_debug_information(method, {}); });
    attempt([&] { pdb->locals(method, rid); });
    attempt([&] {
      for (const LocalScope& scope : pdb->local_scopes(method)) pdb->constants(scope);
    });
    attempt([&] { pdb->tuple_names(rid); });
    attempt([&] { pdb->kickoff_method(method); });
    attempt([&] { pdb->async_method(method); });
    attempt([&] { pdb->hoisted_scopes(method); });
  }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  auto input = metadata_input(data, size);
  if (!input) return 0;
  attempt([&] {
    if (!input->image) return read_pdb(std::move(input->bytes));
    HostMemory memory(input->bytes);
    const PeDebugDirectory debug = read_debug_directory(PeImage(memory, 0, input->mapped));
    debug.portable();
    if (debug.embedded) read_pdb(expand(*debug.embedded));
  });
  return 0;
}
