// One process, one situation: situations NAME REPORT_FILE, or `situations list`.
// At the point of interest the program writes to REPORT_FILE the stack that the runtime itself reports there, prints READY,
// and then parks for ever or crashes, as the situation says. See Report.cs for the file's form.
using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Runtime.CompilerServices;
using System.Threading;

namespace Situations;

public static class Program
{
    public static int Main(string[] args)
    {
        Dictionary<string, Action> all = Calls.All().Concat(Natives.All()).Concat(Asyncs.All()).Concat(Exceptions.All()).Concat(Crashes.All()).Concat(Gallery.All()).Concat(Stepping.All()).ToDictionary(p => p.Key, p => p.Value);
        if (args.Length == 1 && args[0] == "list")
        {
            foreach (string name in all.Keys) Console.WriteLine(name + (Crashes.Expected.TryGetValue(name, out string end) ? " " + end : " parks"));
            return 0;
        }
        if (args.Length != 2 || !all.TryGetValue(args[0], out Action situation))
        {
            Console.Error.WriteLine("usage: situations list | NAME REPORT_FILE");
            return 2;
        }
        Report.Path = Path.GetFullPath(args[1]);
        Report.Situation = args[0];
        Thread.CurrentThread.Name = "main";
        situation();
        Thread.Sleep(Timeout.Infinite);   // situations of other threads
        return 0;
    }
}
