// Prints the answers of ClrMD and the runtime's own DAC about a core or a live process as JSON lines, for comparison with ours.
//   oracle bodies (--core FILE | --pid N) [--dac PATH]   every body in the code heaps
//   oracle stacks ...                                    every managed thread, frames from the top
//   oracle ilmap  ... --methods FILE                     the IL maps of the MethodDescs of FILE (one a line): of one body each, by absolute addresses
//   oracle heap   ... [--refs]                           counts and hashes of all objects, and of their references
//   oracle handles ..., oracle finalizers ...            every handle; the finalizer queue
//   oracle objects ... [--count N] [--seed N]            objects chosen at random, with fields and elements, and places where none is
//   oracle bench  ...                                    times of the same
using System.Diagnostics;
using System.Text.Json;
using Microsoft.Diagnostics.Runtime;
using Oracle;

string? core = Option("--core"), pid = Option("--pid");
if (args.Length == 0 || (core == null) == (pid == null))
{
    Console.Error.WriteLine("usage: oracle bodies|stacks|heap|objects|handles|finalizers|locks|bench|ilmap (--core FILE | --pid N) [--dac PATH] [--methods FILE]");
    return 2;
}
using Stream output = new BufferedStream(Console.OpenStandardOutput(), 1 << 16);
switch (args[0])
{
    case "bodies": Bodies(); return 0;
    case "stacks": Stacks(); return 0;
    case "ilmap": IlMaps(); return 0;
    case "heap": OfRuntime(runtime => HeapCommand.Heap(runtime, args.Contains("--refs"), Line)); return 0;
    case "objects": OfRuntime(runtime => new ObjectsCommand(runtime, int.Parse(Option("--count") ?? "1000"), int.Parse(Option("--seed") ?? "1")).Run(Line)); return 0;
    case "handles": OfRuntime(runtime => HeapCommand.Handles(runtime, Line)); return 0;
    case "finalizers": OfRuntime(runtime => HeapCommand.Finalizers(runtime, Line)); return 0;
    case "roots": OfRuntime(runtime => HeapCommand.StackRoots(runtime, Line)); return 0;
    case "locks": OfRuntime(runtime => HeapCommand.Locks(runtime, Line)); return 0;
    case "bench": Bench(); return 0;
    default: Console.Error.WriteLine("unknown command " + args[0]); return 2;
}

string? Option(string name)
{
    int at = Array.IndexOf(args, name);
    return at >= 0 && at + 1 < args.Length ? args[at + 1] : null;
}

(DataTarget, ClrRuntime, Dac) Open()
{
    DataTargetOptions options = new() { SymbolPaths = [] };
    DataTarget target = core != null ? DataTarget.LoadDump(core, options) : DataTarget.AttachToProcess(int.Parse(pid!), suspend: true, options);
    ClrInfo info = target.ClrVersions.FirstOrDefault() ?? throw new InvalidOperationException("no runtime found");
    // ClrMD reads the version of a runtime in a core as 0.0 and refuses the right DAC: compare build ids instead.
    string dac = Option("--dac") ?? Path.Combine(Path.GetDirectoryName(info.ModuleInfo.FileName) ?? "", "libmscordaccore.so");
    string coreclr = Path.Combine(Path.GetDirectoryName(dac)!, "libcoreclr.so");
    if (File.Exists(coreclr) && info.BuildId.Length > 0 && File.ReadAllBytes(coreclr).AsSpan().IndexOf(info.BuildId.AsSpan()) < 0)
        throw new InvalidOperationException("the DAC belongs to another build of the runtime");
    ClrRuntime runtime = info.CreateRuntime(dac, ignoreMismatch: true);
    return (target, runtime, new Dac(runtime));
}

// Enumerating types misses 17 to 54 % of the bodies (instantiations, stubs, dynamic methods, older tiers); sweeping the code heaps finds all.
Dictionary<ulong, CodeHeader> Sweep(ClrRuntime runtime, Dac dac)
{
    const ulong step = 16;   // code starts at multiples of this on x64
    var found = new Dictionary<ulong, CodeHeader>();
    foreach (ClrJitManager manager in runtime.EnumerateJitManagers())
        foreach (ClrNativeHeapInfo heap in manager.EnumerateNativeHeaps())
            for (ulong ip = heap.MemoryRange.Start; ip < heap.MemoryRange.End;)
            {
                if (dac.Code(ip, out CodeHeader h) && ip - h.Start < h.HotSize)
                {
                    found[h.Start] = h;
                    ip = Math.Max(ip + step, h.Start + h.HotSize + step - 1) & ~(step - 1);
                }
                else ip += step;
            }
    return found;
}

void Bodies()
{
    (DataTarget target, ClrRuntime runtime, Dac dac) = Open();
    using (target)
    using (runtime)
        foreach (CodeHeader h in Sweep(runtime, dac).Values.OrderBy(h => h.Start))
            Line(w =>
            {
                Hex(w, "start", h.Start);
                w.WriteNumber("hot_size", h.HotSize);
                if (h.ColdSize != 0) { Hex(w, "cold_start", h.ColdStart); w.WriteNumber("cold_size", h.ColdSize); }
                Hex(w, "method_desc", h.MethodDesc);
                w.WriteString("name", dac.Name(h.MethodDesc));
            });
}

void Stacks()
{
    (DataTarget target, ClrRuntime runtime, Dac dac) = Open();
    using (target)
    using (runtime)
        foreach (ClrThread thread in runtime.Threads.Where(t => t.IsAlive))
            Line(w =>
            {
                w.WriteNumber("os_id", thread.OSThreadId);
                w.WriteNumber("managed_id", thread.ManagedThreadId);
                w.WriteStartArray("frames");
                foreach (ClrStackFrame f in Frames(thread))
                {
                    w.WriteStartObject();
                    w.WriteString("kind", f.Kind == ClrStackFrameKind.ManagedMethod ? "managed" : "runtime");
                    Hex(w, "ip", f.InstructionPointer);
                    Hex(w, "sp", f.StackPointer);
                    if (f.FrameName != null) w.WriteString("frame_type", f.FrameName);
                    if (dac.Code(f.InstructionPointer, out CodeHeader h)) { Hex(w, "method_desc", h.MethodDesc); Hex(w, "start", h.Start); w.WriteString("name", dac.Name(h.MethodDesc)); }
                    w.WriteEndObject();
                }
                w.WriteEndArray();
            });
}

void OfRuntime(Action<ClrRuntime> ask)
{
    (DataTarget target, ClrRuntime runtime, Dac _) = Open();
    using (target)
    using (runtime)
        ask(runtime);
}

void IlMaps()
{
    (DataTarget target, ClrRuntime runtime, Dac _) = Open();
    using (target)
    using (runtime)
        foreach (string line in File.ReadLines(Option("--methods")!))
        {
            ulong methodDesc = Convert.ToUInt64(line, 16);
            if (runtime.GetMethodByHandle(methodDesc)?.ILOffsetMap is not { Length: > 0 } map) continue;
            Line(w =>
            {
                Hex(w, "method_desc", methodDesc);
                w.WriteStartArray("map");
                foreach (ILToNativeMap entry in map)
                {
                    w.WriteStartArray();
                    w.WriteNumberValue(entry.StartAddress);
                    w.WriteNumberValue(entry.ILOffset);
                    w.WriteEndArray();
                }
                w.WriteEndArray();
            });
        }
}

IEnumerable<ClrStackFrame> Frames(ClrThread thread) => thread.EnumerateStackTrace(false, 300_000);

void Bench()
{
    ulong[]? addresses = null;
    for (int round = 0; round < 5; round++)
    {
        Stopwatch clock = Stopwatch.StartNew();
        (DataTarget target, ClrRuntime runtime, Dac dac) = Open();
        using (target)
        using (runtime)
        {
            Time("open", clock, 1);
            clock.Restart();
            long frames = 0;
            foreach (ClrThread t in runtime.Threads.Where(t => t.IsAlive)) foreach (ClrStackFrame f in Frames(t)) { frames++; _ = f.Method?.Signature; }
            Time("stacks", clock, frames);
            clock.Restart();
            Dictionary<ulong, CodeHeader> bodies = Sweep(runtime, dac);
            foreach (CodeHeader h in bodies.Values) _ = dac.Name(h.MethodDesc);
            Time("bodies", clock, bodies.Count);
            addresses ??= [.. bodies.Values.Take(10_000).Select(h => h.Start + h.HotSize / 2)];
            runtime.FlushCachedData();
            foreach (string what in new[] { "lookup_cold", "lookup_warm" })
            {
                clock.Restart();
                foreach (ulong a in addresses) _ = runtime.GetMethodByInstructionPointer(a)?.Signature;
                Time(what, clock, addresses.Length);
            }
        }
    }
}

void Time(string what, Stopwatch clock, long count) => Line(w =>
{
    w.WriteString("what", what);
    w.WriteNumber("milliseconds", Math.Round(clock.Elapsed.TotalMilliseconds, 3));
    w.WriteNumber("count", count);
});

void Hex(Utf8JsonWriter w, string name, ulong value) => w.WriteString(name, $"0x{value:x}");

void Line(Action<Utf8JsonWriter> write)
{
    using (var w = new Utf8JsonWriter(output))
    {
        w.WriteStartObject();
        write(w);
        w.WriteEndObject();
    }
    output.WriteByte((byte)'\n');
}
