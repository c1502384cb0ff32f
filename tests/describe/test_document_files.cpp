// Line tables name what a debugger may open.
#include "core/describe/document_files.h"
#include "tests/memory/temporary_directory.h"

#include <catch2/catch.hpp>
#include <fstream>
#include <sys/stat.h>
#include <unistd.h>

using namespace clr;
using namespace clr::test;

namespace {

// Works in a folder, and goes back.
class WorkIn {
public:
  explicit WorkIn(const std::string& folder) : old_(std::filesystem::current_path()) {
    std::filesystem::current_path(folder);
  }
  ~WorkIn() { std::filesystem::current_path(old_); }

private:
  std::filesystem::path old_;
};

} // namespace

TEST_CASE("documents: a file, and one that is not on this host, keep their names", "[documents]") {
  const TemporaryDirectory folder;
  std::ofstream(folder.path("a.cs")) << "text";
  const PathMap paths;
  DocumentFiles documents(paths);
  CHECK(documents.may_name(folder.path("a.cs")));
  CHECK(documents.may_name(folder.path("gone.cs")));
  CHECK(documents.may_name("/_/src/libraries/Console.cs"));
  CHECK(documents.may_name("D:\\a\\_work\\1\\s\\Program.cs"));
  CHECK(documents.may_name("Program.cs"));
  CHECK(documents.take_problems().empty());
}

TEST_CASE("documents: what is no regular file loses its name, and it is said once", "[documents]") {
  const TemporaryDirectory folder;
  const std::string pipe = folder.path("pipe.cs");
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  const PathMap paths;
  DocumentFiles documents(paths);
  for (const char* name :
       {"/dev/zero", "//dev/zero", "/x/../dev/zero", "/x/..//dev\\zero", "/proc/self/environ",
        "/sys/kernel/uevent_seqnum", "/dev/not-there", "~/a.cs", "a/../../b.cs", "C:\\a\\..\\b.cs", ""}) {
    CAPTURE(name);
    CHECK_FALSE(documents.may_name(name));
  }
  documents.take_problems();
  CHECK_FALSE(documents.may_name(folder.path()));
  CHECK_FALSE(documents.may_name(pipe));
  CHECK_FALSE(documents.may_name(pipe));
  CHECK(documents.take_problems() ==
        std::vector<std::string>{"source file " + folder.path() + ": lines do not name it: it is a folder",
                                 "source file " + pipe + ": lines do not name it: it is a pipe"});
  CHECK(documents.take_problems().empty());
}

TEST_CASE("documents: names that no file can have are neither kept nor told one by one", "[documents]") {
  const PathMap paths;
  DocumentFiles documents(paths);
  const std::string name(32768, 'a');
  for (std::size_t i = 0; i < 100; ++i) CHECK_FALSE(documents.may_name(name + std::to_string(i)));
  CHECK(documents.take_problems() ==
        std::vector<std::string>{"source files with longer paths than any file has: lines do not name them"});
  CHECK_FALSE(documents.may_name(name));
  CHECK(documents.take_problems().empty());
  // A name that is short itself, but not as a line table writes it.
  CHECK_FALSE(documents.may_name("/" + std::string(2000, '\x1b')));
  CHECK(documents.take_problems().size() == 1);
  CHECK(documents.may_name("/x/Program.cs"));
}

TEST_CASE("documents: the names that are asked for are few bytes together", "[documents]") {
  const PathMap paths;
  DocumentFiles documents(paths);
  const std::string name = "/nowhere/" + std::string(4000, 'a');
  const std::size_t most = DocumentFiles::max_asked_bytes / (name.size() + 6);
  std::size_t named = 0;
  for (std::size_t i = 0; i < most + 10; ++i) named += documents.may_name(name + std::to_string(100'000 + i));
  CHECK(named == most);
  CHECK(documents.take_problems() ==
        std::vector<std::string>{"more source files than the host is asked for: lines do not name the rest"});
}

TEST_CASE("documents: a name leads to no pipe as a line table writes it", "[documents]") {
  const TemporaryDirectory folder;
  for (const char* name : {"pipe.cs", "\\x1b.cs", "\\u202e"})
    REQUIRE(::mkfifo(folder.path(name).c_str(), 0600) == 0);
  const PathMap paths;
  DocumentFiles documents(paths);
  // Debuggers leave out what stands at the end of these.
  for (const char* end : {"/", "//", "/.", "/./", "/a/.."})
    CHECK_FALSE(documents.may_name(folder.path("pipe.cs") + end));
  CHECK_FALSE(documents.may_name(folder.path("\x1b.cs")));
  CHECK_FALSE(documents.may_name(folder.path("\u202e/.")));
  CHECK(documents.may_name(folder.path("\x1c.cs")));
  const WorkIn there(folder.path());
  CHECK_FALSE(documents.may_name("\x1b.cs"));
  CHECK_FALSE(documents.may_name("pipe.cs/"));
}

TEST_CASE("documents: relative names are those below the folder of the debugger", "[documents]") {
  const TemporaryDirectory folder;
  std::filesystem::create_directory(folder.path("src"));
  REQUIRE(::mkfifo(folder.path("pipe.cs").c_str(), 0600) == 0);
  REQUIRE(::mkfifo(folder.path("src/pipe.cs").c_str(), 0600) == 0);
  REQUIRE(::symlink("/dev", folder.path("d").c_str()) == 0);
  const WorkIn work(folder.path());
  const PathMap paths;
  DocumentFiles documents(paths);
  CHECK_FALSE(documents.may_name("pipe.cs"));
  CHECK_FALSE(documents.may_name("src/pipe.cs"));
  CHECK_FALSE(documents.may_name("src\\pipe.cs")); // a line table has a directory and a name
  CHECK_FALSE(documents.may_name("d/zero"));
  CHECK(documents.may_name("src/other.cs"));
}

TEST_CASE("documents: huge files are not for showing", "[documents]") {
  const TemporaryDirectory folder;
  const std::string huge = folder.path("huge.cs");
  std::ofstream(huge) << "x";
  const PathMap paths;
  REQUIRE(::truncate(huge.c_str(), static_cast<off_t>(DocumentFiles::max_size)) == 0);
  CHECK(DocumentFiles(paths).may_name(huge));
  REQUIRE(::truncate(huge.c_str(), static_cast<off_t>(DocumentFiles::max_size) + 1) == 0);
  CHECK_FALSE(DocumentFiles(paths).may_name(huge));
}

TEST_CASE("documents: the word of the user does not open devices", "[documents]") {
  PathMap paths;
  paths.sysroot = "/";
  DocumentFiles documents(paths);
  CHECK_FALSE(documents.may_name("/dev/zero"));
  CHECK_FALSE(documents.may_name("/proc/self/environ"));
}
