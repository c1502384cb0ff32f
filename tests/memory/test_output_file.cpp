// Files are written whole or not at all, beside what others may have laid in their way.
#include "core/memory/output_file.h"
#include "tests/memory/temporary_directory.h"
#include "tests/support/faults.h"
#include "tests/support/skip.h"

#include <array>
#include <catch2/catch.hpp>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <fcntl.h>
#include <fstream>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <set>
#include <sstream>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace clr;
using namespace clr::test;

namespace {

std::string content_of(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

mode_t mode_of(const std::string& path) {
  struct ::stat found {};
  REQUIRE(::lstat(path.c_str(), &found) == 0);
  return found.st_mode;
}

std::set<std::string> names_in(const TemporaryDirectory& folder) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
    names.insert(entry.path().filename());
  return names;
}

void write_file(const std::string& path, std::string_view text, Readers readers = Readers::everyone) {
  OutputFile file(path, readers);
  file.write(text);
  file.commit();
}

std::string refusal(const std::string& path) {
  const auto fault = fault_of([&] { write_file(path, "new"); });
  if (!fault) return "written";
  CHECK(fault->kind() == ErrorKind::io);
  return fault->what();
}

// Sets the umask, and puts the old one back.
class Umask {
public:
  explicit Umask(mode_t mask) : old_(::umask(mask)) {}
  ~Umask() { ::umask(old_); }

private:
  mode_t old_;
};

// This process makes no links from now on, as in a sandbox. False where the system has no such filters.
bool refuse_links() {
  std::array<struct ::sock_filter, 4> program{
      {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct ::seccomp_data, nr)),
       BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_linkat, 0, 1),
       BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)}};
  const struct ::sock_fprog filter { program.size(), program.data() };
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

} // namespace

TEST_CASE("a file comes into being whole, and replaces a file", "[output_file]") {
  const TemporaryDirectory folder;
  const std::string path = folder.path("map");
  const bool named = GENERATE(false, true);
  std::ofstream(path) << "old";
  {
    OutputFile file(path, Readers::everyone, named);
    file.write("new");
    file.write(std::string(200'000, 'x'));
    CHECK(content_of(path) == "old");
    file.commit();
  }
  CHECK(content_of(path) == "new" + std::string(200'000, 'x'));
  CHECK(names_in(folder) == std::set<std::string>{"map"});
}

TEST_CASE("a file that is given up leaves the old one, and nothing else", "[output_file]") {
  const TemporaryDirectory folder;
  const std::string path = folder.path("map");
  std::ofstream(path) << "old";
  {
    OutputFile file(path, Readers::everyone, GENERATE(false, true));
    file.write("new");
  }
  CHECK(content_of(path) == "old");
  CHECK(names_in(folder) == std::set<std::string>{"map"});
}

TEST_CASE("a process that is killed leaves nothing of a new file behind", "[output_file]") {
  const TemporaryDirectory folder;
  const FileDescriptor possible(::open(folder.path().c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC, 0600));
  if (!possible.is_open())
    return skip("a killed process leaves nothing", "the file system has no files without a name");
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    OutputFile file(folder.path("core"), Readers::owner);
    file.write(std::string(200'000, 'x'));
    ::raise(SIGKILL);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(WTERMSIG(status) == SIGKILL);
  CHECK(names_in(folder).empty());
}

TEST_CASE("where a file cannot be given a name later, it has one from the beginning", "[output_file]") {
  const TemporaryDirectory folder;
  const std::string path = folder.path("core");
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    if (!refuse_links()) ::_exit(2);
    const auto fault = fault_of([&] { write_file(path, "new", Readers::owner); });
    if (fault) std::fputs(fault->what(), stderr);
    ::_exit(fault ? 1 : 0);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 2)
    return skip("files without a late name", "this system has no seccomp filters");
  CHECK(WEXITSTATUS(status) == 0);
  CHECK(content_of(path) == "new");
  CHECK(names_in(folder) == std::set<std::string>{"core"});
}

TEST_CASE("nobody foresees the name of the new file, nor reads it", "[output_file]") {
  const TemporaryDirectory folder;
  const std::string path = folder.path("core"), trap = folder.path("victim");
  std::ofstream(trap) << "precious";
  REQUIRE(::symlink(trap.c_str(), (path + ".partial").c_str()) == 0);
  const OutputFile one(path, Readers::owner, true), two(path, Readers::owner, true);
  std::set<std::string> made = names_in(folder);
  made.erase("victim");
  made.erase("core.partial");
  REQUIRE(made.size() == 2);
  for (const std::string& name : made) CHECK(mode_of(folder.path(name)) == (S_IFREG | 0600));
  CHECK(content_of(trap) == "precious");
}

TEST_CASE("cores are for their owner, maps for everyone, within the umask", "[output_file]") {
  const TemporaryDirectory folder;
  const auto made = [&](const char* name, Readers readers, mode_t mask) {
    const Umask umask(mask);
    write_file(folder.path(name), "x", readers);
    return mode_of(folder.path(name)) & 0777;
  };
  CHECK(made("core", Readers::owner, 022) == 0600);
  CHECK(made("map", Readers::everyone, 022) == 0644);
  CHECK(made("private-map", Readers::everyone, 077) == 0600);
  // Who took a map away from others does not give it back by writing it anew.
  REQUIRE(::chmod(folder.path("map").c_str(), 0600) == 0);
  CHECK(made("map", Readers::everyone, 022) == 0600);
  REQUIRE(::chmod(folder.path("core").c_str(), 0644) == 0);
  CHECK(made("core", Readers::owner, 022) == 0600);
}

TEST_CASE("a link is refused and stays, with what it leads to", "[output_file]") {
  const TemporaryDirectory folder;
  const std::string target = folder.path("target"), link = folder.path("link");
  std::ofstream(target) << "precious";
  REQUIRE(::symlink(target.c_str(), link.c_str()) == 0);
  CHECK(refusal(link) == "cannot write " + link + ": it is a symbolic link; give the file itself");
  CHECK(S_ISLNK(mode_of(link)));
  CHECK(content_of(target) == "precious");
  REQUIRE(::symlink(folder.path("nothing").c_str(), folder.path("dangling").c_str()) == 0);
  CHECK_THAT(refusal(folder.path("dangling")), Catch::Contains("symbolic link"));
  CHECK(names_in(folder) == std::set<std::string>{"target", "link", "dangling"});
}

TEST_CASE("pipes, sockets, devices and folders are refused without being opened", "[output_file]") {
  const TemporaryDirectory folder;
  const std::string pipe = folder.path("pipe"), name = folder.path("socket");
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  CHECK(refusal(pipe) == "cannot write " + pipe + ": it is a pipe");
  const FileDescriptor listening(::socket(AF_UNIX, SOCK_STREAM, 0));
  struct ::sockaddr_un address {
    .sun_family = AF_UNIX, .sun_path = {}
  };
  REQUIRE(name.size() < sizeof address.sun_path);
  name.copy(address.sun_path, name.size());
  REQUIRE(::bind(listening.number(), reinterpret_cast<const ::sockaddr*>(&address), sizeof address) == 0);
  CHECK(refusal(name) == "cannot write " + name + ": it is a socket");
  CHECK(refusal(folder.path()) == "cannot write " + folder.path() + ": it is a folder");
  CHECK(refusal("/dev/full") == "cannot write /dev/full: it is a device");
  CHECK(S_ISCHR(mode_of("/dev/full")));
  CHECK(S_ISFIFO(mode_of(pipe)));
  CHECK(refusal(folder.path("no/such/folder")).ends_with("No such file or directory"));
  CHECK(refusal("") == "cannot write : that is no name of a file");
  CHECK(names_in(folder) == std::set<std::string>{"pipe", "socket"});
}

TEST_CASE("what takes the place in the meantime is not replaced either", "[output_file]") {
  const TemporaryDirectory folder;
  const std::string path = folder.path("map");
  OutputFile file(path, Readers::everyone);
  file.write("new");
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  const auto fault = fault_of([&] { file.commit(); });
  REQUIRE(fault);
  CHECK(std::string(fault->what()) == "cannot write " + path + ": it has become a pipe");
  CHECK(S_ISFIFO(mode_of(path)));
}

TEST_CASE("the null device is written to, and stays what it is", "[output_file]") {
  CHECK(refusal("/dev/null") == "written");
  CHECK(S_ISCHR(mode_of("/dev/null")));
}

TEST_CASE("a file for which there is no room leaves the old one, and the process alive", "[output_file]") {
  const TemporaryDirectory folder;
  const std::string path = folder.path("core");
  std::ofstream(path) << "old";
  struct ::rlimit before {};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
  const struct ::rlimit small { 100'000, before.rlim_max };
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &small) == 0);
  const auto fault = fault_of([&] { write_file(path, std::string(300'000, 'x'), Readers::owner); });
  const auto late = fault_of([&] {
    OutputFile file(path, Readers::owner);
    for (int i = 0; i < 11; ++i) file.write(std::string(10'000, 'x'));
    file.commit();
  });
  const auto fits = fault_of([&] { write_file(folder.path("small"), std::string(100'000, 'x')); });
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &before) == 0);
  REQUIRE(fault);
  CHECK(std::string(fault->what()) == "cannot write " + path + ": File too large");
  REQUIRE(late);
  CHECK(std::string(late->what()) == "cannot write " + path + ": File too large");
  CHECK_FALSE(fits);
  CHECK(content_of(path) == "old");
  CHECK(names_in(folder) == std::set<std::string>{"core", "small"});
}

TEST_CASE("a write that signals interrupt goes on, and one that the system refuses ends", "[output_file]") {
  std::string got;
  int calls = 0;
  const auto interrupted = [&](int, const void* bytes, std::size_t size) -> ssize_t {
    if (++calls % 2 == 1) {
      errno = EINTR;
      return -1;
    }
    const std::size_t part = std::min<std::size_t>(size, 3);
    got.append(static_cast<const char*>(bytes), part);
    return static_cast<ssize_t>(part);
  };
  CHECK(write_all(0, std::as_bytes(std::span(std::string_view("0123456789"))), interrupted));
  CHECK(got == "0123456789");
  const auto full = [](int, const void*, std::size_t) -> ssize_t {
    errno = ENOSPC;
    return -1;
  };
  CHECK_FALSE(write_all(0, std::as_bytes(std::span(std::string_view("x"))), full));
  CHECK(errno == ENOSPC);
}
