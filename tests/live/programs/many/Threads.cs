// Threads that stand still in known places while the process waits.
using System;
using System.Threading;

namespace Many;

public static class Threads
{
    public static void Start()
    {
        for (int i = 0; i < 8; i++)
        {
            int depth = 10 * (i + 1);
            var started = new ManualResetEventSlim();
            new Thread(() => Down(depth, started)) { IsBackground = true, Name = "deep " + depth }.Start();
            started.Wait();
        }
    }

    private static int Down(int n, ManualResetEventSlim started)
    {
        if (n > 0) return Down(n - 1, started) + 1;
        started.Set();
        Thread.Sleep(Timeout.Infinite);
        return 0;
    }
}
