// Async methods that the runtime suspends: a chain that waits, and one that a thread runs. The thread's name is that of the method that it stands in.
using System;
using System.Runtime.CompilerServices;
using System.Threading;
using System.Threading.Tasks;

namespace Suspended;

public class Order
{
    public string Name;
    public int Number;
}

public static class Program
{
    static readonly TaskCompletionSource<int> never = new(), later = new(TaskCreationOptions.RunContinuationsAsynchronously);
    static readonly ManualResetEventSlim standing = new();
    static Task<int> waiting;

    [MethodImpl(MethodImplOptions.NoInlining)]
    static async Task<int> Leaf(Order order, Task<int> source)
    {
        int number = await source; //@ suspended:0 Suspended.Program.Leaf
        GC.KeepAlive(order);
        return number + order.Number;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static async Task<T> Pass<T>(Order order, T value, Task<int> source)
    {
        await Leaf(order, source); //@ suspended:1 Suspended.Program.Pass<System.__Canon>
        GC.KeepAlive(order);
        return value;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static async Task<int> Waits()
    {
        string text = await Pass(new Order { Name = "tea", Number = 3 }, "text", never.Task); //@ suspended:2 Suspended.Program.Waits
        return text.Length;
    }

    // It goes on with a continuation below it, on a thread of the pool.
    [MethodImpl(MethodImplOptions.NoInlining)]
    static async Task<int> Stands(Order order)
    {
        int number = await Leaf(order, later.Task);
        Stand(order);
        return number;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static async ValueTask Runs(Order order)
    {
        await Inner(order);
        GC.KeepAlive(order);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static async Task Inner(Order order)
    {
        Stand(order);
        await Task.Yield();
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Stand(Order order)
    {
        Thread.CurrentThread.Name = order.Name;
        standing.Set();
        Thread.Sleep(Timeout.Infinite);
    }

    public static void Main()
    {
        waiting = Waits();
        Task<int> stands = Stands(new Order { Name = "stands", Number = 4 });
        later.SetResult(1);
        standing.Wait();
        standing.Reset();
        new Thread(() => Runs(new Order { Name = "runs", Number = 5 }).AsTask().Wait()) { IsBackground = true }.Start();
        standing.Wait();
        Console.WriteLine("READY");
        Console.In.ReadLine();
        GC.KeepAlive(stands);
    }
}
