// Bodies of every tier: hot small methods (instrumented, then tier 1), loops that are replaced on the stack, and methods that opt out.
using System;
using System.Runtime.CompilerServices;
using System.Threading;

namespace Many;

public static class Tiers
{
    private static int sink;

    public static void Run()
    {
        for (int round = 0; round < 30; round++)
        {
            for (int i = 0; i < 400; i++) { sink += Hot(i) + Branchy(i, round) + Virtual(i % 2 == 0 ? new A() : new B()); sink += HotGeneric<int>(i) + HotGeneric<string>(null); }
            Thread.Sleep(10);
        }
        sink += LongLoop(3_000_000) + NestedLoop(1500) + Once(200_000);
        sink += Aggressive(5) + NoOptimization(5);
        for (int round = 0; round < 5; round++) { for (int i = 0; i < 200; i++) sink += CatchInLoop(i); Thread.Sleep(20); }
    }

    [MethodImpl(MethodImplOptions.NoInlining)] private static int Hot(int i) => i * 31 ^ (i >> 3);
    [MethodImpl(MethodImplOptions.NoInlining)] private static int HotGeneric<T>(object v) => v is T ? 1 : typeof(T).Name.Length;
    [MethodImpl(MethodImplOptions.NoInlining)] private static int Branchy(int i, int j) => (i % 7) switch { 0 => j, 1 => i, 2 => i - j, 3 => i * j, _ => i ^ j };
    [MethodImpl(MethodImplOptions.NoInlining)] private static int Virtual(A a) => a.Value();
    [MethodImpl(MethodImplOptions.NoInlining)] private static int LongLoop(int n) { int s = 0; for (int i = 0; i < n; i++) { s += i % 3; if (s > 1000) s = 0; } return s; }
    [MethodImpl(MethodImplOptions.NoInlining)] private static int NestedLoop(int n) { int s = 0; for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) s += i ^ j; return s; }
    [MethodImpl(MethodImplOptions.NoInlining)] private static long Mix(long a) => a * 6364136223846793005L + 1442695040888963407L;
    [MethodImpl(MethodImplOptions.NoInlining)] private static int Once(int n) { long x = 1; while (n-- > 0) x = Mix(x); return (int)x; }
    [MethodImpl(MethodImplOptions.AggressiveOptimization)] private static int Aggressive(int n) { int s = 0; for (int i = 0; i < n; i++) s += i; return s; }
    [MethodImpl(MethodImplOptions.NoOptimization)] private static int NoOptimization(int n) { int s = 0; for (int i = 0; i < n; i++) s += i; return s; }

    private static int CatchInLoop(int i)
    {
        try { if (i % 50 == 0) throw new InvalidOperationException("x"); return i; }
        catch (InvalidOperationException e) when (e.Message.Length > 0) { return -1; }
        finally { sink++; }
    }

    private class A { public virtual int Value() => 1; }
    private class B : A { public override int Value() => 2; }
}
