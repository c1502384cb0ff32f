// A data descriptor in a file: recorded from a runtime, and put in place of the one of a runtime of the same
// build, for cores that lack the pages of their own.
#pragma once

#include "core/memory/loaded_module.h"
#include "core/target/contract_descriptor.h"

#include <optional>
#include <string>
#include <vector>

namespace clr {

struct DescriptorFile {
  std::string path;                   // where it was read from
  std::vector<std::uint8_t> build_id; // of the image that holds the runtime
  Platform platform;                  // pointer size and byte order
  std::string json;                   // the descriptor's text
  // The pointer table: offsets from the base of the image; nothing for a null pointer.
  std::vector<std::optional<std::uint64_t>> pointers;
};

// Throws Error{io} when the file cannot be read, and Error{corrupt} when it is no descriptor file.
DescriptorFile read_descriptor_file(const std::string& path);
// `path` is only for messages.
DescriptorFile parse_descriptor_file(std::string_view text, const std::string& path);
std::string write_descriptor_file(const DescriptorFile& file);

// What the runtime in `module` publishes at `address`. Pointers that lead out of the image are left out.
// Throws as read_contract_descriptor does, and Error{invalid_argument} for a module without a build id. Cost:
// 3 reads.
DescriptorFile record_descriptor(MemoryReader& memory, const LoadedModule& module, Address address);

// The same for a runtime that publishes none, or an incomplete one: what this library took in its place.
DescriptorFile record_known_layouts(MemoryReader& memory, const LoadedModule& module,
                                    const ContractDescriptor& descriptor);

// Whether the file is of the build of `module`. Cost: some 5 reads where the list of modules does not tell
// the build. Never throws.
bool is_of_build(MemoryReader& memory, const DescriptorFile& file, const LoadedModule& module);

// The descriptor that the file stands for in an image at `base`. Sub-descriptors are read from memory. Throws
// as read_contract_descriptor does.
ContractDescriptor place_descriptor(MemoryReader& memory, const DescriptorFile& file, Address base);

} // namespace clr
