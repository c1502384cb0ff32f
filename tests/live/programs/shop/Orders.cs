// The program of the documentation's transcripts: the pages of docs/ show these lines by their numbers. The last order has no city, and it crashes.
using System;
using System.Collections.Generic;

namespace Shop {
class Customer { public string Name, City; }
class Order { public int Number; public Customer Customer; public DateTime When; public List<int> Items; }

static class Orders {
    static string Label(Order order) {
        string city = order.Customer.City.ToUpperInvariant();
        return $"{order.Number} {order.Customer.Name}, {city}";
    }

    static void PrintAll(List<Order> orders) {
        foreach (Order order in orders)
            Console.WriteLine(Label(order));
    }

    static void Main() {
        var orders = new List<Order>();
        string[] cities = { "Berlin", "Porto", null };
        foreach (string city in cities) {
            int n = orders.Count + 1;
            var customer = new Customer { Name = $"customer {n}", City = city };
            orders.Add(new Order { Number = 1000 + n, Customer = customer, When = new DateTime(2026, 11, n), Items = new List<int> { n, 2 * n } });
        }
        PrintAll(orders);
    }
}
}
