// Asynchronous code, pools and timers. A stack shows the code that runs, not the code that waits.
using System;
using System.Collections.Generic;
using System.Linq;
using System.Runtime.CompilerServices;
using System.Threading;
using System.Threading.Tasks;

namespace Situations;

public static class Asyncs
{
    public static Dictionary<string, Action> All() => new()
    {
        ["async-sync-part"] = () => Chain(5, false).Wait(),
        ["async-resumed"] = () => Chain(5, true).Wait(),
        ["async-value-task"] = () => Values().AsTask().Wait(),
        ["async-stream"] = () => Consume().Wait(),
        ["async-void"] = () => { Fire(); Thread.Sleep(Timeout.Infinite); },
        ["async-generic"] = () => Generic<string>("x").Wait(),
        ["continuation"] = () => Task.Run(() => 3).ContinueWith(t => Report.Here()).Wait(),
        ["thread-pool"] = () => { ThreadPool.QueueUserWorkItem(_ => Report.Here()); Thread.Sleep(Timeout.Infinite); },
        ["timer"] = () => { using var t = new Timer(_ => Report.Here(), null, 10, Timeout.Infinite); Thread.Sleep(Timeout.Infinite); },
        ["parallel-for"] = () => Parallel.For(0, 4, i => { if (i == 2) Report.Here(); }),
        ["synchronization-context"] = Context,
    };

    private static async Task<int> Chain(int n, bool yield)
    {
        if (n == 0) { if (yield) await Task.Delay(20); Report.Here(); return 1; }
        return await Chain(n - 1, yield) + 1;
    }

    private static async ValueTask<int> Values() { await Task.Yield(); return await InnerValue(3); }
    private static async ValueTask<int> InnerValue(int n) { Report.Here(); await Task.Yield(); return n; }
    private static async Task Consume() { await foreach (int x in Stream()) GC.KeepAlive(x); }
    private static async IAsyncEnumerable<int> Stream() { yield return 1; await Task.Delay(10); Report.Here(); yield return 2; }
    private static async void Fire() { await Task.Delay(10); Report.Here(); }
    private static async Task<T> Generic<T>(T t) { await Task.Yield(); Report.Here(); return t; }

    private sealed class Inline : SynchronizationContext { public override void Post(SendOrPostCallback d, object state) => d(state); }

    private static void Context()
    {
        SynchronizationContext.SetSynchronizationContext(new Inline());
        var source = new TaskCompletionSource();
        Task waiting = Waiter(source.Task);
        source.SetResult();
        waiting.Wait();
    }

    private static async Task Waiter(Task t) { await t; Report.Here(); }
}
