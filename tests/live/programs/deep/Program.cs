// Many deep stacks: deep THREADS FRAMES. Each thread stands still under FRAMES managed frames of its own, of methods of several
// kinds that call one another; READY PID once all do. Ends at the first line (or end) of its standard input.
using System;
using System.Collections.Generic;
using System.Runtime.CompilerServices;
using System.Threading;

namespace Deep;

internal interface INode<T>
{
    int Down(int left, T value);
}

public static class Program
{
    private static readonly CountdownEvent arrived = new(1);

    public static int Main(string[] args)
    {
        if (args.Length != 2 || !int.TryParse(args[0], out int threads) || !int.TryParse(args[1], out int frames))
        {
            Console.Error.WriteLine("usage: deep THREADS FRAMES");
            return 2;
        }
        // A frame of the deepest method takes a few hundred bytes in a Debug build.
        int stack = Math.Max(1 << 20, frames * 1024);
        for (int i = 0; i < threads; i++)
        {
            arrived.AddCount();
            // Six ways down, which the threads take in turns.
            int turn = i;
            new Thread(() => Step(frames, turn), stack) { IsBackground = true, Name = "deep " + i }.Start();
        }
        arrived.Signal();
        arrived.Wait();
        Console.WriteLine($"READY {Environment.ProcessId}");
        Console.Out.Flush();
        Console.In.ReadLine();
        return 0;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    internal static int Step(int left, int turn)
    {
        if (--left <= 0)
        {
            arrived.Signal();
            Thread.Sleep(Timeout.Infinite);
            return 0;
        }
        return 1 + (turn % 6) switch
        {
            0 => Plain(left, turn / 6 + left),
            1 => new Node<string>().Down(left, "of a reference type"),
            2 => new Node<int>().Down(left, turn / 6),
            3 => ((INode<double>)new Node<double>()).Down(left, 0.5),
            4 => Spread(left, turn, left * 2L, new Guid()),
            _ => Generic<KeyValuePair<string, int[]>>(left, turn, default),
        };
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int Plain(int left, int turn) => 1 + Step(left - 1, turn + 1);

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int Spread(int left, int turn, long wide, Guid id)
    {
        Func<int, int> lambda = l => l + (int)(wide % 3) + id.GetHashCode() - id.GetHashCode() - (int)(wide % 3);
        return 1 + Step(lambda(left) - 1, turn + 1);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int Generic<T>(int left, int turn, T value) => 1 + Step(left - 1, turn + 1 + (value == null ? 1 : 0));
}

internal sealed class Node<T> : INode<T>
{
    [MethodImpl(MethodImplOptions.NoInlining)]
    public int Down(int left, T value) => 1 + Program.Step(left - 1, left + (value == null ? 1 : 0));
}
