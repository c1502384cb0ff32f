#include "core/runtime/host_assemblies.h"

#include "core/memory/error.h"
#include "core/memory/file_bytes.h"
#include "core/memory/host_file.h"

#include <span>

namespace clr {
namespace {

class FileMemory final : public MemoryReader {
public:
  explicit FileMemory(HostFile file) : bytes_(std::move(file)) {}
  std::size_t read_some(Address address, std::span<std::byte> out) override {
    return address < bytes_.size() ? bytes_.read_some(address, out) : 0;
  }

private:
  FileBytes bytes_;
};

} // namespace

std::unique_ptr<MemoryReader> HostAssemblies::open(const std::string& path, const std::string& file_name) {
  for (const PathMap::Candidate& candidate : paths_.candidates(path.empty() ? file_name : path)) try {
      return std::make_unique<FileMemory>(HostFile::open(candidate.path, candidate.named_by()));
    } catch (const Error&) {
      // The next candidate may be readable; a name that no file gives stays a token.
    }
  return nullptr;
}

} // namespace clr
