// The contents of a single-file executable of .NET behind its ELF or PE part: assemblies and other files.
// Source: dotnet/runtime src/native/corehost/bundle (manifest, header, file_entry), docs/design/features
// single-file/bundler.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace clr {

struct SingleFileBundle {
  static constexpr std::size_t max_files = 1u << 14; // a program with all of ASP.NET has 500

  struct Entry {
    std::uint64_t offset = 0; // in the executable, bytes
    std::uint64_t size = 0;   // as stored
    bool compressed = false;
    std::string path;
  };

  std::string id; // identifies this bundle: a hash of its files
  std::uint32_t major_version = 0;
  std::vector<Entry> entries; // sorted by offset; entries outside the file are left out

  // Nothing when `file` is no single-file executable or the manifest makes no sense. Searches the file for
  // the marker that every host contains: some milliseconds for 80 MB.
  static std::optional<SingleFileBundle> parse(std::span<const std::byte> file);

  // The entry that holds the byte at this offset; null if none.
  const Entry* entry_at(std::uint64_t offset) const;
};

} // namespace clr
