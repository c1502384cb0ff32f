// The program on which LLDB's own commands are tested: debugged lines|breaks|values|objects|held|generics|steps|mix FILE.
// FILE is where the program and the one who debugs it meet: a mapped file (lines, breaks, steps, mix), or lines of text (values, objects, held, generics).
using System;
using System.IO;
using System.IO.MemoryMappedFiles;
using System.Reflection;

namespace Debugged;

public static unsafe class Program
{
    public static int Main(string[] args)
    {
        switch (args.Length == 2 ? args[0] : "")
        {
            case "lines":
                // Of a generated file, which is not always there.
                Type lines = typeof(Program).Assembly.GetType("Debugged.Lines", true);
                lines.GetMethod("Begin").Invoke(null, new object[] { (IntPtr)Map(args[1], 64 << 20) });
                return 0;
            case "breaks":
                Breaks.Begin((long*)Map(args[1], 4096));
                return 0;
            case "values":
                Values.Begin(args[1]);
                return 0;
            case "generics":
                Generics.Begin(args[1]);
                return 0;
            case "objects":
                Objects.Begin(args[1]);
                return 0;
            case "held":
                Held.Begin(args[1]);
                return 0;
            case "steps":
                Steps.Begin((IntPtr)Map(args[1], 4 << 20));
                return 0;
            case "mix":
                Mix.Begin((IntPtr)Map(args[1], 4 << 20));
                return 0;
        }
        Console.Error.WriteLine("usage: debugged lines|breaks|values|objects|held|generics|steps|mix FILE");
        return 2;
    }

    public static void Ready()
    {
        Console.WriteLine($"READY {Environment.ProcessId}");
        Console.Out.Flush();
    }

    private static void* Map(string path, long size)
    {
        MemoryMappedFile file = MemoryMappedFile.CreateFromFile(path, FileMode.OpenOrCreate, null, size);
        byte* at = null;
        file.CreateViewAccessor().SafeMemoryMappedViewHandle.AcquirePointer(ref at);
        GC.KeepAlive(file);
        return at;
    }
}
