using System.Runtime.InteropServices;

namespace LldbClr;

/// <summary>What the package brings for this CPU: libclr.so and the extension of LLDB, as the tarball has them.</summary>
static class Native
{
    public static string Folder { get; } = Find();

    static string Find()
    {
        if (!OperatingSystem.IsLinux()) throw new PlatformNotSupportedException("lldb-clr runs on Linux; cores can be brought to one");
        string cpu = RuntimeInformation.ProcessArchitecture switch
        {
            Architecture.X64 => "x64",
            Architecture.Arm64 => "arm64",
            var other => throw new PlatformNotSupportedException($"lldb-clr has no library for {other}; a core of it can be read on x64 and arm64"),
        };
        string folder = Path.Combine(AppContext.BaseDirectory, "native", $"linux-{cpu}");
        if (!Directory.Exists(folder)) throw new PlatformNotSupportedException($"this package has no library for linux-{cpu}: it was made without one");
        return folder;
    }
}
