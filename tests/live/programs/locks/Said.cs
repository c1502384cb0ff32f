// What the program knows of itself: threads by name, and rows of truth about them.
using System;
using System.Collections.Generic;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Text.Json.Nodes;
using System.Threading;

namespace Locks;

public sealed class Said
{
    [DllImport("libc")]
    private static extern int gettid();

    private sealed record Row(string Kind, string Name, object Object, string Owner, JsonObject More);

    private readonly Dictionary<string, (int Os, int Managed, Thread Thread)> threads_ = new();
    private readonly List<Row> rows_ = new();

    // Starts a thread and returns when it has said who it is; `ready`, if there is one, is waited for, too.
    public Thread Start(string name, Action body, Action ready = null)
    {
        int os = 0;
        var thread = new Thread(() =>
        {
            Volatile.Write(ref os, gettid());
            body();
        }) { IsBackground = true, Name = name };
        thread.Start();
        while (Volatile.Read(ref os) == 0) Thread.Sleep(1);
        lock (threads_) threads_[name] = (os, thread.ManagedThreadId, thread);
        ready?.Invoke();
        return thread;
    }

    // For threads that the program did not make: they say it themselves.
    public void Here(string name)
    {
        lock (threads_) threads_[name] = (gettid(), Environment.CurrentManagedThreadId, Thread.CurrentThread);
    }

    // The thread `name` waits for `what` of a kind; `owner` is the name of the thread that holds it, null for nobody, "?" for unknown.
    public void Waits(string name, string kind, object what, string owner = null, string mode = null)
    {
        var more = new JsonObject { ["row"] = "wait" };
        if (mode != null) more["mode"] = mode;
        rows_.Add(new Row(kind, name, what, owner, more));
    }

    // `name` holds `what`, entered so many times.
    public void Holds(string name, string kind, object what, int recursion = 1, string form = null)
    {
        var more = new JsonObject { ["row"] = "hold", ["recursion"] = recursion };
        if (form != null) more["form"] = form;
        rows_.Add(new Row(kind, name, what, name, more));
    }

    // `name` reads under `what`, as others may at the same time.
    public void Reads(string name, object what) => rows_.Add(new Row("rwlock", name, what, null, new JsonObject { ["row"] = "read" }));

    public void Deadlock(string kind, params string[] members)
    {
        foreach (string name in members) rows_.Add(new Row(kind, name, null, null, new JsonObject { ["row"] = "deadlock" }));
    }

    public bool FinalizersEnd = true;

    // Until the threads of the rows stand in their waits for some time.
    public void Settle()
    {
        Thread.Sleep(1500);
        GC.Collect();
        if (FinalizersEnd)
        {
            GC.WaitForPendingFinalizers();
            GC.Collect();
        }
        Thread.Sleep(300);
    }

    public void Print()
    {
        foreach (Row row in rows_)
        {
            var (os, managed, _) = threads_[row.Name];
            var json = (JsonObject)JsonNode.Parse(row.More.ToJsonString());
            json["kind"] = row.Kind;
            json["thread"] = os;
            json["managed"] = managed;
            json["name"] = row.Name;
            if (row.Object != null)
            {
                json["object"] = $"0x{AddressOf(row.Object):x}";
                json["type"] = row.Object.GetType().Name;
            }
            if (row.Owner == "?") json["owner"] = "?";
            else if (row.Owner != null) json["owner"] = threads_[row.Owner].Os;
            Console.WriteLine(json.ToJsonString());
        }
    }

    private static unsafe ulong AddressOf(object o) => *(ulong*)Unsafe.AsPointer(ref o);
}
