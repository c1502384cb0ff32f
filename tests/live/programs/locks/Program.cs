// A process whose threads stand in known waits, and which says of each what it waits for.
//   locks waits             every kind of lock and wait, none of them a deadlock
//   locks many SEED         some hundred locks of objects: held, free, contended, by chance
//   locks deadlock NAME     one planted deadlock
//   locks list              the names of the deadlocks
// Each line of JSON is a row of the truth. Then it prints READY PID, and ends at the first line (or end) of its standard input.
using System;
using System.Threading;

namespace Locks;

public static class Program
{
    public static int Main(string[] args)
    {
        string mode = args.Length > 0 ? args[0] : "waits";
        if (mode == "list")
        {
            foreach (string name in Deadlocks.All.Keys) Console.WriteLine(name);
            return 0;
        }
        var said = new Said();
        if (mode == "deadlock") Deadlocks.All[args[1]](said);
        else if (mode == "many") Many.Begin(said, int.Parse(args[1]));
        else Waits.Begin(said);
        said.Settle();
        said.Print();
        Console.WriteLine($"READY {Environment.ProcessId}");
        Console.Out.Flush();
        Console.In.ReadLine();
        Environment.Exit(0);
        return 0;
    }
}
