// Ways to die. Each reports its stack first, on the line that crashes.
using System;
using System.Collections.Generic;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Threading;

namespace Situations;

public static unsafe class Crashes
{
    /// The signal that ends the process.
    public static readonly Dictionary<string, string> Expected = new()
    {
        ["unhandled"] = "SIGABRT", ["unhandled-inner"] = "SIGABRT", ["unhandled-in-thread"] = "SIGABRT", ["unhandled-in-catch"] = "SIGABRT", ["unhandled-in-finally"] = "SIGABRT",
        ["unhandled-in-filter"] = "SIGABRT", ["null-dereference"] = "SIGABRT", ["null-field"] = "SIGABRT", ["null-in-leaf"] = "SIGABRT", ["null-in-registers"] = "SIGABRT", ["divide-by-zero"] = "SIGABRT", ["stack-overflow"] = "SIGABRT",
        ["stack-overflow-mutual"] = "SIGABRT", ["fail-fast"] = "SIGABRT", ["fail-fast-exception"] = "SIGABRT", ["native-segv"] = "SIGSEGV", ["native-abort"] = "SIGABRT",
        ["native-abort-in-callback"] = "SIGABRT", ["access-violation"] = "SIGABRT", ["crash-in-try"] = "SIGABRT", ["crash-in-catch"] = "SIGABRT",
        ["crash-in-finally"] = "SIGABRT", ["crash-in-filter"] = "SIGABRT",
        ["gallery-crash"] = "SIGABRT",
    };

    public static Dictionary<string, Action> All() => new()
    {
        ["unhandled"] = () => Deep(5, () => throw new InvalidOperationException("nobody catches this")),
        ["unhandled-inner"] = () => { try { Raise("the cause"); } catch (InvalidOperationException e) { throw new ApplicationException("outer", e); } },
        ["unhandled-in-thread"] = () => { var t = new Thread(() => Raise("on a thread")) { Name = "thrower" }; t.Start(); t.Join(); },
        ["unhandled-in-catch"] = () => { try { Quiet("first"); } catch (InvalidOperationException) { Raise("second"); } },
        ["unhandled-in-finally"] = () => { try { GC.KeepAlive(1); } finally { Raise("in finally"); } },
        ["unhandled-in-filter"] = () => { try { Quiet("first"); } catch (InvalidOperationException) when (Abort()) { } },
        ["null-dereference"] = () => Null(null),
        ["null-field"] = () => Field(null),
        ["null-in-leaf"] = () => InLeaf(null),
        ["null-in-registers"] = () => InRegisters(new Node { Value = 5, Next = new Node { Value = 6 } }, 41, 77),
        ["divide-by-zero"] = () => Divide(7, 0),
        ["stack-overflow"] = () => { Report.Before(); Overflow(1); },
        ["stack-overflow-mutual"] = () => { Report.Before(); Ping(1); },
        ["fail-fast"] = () => FailFast("the end"),
        ["fail-fast-exception"] = () => { try { Quiet("cause"); } catch (InvalidOperationException e) { Report.Before(); Environment.FailFast("with cause", e); } },
        ["native-segv"] = () => NativeFault(),
        ["native-abort"] = () => Abort(),
        ["native-abort-in-callback"] = () => InCallback(),
        ["access-violation"] = () => Violation(),
        ["crash-in-try"] = () => { try { Abort(); } catch (InvalidOperationException) { } },
        ["crash-in-catch"] = () => { try { Quiet("caught"); } catch (InvalidOperationException) { Abort(); } },
        ["crash-in-finally"] = () => { try { Finally(); } catch (InvalidOperationException) { } },
        ["crash-in-filter"] = () => { try { Quiet("filtered"); } catch (InvalidOperationException) when (Abort()) { } },
    };

    [MethodImpl(MethodImplOptions.NoInlining)] private static void Deep(int n, Action last) { if (n == 0) { Report.Before(); last(); } else Deep(n - 1, last); }
    [MethodImpl(MethodImplOptions.NoInlining)] private static void Raise(string text) { Report.Before(); throw new InvalidOperationException(text); }
    [MethodImpl(MethodImplOptions.NoInlining)] private static void Quiet(string text) { throw new InvalidOperationException(text); }
    [MethodImpl(MethodImplOptions.NoInlining)] private static int Null(string s) { Report.Before(); return s.Length; }
    private sealed class Node { public int Value; public Node Next; }
    // The first instruction is the one that fails.
    [MethodImpl(MethodImplOptions.NoInlining)] private static int Length(string s) { return s.Length; }
    [MethodImpl(MethodImplOptions.NoInlining)] private static int InLeaf(string s) { Report.Before(); return Length(s) + 1; }
    // Optimised code keeps the variables in registers, and the third node is the one that is not there.
    [MethodImpl(MethodImplOptions.NoInlining)] private static void Pass(int value) { GC.KeepAlive(value); }
    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int InRegisters(Node first, int factor, long extra)
    {
        Report.Before();
        int total = 0;
        for (Node n = first; ; n = n.Next)
        {
            Pass(total);
            total += n.Value * factor;
            Pass(factor);
            if (total == 12345) return (int)extra;
        }
    }
    [MethodImpl(MethodImplOptions.NoInlining)] private static int Field(Node n) { Report.Before(); return n.Next.Value; }
    [MethodImpl(MethodImplOptions.NoInlining)] private static int Divide(int a, int b) { Report.Before(); return a / b; }
    [MethodImpl(MethodImplOptions.NoInlining)] private static int Overflow(int n) { return Overflow(n + 1) + 1; }
    [MethodImpl(MethodImplOptions.NoInlining)] private static int Ping(int n) { return Pong(n + 1) + 1; }
    [MethodImpl(MethodImplOptions.NoInlining)] private static int Pong(int n) { return Ping(n + 1) + 1; }
    [MethodImpl(MethodImplOptions.NoInlining)] private static void FailFast(string text) { Report.Before(); Environment.FailFast(text); }
    [MethodImpl(MethodImplOptions.NoInlining)] private static void NativeFault() { Report.Before(); strlen((byte*)16); }
    [MethodImpl(MethodImplOptions.NoInlining)] private static bool Abort() { Report.Before(); abort(); return true; }
    [MethodImpl(MethodImplOptions.NoInlining)] private static void Finally() { try { Quiet("through"); } finally { Abort(); } }
    [MethodImpl(MethodImplOptions.NoInlining)] private static void Violation() { Report.Before(); *(int*)0x123456789000 = 1; }
    private static void InCallback() { int* items = stackalloc int[2]; qsort(items, 2, sizeof(int), &Compare); }
    [UnmanagedCallersOnly(CallConvs = new[] { typeof(CallConvCdecl) })] private static int Compare(void* a, void* b) { Abort(); return 0; }

    [DllImport("libc")] private static extern nint strlen(byte* text);
    [DllImport("libc")] private static extern void abort();
    [DllImport("libc")] private static extern void qsort(void* items, nint n, nint size, delegate* unmanaged[Cdecl]<void*, void*, int> compare);
}
