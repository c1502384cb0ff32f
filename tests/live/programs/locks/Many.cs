using System;
using System.Collections.Generic;
using System.Runtime.CompilerServices;
using System.Threading;

namespace Locks;

// Many objects whose locks are held, free, contended or were held once: as a seed has it.
public static class Many
{
    private sealed class Small { }
    private sealed class Large { public long A, B, C, D; }

    public static readonly List<object> Kept = [];

    public static void Begin(Said said, int seed)
    {
        var random = new Random(seed);
        const int objects = 300, threads = 24;
        var owned = new List<(object Object, int Entries)>[threads];
        for (int i = 0; i < threads; i++) owned[i] = [];
        var contended = new List<(object Object, string Owner)>();
        for (int i = 0; i < objects; i++)
        {
            object o = random.Next(4) switch { 0 => new Small(), 1 => new Large(), 2 => new int[random.Next(5)], _ => "text" + i };
            Kept.Add(o);
            if (random.Next(3) == 0) RuntimeHelpers.GetHashCode(o);
            int state = random.Next(4);
            if (state == 0)
            {
                // Held once, and free again.
                lock (o) lock (o) GC.KeepAlive(o);
            }
            else if (state != 1)
            {
                int owner = random.Next(threads), entries = random.Next(5) == 0 ? random.Next(60, 200) : random.Next(1, 4);
                owned[owner].Add((o, entries));
                said.Holds("owner" + owner, "monitor", o, entries);
                if (random.Next(5) == 0) contended.Add((o, "owner" + owner));
            }
        }
        for (int i = 0; i < threads; i++)
        {
            var mine = owned[i];
            var ready = new ManualResetEventSlim();
            said.Start("owner" + i, () =>
            {
                foreach (var (o, entries) in mine)
                    for (int n = 0; n < entries; n++) Monitor.Enter(o);
                ready.Set();
                Thread.Sleep(Timeout.Infinite);
            }, ready.Wait);
        }
        for (int i = 0; i < contended.Count; i++)
        {
            var (o, owner) = contended[i];
            said.Start("waiter" + i, () => Monitor.Enter(o));
            said.Waits("waiter" + i, "monitor", o, owner, "enter");
        }
    }
}
