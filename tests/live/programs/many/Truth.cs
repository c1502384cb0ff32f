// Writes the facts that the process itself knows about its code, one per line, with tabs between fields:
//   method METHODDESC ENTRY TOKEN MODULE NAME      ENTRY: MethodHandle.GetFunctionPointer(), the code or a precode of it
//   load   METHODDESC START SIZE TOKEN TIER NAME   a MethodLoad event (jitted code)
//   r2r    METHODDESC ENTRY NAME                   an R2RGetEntryPoint event (precompiled code)
//   gone   PREFIX                                  no live code has a name that starts with it
using System;
using System.Collections.Generic;
using System.Diagnostics.Tracing;
using System.IO;
using System.Reflection;

namespace Many;

public static class Truth
{
    public static void Write(string path, Collected collected, RuntimeEvents events)
    {
        using var w = new StreamWriter(path);
        foreach (Type type in typeof(Truth).Assembly.GetTypes())
        {
            if (type.ContainsGenericParameters) continue;
            foreach (MethodInfo m in type.GetMethods(BindingFlags.DeclaredOnly | BindingFlags.Public | BindingFlags.NonPublic | BindingFlags.Static | BindingFlags.Instance))
                if (!m.ContainsGenericParameters && !m.IsAbstract)
                    w.WriteLine($"method\t0x{m.MethodHandle.Value:x}\t0x{m.MethodHandle.GetFunctionPointer():x}\t0x{m.MetadataToken:x}\t{m.Module.ScopeName}\t{type.FullName}.{m.Name}");
        }
        if (collected.AllGone) foreach (string name in collected.GoneNames) w.WriteLine($"gone\t{name}");
        if (events != null) foreach (string line in events.Lines()) w.WriteLine(line);
    }
}

public sealed class RuntimeEvents : EventListener
{
    private const EventKeywords Jit = (EventKeywords)0x10, CompilationDiagnostic = (EventKeywords)0x2000000000;
    private readonly List<string> lines = new();

    protected override void OnEventSourceCreated(EventSource source)
    {
        if (source.Name == "Microsoft-Windows-DotNETRuntime") EnableEvents(source, EventLevel.Verbose, Jit | CompilationDiagnostic);
    }

    protected override void OnEventWritten(EventWrittenEventArgs e)
    {
        string line = null;
        if (e.EventName.StartsWith("MethodLoadVerbose"))
            line = $"load\t0x{Value(e, "MethodID"):x}\t0x{Value(e, "MethodStartAddress"):x}\t{Value(e, "MethodSize")}\t0x{Value(e, "MethodToken"):x}\t{(Value(e, "MethodFlags") >> 7) & 7}\t{Text(e, "MethodNamespace")}.{Text(e, "MethodName")}";
        else if (e.EventName.StartsWith("R2RGetEntryPoint") && !e.EventName.Contains("Start"))
            line = $"r2r\t0x{Value(e, "MethodID"):x}\t0x{Value(e, "EntryPoint"):x}\t{Text(e, "MethodNamespace")}.{Text(e, "MethodName")}";
        if (line != null) lock (lines) lines.Add(line);
    }

    public string[] Lines()
    {
        System.Threading.Thread.Sleep(1500);   // the events travel through a pipe of their own
        lock (lines) return lines.ToArray();
    }

    private static ulong Value(EventWrittenEventArgs e, string name)
    {
        int at = e.PayloadNames.IndexOf(name);
        return at < 0 ? 0 : Convert.ToUInt64(e.Payload[at]);
    }

    private static string Text(EventWrittenEventArgs e, string name)
    {
        int at = e.PayloadNames.IndexOf(name);
        return at < 0 ? "" : (string)e.Payload[at];
    }
}
