// A thread that runs for ever through calls of every kind, to be single-stepped. Whatever instruction it stops at, each managed frame was
// called by the one below it as Edges in tests/live/check_steps.py says.
using System;
using System.Collections.Generic;
using System.Runtime.CompilerServices;
using System.Threading;

namespace Situations;

public static class Stepping
{
    public static Dictionary<string, Action> All() => new()
    {
        ["stepping"] = () =>
        {
            new Thread(Loop) { Name = "stepping", IsBackground = true }.Start();
            Thread.Sleep(1500);   // past tiering
            Report.Here();
        },
    };

    private static int sink;
    private static readonly Shape[] Shapes = { new Square(), new Circle() };

    private static void Loop() { for (int i = 0; ; i++) { sink += Top(i); } }
    [MethodImpl(MethodImplOptions.NoInlining)] private static int Top(int i) { return Guarded(i) + Shapes[i & 1].Area(i) + Generic<string>(i) + Generic<int>(i) + ((IScaled)Shapes[i & 1]).Scale(i) + Large(i, 2, 3, 4, 5, 6, 7, 8.0); }
    [MethodImpl(MethodImplOptions.NoInlining)] private static int Guarded(int i) { try { return Leaf(i); } finally { sink ^= Leaf(2); } }
    [MethodImpl(MethodImplOptions.NoInlining)] private static int Leaf(int i) { return i * 7 ^ (i >> 2); }
    [MethodImpl(MethodImplOptions.NoInlining)] private static int Generic<T>(int i) { return Holder<T>.Count + Leaf(i); }
    [MethodImpl(MethodImplOptions.NoInlining)] private static int Large(int a, int b, int c, int d, int e, int f, int g, double h) { Span<int> s = stackalloc int[40]; s[a & 31] = b; return s[3] + c + d + e + f + g + Leaf((int)h); }

    private static class Holder<T> { public static int Count = 3; }
    private interface IScaled { int Scale(int n); }
    private abstract class Shape : IScaled { public abstract int Area(int n); public virtual int Scale(int n) { return Leaf(n) + 1; } }
    private sealed class Square : Shape { public override int Area(int n) { return Leaf(n) * n; } }
    private sealed class Circle : Shape { public override int Area(int n) { return Leaf(n) * 3; } public override int Scale(int n) { return Leaf(n) + 2; } }
}
