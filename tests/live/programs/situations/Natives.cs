// Transitions between managed and native code, both ways.
using System;
using System.Collections.Generic;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Threading;

namespace Situations;

public static unsafe class Natives
{
    public static Dictionary<string, Action> All() => new()
    {
        ["pinvoke-block"] = () => Blocked(() => sem_wait(NoUnits)),
        ["pinvoke-read"] = () => Blocked(ReadPipe),
        ["pinvoke-setlasterror"] = () => Blocked(() => sem_wait_with_error(NoUnits)),
        ["pinvoke-suppress-gc"] = () => Blocked(() => sem_wait_quick(NoUnits)),
        ["callback-delegate"] = () => Callback(),
        ["callback-unmanaged"] = () => UnmanagedCallback(),
        ["callback-nested"] = () => Nested(3),
        ["function-pointer"] = () => ManagedPointer(),
        // A method that waits reports on the same line before it; a statement behind the wait keeps it from being a tail call.
        ["monitor-wait"] = () => { lock (Gate) { Report.Before(); Monitor.Wait(Gate); } },
        ["lock-contended"] = Contended,
        ["event-wait"] = () => { Report.Before(); new ManualResetEvent(false).WaitOne(); },
        ["join"] = () => { var t = new Thread(() => Thread.Sleep(Timeout.Infinite)) { IsBackground = true }; t.Start(); Report.Before(); t.Join(); GC.KeepAlive(Gate); },
        ["thread-sleep"] = () => { Report.Before(); Thread.Sleep(Timeout.Infinite); GC.KeepAlive(Gate); },
        ["busy-loop"] = BusyLoop,
        ["finalizer"] = Finalizer,
        ["gc-in-callback"] = () => Callback(() => { GC.Collect(); Report.Here(); }),
    };

    private static readonly object Gate = new();

    // A semaphore of zeros (sem_t of glibc and musl) that nobody posts. A wait on it goes on after a debugger's stop, where pause() returns.
    private static readonly void* NoUnits = NativeMemory.AllocZeroed(64);

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Blocked(Action wait) { Report.Before(); wait(); }

    private static void ReadPipe()
    {
        int* ends = stackalloc int[2];
        pipe(ends);
        byte b;
        read(ends[0], &b, 1);
    }

    [ThreadStatic] private static Action inner;

    [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
    private delegate int Compare(IntPtr a, IntPtr b);

    private static void Callback(Action what = null)
    {
        inner = what ?? Report.Here;
        int* items = stackalloc int[2];
        Compare compare = CompareItems;
        qsort_delegate(items, 2, sizeof(int), compare);
        GC.KeepAlive(compare);
    }

    private static int CompareItems(IntPtr a, IntPtr b) { inner(); return 0; }

    private static void UnmanagedCallback()
    {
        int* items = stackalloc int[2];
        qsort(items, 2, sizeof(int), &CompareUnmanaged);
    }

    [UnmanagedCallersOnly(CallConvs = new[] { typeof(CallConvCdecl) })]
    private static int CompareUnmanaged(void* a, void* b) { Report.Here(); return 0; }

    private static void Nested(int n)
    {
        if (n == 0) { Report.Here(); return; }
        Callback(() => Nested(n - 1));
    }

    private static void ManagedPointer() { delegate*<int, int> p = &Pointed; p(3); }
    private static int Pointed(int n) { Report.Here(); return n; }

    private static void Contended()
    {
        object gate = new();
        using var taken = new ManualResetEventSlim();
        new Thread(() => { lock (gate) { taken.Set(); Thread.Sleep(Timeout.Infinite); } }) { IsBackground = true, Name = "owner" }.Start();
        taken.Wait();
        Report.Before();
        lock (gate) { }
    }

    private static long spin;
    private static void BusyLoop()
    {
        new Thread(() => Spin(3)) { IsBackground = true, Name = "spinning" }.Start();
        Thread.Sleep(500);
        Report.Here();
    }

    [MethodImpl(MethodImplOptions.NoInlining)] private static void Spin(int n) { while (true) spin += SpinLeaf(n); }
    [MethodImpl(MethodImplOptions.NoInlining)] private static long SpinLeaf(int n) { long s = 0; for (int i = 0; i < n; i++) s += i; return s; }

    private static void Finalizer()
    {
        Drop();
        GC.Collect();
        GC.WaitForPendingFinalizers();
    }

    [MethodImpl(MethodImplOptions.NoInlining)] private static void Drop() => GC.KeepAlive(new Finalized());
    private sealed class Finalized { ~Finalized() { Report.Here(); } }

    [DllImport("libc")] private static extern int sem_wait(void* semaphore);
    [DllImport("libc", EntryPoint = "sem_wait", SetLastError = true)] private static extern int sem_wait_with_error(void* semaphore);
    [DllImport("libc")] private static extern int pipe(int* ends);
    [DllImport("libc")] private static extern nint read(int fd, void* buffer, nint n);
    [DllImport("libc")] private static extern void qsort(void* items, nint n, nint size, delegate* unmanaged[Cdecl]<void*, void*, int> compare);
    [DllImport("libc", EntryPoint = "qsort")] private static extern void qsort_delegate(void* items, nint n, nint size, Compare compare);
    [DllImport("libc", EntryPoint = "sem_wait"), SuppressGCTransition] private static extern int sem_wait_quick(void* semaphore);
}
