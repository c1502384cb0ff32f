#include "core/memory/file_bytes.h"

#include "core/memory/read_at.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace clr {

FileBytes::FileBytes(HostFile file)
    : file_(std::move(file)), size_(static_cast<std::uint64_t>(file_->status().st_size)) {}

FileBytes::FileBytes(std::span<const std::byte> bytes) : bytes_(bytes), size_(bytes.size()) {}

std::size_t FileBytes::read_some(std::uint64_t offset, std::span<std::byte> out) const {
  if (offset >= size_ || out.empty()) return 0;
  const auto part = out.first(static_cast<std::size_t>(std::min<std::uint64_t>(out.size(), size_ - offset)));
  if (file_) return read_at(file_->descriptor(), part, offset);
  std::memcpy(part.data(), bytes_.data() + offset, part.size());
  return part.size();
}

std::vector<std::byte> FileBytes::read(std::uint64_t offset, std::uint64_t size) const {
  std::vector<std::byte> result;
  if (offset >= size_) return result;
  result.resize(static_cast<std::size_t>(std::min(size, size_ - offset)));
  result.resize(read_some(offset, result));
  return result;
}

void FileBytes::set_page_begin(std::uint64_t offset) {
  if (file_) blocks_ = std::make_unique<FileBlocks>(file_->descriptor(), size_, offset);
}

std::span<const std::byte> FileBytes::lend(std::uint64_t offset, std::size_t size) {
  if (file_) {
    if (!blocks_) blocks_ = std::make_unique<FileBlocks>(file_->descriptor(), size_);
    return blocks_->lend(offset, size);
  }
  if (offset > size_ || size > size_ - offset) return {};
  return bytes_.subspan(static_cast<std::size_t>(offset), size);
}

} // namespace clr
