// One process with all that the programs `waits` and `locks` make: async methods that wait, threads that wait for locks, and deadlocks of
// each kind. It is what the recorded core waiting-x64 was taken of; nothing judges it live, where the two programs stand for themselves.
using System;
using System.Threading;

namespace Waiting;

public static class Everything
{
    // Not the deadlock of the pool: the other methods need the pool to come to where they wait.
    private static readonly string[] s_deadlocks = ["two-locks", "rw-two", "rw-upgrade", "lock-async", "sync-over-async", "class-init", "join"];

    public static int Main()
    {
        WaitsProgram.Simple.Start();
        WaitsProgram.Sources.Start();
        WaitsProgram.Combined.Start();
        WaitsProgram.Shapes.Start();
        WaitsProgram.Threads.Start();
        var said = new Locks.Said();
        Locks.Waits.Begin(said);
        foreach (string name in s_deadlocks) Locks.Deadlocks.All[name](said);
        said.Settle();
        Console.WriteLine($"READY {Environment.ProcessId}");
        Console.Out.Flush();
        Console.In.ReadLine();
        GC.KeepAlive(WaitsProgram.Program.Kept);
        Environment.Exit(0);
        return 0;
    }
}
