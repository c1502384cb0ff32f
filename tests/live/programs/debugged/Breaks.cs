// Methods of every kind, each of which counts its calls in the mapped file. The lines that breakpoints are set on end in `at: SLOT`; slot 0
// is the signal to begin, slot 1 says that everything has run.
using System;
using System.Collections.Generic;
using System.Linq;
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Threading;
using System.Threading.Tasks;

namespace Debugged;

public enum Slot
{
    Go, Done, Plain, Hot, Osr, Shared, Value, Nested, Lambda, Local, Async, Iterator, Late, LateLine, OverInt, OverString, MatchOne, MatchTwo,
    Constructor, Getter, Struct, Default, Explicit, Threads, R2r, R2rHot, Null, Operator, Finally, Virtual, Delegate, StaticConstructor, Meeting,
}

public static class Breaks
{
    private static unsafe long* counts;

    public static unsafe void Begin(long* file)
    {
        counts = file;
        // Names of the slots, for who reads the counts.
        foreach (Slot s in Enum.GetValues<Slot>()) Console.WriteLine($"{(int)s} {s}");
        Plain(1);   // compiled before anybody attaches, as is what it calls
        Generic<string>.Take("");
        Volatile.Write(ref counts[(int)Slot.Plain], 0);
        Volatile.Write(ref counts[(int)Slot.Shared], 0);
        Program.Ready();
        while (Volatile.Read(ref counts[(int)Slot.Go]) == 0) Thread.Sleep(10);
        Phases();
        Volatile.Write(ref counts[(int)Slot.Done], 1);
    }

    // A call in every body, so that its line has an instruction also where the compiler inlines: of an inlined statement the JIT keeps no place.
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static unsafe void Count(Slot slot) => Interlocked.Increment(ref counts[(int)slot]);

    // Nothing is inlined into it, whatever it becomes.
    [MethodImpl(MethodImplOptions.NoOptimization)]
    private static void Phases()
    {
        for (int i = 0; i < 7; i++) Plain(i);
        for (int round = 0; round < 12; round++) { for (int i = 0; i < 10; i++) GC.KeepAlive(Hot(i)); Thread.Sleep(20); }
        Osr(200_000);
        for (int i = 0; i < 5; i++) { Generic<string>.Take("x"); Generic<object>.Take(null); }
        for (int i = 0; i < 4; i++) { Generic<int>.Take(i); Generic<Guid>.Take(default); Generic<List<int>>.Nested<long>(null, i); }
        for (int i = 0; i < 6; i++) WithLambda(i);
        for (int i = 0; i < 5; i++) WithLocal(i);
        for (int i = 0; i < 4; i++) Wait(i).Wait();
        foreach (int x in Numbers(9)) GC.KeepAlive(x);
        for (int i = 0; i < 3; i++) Late.Method(i);
        for (int i = 0; i < 4; i++) { Over(i); Over("x"); Over("y"); }
        for (int i = 0; i < 3; i++) { MatchOne(); MatchTwo(); MatchTwo(); }
        for (int i = 0; i < 5; i++) GC.KeepAlive(new Built(i).Value + new Pair { A = i }.Sum() + ((IDefault)new Built(i)).Default(i));
        for (int i = 0; i < 4; i++) ((IExplicit)new Built(i)).Run();
        Base[] all = { new First(), new Second() };
        for (int i = 0; i < 8; i++) all[i & 1].Virtual();
        GC.KeepAlive(new Built(1) + new Built(2));
        Action called = Called;
        for (int i = 0; i < 6; i++) called();
        for (int i = 0; i < 3; i++) WithFinally(i);
        for (int i = 0; i < 5; i++) Dereference(null);
        InThreads();
        Meetings();
        byte[] bytes = { 1, 2, 3 };
        for (int i = 0; i < 9; i++) { Count(Slot.R2r); GC.KeepAlive(Convert.ToBase64String(bytes)); }
        for (int round = 0; round < 12; round++) { for (int i = 0; i < 10; i++) { Count(Slot.R2rHot); GC.KeepAlive(Version.Parse("1.2.3.4")); } Thread.Sleep(20); }
        // The only use of that assembly.
        GC.KeepAlive(System.Text.RegularExpressions.Regex.Escape("a.b"));
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int Plain(int n)
    {
        Count(Slot.Plain);   // at: Plain
        return n + 1;
    }

    // Tiered up while it is called.
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int Hot(int n)
    {
        Count(Slot.Hot);   // at: Hot
        return n * 3;
    }

    // Replaced on the stack while it loops.
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static long Osr(int n)
    {
        long sum = 0;
        for (int i = 0; i < n; i++)
        {
            sum += i ^ (sum >> 3);
            if (i % 10_000 != 0) continue;
            Count(Slot.Osr);   // at: Osr
        }
        return sum;
    }

    public static class Generic<T>
    {
        [MethodImpl(MethodImplOptions.NoInlining)]
        public static void Take(T value)
        {
            Count(typeof(T).IsValueType ? Slot.Value : Slot.Shared);   // at: Generic
            GC.KeepAlive(value);
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static void Nested<U>(T value, U other)
        {
            Count(Slot.Nested);   // at: Nested
            GC.KeepAlive(other);
        }
    }

    private static void WithLambda(int captured)
    {
        Func<int, int> f = x =>
        {
            Count(Slot.Lambda);   // at: Lambda
            return x + captured;
        };
        GC.KeepAlive(f(1));
    }

    private static void WithLocal(int n)
    {
        GC.KeepAlive(Inner(n));
        int Inner(int k)
        {
            Count(Slot.Local);   // at: Local
            return n + k;
        }
    }

    private static async Task<int> Wait(int n)
    {
        await Task.Delay(1);
        Count(Slot.Async);   // at: Async
        await Task.Yield();
        return n;
    }

    public struct Of<T, U>;

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Meet<T>() where T : struct
    {
        Count(Slot.Meeting);   // at: Meeting
    }

    // Threads that compile in the same moment, each code of its own.
    private static void Meetings()
    {
        Type[] types = { typeof(byte), typeof(short), typeof(int), typeof(long), typeof(char), typeof(float), typeof(double), typeof(Guid) };
        using var barrier = new Barrier(types.Length);
        var threads = types.Select(own => new Thread(() =>
        {
            foreach (Type round in types)
            {
                var meet = typeof(Breaks).GetMethod(nameof(Meet), BindingFlags.NonPublic | BindingFlags.Static)
                    .MakeGenericMethod(typeof(Of<,>).MakeGenericType(own, round)).CreateDelegate<Action>();
                barrier.SignalAndWait();
                meet();
            }
        })).ToList();
        threads.ForEach(t => t.Start());
        threads.ForEach(t => t.Join());
    }

    private static IEnumerable<int> Numbers(int n)
    {
        for (int i = 0; i < n; i++)
        {
            Count(Slot.Iterator);   // at: Iterator
            yield return i;
        }
    }

    // Nothing of it is compiled before the breakpoints are set.
    public static class Late
    {
        static Late()
        {
            Count(Slot.StaticConstructor);
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static int Method(int n)
        {
            Count(Slot.Late);
            n += 3;
            Count(Slot.LateLine);   // at: LateLine
            return n;
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)] public static void Over(int n) { Count(Slot.OverInt); }
    [MethodImpl(MethodImplOptions.NoInlining)] public static void Over(string s) { Count(Slot.OverString); }
    [MethodImpl(MethodImplOptions.NoInlining)] public static void MatchOne() { Count(Slot.MatchOne); }
    [MethodImpl(MethodImplOptions.NoInlining)] public static void MatchTwo() { Count(Slot.MatchTwo); }
    [MethodImpl(MethodImplOptions.NoInlining)] public static void Called() { Count(Slot.Delegate); }

    public struct Pair
    {
        public int A;
        [MethodImpl(MethodImplOptions.NoInlining)] public int Sum() { Count(Slot.Struct); return A + 1; }
    }

    public interface IDefault { int Default(int n) { Count(Slot.Default); return n; } }
    public interface IExplicit { void Run(); }

    public sealed class Built : IDefault, IExplicit
    {
        private readonly int n;
        [MethodImpl(MethodImplOptions.NoInlining)] public Built(int n) { Count(Slot.Constructor); this.n = n; }
        public int Value { [MethodImpl(MethodImplOptions.NoInlining)] get { Count(Slot.Getter); return n; } }
        [MethodImpl(MethodImplOptions.NoInlining)] void IExplicit.Run() { Count(Slot.Explicit); }
        [MethodImpl(MethodImplOptions.NoInlining)] public static Built operator +(Built a, Built b) { Count(Slot.Operator); return a; }
    }

    public abstract class Base { public abstract void Virtual(); }
    public sealed class First : Base { [MethodImpl(MethodImplOptions.NoInlining)] public override void Virtual() { Count(Slot.Virtual); } }
    public sealed class Second : Base { [MethodImpl(MethodImplOptions.NoInlining)] public override void Virtual() { Count(Slot.Virtual); } }

    private static void WithFinally(int n)
    {
        try { GC.KeepAlive(n); }
        finally
        {
            Count(Slot.Finally);   // at: Finally
        }
    }

    // The runtime turns the SIGSEGV into an exception, which is caught.
    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Dereference(string s)
    {
        try { GC.KeepAlive(s.Length); }
        catch (NullReferenceException)
        {
            Count(Slot.Null);   // at: Null
        }
    }

    private static void InThreads()
    {
        var threads = new Thread[4];
        for (int i = 0; i < threads.Length; i++)
        {
            threads[i] = new Thread(() => { for (int k = 0; k < 10; k++) OnThread(k); });
            threads[i].Start();
        }
        foreach (Thread t in threads) t.Join();
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int OnThread(int n)
    {
        Count(Slot.Threads);   // at: Threads
        return n;
    }
}
