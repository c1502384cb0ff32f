// A process whose managed heap holds objects of every kind, and which then waits.
//   heap [--nodes N] [--churn THREADS] [--garbage N]
// It prints one line of JSON with what it knows of its own heap, then READY PID, and ends at the first line (or end) of its standard
// input. With --churn, threads allocate all the time and collections happen.
using System;
using System.Collections.Generic;
using System.Runtime.InteropServices;
using System.Threading;

namespace HeapProgram;

public static class Program
{
    public static int Main(string[] args)
    {
        var kept = new Kept(Number(args, "--nodes", 10_000));
        GC.Collect();
        GC.Collect();
        Garbage.Make(Number(args, "--garbage", 5_000));
        int churning = Number(args, "--churn", 0);
        for (int i = 0; i < churning; i++)
            new Thread(Churn) { IsBackground = true, Name = "churn" + i }.Start();
        Console.WriteLine(kept.Describe());
        Console.WriteLine($"READY {Environment.ProcessId}");
        Console.Out.Flush();
        Console.In.ReadLine();
        GC.KeepAlive(kept);
        return 0;
    }

    private static void Churn()
    {
        var random = new Random(1);
        object[] ring = new object[4096];
        while (true)
        {
            int size = random.Next(100) == 0 ? 100_000 : random.Next(400);
            ring[random.Next(ring.Length)] = random.Next(3) == 0 ? new byte[size] : new Node { Number = size, Next = ring[random.Next(ring.Length)] as Node };
        }
    }

    private static int Number(string[] args, string name, int otherwise)
    {
        int at = Array.IndexOf(args, name);
        return at >= 0 && at + 1 < args.Length ? int.Parse(args[at + 1]) : otherwise;
    }
}

public static class Garbage
{
    public static void Make(int count)
    {
        for (int i = 0; i < count; i++) GC.KeepAlive(new Dead { Text = "dead " + i, Data = new long[i % 7] });
    }
}

public sealed class Dead { public string Text; public long[] Data; }
