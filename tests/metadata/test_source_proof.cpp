#include "core/metadata/source_proof.h"
#include "tests/support/faults.h"
#include "tests/support/pdb_builder.h"

#include <catch2/catch.hpp>

using namespace clr;
using namespace clr::test;

namespace {

// The GUIDs as the file stores them, and hashes that sha1sum and sha256sum print of "one\ntwo\n".
const Bytes sha1_guid = bytes_of(
    {0xec, 0x16, 0x18, 0xff, 0x5e, 0xaa, 0x10, 0x4d, 0x87, 0xf7, 0x6f, 0x49, 0x63, 0x83, 0x34, 0x60});
const Bytes sha256_guid = bytes_of(
    {0x0f, 0xd0, 0x29, 0x88, 0xb8, 0x11, 0x13, 0x42, 0x87, 0x8b, 0x77, 0x0e, 0x85, 0x97, 0xac, 0x16});
const Bytes sha1_digest = bytes_of({0xc7, 0x08, 0xd7, 0xef, 0x84, 0x1f, 0x7e, 0x17, 0x48, 0x43,
                                    0x6b, 0x8e, 0xf5, 0x67, 0x0d, 0x0b, 0x2d, 0xe1, 0xa2, 0x27});
const Bytes sha256_digest = bytes_of({0xc3, 0xf9, 0xc8, 0xc2, 0x83, 0xa2, 0xb1, 0xf2, 0xf1, 0x89, 0x6f,
                                      0x27, 0xa0, 0x1c, 0xbe, 0x3c, 0xdd, 0xc0, 0xc9, 0xd9, 0x3f, 0x75,
                                      0x2e, 0x46, 0x39, 0x03, 0x5a, 0x0f, 0x5b, 0x36, 0xf6, 0xe8});

// What a PDB with such a document says of it.
std::optional<DocumentHash> hash_of(const Bytes& algorithm, const Bytes& digest) {
  PdbBuilder builder;
  builder.metadata.add(MetadataTable::document, {0, algorithm.empty() ? 0 : builder.metadata.guid(algorithm),
                                                 digest.empty() ? 0 : builder.metadata.blob(digest), 0});
  return PortablePdb::of_bytes(builder.build(), "test.pdb")->document_hash(1);
}

SourceProof proof_of(const std::optional<DocumentHash>& hash, std::string_view text) {
  return prove_source(hash, std::as_bytes(std::span(text)));
}

} // namespace

TEST_CASE("a text is proved by the hash in the PDB, with the line ends of any system", "[source_proof]") {
  for (const auto& hash : {hash_of(sha1_guid, sha1_digest), hash_of(sha256_guid, sha256_digest)}) {
    REQUIRE(hash);
    CHECK(proof_of(hash, "one\ntwo\n").fit == SourceFit::same);
    CHECK(proof_of(hash, "one\r\ntwo\r\n").fit == SourceFit::same);
    CHECK(proof_of(hash, "one\ntwo\r\n").fit == SourceFit::same);
    CHECK(proof_of(hash, "one\ntwo").fit == SourceFit::other);
    CHECK(proof_of(hash, "one\rtwo\n").fit == SourceFit::other);
    CHECK(proof_of(hash, "").fit == SourceFit::other);
  }
  // Compiled with CRLF, here with LF.
  const auto crlf =
      hash_of(sha1_guid, bytes_of({0x92, 0xad, 0xc0, 0xcc, 0xfb, 0x60, 0x32, 0x1a, 0x43, 0x10,
                                   0xe3, 0x6f, 0x2a, 0xc9, 0xb0, 0x75, 0x67, 0x3a, 0xe7, 0xda}));
  CHECK(proof_of(crlf, "one\r\ntwo\r\n").fit == SourceFit::same);
  CHECK(proof_of(crlf, "one\ntwo\n").fit == SourceFit::same);
}

TEST_CASE("a text that is not proved is told apart from one that another one was", "[source_proof]") {
  CHECK(proof_of(hash_of(sha256_guid, sha256_digest), "three\n").why ==
        "its SHA-256 is f6936912184481f5..., the PDB's is c3f9c8c283a2b1f2...");
  const auto none = hash_of({}, {});
  CHECK_FALSE(none);
  CHECK(proof_of(none, "one\ntwo\n").fit == SourceFit::no_hash);
  CHECK(proof_of(none, "one\ntwo\n").why == "the PDB has no hash of it");
  const auto unknown = proof_of(
      hash_of(bytes_of({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}), sha1_digest), "one\ntwo\n");
  CHECK(unknown.fit == SourceFit::unknown_hash);
  CHECK(unknown.why == "the PDB has a hash of an unknown kind, 04030201-0605-0807-090a-0b0c0d0e0f10");
  const auto cut = proof_of(hash_of(sha256_guid, sha1_digest), "one\ntwo\n");
  CHECK(cut.fit == SourceFit::unknown_hash);
  CHECK(cut.why == "the PDB has a SHA-256 of 20 bytes");
  CHECK(proof_of(hash_of({}, sha1_digest), "one\ntwo\n").fit == SourceFit::unknown_hash);
}

TEST_CASE("the hash of a document has a limit, and rows that are not there have none", "[source_proof]") {
  PdbBuilder builder;
  builder.document("/src/a.cs");
  CHECK_FALSE(PortablePdb::of_bytes(builder.build(), "test.pdb")->document_hash(1));
  CHECK_FALSE(PortablePdb::of_bytes(builder.build(), "test.pdb")->document_hash(0));
  const auto fault = fault_of([] { hash_of(sha256_guid, Bytes(65)); });
  REQUIRE(fault);
  CHECK(fault->kind() == ErrorKind::corrupt);
  CHECK(std::string(fault->what()) == "test.pdb: hash of a document too long");
}
