// The meaning of the import cells of a ReadyToRun image, whether they are bound or not: the code of the image
// calls and loads through these cells. Source: dotnet/runtime docs/design/coreclr/botr/readytorun-format.md,
// "READYTORUN_IMPORT_SECTIONS" and "Fixups".
#pragma once

#include "core/types/r2r_signatures.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace clr {

struct R2RImport {
  std::uint8_t fixup = 0; // READYTORUN_FIXUP_*, without the module override
  // "Ns.Type.Run(int)", "READYTORUN_HELPER_WriteBarrier", "new of Ns.Type", "a string"...
  std::string text;
  bool method = false; // code calls the cell to reach the method that `text` names
};

class R2RImports {
public:
  // All arguments must outlive this; `own` as for R2RSignatures. Reads the table of import sections, one read
  // for each section. Throws Error{memory_missing, corrupt}.
  R2RImports(R2RImageBytes& image, const R2RHeader& header, R2RSignatures& signatures, MetadataNames* own);

  // The import of the cell at `rva`; nothing when no import section holds `rva`. `pointer_size` is the width
  // of the cells of a section that does not state one. Throws Error when its signature cannot be read. Cost:
  // 2 reads, and those for the names.
  std::optional<R2RImport> at(std::uint32_t rva, unsigned pointer_size);

  static constexpr std::uint32_t max_sections = 1024;
  static constexpr std::uint32_t max_signature = 4096; // bytes

private:
  struct Section {
    std::uint32_t rva = 0, size = 0, signatures = 0;
    std::uint8_t entry_size = 0;
  };
  R2RImport decode(SignatureReader& reader);

  R2RImageBytes& image_;
  R2RSignatures& signatures_;
  MetadataNames* own_;
  std::vector<Section> sections_;
};

} // namespace clr
