#include "core/report/packed_core.h"

#include "core/memory/error.h"
#include "core/memory/file_bytes.h"
#include "core/memory/output_file.h"
#include "core/report/stream_decoder.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <span>
#include <sys/statvfs.h>
#include <vector>

namespace clr {
namespace {

constexpr std::size_t told_by = 2;           // bytes of a file that is cut by which its format is known
constexpr std::size_t text_begin = 4096;     // bytes of a file by which it is no text
constexpr std::size_t piece_bytes = 1 << 20; // bytes that are read or made at once
constexpr std::uint64_t max_unpacked = std::uint64_t{1} << 40; // bytes of a core
constexpr std::uint64_t room_is_checked = std::uint64_t{1}
                                          << 26; // bytes that are written between two looks at the room

struct Magic {
  Packing packing;
  std::string_view bytes;
};
constexpr std::array magics = {Magic{Packing::gzip, "\x1f\x8b"}, Magic{Packing::zstd, "\x28\xb5\x2f\xfd"},
                               Magic{Packing::lz4, "\x04\x22\x4d\x18"},
                               Magic{Packing::xz, "\xfd"
                                                  "7zXZ"},
                               Magic{Packing::bzip2, "BZh"}};

Packing packing_of(const FileBytes& file) {
  std::array<std::byte, 6> begin{};
  const std::size_t size = file.read_some(0, begin);
  const std::string_view found(reinterpret_cast<const char*>(begin.data()), size);
  for (const Magic& magic : magics)
    if (found.starts_with(magic.bytes) || (size >= told_by && magic.bytes.starts_with(found)))
      return magic.packing;
  return Packing::none;
}

std::unique_ptr<StreamDecoder> decoder_of(Packing packing) {
  switch (packing) {
  case Packing::gzip:
    return gzip_decoder();
  case Packing::zstd:
    return zstd_decoder();
  case Packing::lz4:
    return lz4_decoder();
  case Packing::xz:
    throw Error(ErrorKind::unsupported_contract, "xz is not supported: unpack the core by unxz first");
  case Packing::bzip2:
    throw Error(ErrorKind::unsupported_contract, "bzip2 is not supported: unpack the core by bunzip2 first");
  case Packing::none:
    break;
  }
  throw Error(ErrorKind::invalid_argument, "the file is not compressed");
}

void require_room(const std::string& path, std::uint64_t spare) {
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  struct ::statvfs system {};
  if (::statvfs(folder.c_str(), &system) != 0) return; // whoever opens the file says why
  const std::uint64_t free = std::uint64_t{system.f_bavail} * system.f_frsize;
  if (free < spare)
    throw Error(ErrorKind::io,
                fmt::format("cannot write {}: only {} MB are free there, and {} MB must stay so", path,
                            free >> 20, spare >> 20));
}

// What is read of the file, in pieces.
class PackedInput {
public:
  explicit PackedInput(const FileBytes& file) : file_(file), bytes_(piece_bytes) {}

  // Bytes that were not used yet; empty at the end of the file.
  std::span<const std::byte> rest() {
    if (begin_ == end_) {
      begin_ = 0;
      end_ = file_.read_some(offset_, bytes_);
      offset_ += end_;
    }
    return std::span(bytes_).subspan(begin_, end_ - begin_);
  }
  void use(std::size_t size) { begin_ += size; }
  std::uint64_t used() const { return offset_ - (end_ - begin_); }

private:
  const FileBytes& file_;
  std::vector<std::byte> bytes_;
  std::size_t begin_ = 0, end_ = 0;
  std::uint64_t offset_ = 0;
};

} // namespace

std::string_view to_string(Packing packing) {
  switch (packing) {
  case Packing::none:
    return "none";
  case Packing::gzip:
    return "gzip";
  case Packing::zstd:
    return "zstd";
  case Packing::lz4:
    return "lz4";
  case Packing::xz:
    return "xz";
  case Packing::bzip2:
    return "bzip2";
  }
  return "unknown";
}

Packing packing_of(const std::string& path) {
  return packing_of(FileBytes(HostFile::open(path)));
}

void require_text(const std::string& path) {
  const FileBytes file(HostFile::open(path));
  if (const Packing packing = packing_of(file); packing != Packing::none)
    throw Error(ErrorKind::invalid_argument,
                fmt::format("{} is compressed ({}): unpack it first", path, to_string(packing)));
  std::vector<std::byte> begin(text_begin);
  begin.resize(file.read_some(0, begin));
  if (std::ranges::find(begin, std::byte{0}) != begin.end())
    throw Error(ErrorKind::invalid_argument, fmt::format("{} is no text: it holds zero bytes", path));
}

UnpackedCore unpack_core(const std::string& from, const std::string& to, const UnpackOptions& options) {
  const FileBytes file(HostFile::open(from));
  const auto decoder = decoder_of(packing_of(file));
  require_room(to, options.spare);
  OutputFile written(to, Readers::owner);
  PackedInput input(file);
  std::vector<std::byte> made(piece_bytes);
  UnpackedCore result;
  std::uint64_t asked_at = 0, room_seen_at = 0;
  bool between_frames = true, full = false; // full: the decoder may hold more than there was room for
  while (result.cut.empty()) {
    const auto in = input.rest();
    if (in.empty() && !full) break;
    // A megabyte that is packed may hold terabytes.
    if (options.stop && input.used() + result.size >= asked_at) {
      if (options.stop(input.used(), file.size()))
        throw Error(ErrorKind::interrupted, "the core is not unpacked: it was interrupted");
      asked_at = input.used() + result.size + piece_bytes;
    }
    try {
      const StreamDecoder::Step step = decoder->decode(in, made);
      if (step.used == 0 && step.made == 0) {
        if (in.empty()) break;
        throw Error(ErrorKind::corrupt, "the decoder takes no more of it");
      }
      input.use(step.used);
      written.write(std::span(made).first(step.made));
      result.size += step.made;
      between_frames = step.between_frames;
      full = step.made == made.size();
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::corrupt) throw;
      result.cut = fmt::format("{} (at byte {} of {})", error.what(), input.used(), file.size());
    }
    if (result.size > max_unpacked)
      throw Error(ErrorKind::corrupt, fmt::format("{} holds more than {} GB", from, max_unpacked >> 30));
    if (result.size - room_seen_at >= room_is_checked) {
      require_room(to, options.spare);
      room_seen_at = result.size;
    }
  }
  if (result.cut.empty() && !between_frames) result.cut = "the file ends within its compressed data";
  if (result.size == 0)
    throw Error(ErrorKind::corrupt,
                fmt::format("{} holds nothing of a core: {}", from,
                            result.cut.empty() ? "its compressed data is empty" : result.cut));
  written.commit();
  return result;
}

} // namespace clr
