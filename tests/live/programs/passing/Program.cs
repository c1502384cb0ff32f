// Threads that stand in the runtime while it prepares a call: what they pass is kept alive by the runtime's Frames alone. Each thread says which texts it passes.
using System;
using System.Collections.Generic;
using System.IO;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Runtime.Loader;
using System.Threading;

namespace Passing;

public static class Program
{
    static readonly List<string> Said = new();
    static CountdownEvent waiting;

    // Texts that only the arguments hold.
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static string Text(string name) => string.Concat(Thread.CurrentThread.Name, ".", name);

    public static void Main(string[] args)
    {
        AssemblyLoadContext.Default.Resolving += (_, name) =>
        {
            if (name.Name != "absent") return null;
            waiting.Signal();
            Thread.Sleep(Timeout.Infinite);
            return null;
        };
        Calls[] calls =
        {
            new("objects", "a b c d e f g h", Callers.Objects), new("pair", "a b c d", Callers.PairOf), new("triple", "a b c d", Callers.TripleOf),
            new("mixed", "a b c", Callers.MixedOf), new("reals", "a b c", Callers.Reals), new("full", "a b c d e f g h", Callers.Full), new("byrefs", "a b", Callers.ByRefs),
            new("span", "a b", Callers.SpanOf), new("instance", "this a b c d e f g", Callers.Instance), new("value", "field a", Callers.Value),
            new("buffer", "this a b", Callers.Buffer), new("generic", "a b", Callers.Generic), new("nested", "a b c d e", Callers.Nested),
            new("numbers", "a b", Callers.Numbers), new("interface", "a b", Callers.Interface), new("lazy", "a", Callers.Lazy), new("shared", "a b c", Callers.Shared),
            new("tuple", "a b c d e f", Callers.TupleOf), new("packed", "a b", Callers.PackedOf), new("nullable", "a b c", Callers.NullableOf), new("many", "a b c d e", Callers.Many),
            new("explicit", "a b", Callers.ExplicitOf), new("inline", "a b c d", Callers.InlineOf),
        };
        waiting = new CountdownEvent(calls.Length);
        foreach (Calls call in calls)
        {
            foreach (string text in call.Texts.Split(' ')) Said.Add($"{call.Name} {call.Name}.{text}");
            Thread thread = new(() => call.Run()) { Name = call.Name, IsBackground = true };
            thread.Start();
        }
        File.WriteAllLines(args[0], Said);
        waiting.Wait();
        Console.WriteLine("READY");
        Console.Out.Flush();
        Console.In.ReadLine();
    }

    public static void BlockForever()
    {
        waiting.Signal();
        Thread.Sleep(Timeout.Infinite);
    }
}

public record Calls(string Name, string Texts, Action Run);
