// The program that is debugged on an emulated machine: it serves one order after the other, for ever. tests/emulated knows its lines by `at: NAME`.
using System;
using System.Threading;

namespace Counting {
class Order { public int Number; public string Name; }

static class Program {
    static int total;

    static int Price(Order order) { // at: Price
        int price = order.Number * 3;
        return price;
    }

    static void Serve(int number) {
        var order = new Order { Number = number, Name = $"order {number}" }; // at: Serve
        int price = Price(order); // at: Call
        total += price; // at: Serve+2
        Thread.Sleep(300); // at: Sleep
    }

    static void Main() {
        for (int number = 1; ; number++) {
            Serve(number); // at: Main
            if (number == 1) Console.WriteLine("READY");
        }
    }
}
}
