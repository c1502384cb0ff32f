// A bit of everything for a random walk: LINQ, records, first calls through stubs and delegates, async methods, iterators, exceptions, generics.
// A line that begins with At() writes its number into the mapped file before it does anything else. Functions, lambdas too, begin and end at braces
// with the comment `in: NAME`; none calls itself.
using System;
using System.Collections.Generic;
using System.Linq;
using System.Reflection;
using System.Threading;
using System.Threading.Tasks;

using static Debugged.StepLog;

namespace Debugged;

public record Item(int Id, string Name, decimal Price);
public record Gift(int Id, string Name, decimal Price, string Paper) : Item(Id, Name, Price);
public struct Wrap<T> { public T Value; }

public static class Mix
{
    private static Func<int, int> fresh;   // of a type argument that was never used before

    public static void Begin(IntPtr file)
    {
        StepLog.Begin(file);
        Type argument = typeof(int);
        MethodInfo open = typeof(Mix).GetMethod(nameof(Fresh), BindingFlags.NonPublic | BindingFlags.Static);
        for (int i = 0; i < 4000; i++)
        {
            if (i % 25 == 0) argument = typeof(int);
            argument = typeof(Wrap<>).MakeGenericType(argument);
            fresh = open.MakeGenericMethod(i < 25 ? argument : typeof(KeyValuePair<,>).MakeGenericType(argument, typeof(Wrap<>).MakeGenericType(i % 2 == 0 ? typeof(long) : typeof(short)))).CreateDelegate<Func<int, int>>();
            Followed.Value = true;
            Round(i).GetAwaiter().GetResult();
            Followed.Value = false;
        }
    }

    public static async Task<int> Round(int n)
    {   // in: Round
        At(); int r = n;
        At(); r += Linq(n & 7);
        At(); r += await Deep(n & 3);
        At(); r += Shown(n);
        At(); r += fresh(r & 15);
        At(); r += await Sums(n & 3);
        try
        {
            At(); r += await Fails(n);
        }
        catch (InvalidOperationException e)
        {
            At(); r += e.Message.Length;
        }
        At(); r += Caught(n) + Walked(n & 3);
        At(); return r;
    }   // in: Round

    private static int Linq(int n)
    {   // in: Linq
        At(); var items = Enumerable.Range(0, n + 2).Select(i => new Item(i, "n" + i, i * 1.5m)).ToList();
        At(); var dear = items.Where(i => i.Price > 1).OrderByDescending(i => i.Price).ToArray();
        At(); int found = items.Count(i =>
        {   // in: Chosen
            At(); int id = i.Id;
            At(); return (id & 1) == 0;
        });   // in: Chosen
        At(); var groups = items.GroupBy(i => i.Id % 2).ToDictionary(g => g.Key, g => g.Sum(i => i.Price));
        At(); return found + dear.Length + groups.Count;
    }   // in: Linq

    private static int Shown(int n)
    {   // in: Shown
        At(); Item item = (n & 1) == 0 ? new Item(n, "plain", 2) : new Gift(n, "gift", 3, "red");
        At(); string text = item switch
        {
            Gift(var id, _, var price, var paper) => $"{id} {price} {paper}",
            (var id, var name, _) => $"{id} {name}",
        };
        At(); Item other = item with { Name = text };
        At(); return item == other ? 1 : text.Length + other.ToString().Length;
    }   // in: Shown

    private static int Fresh<T>(int n)
    {   // in: Fresh
        At(); var all = new List<T> { default };
        At(); int count = all.Count + n;
        At(); return count;
    }   // in: Fresh

    private static async Task<int> Deep(int n)
    {   // in: Deep
        At(); int deep = n;
        At(); deep += await Deeper(n);
        At(); await Task.Yield();
        At(); return deep;
    }   // in: Deep

    private static async ValueTask<int> Deeper(int n)
    {   // in: Deeper
        At(); int deeper = n * 2;
        if ((n & 1) == 0)
        {
            At(); await Task.Delay(2);
        }
        At(); return deeper;
    }   // in: Deeper

    private static async Task<int> Sums(int n)
    {   // in: Sums
        At(); int sum = 0;
        await foreach (int i in Numbers(n))
        {
            At(); sum += i;
        }
        await using (new Resource())
        {
            At(); sum += 10;
        }
        At(); return sum;
    }   // in: Sums

    private static async IAsyncEnumerable<int> Numbers(int n)
    {   // in: Numbers
        for (int i = 0; i < n; i++)
        {
            At(); await Task.Delay(1);
            At(); yield return i;
        }
    }   // in: Numbers

    private sealed class Resource : IAsyncDisposable
    {
        public async ValueTask DisposeAsync()
        {   // in: DisposeAsync
            At(); await Task.Delay(1);
        }   // in: DisposeAsync
    }

    private static async Task<int> Fails(int n)
    {   // in: Fails
        At(); await Task.Delay(1);
        At(); if ((n & 1) == 0) throw new InvalidOperationException($"fails with {n}");
        At(); return n;
    }   // in: Fails

    private static int Caught(int n)
    {   // in: Caught
        At(); int caught = 0;
        try
        {
            At(); caught += Thrown(n);
        }
        catch (FormatException e) when (e.Message.Length > 0)
        {
            At(); caught += 3;
        }
        finally
        {
            At(); caught++;
        }
        At(); return caught;
    }   // in: Caught

    private static int Thrown(int n)
    {   // in: Thrown
        At(); string text = (n & 1) == 0 ? "12" : "x";
        At(); return int.Parse(text);
    }   // in: Thrown

    private static int Walked(int n)
    {   // in: Walked
        At(); int walked = 0;
        foreach (int i in Few(n))
        {
            At(); walked += i;
        }
        At(); return walked;
    }   // in: Walked

    private static IEnumerable<int> Few(int n)
    {   // in: Few
        for (int i = 0; i < n; i++)
        {
            At(); yield return i;
        }
    }   // in: Few
}
