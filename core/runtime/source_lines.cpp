#include "core/runtime/source_lines.h"

#include "core/metadata/pe_debug_directory.h"

namespace clr {

SourceLines::SourceLines(const Target& target, ExecutionManager& code) : target_(&target), reader_(code) {}
SourceLines::~SourceLines() = default;

void SourceLines::set_search(PdbSearch search) {
  search_ = std::move(search);
  forget();
}

void SourceLines::set_recorded(RecordedPdbs recorded, std::uint64_t most) {
  recorded_ = std::move(recorded);
  modules_.clear();
  room_.begin(most);
}

void SourceLines::forget() {
  modules_.clear();
  room_.begin(room_.most());
}

std::optional<SourceLine> SourceLines::at(const CodeBlock& block, const Method& method,
                                          NativeOffsetKind kind) {
  if (method.token == 0) return std::nullopt;
  try {
    return of_il(method, reader_.il_position(block, kind).il);
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

SourceLine SourceLines::of_il(const Method& method, std::uint32_t il_offset) {
  SourceLine line{.il_offset = il_offset};
  try {
    const PortablePdb* pdb = pdb_of(method.runtime_module);
    const auto point = pdb == nullptr ? std::nullopt : pdb->sequence_point(method.token, line.il_offset);
    if (!point) return line;
    line.file = pdb->document_name(point->document);
    line.line = point->start_line;
    line.column = point->start_column;
    line.module = method.runtime_module;
    line.document = point->document;
  } catch (const std::exception& error) {
    find(method.runtime_module).symbols.problem = error.what();
  }
  return line;
}

std::optional<std::string> SourceLines::embedded_text(const SourceLine& line, std::size_t most) {
  const PortablePdb* pdb = pdb_of(line.module);
  const auto bytes = pdb == nullptr ? std::nullopt : pdb->embedded_source(line.document, most);
  if (!bytes) return std::nullopt;
  return std::string(reinterpret_cast<const char*>(bytes->data()), bytes->size());
}

SourceProof SourceLines::proof_of(const SourceLine& line, std::span<const std::byte> text) {
  const PortablePdb* pdb = pdb_of(line.module);
  return prove_source(pdb == nullptr ? std::nullopt : pdb->document_hash(line.document), text);
}

const PortablePdb* SourceLines::pdb_of(Address module) {
  return module == 0 ? nullptr : find(module).pdb.get();
}

SourceLines::Found& SourceLines::find(Address module) {
  const auto known = modules_.find(module);
  if (known != modules_.end()) return known->second;
  return modules_.emplace(module, locate(module)).first->second;
}

SourceLines::Found SourceLines::locate(Address address) {
  Found found;
  try {
    const Module module = read_module(*target_, address);
    found.symbols.module = module.display_name();
    const ImageMapping mapping = image_mapping(*target_, module);
    if (mapping.base == 0) {
      found.symbols.problem = "the module has no image";
      return found;
    }
    MemoryReader& memory = target_->memory();
    const PeImage image = mapping.mapped ? PeImage(memory, mapping.base, *mapping.mapped)
                                         : PeImage::detect(memory, mapping.base);
    const std::string path = module.path.empty() ? program_folder_ + module.display_name() : module.path;
    PdbResult result = locate_pdb(read_debug_directory(image), path, search_, recorded_, &room_);
    found.symbols.problem = result.reason();
    found.embedded = result.embedded;
    found.symbols.path = std::move(result.path);
    found.pdb = std::move(result.pdb);
  } catch (const std::exception& error) {
    found.symbols.problem = error.what();
  }
  return found;
}

std::vector<SourceLines::Symbols> SourceLines::symbols() const {
  std::vector<Symbols> all;
  for (const auto& [address, found] : modules_) all.push_back(found.symbols);
  return all;
}

std::vector<SourceLines::SeparatePdb> SourceLines::separate_pdbs() const {
  std::vector<SeparatePdb> all;
  for (const auto& [address, found] : modules_)
    if (found.pdb != nullptr && !found.embedded) all.push_back({found.symbols.module, found.pdb.get()});
  return all;
}

} // namespace clr
