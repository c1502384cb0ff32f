// What ClrMD says about the managed heap.
using System.Text.Json;
using Microsoft.Diagnostics.Runtime;

namespace Oracle;

static class HeapCommand
{
    // A sum of these does not depend on the order: equal sets give equal sums. tests/cores/heap_tool.cpp has the same.
    static ulong Mix(ulong a, ulong b, ulong c)
    {
        ulong h = (a * 0x9E3779B97F4A7C15UL) ^ (b * 0xC2B2AE3D27D4EB4FUL) ^ (c * 0x165667B19E3779F9UL);
        return h ^ (h >> 29);
    }

    static ulong Align(ulong size) => (size + 7) & ~7UL;

    /// <summary>One line: counts, a hash of all (address, MethodTable, size), and one of all (from, to) with --refs.</summary>
    public static void Heap(ClrRuntime runtime, bool references, Action<Action<Utf8JsonWriter>> line)
    {
        ulong hash = 0, references_hash = 0;
        long objects = 0, bytes = 0, free = 0, invalid = 0, count = 0;
        foreach (ClrSegment segment in runtime.Heap.Segments)
            foreach (ClrObject o in segment.EnumerateObjects())
            {
                if (!o.IsValid) { invalid++; continue; }
                objects++;
                if (o.IsFree) free++;
                bytes += (long)Align(o.Size);
                hash += Mix(o.Address, o.Type!.MethodTable, Align(o.Size));
                if (!references || o.IsFree) continue;
                foreach (ulong to in o.EnumerateReferenceAddresses(carefully: false, considerDependantHandles: false))
                {
                    count++;
                    references_hash += Mix(o.Address, to, 1);
                }
            }
        line(json =>
        {
            json.WriteNumber("objects", objects);
            json.WriteNumber("bytes", bytes);
            json.WriteNumber("free", free);
            json.WriteNumber("invalid", invalid);
            json.WriteString("hash", hash.ToString("x16"));
            if (!references) return;
            json.WriteNumber("refs", count);
            json.WriteString("refhash", references_hash.ToString("x16"));
        });
    }

    /// <summary>One line for each lock of an object that is held.</summary>
    public static void Locks(ClrRuntime runtime, Action<Action<Utf8JsonWriter>> line)
    {
        var threads = runtime.Threads.ToDictionary(t => t.Address, t => t.ManagedThreadId);
        void Held(string form, ulong at, int managed, uint recursion) => line(json =>
        {
            json.WriteString("form", form);
            json.WriteString("object", "0x" + at.ToString("x"));
            json.WriteNumber("managed", managed);
            json.WriteNumber("recursion", recursion);
        });
        foreach (SyncBlock block in runtime.Heap.EnumerateSyncBlocks())
            if (block.IsMonitorHeld) Held("sync_block", block.Object, threads.GetValueOrDefault(block.HoldingThreadAddress), (uint)block.RecursionCount);
        foreach (ClrObject o in runtime.Heap.EnumerateObjects())
            if (o.IsValid && !o.IsFree && o.GetThinLock() is { } held) Held("thin", o.Address, held.Thread?.ManagedThreadId ?? 0, (uint)held.Recursion);
    }

    /// <summary>One line for each reference that a stack holds. A register has the slot 0.</summary>
    public static void StackRoots(ClrRuntime runtime, Action<Action<Utf8JsonWriter>> line)
    {
        foreach (ClrRoot root in runtime.Heap.EnumerateRoots())
            if (root is ClrStackRoot stack)
                line(json =>
                {
                    json.WriteNumber("thread", stack.StackFrame?.Thread?.OSThreadId ?? 0);
                    json.WriteString("slot", "0x" + stack.Address.ToString("x"));
                    json.WriteString("register", stack.RegisterName);
                    json.WriteString("sp", "0x" + (stack.StackFrame?.StackPointer ?? 0).ToString("x"));
                    json.WriteString("object", "0x" + stack.Object.Address.ToString("x"));
                    json.WriteBoolean("interior", stack.IsInterior);
                    json.WriteBoolean("pinned", stack.IsPinned);
                    json.WriteString("method", stack.StackFrame?.Method?.Signature ?? stack.StackFrame?.FrameName);
                });
    }

    /// <summary>One line for each handle.</summary>
    public static void Handles(ClrRuntime runtime, Action<Action<Utf8JsonWriter>> line)
    {
        foreach (ClrHandle handle in runtime.EnumerateHandles())
            line(json =>
            {
                json.WriteString("handle", "0x" + handle.Address.ToString("x"));
                json.WriteString("kind", handle.HandleKind.ToString());
                json.WriteString("object", "0x" + handle.Object.Address.ToString("x"));
                if (handle.Dependent.Address != 0) json.WriteString("dependent", "0x" + handle.Dependent.Address.ToString("x"));
            });
    }

    /// <summary>One line: the objects of the finalizer queue, registered and ready.</summary>
    public static void Finalizers(ClrRuntime runtime, Action<Action<Utf8JsonWriter>> line)
    {
        line(json =>
        {
            json.WriteStartArray("registered");
            foreach (ClrObject o in runtime.Heap.EnumerateFinalizableObjects()) json.WriteStringValue("0x" + o.Address.ToString("x"));
            json.WriteEndArray();
            json.WriteStartArray("ready");
            foreach (ClrRoot root in runtime.Heap.EnumerateFinalizerRoots()) json.WriteStringValue("0x" + root.Object.Address.ToString("x"));
            json.WriteEndArray();
        });
    }
}
