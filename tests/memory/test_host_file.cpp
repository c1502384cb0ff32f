// Files of the host are looked at before they are opened.
#include "core/memory/host_file.h"
#include "core/memory/loaded_file.h"
#include "core/memory/path_map.h"
#include "tests/memory/temporary_directory.h"
#include "tests/support/faults.h"

#include <catch2/catch.hpp>
#include <fcntl.h>
#include <fstream>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

using namespace clr;
using namespace clr::test;

namespace {

std::string refusal(const std::string& path, NamedBy named_by = NamedBy::user) {
  const auto fault = fault_of([&] { HostFile::open(path, named_by); });
  if (!fault) return "opened";
  CHECK(fault->kind() == ErrorKind::io);
  return fault->what();
}

bool tells(const std::string& text, std::string_view part) {
  CAPTURE(text);
  return text.find(part) != std::string::npos;
}

} // namespace

TEST_CASE("a regular file is read whole, up to a limit", "[host_file]") {
  TemporaryDirectory folder;
  const std::string path = folder.path("text");
  std::ofstream(path) << "0123456789";
  const HostFile file = HostFile::open(path);
  CHECK(file.read(10) == "0123456789");
  CHECK(file.status().st_size == 10);
  const auto fault = fault_of([&] { file.read(9); });
  REQUIRE(fault);
  CHECK(fault->kind() == ErrorKind::io);
  CHECK(tells(fault->what(), "more than 9 bytes"));
}

TEST_CASE("a file that tells no size is read up to the limit as well", "[host_file]") {
  const HostFile file = HostFile::open("/proc/self/stat"); // its size is 0
  CHECK(file.status().st_size == 0);
  CHECK(tells(file.read(1u << 16), " ("));
  CHECK(fault_of([&] { file.read(3); }).has_value());
}

TEST_CASE("devices, pipes and folders are not opened", "[host_file]") {
  TemporaryDirectory folder;
  const std::string pipe = folder.path("pipe");
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  CHECK(tells(refusal(pipe), "not a regular file"));
  // Nobody reads the pipe: had it been opened, a writer that does not wait would find a reader.
  CHECK(::open(pipe.c_str(), O_WRONLY | O_NONBLOCK) == -1);
  CHECK(errno == ENXIO);
  CHECK(tells(refusal("/dev/zero"), "not a regular file"));
  CHECK(tells(refusal(folder.path()), "not a regular file"));
  CHECK(tells(refusal(folder.path("none")), "No such file"));
  CHECK(tells(refusal(std::string("/etc/passwd\0.pdb", 16)), "NUL"));
  REQUIRE(::symlink("/dev/zero", (folder.path("link")).c_str()) == 0);
  CHECK(tells(refusal(folder.path("link")), "not a regular file"));
  CHECK(fault_of([&] { LoadedFile::open(pipe); }).has_value());
}

TEST_CASE("what only the target names is not looked for among the system's files", "[host_file]") {
  for (const char* path : {"/proc/self/environ", "//proc/self/environ", "/x/../proc/self/environ",
                           "/dev/zero", "/./dev//zero", "/sys/kernel/uevent_seqnum", "/../proc/self/mem"}) {
    CAPTURE(path);
    CHECK(tells(refusal(path, NamedBy::target), "file of the system"));
    CHECK_FALSE(refusal_of_target_path(path).empty());
  }
  // A link leads there: the name does not tell, the file system does.
  TemporaryDirectory folder;
  const std::string link = folder.path() + "/app.pdb";
  REQUIRE(::symlink("/proc/self/environ", link.c_str()) == 0);
  CHECK(tells(refusal(link, NamedBy::target), "file of the system"));
  // Files that came with a core lie in a folder that the user named: such a link is no word of the user's.
  CHECK(tells(refusal(link, NamedBy::user), "a link to a file of the system"));
  const std::string root = "/proc/self/root";
  CHECK(tells(refusal(root + link, NamedBy::user), "a link to a file of the system"));
  CHECK(tells(refusal(root + "/proc/self/stat", NamedBy::user), "opened"));
  CHECK(tells(refusal(root + "/etc/passwd", NamedBy::user), "opened"));
  CHECK(refusal_of_target_path("/device/app.dll").empty());
  CHECK(refusal_of_target_path("/processes/app.dll").empty());
}

TEST_CASE("a path is worked out by its names", "[host_file]") {
  CHECK(normal_path("/a/b") == "/a/b");
  CHECK(normal_path("//a///b") == "/a/b");
  CHECK(normal_path("/a/./b/../c") == "/a/c");
  CHECK(normal_path("/../../a") == "/a");
}

TEST_CASE("a path of more bytes or names than a file has is refused before it is looked at", "[host_file]") {
  const auto of_names = [](std::size_t count) {
    std::string path;
    for (std::size_t i = 0; i < count; ++i) path += "//a";
    return path;
  };
  CHECK(is_possible_path(""));
  CHECK(is_possible_path("Program.cs"));
  CHECK(is_possible_path(of_names(max_path_names)));
  CHECK(is_possible_path("/" + std::string(max_path_bytes - 1, 'a')));
  CHECK(is_possible_path(std::string(max_path_bytes, '/')));
  PathMap paths;
  paths.sysroot = "/";
  paths.directories = {"/gathered"};
  // The last one would take minutes, name by name.
  std::string long_one;
  for (int i = 0; i < 20'000; ++i) long_one += "/a/..";
  for (const std::string& path :
       {of_names(max_path_names + 1), "/" + std::string(max_path_bytes, 'a'), long_one + "/etc/passwd"}) {
    CAPTURE(path.size());
    CHECK_FALSE(is_possible_path(path));
    CHECK(refusal_of_target_path(path) == no_possible_path);
    CHECK(refusal_to_lend(path, NamedBy::user, 100, RemoteFolders()) == no_possible_path);
    CHECK(tells(refusal(path, NamedBy::target), no_possible_path));
    CHECK(paths.candidates(path).empty());
  }
  CHECK_FALSE(paths.candidates(of_names(max_path_names)).empty());
}

TEST_CASE("the target's path cannot lead out of a sysroot", "[host_file]") {
  PathMap paths;
  paths.sysroot = "/srv/root";
  const auto found = paths.candidates("/app/../../../etc/shadow");
  REQUIRE(found.size() == 2);
  CHECK(found[0].path == "/srv/root/etc/shadow");
  CHECK(found[0].named_by() == NamedBy::user);
  CHECK(found[1].path == "/etc/shadow");
  CHECK(found[1].named_by() == NamedBy::target);
}

TEST_CASE("no sysroot lets the target name files of the system", "[host_file]") {
  PathMap paths;
  paths.sysroot = "/";
  paths.prefixes = {{"/", "/"}, {"/dev/shm", "/dev/shm"}};
  for (const char* path : {"/proc/self/environ", "//x/../dev/zero"}) {
    const auto found = paths.candidates(path);
    REQUIRE_FALSE(found.empty());
    for (const auto& candidate : found) CHECK(candidate.named_by() == NamedBy::target);
  }
  CHECK(paths.candidates("/dev/shm/app.dll").front().named_by() == NamedBy::user);
  CHECK(paths.candidates("/app/app.dll").front().named_by() == NamedBy::user);
}

TEST_CASE("somebody else who opens files by name is given regular files and free names", "[host_file]") {
  const TemporaryDirectory folder;
  const std::string text = folder.path("a.cs"), pipe = folder.path("pipe.cs"), gone = folder.path("gone.cs");
  std::ofstream(text) << "0123456789";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  REQUIRE(::symlink("/dev/zero", folder.path("zero.cs").c_str()) == 0);
  REQUIRE(::symlink("/proc/self/environ", folder.path("environ.cs").c_str()) == 0);
  REQUIRE(::symlink(text.c_str(), folder.path("link.cs").c_str()) == 0);
  const RemoteFolders remote;
  const auto refusal_of = [&](const std::string& path, std::uint64_t limit = 100,
                              NamedBy named_by = NamedBy::target) {
    return refusal_to_lend(path, named_by, limit, remote);
  };
  CHECK(refusal_of(text).empty());
  CHECK(refusal_of(folder.path("link.cs")).empty());
  CHECK(refusal_of(gone).empty());
  CHECK(refusal_of(text + "/below").empty());
  CHECK(refusal_of(text, 9) == "it has more than 9 bytes");
  CHECK(refusal_of(pipe) == "it is a pipe");
  CHECK(refusal_of(folder.path()) == "it is a folder");
  for (const NamedBy named_by : {NamedBy::target, NamedBy::user}) {
    CHECK(tells(refusal_of("/dev/zero", 100, named_by), "file of the system"));
    CHECK(tells(refusal_of("/no/../dev/./nothing-of-this-name", 100, named_by), "file of the system"));
    CHECK(tells(refusal_of(folder.path("environ.cs"), 100, named_by), "file of the system"));
  }
  CHECK(refusal_of(folder.path("zero.cs"), 100, NamedBy::user) == "it is a device");
  CHECK(tells(refusal_of(folder.path("zero.cs")), "file of the system"));
}

TEST_CASE("a link on the way leads the target to no network either", "[host_file]") {
  const TemporaryDirectory folder;
  const std::string net = folder.path("net");
  REQUIRE(::mkdir(net.c_str(), 0700) == 0);
  REQUIRE(::mkdir((folder.path() + "/here").c_str(), 0700) == 0);
  std::ofstream(net + "/a.cs") << "0123456789";
  REQUIRE(::symlink(net.c_str(), folder.path("absolute").c_str()) == 0);
  REQUIRE(::symlink("../absolute/.", (folder.path() + "/here/relative").c_str()) == 0);
  REQUIRE(::symlink("here/../net/a.cs", folder.path("file.cs").c_str()) == 0);
  REQUIRE(::symlink("round.cs", folder.path("round.cs").c_str()) == 0);
  const auto refusal_of = [&](const std::string& name, NamedBy named_by = NamedBy::target) {
    return refusal_to_lend(folder.path() + "/" + name, named_by, 100, RemoteFolders({net}));
  };
  for (const char* name : {"net/a.cs", "absolute/a.cs", "here/relative/a.cs", "file.cs", "net/gone.cs"}) {
    CAPTURE(name);
    CHECK(tells(refusal_of(name), "on a network"));
    CHECK(refusal_of(name, NamedBy::user).empty());
  }
  CHECK(refusal_of("here/gone.cs").empty());
  CHECK(refusal_of("round.cs").empty()); // the kernel follows it no further
  // The same where files are opened: a link to the system's files, with ".." behind it.
  REQUIRE(::symlink("/proc/self", folder.path("self").c_str()) == 0);
  CHECK(tells(refusal_of_target_path(folder.path("self") + "/../self/environ"), "file of the system"));
}

TEST_CASE("all of FUSE may ask another host, but for what is known to be of this one", "[host_file]") {
  for (const char* type : {"autofs", "nfs4", "cifs", "9p", "fuse", "fuse.sshfs", "fuse.rclone", "fuse.s3fs",
                           "fuse.gvfsd-fuse", "fuse.davfs", "fuse.glusterfs", "fuse.a-new-one", "lustre"}) {
    CAPTURE(type);
    CHECK(is_remote_file_system(type));
  }
  for (const char* type :
       {"ext4", "xfs", "btrfs", "tmpfs", "overlay", "fuseblk", "fuse.fuse-overlayfs", "fusectl"}) {
    CAPTURE(type);
    CHECK_FALSE(is_remote_file_system(type));
  }
}
