// Async methods that the runtime suspends: chains that wait, and one that a thread runs. The thread's name is that of the method that it stands in.
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

    [MethodImpl(MethodImplOptions.NoInlining)]
    static async Task<int> Soon(int number)
    {
        await Task.Yield();
        return number;
    }

    // Its code has several awaits, and does not wait at the first one of them.
    [MethodImpl(MethodImplOptions.NoInlining)]
    static async Task<int> Several(Task<int> source)
    {
        int sum = await Soon(1);
        if (sum > 5)
            sum += await Soon(2);
        else
            sum += await source + await Soon(3); //@ several:0 Suspended.Program.Several
        return sum + await Soon(4);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static async Task<string> Caller()
    {
        await Soon(1);
        int sum = await Several(never.Task) + await Soon(2); //@ several:1 Suspended.Program.Caller
        return sum.ToString();
    }

    sealed class Closing : IAsyncDisposable
    {
        public async ValueTask DisposeAsync()
        {
            await Soon(1);
            await never.Task; //@ closing:0 Suspended.Program.Closing.DisposeAsync
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static async Task Closes()
    {
        await Soon(1);
        await using var closing = new Closing(); //@ closing:1 Suspended.Program.Closes
        await Soon(2);
        GC.KeepAlive(closing);
    }

    // What it waits for is made by a method that is not async, of an object that it is called on.
    sealed class Signal
    {
        readonly TaskCompletionSource source = new();
        public Task WaitAsync() => source.Task;
    }

    static readonly Signal signal = new();

    [MethodImpl(MethodImplOptions.NoInlining)]
    static async Task Signaled()
    {
        await signal.WaitAsync(); //@ signaled:0 Suspended.Program.Signaled
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

    // It is not async. .NET 10 goes through a thunk to it, .NET 11 compiles it once more for those who await it.
    [MethodImpl(MethodImplOptions.NoInlining)]
    static Task Through(Order order)
    {
        Stand(order);
        return Task.CompletedTask;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static async Task Awaits(Order order)
    {
        await Through(order);
        GC.KeepAlive(order);
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
        Task[] more = [Caller(), Closes(), Signaled()];
        Task<int> stands = Stands(new Order { Name = "stands", Number = 4 });
        later.SetResult(1);
        standing.Wait();
        standing.Reset();
        new Thread(() => Runs(new Order { Name = "runs", Number = 5 }).AsTask().Wait()) { IsBackground = true }.Start();
        standing.Wait();
        standing.Reset();
        new Thread(() => Awaits(new Order { Name = "through", Number = 6 }).Wait()) { IsBackground = true }.Start();
        standing.Wait();
        Console.WriteLine("READY");
        Console.In.ReadLine();
        GC.KeepAlive(stands);
        GC.KeepAlive(more);
    }
}
