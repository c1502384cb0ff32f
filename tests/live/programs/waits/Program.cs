// A process whose async methods wait, each in a known way.
//   waits [--tasks N]
//   waits --pool
// Lines that await end with //@ CHAIN:INDEX METHOD [= KIND], one for each chain that comes through them: INDEX counts from the method that
// waits for something else than a method, METHOD is the method as it is written, KIND says what the first one waits for. The program
// prints one line of JSON with the chains that it started, then READY PID, and ends at the first line (or end) of its standard input.
// With --tasks, N more tasks wait at one place. With --pool it blocks all threads of its pool, and queues work behind them.
using System;
using System.Collections.Generic;
using System.Linq;
using System.Text.Json;
using System.Threading;
using System.Threading.Tasks;

namespace WaitsProgram;

public static class Program
{
    public static readonly List<object> Kept = [];
    private static readonly Dictionary<string, int> s_started = [];

    public static int Main(string[] args)
    {
        if (Array.IndexOf(args, "--pool") >= 0) return Pool.Run();
        Simple.Start();
        Sources.Start();
        Combined.Start();
        Shapes.Start();
        Builders.Start();
        Threads.Start();
        var many = new TaskCompletionSource();
        int count = Number(args, "--tasks", 0);
        for (int i = 0; i < count; i++) Keep("many", Many(many.Task));
        Kept.Add(many);
        Thread.Sleep(500);
        var unexpected = Kept.OfType<Task>().Where(t => t.IsCompleted).ToList();
        if (unexpected.Count != 0) { Console.Error.WriteLine($"{unexpected.Count} tasks have ended: {unexpected[0].Exception}"); return 1; }
        Console.WriteLine(JsonSerializer.Serialize(new { chains = s_started, faulted = Faulted.Messages, timers = Sources.Timers, blocked = Threads.Names }));
        Console.WriteLine($"READY {Environment.ProcessId}");
        Console.Out.Flush();
        Console.In.ReadLine();
        GC.KeepAlive(Kept);
        return 0;
    }

    /// <summary>Keeps what the chain ends in, and counts the chain.</summary>
    public static void Keep(string chain, object what)
    {
        Started(chain);
        lock (s_started) Kept.Add(what);
    }

    public static void Started(string chain)
    {
        lock (s_started) s_started[chain] = s_started.GetValueOrDefault(chain) + 1;
    }

    private static async Task Many(Task gate)
    {
        await gate; //@ many:0 WaitsProgram.Program.Many = completion_source
    }

    private static int Number(string[] args, string name, int otherwise)
    {
        int at = Array.IndexOf(args, name);
        return at >= 0 && at + 1 < args.Length ? int.Parse(args[at + 1]) : otherwise;
    }
}
