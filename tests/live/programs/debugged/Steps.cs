// Lines for `next` where nothing is compiled yet. A line that begins with At() writes its number into the mapped file before it does anything
// else.
using System;
using System.Collections.Generic;
using System.Linq;
using System.Runtime.CompilerServices;
using System.Threading;

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
        Thread.Sleep(60_000);
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
}
