// Many situations in one process, each on a thread of its own: what the recorded cores of tests/cores show.
using System;
using System.Collections.Generic;
using System.Linq;
using System.Runtime.CompilerServices;
using System.Threading;

namespace Situations;

public static class Gallery
{
    private static readonly string[] Parts =
    {
        "recursion", "generics", "generics-values", "generics-nested", "virtual", "interface-default", "lambda", "iterator", "reflection", "dynamic-method", "localloc",
        "callback-delegate", "callback-unmanaged", "in-catch-deep", "in-filter", "in-finally", "exception-inner",
    };

    public static Dictionary<string, Action> All() => new()
    {
        ["gallery"] = () => { Open(); Report.Here(); },
        ["gallery-crash"] = () => { Open(); Order(new Customer()); },
    };

    public sealed class Customer { public string Name; }

    [MethodImpl(MethodImplOptions.NoInlining)] private static int Order(Customer c) { Report.Before(); return c.Name.Length; }

    private static void Open()
    {
        Dictionary<string, Action> all = Calls.All().Concat(Natives.All()).Concat(Exceptions.All()).ToDictionary(p => p.Key, p => p.Value);
        Report.Quiet = true;
        for (int i = 0; i < Parts.Length; i++)
        {
            Action run = all[Parts[i]];
            new Thread(() => run()) { Name = Parts[i], IsBackground = true }.Start();
            while (Report.Count <= i) Thread.Sleep(5);
        }
        Report.Quiet = false;
        Thread.Sleep(200);   // until the last one sleeps
    }
}
