// Names that want to be markup, a script, or orders to a terminal: of threads, types, methods and assemblies, and in messages of exceptions. Threads wait
// for locks of such types in such methods. Prints the names as JSON, one a line, then READY, and stays.
using System;
using System.Collections.Generic;
using System.IO;
using System.Reflection;
using System.Reflection.Emit;
using System.Text.Json;
using System.Threading;
using System.Threading.Tasks;

namespace Odd;

public static class Program
{
    private static readonly string[] Names =
    {
        "</script><script>alert(1)</script>", "<img src=x onerror=alert(2)>", "\" onmouseover=\"alert(3)", "' onfocus='alert(4)", "</title><svg onload=alert(5)>",
        "&lt;b&gt;&amp;&#60;i&#62;", "<!-- --!> -->", "]]><![CDATA[", "</svg></style></details></section>", "<iframe src=http://192.0.2.1/>", "<base href=http://192.0.2.1/>",
        "\u202egnitset\u202c", "\u001b]0;title\u0007\u001b[2J", "a\nb\tc\0d", "\u2028\u2066x\u2069", "javascript:alert(6)", "<a href=javascript:alert(7)>x</a>", "{{7*7}}${7*7}",
        new string('W', 300), "日本語😀é\u0301",
    };
    private static readonly List<object> Kept = new();

    public static void Main()
    {
        var entered = new CountdownEvent(2 * Names.Length);
        for (int i = 0; i < Names.Length; ++i)
        {
            Type type = Make(Names[i], i);
            for (int k = 0; k < 2000; ++k) Kept.Add(Activator.CreateInstance(type));
            object gate = Activator.CreateInstance(type);
            Kept.Add(gate);
            var wait = type.GetMethods(BindingFlags.Public | BindingFlags.Static)[0].CreateDelegate<Action<object, CountdownEvent>>();
            var held = new ManualResetEventSlim();
            Start(Names[i], () => { lock (gate) { held.Set(); entered.Signal(); Thread.Sleep(Timeout.Infinite); } });
            held.Wait();
            Start(Names[i], () => wait(gate, entered));
            Kept.Add(Task.FromException(new InvalidOperationException(Names[i])));
            try { throw new InvalidOperationException(Names[i]); } catch (InvalidOperationException) { }
        }
        entered.Wait();
        foreach (string name in Names) Console.WriteLine(JsonSerializer.Serialize(name));
        Thread.Sleep(500);   // until those that wait do so
        Console.WriteLine("READY");
        Console.ReadLine();
    }

    private static void Start(string name, Action run) =>
        new Thread(() => { try { throw new ArgumentException(name); } catch (ArgumentException) { } run(); }) { Name = name, IsBackground = true }.Start();

    /// A type of this name, with a field and a method of the same, which takes its lock.
    private static Type Make(string name, int number)
    {
        string told = name.Replace("\0", "");
        var assembly = new PersistedAssemblyBuilder(new AssemblyName("odd" + number), typeof(object).Assembly);
        TypeBuilder type = assembly.DefineDynamicModule("odd" + number).DefineType(told, TypeAttributes.Public | TypeAttributes.Class);
        for (int i = 0; i < 40; ++i) type.DefineField(told + i, typeof(long), FieldAttributes.Public);
        MethodBuilder method = type.DefineMethod(told, MethodAttributes.Public | MethodAttributes.Static, typeof(void), new[] { typeof(object), typeof(CountdownEvent) });
        ILGenerator il = method.GetILGenerator();
        il.Emit(OpCodes.Ldarg_1);
        il.Emit(OpCodes.Callvirt, typeof(CountdownEvent).GetMethod("Signal", Type.EmptyTypes));
        il.Emit(OpCodes.Pop);
        il.Emit(OpCodes.Ldarg_0);
        il.Emit(OpCodes.Call, typeof(Monitor).GetMethod("Enter", new[] { typeof(object) }));
        il.Emit(OpCodes.Ret);
        type.CreateType();
        using var file = new MemoryStream();
        assembly.Save(file);
        return Assembly.Load(file.ToArray()).GetTypes()[0];
    }
}
