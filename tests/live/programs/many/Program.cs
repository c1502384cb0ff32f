// A process with at least 10,000 jitted methods of every kind that the runtime makes, which then waits.
//   many [--truth FILE] [--methods N] [--no-events]
// It prints READY PID COUNT when its code no longer changes, and ends at the first line (or end) of its standard input.
using System;
using System.Diagnostics;
using System.Runtime;
using System.Threading;

namespace Many;

public static class Program
{
    public static int Main(string[] args)
    {
        string truth = Option(args, "--truth");
        int wanted = int.Parse(Option(args, "--methods") ?? "12000");
        bool events = Array.IndexOf(args, "--no-events") < 0 && truth != null;

        using RuntimeEvents listener = events ? new RuntimeEvents() : null;
        Workload.Everything();
        Tiers.Run();
        var collected = new Collected();
        collected.MakeKept();
        collected.MakeGone();
        Bulk.Prepare(wanted);
        Threads.Start();
        Settle();
        if (truth != null) Truth.Write(truth, collected, listener);

        Console.WriteLine($"READY {Environment.ProcessId} {JitInfo.GetCompiledMethodCount()}");
        Console.Out.Flush();
        Console.In.ReadLine();
        GC.KeepAlive(collected);
        return 0;
    }

    private static string Option(string[] args, string name)
    {
        int at = Array.IndexOf(args, name);
        return at >= 0 && at + 1 < args.Length ? args[at + 1] : null;
    }

    // Tiering compiles in the background: wait until a second passes without a new body (a minute at most).
    private static void Settle()
    {
        var clock = Stopwatch.StartNew();
        long last = -1, quiet = 0;
        while (quiet < 10 && clock.Elapsed.TotalSeconds < 60)
        {
            Thread.Sleep(100);
            long now = JitInfo.GetCompiledMethodCount();
            quiet = now == last ? quiet + 1 : 0;
            last = now;
        }
    }
}
