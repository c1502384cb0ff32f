using System.Diagnostics;

namespace LldbClr;

/// <summary>`lldb-clr install`: the tarball's installer, which the package carries with what it installs.</summary>
static class Installation
{
    public static int Run(Words words, params string[] more)
    {
        words.RequireEnd();
        var start = new ProcessStartInfo("/bin/sh") { UseShellExecute = false };
        start.ArgumentList.Add(Path.Combine(Native.Folder, "install.sh"));
        foreach (string word in more) start.ArgumentList.Add(word);
        if (words.System) start.ArgumentList.Add("--system");
        using Process installer = Process.Start(start)!;
        installer.WaitForExit();
        return installer.ExitCode;
    }
}
