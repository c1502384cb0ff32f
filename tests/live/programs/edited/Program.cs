// The program that a client of the Debug Adapter Protocol debugs: check_dap.py knows its lines by `at: NAME`.
using System;
using System.Collections.Generic;
using System.Linq;
using System.Threading;
using System.Threading.Tasks;

namespace Edited {
class Node { public string Name; public int[] Numbers; public Node Next; }

interface IShape { int Size(int n); }

class Square : IShape {
    public int Size(int n) { // at: Size
        return n * n; // at: Size+1
    }
}

static class Program {
    static int total;

    static int Area(int width, int height) {
        int area = width * height; // at: Area
        return area; // at: Area+1
    }

    static void Loop() {
        for (int i = 0; i < 40; i++) {
            int area = Area(i, 2); // at: Call
            total += area; // at: Loop
        }
    }

    static void Show() {
        var node = new Node { Name = "root", Numbers = Enumerable.Range(0, 10000).ToArray(), Next = new Node { Name = "leaf" } };
        int count = node.Numbers.Length;
        Console.WriteLine($"{node.Name} {node.Next.Name}"); // at: Show
        Console.WriteLine($"count {count}"); // at: Show+1
    }

    // Milliseconds: the caller waits by then, also on a busy machine. It goes on without having waited otherwise.
    const int Long = 200;

    static async Task<int> Later(int n) { // at: Later
        await Task.Delay(Long); // at: Later+1
        return n + 1; // at: Later+2
    } // at: Later+3

    static readonly int[] Sides = { 1, 2 };

    static IEnumerable<int> Numbers() { // at: Numbers
        yield return 1; // at: Numbers+1
        yield return 2; // at: Numbers+2
    } // at: Numbers+3

    static IEnumerable<int> Kept() {
        try {
            yield return 1; // at: Kept
        } // at: Kept+1
        finally { // at: Kept+2
            total++; // at: Kept+3
        } // at: Kept+4
    }

    static void Fail() { // at: Fail
        throw new InvalidOperationException("failed"); // at: Fail+1
    }

    static void Deep(int n) {
        try {
            if (n > 0) Deep(n - 1);
            throw new InvalidOperationException("deep"); // at: Deep throws
        } finally { // at: Deep finally
            total++; // at: Deep finally+1
        } // at: Deep finally+2
    }

    static async Task Steps() {
        IShape shape = new Square(); // at: Steps
        int size = shape.Size(3); // at: Interface
        total += Sides.Max(side => side + 1); // at: Lambda
        total += Sides.Sum(side => // at: Sum
        { // at: Sum+1
            return side + 1; // at: Sum+2
        }); // at: Sum+3
        foreach (int n in Kept()) // at: Each kept
            total += n; // at: Each kept+1
        foreach (int n in Numbers()) // at: Each
            total += n; // at: Each+1
        total += Numbers().Sum(); // at: Summed
        total += Numbers().Count(); // at: Numbers counted
        int later = await Later(size); // at: Await
        try { // at: Try
            Fail(); // at: Call of Fail
        } catch (InvalidOperationException) { // at: Catch
            size++; // at: Catch+1
        } // at: Catch+2
        Console.WriteLine($"steps {size} {later}"); // at: Done
        try {
            Deep(1);
        } catch (InvalidOperationException) { // at: Deep caught
            size++;
        }
    }

    static int Local(int n) {
        int Parsed(string text) {
            int parsed = 1;
            try {
                parsed = int.Parse(text + parsed);
            } finally {
                parsed++; // at: Parsed finally
            }
            return parsed;
        }
        try {
            n += Parsed("x");
        } catch (FormatException) {
            n += 7;
        }
        return n; // at: Local
    }

    static int Faulty(int n) {
        string none = null;
        try {
            n += none.Length; // at: Fault
        } catch (NullReferenceException e)
            when (e.Message.Length > 1) { // at: Filter
            n++; // at: Fault caught
        }
        return n;
    }

    sealed class Ending : IDisposable { public void Dispose() { total++; } } // at: Dispose

    static IEnumerable<int> Each() {
        foreach (int side in (IEnumerable<int>)Sides) // at: Each in iterator
            yield return side;
    }

    static int Blocks(int n) {
        foreach (int side in Sides) // at: Each side
            n += side;
        for (int i = 0; i < 2; i++) { // at: Both
            int twice = i * 2;
            n += twice;
        }
        using (new Ending()) // at: Using
            n++;
        foreach (int side in Each())
            n += side;
        return n;
    }

    static void Counts() {
        for (int i = 0; i < 5; i++)
            total += Local(i) + Faulty(i) + Blocks(i) + Sides.Sum(side =>
            {
                return side + 1; // at: Counted side
            });
        Console.WriteLine($"counted {total}"); // at: Counted
    }

    static void Break(string text) {
        try {
            throw new InvalidOperationException(text); // at: Break
        } finally {
            total++; // at: Break finally
        }
    }

    static readonly AutoResetEvent Asked = new(false), Answered = new(false);

    static int Shared(int n) {
        return n * 2; // at: Shared
    }

    static void Share() {
        Asked.WaitOne();
        Shared(1);
        Answered.Set();
    }

    static bool Matches(Exception e) => e.Message.Length > 3;

    static int Released(int n) {
        using (new Ending()) { // at: Released
            n += total; // at: Used
        } // at: Used+1
        n += Numbers().Sum(); // at: Summed again
        n += Sides.Sum(side => // at: Lambda again
        {
            return side + n; // at: Lambda again+1
        });
        try {
            Break("broken"); // at: Call of Break
        } catch (InvalidOperationException e)
            when (Matches(e)) { // at: When
            n++; // at: When+1
        }
        for (int i = 0; i < 2; i++) n += i; // at: Looped
        WaitHandle.SignalAndWait(Asked, Answered); n += Shared(0); // at: Call of Shared
        Parallel.For(0, 1, new ParallelOptions { MaxDegreeOfParallelism = 1 }, i => { total += i; }); // at: Parallel
        return n; // at: Released done
    }

    static async Task<int> Waits(int n) {
        n += await Later(n); // at: Waits
        try {
            Break("caught"); // at: Waits+1
        } catch (InvalidOperationException) {
            n++; // at: Waits caught
            await Task.Yield(); // at: Waits caught+1
        }
        Func<int, int> none = None; // at: None
        n += none(n); // at: None called
        n += none(n); // at: None called again
        return n; // at: Waits+2

        static int None(int n) {
            return n - n; // at: None+1
        }
    }

    static void Release() {
        int n = Released(3); // at: Call of Released
        n = Waits(n).Result; // at: Call of Waits
        Console.WriteLine($"released {n}");
    }

    static int Looked(int key, int n) {
        return n + 1; // at: Looked
    }

    static int Keyed<T>(T key, int n) {
        return n + 1; // at: Keyed
    }

    enum Mood { Calm, Rough }

    // What C# compares otherwise than LLDB.
    static int Named(int key, string name, Node next, int? due, Mood mood, int n) {
        int length = name == null ? 0 : name.Length; // at: Named
        return n + length; // at: Named+1
    }

    static int First(int n) { return n + 1; } // at: First
    static int Second(int n) { return n + 1; } // at: Second

    // Between the calls of Looked code is compiled that breakpoints are on.
    static void Conditions() {
        int n = First(Looked(1, 0));
        n = Second(Looked(2, n));
        n = Looked(3, n);
        for (int i = 0; i < 5; i++)
            n = Keyed((object)i, Keyed(1.0 * i, Keyed("key " + i, Keyed(i, n))));
        var node = new Node { Name = "next" };
        for (int i = 0; i < 16; i++)
            n = Named(i, i < 2 ? null : i % 4 == 3 ? "three\n" : "Three\n", i < 8 ? null : node, i % 2 == 0 ? i : null, i < 12 ? Mood.Rough : Mood.Calm, n);
        Console.WriteLine($"conditions {n}");
    }

    class Refused : Exception { public Refused(string text) : base(text) { } }
    class OutOfStock : Refused { public OutOfStock(string text) : base(text) { } }

    static void Throw(int n) {
        if (n % 3 == 0) throw new Refused($"refused {n}"); // at: Refused
        if (n % 3 == 1) throw new OutOfStock($"no stock {n}"); // at: OutOfStock
        throw new FormatException($"other {n}");
    }

    static void ThrowAgain() {
        try {
            throw new OutOfStock("no stock at all"); // at: Last thrown
        } catch (Refused) {
            throw;
        }
    }

    static void Thrown() {
        int caught = 0;
        for (int i = 0; i <= 6; i++) {
            try {
                if (i < 6) Throw(i);
                else ThrowAgain();
            } catch (Exception) {
                caught++;
            }
        }
        Console.WriteLine($"thrown {caught}");
    }

    static int Nested(int n) {
        try {
            Fail();
        } catch (InvalidOperationException) {
            n++;
            try {
                Break("inner");
            } catch (InvalidOperationException) {
                n++; // at: Inner caught
            } // at: Inner caught+1
            n += 2; // at: Behind inner
        } // at: Behind inner+1
        return n; // at: Nested done
    }

    // Its line names no iterator.
    static int Passed(IEnumerable<int> numbers) {
        int sum = 0;
        foreach (int n in numbers) // at: Each passed
            sum += n; // at: Each passed+1
        return sum; // at: Passed done
    }

    static async IAsyncEnumerable<int> Stream() { // at: Stream
        yield return 1; // at: Stream+1
        await Task.Delay(Long); // at: Stream+2
        yield return 2; // at: Stream+3
    } // at: Stream+4

    sealed class Ordered : IComparable<Ordered> {
        public int Key;
        public int CompareTo(Ordered other) { return Key - other.Key; } // at: CompareTo
        public override string ToString() { return $"key {Key}"; } // at: ToString
    }

    // What the framework calls for its lines has no name in them, and its code is there when they run.
    static async Task<string> Streamed(IAsyncEnumerable<int> stream, IEnumerable<int> numbers, Ordered[] ordered, Func<int, bool> odd) {
        int sum = 0;
        await foreach (int n in stream) // at: Each streamed
            sum += n; // at: Each streamed+1
        sum += numbers.Sum(); // at: Given summed
        sum += numbers.Count(odd); // at: Given counted
        Array.Sort(ordered); // at: Sorted
        string said = $"{sum} {ordered[0]}"; // at: Said
        return said; // at: Streamed done
    }

    static async Task Streams() {
        Ordered[] ordered = { new Ordered { Key = 2 }, new Ordered { Key = 1 } };
        Func<int, bool> odd = n => n % 2 == 1; // at: Odd
        await foreach (int n in Stream()) total += n;
        Console.WriteLine($"{ordered[0].CompareTo(ordered[1])} {ordered[0]} {Numbers().Count(odd)}");
        Console.WriteLine($"streams {await Streamed(Stream(), Numbers(), ordered, odd)}");
    }

    static int Doubled(int n) { return 2 * n; } // at: Doubled

    static unsafe void Pointers() {
        delegate*<int, int> twice = &Doubled;
        total = twice(total + 3); // at: Pointer
        total = twice(total); // at: Pointer again
        Console.WriteLine($"pointers {total}"); // at: Pointers done
    }

    // The types of the exception are loaded while the process stands for its signal.
    static void FaultOnce() {
        total += Faulty(1); // at: Fault once
        Console.WriteLine($"fault {total}"); // at: Fault once+1
    }

    // Other threads meet null references all the time.
    static void Faults() {
        for (int i = 0; i < 4; i++)
            new Thread(() => { while (true) Faulty(1); }) { IsBackground = true }.Start();
        Thread.Sleep(10);
        total++; // at: Faults
        Thread.Sleep(5); // at: Faults+1
        Thread.Sleep(5); // at: Faults+2
        Thread.Sleep(5); // at: Faults+3
        Thread.Sleep(5); // at: Faults+4
        Thread.Sleep(5); // at: Faults+5
        Thread.Sleep(5); // at: Faults+6
        Console.WriteLine($"faults {total}"); // at: Faults+7
    }

    static readonly (int, byte)[] Bytes = new (int, byte)[2];
    static readonly (int, short)[] Shorts = new (int, short)[2];
    static readonly (int, float)[] Floats = new (int, float)[2];
    static readonly (int, double)[] Doubles = new (int, double)[2];

    // Each line ends with a call of the framework's code that is compiled for it.
    static void Fill() {
        total++; // at: Fill
        Array.Fill(Bytes, default); // at: Fill+1
        Array.Fill(Shorts, default); // at: Fill+2
        Array.Reverse(Floats); // at: Fill+3
        Array.Fill(Doubles, default); // at: Fill+4
        Array.Fill(Floats, default); // at: Fill+5
        Console.WriteLine($"filled {total}"); // at: Fill+6
    }

    [System.Runtime.InteropServices.DllImport("libc", EntryPoint = "labs")] static extern nint Absolute(nint value);

    static void Main(string[] args) {
        if (args.Length != 0 && args[0] == "native") {
            Console.WriteLine($"native {Absolute(-3)}");
            return;
        }
        if (args.Length != 0 && args[0] == "halted") {
            total += Area(1, 2);
            System.Diagnostics.Debugger.Break(); // at: Halted
            Console.WriteLine($"halted {total + Area(2, 3)}");
            return;
        }
        if (args.Length != 0 && args[0] == "counts") {
            Counts();
            return;
        }
        if (args.Length != 0 && args[0] == "conditions") {
            Conditions();
            return;
        }
        if (args.Length != 0 && args[0] == "thrown") {
            Thrown();
            return;
        }
        if (args.Length != 0 && args[0] == "nested") {
            Console.WriteLine($"nested {Nested(1)}");
            return;
        }
        if (args.Length != 0 && args[0] == "faults") {
            Faults();
            return;
        }
        if (args.Length != 0 && args[0] == "passed") {
            Console.WriteLine($"passed {Passed(Numbers())}");
            return;
        }
        if (args.Length != 0 && args[0] == "streams") {
            Streams().Wait();
            return;
        }
        if (args.Length != 0 && args[0] == "pointers") {
            Pointers();
            return;
        }
        if (args.Length != 0 && args[0] == "fault") {
            FaultOnce();
            return;
        }
        if (args.Length != 0 && args[0] == "fill") {
            Fill();
            return;
        }
        if (args.Length > 1) Show();
        if (args.Length != 0 && args[0] == "steps") {
            Steps().Wait(); // at: Call of Steps
            return;
        }
        if (args.Length != 0 && args[0] == "released") {
            new Thread(Share) { IsBackground = true }.Start();
            var thread = new Thread(Release);
            thread.Start();
            thread.Join();
            return;
        }
        Show();
        Loop();
        Console.WriteLine($"total {total}"); // at: End
        if (args.Length == 0) return;
        int told = Again(0);
        Console.WriteLine("READY");
        // Until whoever looks at it goes away. Nothing is compiled when it goes on, but what was never called.
        while (Console.ReadLine() is { Length: > 0 } line) {
            told = Again(line.Length);
            if (line.Length > 1) told += Fresh(told);
            Console.WriteLine($"told {told}");
        }
    }

    [System.Runtime.CompilerServices.MethodImpl(System.Runtime.CompilerServices.MethodImplOptions.NoInlining)]
    static int Again(int size) {
        int twice = 2 * size; // at: Again
        return twice;
    }

    static int Fresh(int size) {
        return size + 5; // at: Fresh
    }
}
}
