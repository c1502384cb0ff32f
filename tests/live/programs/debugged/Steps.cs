// Lines for `next`, `step` and `finish` where nothing is compiled yet, and where methods wait. A line that begins with At() writes its number
// into the mapped file before it does anything else. Other runs of the same methods go on meanwhile, and objects move.
using System;
using System.Collections.Generic;
using System.Linq;
using System.Runtime.CompilerServices;
using System.Threading;
using System.Threading.Tasks;

using static Debugged.StepLog;

namespace Debugged;

public record Shape(string Name);
public record Circle(string Name, double R) : Shape(Name);
public record Box(string Name, double W, double H) : Shape(Name);
public record Order(int Id, decimal Total);

public static unsafe class StepLog
{
    private static int* log;
    public static readonly AsyncLocal<bool> Followed = new();

    public static void Begin(IntPtr file)
    {
        log = (int*)file;
        Program.Ready();
        while (Volatile.Read(ref log[(1 << 20) - 1]) == 0)
            Thread.Sleep(10);
    }

    public static void At([CallerLineNumber] int line = 0)
    {
        if (Followed.Value)
            *log++ = line;
    }
}

public static class Steps
{
    public static void Begin(IntPtr file)
    {
        StepLog.Begin(file);
        Followed.Value = true;
        First(4);
        Followed.Value = false;
        for (int i = 0; i < 3; i++)
            Task.Run(Others);
        Followed.Value = true;
        Total(1).Wait();
        Followed.Value = true;
        Total(2).Wait();
        Followed.Value = true;
        Streams().Wait();
        Followed.Value = true;
        Starts(3).Wait();
        Followed.Value = true;
        Late(4).Wait();
        Followed.Value = true;
        TooLate(5).Wait();
        Followed.Value = false;
        Thread.Sleep(60_000);
    }

    private static async Task Others()
    {
        for (int i = 0; ; i++)
        {
            await Total(100 + i);
            GC.Collect(i % 3);
        }
    }

    public static int First(int n)
    {
        At(); var orders = new List<Order>();
        At(); for (int i = 0; i < n; i++) orders.Add(new Order(i, i * 2m));
        At(); var totals = orders.Select(o => o.Total);
        At(); decimal sum = totals.Sum();
        At(); var big = orders.Where(o => o.Id > 1).ToList();
        At(); var groups = orders.GroupBy(o => o.Id % 2).ToDictionary(g => g.Key, g => g.Count());
        At(); string same = Same("x") + Same(5) + Same(new DateTime(2020, 1, 1)) + Same(orders);
        At(); double area = Area(new Circle("c", 2));
        At(); area += Area(new Box("b", 2, 3));
        At(); string text = $"{sum} {big.Count} {groups.Count} {area} {same.Length}";
        At(); Func<int, int> twice = x => x * 2;
        At(); int last = twice(text.Length);
        At(); return last;
    }

    private static string Same<T>(T value) => new List<T> { value }.First().ToString();

    public static double Area(Shape shape)
    {
        At(); double area = 0;
        At(); switch (shape)
        {
            case Circle(var name, var r):
                At(); area = r * r * 3 + name.Length;
                break;
            case Box(var name, var w, var h):
                At(); area = w * h + name.Length;
                break;
        }
        At(); return area;
    }

    public static async Task<int> Total(int n)
    {
        At(); int sum = n;
        At(); sum += await Part(n, true);
        At(); sum += await Part(n, false);
        At(); await Task.Yield();
        At(); sum += await Ready(sum) + await Part(sum, true);
        for (int i = 0; i < 2; i++)
        {
            At(); await Task.Delay(5 + i);
        }
        try
        {
            At(); sum += await Fails(n);
        }
        catch (InvalidOperationException e)
        {
            At(); sum += e.Message.Length;
        }
        At(); return sum;
    }

    public static async Task<int> Part(int n, bool waits)
    {
        At(); int part = n + 1;
        if (waits)
        {
            At(); await Task.Delay(10).ConfigureAwait(false);
        }
        At(); part += 2;
        At(); return part;
    }

    private static async ValueTask<int> Ready(int n)
    {
        At(); await Task.CompletedTask;
        At(); return n;
    }

    private static async Task<int> Fails(int n)
    {
        At(); await Task.Delay(5);
        At(); throw new InvalidOperationException($"fails with {n}");
    }

    private static async IAsyncEnumerable<int> Numbers(int n)
    {
        for (int i = 0; i < n; i++)
        {
            await Task.Delay(3);
            yield return i;
        }
    }

    private sealed class Resource : IAsyncDisposable
    {
        public async ValueTask DisposeAsync() => await Task.Delay(3);
    }

    public static async Task<int> Streams()
    {
        At(); int sum = 0;
        await foreach (int i in Numbers(3))
        {
            At(); sum += i;
        }
        await using (new Resource())
        {
            At(); sum += 10;
        }
        foreach (int i in Few(2))
        {
            At(); sum += i;
        }
        At(); return sum;
    }

    private static IEnumerable<int> Few(int n)
    {
        for (int i = 0; i < n; i++)
        {
            yield return i;
        }
    }

    public static async Task<int> Starts(int n)
    {
        At(); int sum = await Part(n, true);
        At(); return sum;
    }

    private static bool early;

    // Waits for what another thread has gone on with by then.
    public static async Task<int> Late(int n)
    {
        Task<int> started = Early(n);
        SpinWait.SpinUntil(() => Volatile.Read(ref early));
        int sum = await started;
        At(); return sum;
    }

    public static async Task<int> Early(int n)
    {
        At(); int part = n + 1;
        At(); await Task.Delay(10).ConfigureAwait(false);
        At(); part += 2;
        At(); Volatile.Write(ref early, true);
        At(); Thread.Sleep(1000);
        At(); return part;
    }

    // Does not wait: what it has called is done by then.
    public static async Task<int> TooLate(int n)
    {
        Task<int> started = Brief(n);
        SpinWait.SpinUntil(() => started.IsCompleted);
        int sum = await started;
        At(); return sum;
    }

    public static async Task<int> Brief(int n)
    {
        At(); int part = n + 1;
        At(); await Task.Delay(10).ConfigureAwait(false);
        At(); part += 2;
        At(); return part;
    }
}
