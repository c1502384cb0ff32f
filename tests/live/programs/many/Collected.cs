// Code that is kept in collectible heaps, and code that is gone again when READY is printed.
using System;
using System.Collections.Generic;
using System.IO;
using System.Reflection;
using System.Reflection.Emit;
using System.Runtime.CompilerServices;
using System.Runtime.Loader;

namespace Many;

public sealed class Collected
{
    public readonly List<object> Kept = new();
    public readonly List<string> GoneNames = new();
    public bool AllGone { get; private set; }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public void MakeKept()
    {
        for (int i = 0; i < 3; i++) Kept.Add(LoadPlugin("kept" + i));
        Kept.Add(BuildType("KeptEmit", 20));
    }

    public void MakeGone()
    {
        var references = new List<WeakReference>();
        Fill(references);
        for (int i = 0; i < 50 && references.Exists(r => r.IsAlive); i++) { GC.Collect(); GC.WaitForPendingFinalizers(); }
        AllGone = !references.Exists(r => r.IsAlive);
        // A second round: the loader's own clean-up runs after the last reference has died.
        for (int i = 0; i < 3; i++) { GC.Collect(); GC.WaitForPendingFinalizers(); }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private void Fill(List<WeakReference> references)
    {
        GoneNames.Add("GoneEmit");
        references.Add(new WeakReference(BuildType("GoneEmit", 200)));
        for (int i = 0; i < 3; i++)
        {
            object plugin = LoadPlugin("gone" + i);
            references.Add(new WeakReference(plugin));
            AssemblyLoadContext context = AssemblyLoadContext.GetLoadContext(plugin.GetType().Assembly);
            if (context.IsCollectible) context.Unload();
        }
        GoneNames.Add("gone_");
        for (int i = 0; i < 100; i++) references.Add(new WeakReference(Workload.MakeDynamic("gone_" + i, i)));
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static object LoadPlugin(string name)
    {
        var context = new AssemblyLoadContext(name, isCollectible: true);
        string path = Path.Combine(AppContext.BaseDirectory, "plugin.dll");
        if (!File.Exists(path)) return new object();   // a single file has no plugin beside it
        object worker = Activator.CreateInstance(context.LoadFromAssemblyPath(path).GetType("Plugins.Worker"));
        worker.GetType().GetMethod("Work").Invoke(worker, new object[] { 5 });
        return worker;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static object BuildType(string name, int methods)
    {
        ModuleBuilder module = AssemblyBuilder.DefineDynamicAssembly(new AssemblyName(name), AssemblyBuilderAccess.RunAndCollect).DefineDynamicModule(name);
        TypeBuilder type = module.DefineType(name + ".Type", TypeAttributes.Public);
        for (int i = 0; i < methods; i++)
        {
            ILGenerator il = type.DefineMethod("M" + i, MethodAttributes.Public | MethodAttributes.Static, typeof(int), new[] { typeof(int) }).GetILGenerator();
            il.Emit(OpCodes.Ldarg_0); il.Emit(OpCodes.Ldc_I4, i); il.Emit(OpCodes.Mul); il.Emit(OpCodes.Ret);
        }
        Type made = type.CreateType();
        for (int i = 0; i < methods; i++) made.GetMethod("M" + i).Invoke(null, new object[] { i });
        return Activator.CreateInstance(made);
    }
}
