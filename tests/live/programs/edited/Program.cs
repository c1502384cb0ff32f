// The program that a client of the Debug Adapter Protocol debugs: check_dap.py knows its lines by `at: NAME`.
using System;
using System.Linq;

namespace Edited {
class Node { public string Name; public int[] Numbers; public Node Next; }

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

    static void Main(string[] args) {
        Show();
        Loop();
        Console.WriteLine($"total {total}"); // at: End
        if (args.Length == 0) return;
        Console.WriteLine("READY");
        Console.ReadLine(); // until whoever looks at it goes away
    }
}
}
