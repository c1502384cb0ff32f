#include "core/memory/output_file.h"

#include "core/memory/error.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

namespace clr {

OutputFile::OutputFile(std::string path) : path_(std::move(path)), partial_(path_ + ".partial") {
  errno = EIO; // streams do not always set it
  stream_.open(partial_, std::ios::binary | std::ios::trunc);
  check();
}

OutputFile::~OutputFile() {
  if (!partial_.empty()) std::remove(partial_.c_str());
}

void OutputFile::write(std::span<const std::byte> bytes) {
  stream_.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  check();
}

void OutputFile::write(std::string_view text) {
  write(std::as_bytes(std::span(text)));
}

void OutputFile::commit() {
  stream_.close();
  check();
  if (std::rename(partial_.c_str(), path_.c_str()) != 0) fail();
  partial_.clear();
}

void OutputFile::check() {
  if (!stream_) fail();
}

void OutputFile::fail() {
  throw Error(ErrorKind::io, fmt::format("cannot write {}: {}", path_, std::strerror(errno)));
}

} // namespace clr
