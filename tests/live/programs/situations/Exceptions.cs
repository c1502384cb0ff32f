// Stops inside every part of exception handling.
using System;
using System.Collections.Generic;
using System.Runtime.CompilerServices;
using System.Threading;

namespace Situations;

public static class Exceptions
{
    public static Dictionary<string, Action> All() => new()
    {
        ["in-try"] = () => { try { Report.Here(); } catch (InvalidOperationException) { } },
        ["in-catch"] = () => InCatch(1),
        ["in-catch-deep"] = () => InCatchDeep(),
        ["in-finally"] = () => { try { InFinally(); } catch (InvalidOperationException) { } },
        ["in-finally-normal"] = () => { try { GC.KeepAlive(1); } finally { Report.Here(); } },
        ["in-filter"] = () => InFilter(),
        ["in-fault"] = () => { foreach (int x in Faulty()) throw new InvalidOperationException("in the loop"); },
        ["nested-catch"] = Nested,
        ["rethrow"] = Rethrow,
        ["catch-in-catch"] = CatchInCatch,
        ["filter-nested"] = FilterNested,
        ["catch-after-native"] = CatchAfterNative,
        ["exception-kept"] = Kept,
        ["exception-inner"] = Inner,
        ["first-chance-handler"] = FirstChance,
        ["hardware-caught"] = HardwareCaught,
        ["hardware-in-leaf"] = () => InLeaf(41, 77),
        ["hardware-in-filter"] = () => { try { Through(null, 41); } catch (NullReferenceException e) when (Filter(e)) { } },
    };

    [MethodImpl(MethodImplOptions.NoInlining)] private static void Throw(string text) { throw new InvalidOperationException(text); }
    [MethodImpl(MethodImplOptions.NoInlining)] private static void ThrowDeep(int n, string text) { if (n == 0) Throw(text); else ThrowDeep(n - 1, text); }

    private static void InCatch(int n) { try { Throw("caught"); } catch (InvalidOperationException e) { Report.Here(); GC.KeepAlive(e); GC.KeepAlive(n); } }
    private static void InCatchDeep() { try { ThrowDeep(30, "deep"); } catch (InvalidOperationException) { ParkIn(4); } }
    private static void ParkIn(int n) { if (n == 0) Report.Here(); else ParkIn(n - 1); }
    private static void InFinally() { try { Throw("through finally"); } finally { Report.Here(); } }
    private static void InFilter() { try { ThrowDeep(3, "filtered"); } catch (InvalidOperationException e) when (Filter(e)) { } }
    private static bool Filter(Exception e) { Report.Here(); return true; }
    private static IEnumerable<int> Faulty() { try { yield return 1; } finally { Report.Here(); } }

    private static void Nested()
    {
        try { Throw("outer"); }
        catch (InvalidOperationException)
        {
            try { ThrowDeep(2, "inner"); }
            catch (InvalidOperationException) { Report.Here(); }
        }
    }

    private static void Rethrow()
    {
        try { try { Throw("again"); } catch (InvalidOperationException) { throw; } }
        catch (InvalidOperationException) { Report.Here(); }
    }

    private static void CatchInCatch()
    {
        try { Throw("one"); }
        catch (InvalidOperationException) { Second(); }
        static void Second() { try { Throw("two"); } catch (InvalidOperationException) { Third(); } }
        static void Third() { try { Throw("three"); } finally { Report.Here(); } }
    }

    private static void FilterNested()
    {
        try { Throw("outer"); }
        catch (InvalidOperationException) when (Inside()) { }
        static bool Inside() { try { Throw("inside a filter"); } catch (InvalidOperationException) { Report.Here(); } return true; }
    }

    private static void CatchAfterNative()
    {
        try { Array.Sort(new[] { 3, 1, 2 }, new Thrower()); }
        catch (InvalidOperationException) { Report.Here(); }
    }

    private sealed class Thrower : IComparer<int> { public int Compare(int a, int b) { Throw("from a callback"); return 0; } }

    private static Exception kept;
    private static void Kept() { try { ThrowDeep(10, "kept for later"); } catch (InvalidOperationException e) { kept = e; } Report.Here(); GC.KeepAlive(kept); }

    private static void Inner()
    {
        try { try { ThrowDeep(2, "the cause"); } catch (InvalidOperationException e) { throw new ApplicationException("wrapped", e); } }
        catch (ApplicationException e) { kept = new AggregateException(e, new ArgumentNullException("second")); Report.Here(); }
    }

    private static void FirstChance()
    {
        AppDomain.CurrentDomain.FirstChanceException += (_, e) => Report.Here();
        try { Throw("seen first"); } catch (InvalidOperationException) { }
    }

    private static unsafe void HardwareCaught() { int* p = null; try { *p = 1; } catch (NullReferenceException) { Report.Here(); } }
    // The first instruction of a method without a frame pointer fails.
    [MethodImpl(MethodImplOptions.NoInlining)] private static int Length(string s) { return s.Length; }
    [MethodImpl(MethodImplOptions.NoInlining)] private static int Through(string s, int n) { return Length(s) + n; }
    [MethodImpl(MethodImplOptions.NoInlining)]
    private static long InLeaf(int factor, long extra)
    {
        try { return Through(null, factor) + extra; }
        catch (NullReferenceException) { ParkIn(2); }
        return factor;
    }
}
