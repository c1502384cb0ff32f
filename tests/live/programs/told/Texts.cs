// The text of a value as the debugger shows it, made by .NET's public means (IEnumerable, ITuple, reflection).
using System;
using System.Collections;
using System.Collections.Generic;
using System.Globalization;
using System.Linq;
using System.Numerics;
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Text;
using System.Threading;
using System.Threading.Tasks;

namespace Told;

// `depth`: values within values that are shown, as in `clr object` and `frame variable`.
public sealed class Texts
{
    private const int Most = 8;
    private readonly int limit;
    private readonly List<object> path = new();

    private Texts(int depth) => limit = depth;

    public static string Of(object value, int depth) => new Texts(depth).Text(value, 0);

    private string Text(object value, int depth)
    {
        switch (value)
        {
            case null: return "null";
            case string s: return Quoted(s, '"');
            case bool b: return b ? "true" : "false";
            case char c: return Quoted(c.ToString(), '\'');
            case Enum e: return e.ToString();
            case DateTime d: return Date(d) + (d.Kind == DateTimeKind.Utc ? " UTC" : d.Kind == DateTimeKind.Local ? " local" : "");
            case DateTimeOffset o: return Date(o.DateTime) + " " + (o.Offset < TimeSpan.Zero ? "-" : "+") + o.Offset.ToString(@"hh\:mm");
            case DateOnly d: return d.ToString("yyyy-MM-dd", CultureInfo.InvariantCulture);
            case TimeOnly o: return Trimmed(o.ToString("HH:mm:ss.fffffff", CultureInfo.InvariantCulture));
            case CancellationToken t: return t.CanBeCanceled ? t.IsCancellationRequested ? "{cancelled}" : "{not cancelled}" : "{cannot be cancelled}";
            case CancellationTokenSource s: return s.IsCancellationRequested ? "{cancelled}" : "{not cancelled}";
            case Uri u: return Quoted(u.OriginalString, '"');
            case StringBuilder b: return Quoted(b.ToString(), '"');
            case Type t: return "{typeof(" + Names.Of(t) + ")}";
            case ReadOnlyMemory<char> m: return Quoted(m.ToString(), '"');
            case Memory<char> m: return Quoted(m.ToString(), '"');
            case Exception e: return "{" + Names.Of(e.GetType()) + (Message(e) is string said ? ": " + Quoted(said, '"') : "") + "}";
            case Task t: return Task(t, depth);
            case TimeSpan or Guid or System.Index or System.Range or Version: return value.ToString();
        }
        Type type = value.GetType();
        if (type.IsPrimitive || value is decimal or Half or Int128 or UInt128 or BigInteger)
            return Convert.ToString(value, CultureInfo.InvariantCulture);
        bool told = !type.IsValueType && path.Contains(value, ReferenceEqualityComparer.Instance);
        if (told || (depth >= limit && !type.IsValueType))
            return "{" + Names.Of(type) + "}";
        path.Add(value);
        string text = Inside(value, type, depth);
        path.RemoveAt(path.Count - 1);
        return text;
    }

    private string Inside(object value, Type type, int depth)
    {
        if (value is Array array)
            return Array(array, depth);
        if (Parts.IsMemory(type))
        {
            var all = Parts.Items(value).ToList();
            return Names.Of(type.GetGenericArguments()[0]) + "[" + all.Count + "]" + (all.Count == 0 ? "" : " {" + Listed(all.Select(x => Text(x.Item, depth + 1))) + "}");
        }
        if (Parts.Items(value) is { } items)
        {
            var all = items.ToList();
            var texts = all.Select(x => (x.HasKey ? "[" + Text(x.Key, depth + 1) + "] = " : "") + Text(x.Item, depth + 1));
            return "Count = " + all.Count + (all.Count == 0 ? "" : " {" + Listed(texts) + "}");
        }
        if (Parts.IsPair(type))
            return depth >= limit ? "(...)" : "[" + Text(type.GetProperty("Key").GetValue(value), depth + 1) + ", " + Text(type.GetProperty("Value").GetValue(value), depth + 1) + "]";
        if (value is ITuple tuple)
            return depth >= limit ? "(...)" : "(" + Listed(Enumerable.Range(0, tuple.Length).Select(i => Text(tuple[i], depth + 1))) + ")";
        if (!type.IsValueType && !Names.IsAnonymous(type))
            return "{" + Names.Of(type) + "}";
        return depth >= limit ? "{...}" : "{" + Listed(Parts.Fields(value).Select(p => p.Name + " = " + Text(p.Value, depth + 1))) + "}";
    }

    private string Array(Array array, int depth)
    {
        string text = Names.Of(array.GetType().GetElementType()) + "[" + string.Join(",", Enumerable.Range(0, array.Rank).Select(array.GetLength)) + "]";
        if (array.Length == 0)
            return text;
        int row = array.GetLength(array.Rank - 1), i = 0;
        bool rows = array.Rank > 1;
        text += " {";
        foreach (object one in array)
        {
            if (i >= Most)
            {
                text += ", ...";
                break;
            }
            if (i != 0)
                text += rows && i % row == 0 ? "}, " : ", ";
            if (rows && i % row == 0)
                text += "{";
            text += Text(one, depth + 1);
            i++;
        }
        return text + (rows ? "}}" : "}");
    }

    private string Task(Task task, int depth)
    {
        string text = "{" + Names.Of(task.GetType()) + ": " + task.Status;
        if (task.Status == TaskStatus.RanToCompletion && task.GetType().GetProperty("Result") is { } result && result.PropertyType.Name != "VoidTaskResult" && depth < limit)
            text += ", Result = " + Text(result.GetValue(task), depth + 1);
        if (task.Status == TaskStatus.Faulted)
            text += ", " + Text(task.Exception.InnerException, depth);
        return text + "}";
    }

    private static string Listed(IEnumerable<string> texts)
    {
        var first = texts.Take(Most + 1).ToList();
        return string.Join(", ", first.Take(Most)) + (first.Count > Most ? ", ..." : "");
    }

    private static string Message(Exception e) => (string)typeof(Exception).GetField("_message", BindingFlags.Instance | BindingFlags.NonPublic).GetValue(e);
    private static string Date(DateTime d) => Trimmed(d.ToString("yyyy-MM-dd HH:mm:ss.fffffff", CultureInfo.InvariantCulture));
    private static string Trimmed(string text) => text.TrimEnd('0').TrimEnd('.');

    private static string Quoted(string text, char quote)
    {
        var made = new StringBuilder().Append(quote);
        foreach (char c in text)
            made.Append(c switch { '\n' => "\\n", '\r' => "\\r", '\t' => "\\t", '\\' => "\\\\", '\0' => "\\0", _ when c == quote => "\\" + c, _ => c.ToString() });
        return made.Append(quote).ToString();
    }
}
