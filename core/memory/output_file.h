// A file that is written completely or not at all.
#pragma once

#include "core/memory/file_descriptor.h"

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace clr {

// Who may read a new file, within the limits of the umask: a core holds the memory of a process, and with it
// its secrets; maps and tables hold names.
enum class Readers : std::uint8_t { owner, everyone };

// Written in the folder of its place, and put there by commit(). Until then the old file stays, and programs
// that have it mapped keep its content. The new one has no name until commit(), so that a process that is
// killed leaves nothing behind; where the file system, a sandbox or a missing /proc does not allow that
// (Linux, open(2): O_TMPFILE), it has a hidden one that nobody can foresee. Every function throws Error{io}
// with the reason.
//
// The place must be free or a regular file. A link is refused, not followed: somebody else may have laid it,
// and it would be a surprise to lose it. Folders, pipes, sockets and devices are refused without being
// opened, but for /dev/null, which is written to.
class OutputFile {
public:
  // A file that replaces another is readable by no more people than that one was. `named`: it has a hidden
  // name from the beginning, as where files without one are not possible.
  OutputFile(std::string path, Readers readers, bool named = false);
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  // Removes the new file unless commit() was called.
  ~OutputFile();

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text);
  // Returns when the disk has the content.
  void commit();

private:
  bool make_unnamed(mode_t mode);
  void make_partial(mode_t mode);
  template<typename Make>
  bool with_new_name(const Make& make);
  bool name_unnamed(const FileDescriptor& file);
  void flush();
  void put(std::span<const std::byte> bytes);
  [[noreturn]] void fail() const;
  [[noreturn]] void refuse(std::string_view why) const;

  std::string path_, partial_; // partial_ empty: there is nothing to rename or to remove
  bool unnamed_ = false;       // the new file is there and has no name yet
  FileDescriptor file_;
  std::string buffer_;
  std::uint64_t room_; // bytes that a file of this process may still grow by
};

} // namespace clr
