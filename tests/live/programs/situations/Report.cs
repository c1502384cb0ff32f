// The report: JSON lines, one for each reporting thread:
//   {"situation", "thread": OS id, "managed_thread", "name", "ends": "parks"|"crashes",
//    "frames": [{"method", "module", "token", "method_desc", "generic", "pinvoke", "native_offset", "il_offset", "file", "line",
//                "state_machine_of", "state_machine"}]}
// Frames run from the caller of Here or Before outwards, as System.Diagnostics.StackTrace gives them. method_desc is the one whose code runs
// (MethodBase.MethodHandle is the unboxing stub for instance methods of structs); of generics the runtime names the definition only.
// state_machine_of is the token of the method that StackTrace prints for a MoveNext, state_machine the kind of attribute that says so.
using System;
using System.Diagnostics;
using System.IO;
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Text.Json;
using System.Threading;

namespace Situations;

public static class Report
{
    public static string Path, Situation;
    public static bool Quiet;            // no READY
    public static volatile int Count;    // threads that have reported

    /// Reports the caller's stack and parks: every frame of the report is then on the stack with the same return address.
    [MethodImpl(MethodImplOptions.NoInlining | MethodImplOptions.NoOptimization)]
    public static void Here()
    {
        Write("parks", new StackTrace(1, true));
        Announce();
        Thread.Sleep(Timeout.Infinite);
    }

    /// Reports the caller's stack and returns: the caller then crashes on the same line.
    [MethodImpl(MethodImplOptions.NoInlining | MethodImplOptions.NoOptimization)]
    public static void Before()
    {
        Write("crashes", new StackTrace(1, true));
        Announce();
    }

    private static void Announce()
    {
        Count++;
        if (Quiet) return;
        Console.WriteLine($"READY {Environment.ProcessId}");
        Console.Out.Flush();
    }

    private static void Write(string ends, StackTrace trace)
    {
        using var buffer = new MemoryStream();
        using (var w = new Utf8JsonWriter(buffer))
        {
            w.WriteStartObject();
            w.WriteString("situation", Situation);
            w.WriteNumber("thread", Gettid());
            w.WriteNumber("managed_thread", Environment.CurrentManagedThreadId);
            w.WriteString("name", Thread.CurrentThread.Name);
            w.WriteString("ends", ends);
            w.WriteStartArray("frames");
            StackFrame[] frames = trace.GetFrames();
            (IntPtr[] handles, int[] offsets, int count) = MethodDescs();
            for (int i = 0; i < frames.Length; i++)
            {
                int same = count - frames.Length + i;
                if (offsets[same] != frames[i].GetNativeOffset()) throw new InvalidOperationException("two stack traces of one stack differ");
                Write(w, frames[i], handles[same]);
            }
            w.WriteEndArray();
            w.WriteEndObject();
        }
        buffer.WriteByte((byte)'\n');
        lock (Situation)
        {
            using var file = new FileStream(Path, FileMode.Append);
            file.Write(buffer.GetBuffer(), 0, (int)buffer.Length);
        }
    }

    /// The runtime's own answer to StackTrace: the MethodDescs and native offsets of all frames from here outwards.
    private static (IntPtr[], int[], int) MethodDescs()
    {
        const BindingFlags All = BindingFlags.Instance | BindingFlags.Public | BindingFlags.NonPublic;
        Type type = typeof(object).Assembly.GetType("System.Diagnostics.StackFrameHelper", true);
        ConstructorInfo constructor = type.GetConstructors(All)[0];
        object helper = constructor.Invoke(new object[constructor.GetParameters().Length]);
        MethodInfo fill = type.GetMethod("InitializeSourceInfo", All);
        fill.Invoke(helper, Array.ConvertAll(fill.GetParameters(), p => p.ParameterType.IsValueType ? Activator.CreateInstance(p.ParameterType) : null));
        object Field(string name) => type.GetField(name, All).GetValue(helper);
        return ((IntPtr[])Field("rgMethodHandle"), (int[])Field("rgiOffset"), (int)Field("iFrameCount"));
    }

    private static void Write(Utf8JsonWriter w, StackFrame f, IntPtr methodDesc)
    {
        MethodBase m = f.GetMethod();
        w.WriteStartObject();
        w.WriteString("method_desc", $"0x{methodDesc:x}");
        w.WriteString("method", m == null ? null : m.DeclaringType == null ? m.Name : m.DeclaringType.FullName + "." + m.Name);
        try
        {
            w.WriteString("module", m?.Module.ScopeName);
            w.WriteString("token", $"0x{m.MetadataToken:x}");
            w.WriteBoolean("generic", m.IsGenericMethod || (m.DeclaringType?.IsGenericType ?? false));
            w.WriteBoolean("pinvoke", (m.Attributes & MethodAttributes.PinvokeImpl) != 0);
        }
        catch (Exception e) when (e is InvalidOperationException or NotSupportedException or NullReferenceException) { }   // dynamic methods have no token
        if (m?.Name == "MoveNext") WriteKickoff(w, m.DeclaringType);
        w.WriteNumber("native_offset", f.GetNativeOffset());
        w.WriteNumber("il_offset", f.GetILOffset());
        if (f.GetFileName() != null)
        {
            w.WriteString("file", f.GetFileName());
            w.WriteNumber("line", f.GetFileLineNumber());
        }
        w.WriteEndObject();
    }

    private static void WriteKickoff(Utf8JsonWriter w, Type machine)
    {
        const BindingFlags All = BindingFlags.Instance | BindingFlags.Static | BindingFlags.Public | BindingFlags.NonPublic | BindingFlags.DeclaredOnly;
        if (machine?.DeclaringType == null) return;
        foreach (MethodInfo m in machine.DeclaringType.GetMethods(All))
            foreach (StateMachineAttribute a in m.GetCustomAttributes<StateMachineAttribute>(false))
            {
                if (a.StateMachineType.MetadataToken != machine.MetadataToken) continue;
                w.WriteString("state_machine_of", $"0x{m.MetadataToken:x}");
                w.WriteString("state_machine", a.GetType().Name);
                return;
            }
    }

    [DllImport("libc", EntryPoint = "gettid")] private static extern int Gettid();
}
