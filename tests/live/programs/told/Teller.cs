// What a program says of its own values. It writes JSON lines {"frame": method, "path": as `v` takes it, "object": as `clr object` takes it, "kind",
// "text": of `v`, "deep": of `clr object`, "declared": type}, {"frame", "fields": path, "names": its children}, {"frame", "refused": path},
// {"frame", "command", "text"} and {"static": name, "text", "kind", "thread"}.
using System;
using System.Collections.Generic;
using System.Globalization;
using System.IO;
using System.Linq;
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Text.Json;

namespace Told;

public sealed class Teller
{
    private const int Shown = 2, Deep = 3; // values within values: `frame variable`, `clr object`
    private const int Levels = 2, Items = 4;
    private readonly List<Dictionary<string, object>> rows = new();

    public string Frame { get; set; } = "";

    // All of a variable, by the name that the source gives it.
    public void Tell<T>(T value, [CallerArgumentExpression(nameof(value))] string path = null) => Walk(path, path, value, typeof(T), null, Levels);
    public void TellNamed(string path, object value, Type declared) => Walk(path, path, value, declared, null, Levels);
    // One value, with the words of its text; `kind` "named" is for `v` alone.
    public void Say(string path, string text, string kind = "text") => Add(path, kind == "named" ? null : path, kind, text, text, null);
    public void Fields(string path, params string[] names) => rows.Add(new() { ["frame"] = Frame, ["fields"] = path, ["names"] = names });
    public void Refuse(params string[] paths) => rows.AddRange(paths.Select(path => new Dictionary<string, object> { ["frame"] = Frame, ["refused"] = path }));
    public void Command(string command, string text) => rows.Add(new() { ["frame"] = Frame, ["command"] = command, ["text"] = text });
    public void Static(string name, object value, int? thread = null) => rows.Add(new() { ["static"] = name, ["text"] = Texts.Of(value, Deep), ["kind"] = Kind(value, value?.GetType() ?? typeof(object)), ["thread"] = thread });

    public void Statics(Type type)
    {
        foreach (FieldInfo field in type.GetFields(BindingFlags.Static | BindingFlags.Public | BindingFlags.NonPublic | BindingFlags.DeclaredOnly))
            if (!field.IsLiteral && field.GetCustomAttribute<ThreadStaticAttribute>() == null)
                Static(Names.Of(type) + "." + Names.OfField(field.Name), field.GetValue(null));
    }

    public void Write(string path) => File.WriteAllLines(path, rows.Select(row => JsonSerializer.Serialize(row)));

    private void Add(string path, string objectPath, string kind, string text, string deep, Type declared)
        => rows.Add(new() { ["frame"] = Frame, ["path"] = path, ["object"] = objectPath, ["kind"] = kind, ["text"] = text, ["deep"] = deep, ["declared"] = declared == null ? null : Names.Of(declared) });

    private static string Kind(object value, Type declared)
    {
        if (value == null)
            return "null";
        Type type = value.GetType();
        if (type.IsValueType && !declared.IsValueType)
            return "boxed";
        if (type.IsEnum)
            return "enum";
        if (type == typeof(char) || type == typeof(bool))
            return type.Name.ToLowerInvariant();
        if (type == typeof(float) || type == typeof(double))
            return "real";
        if (type.IsPrimitive)
            return "number";
        // LLDB lists the fields of a structure that has no text.
        return type.IsValueType && !Parts.IsFramework(type) ? "structure" : "text";
    }

    private void Walk(string path, string objectPath, object value, Type declared, string[] names, int levels)
    {
        string kind = Kind(value, declared);
        string head = kind == "boxed" ? $"({Names.Of(value.GetType())}) " : "";
        Add(path, objectPath, kind, head + Texts.Of(value, Shown), head + Texts.Of(value, Deep), declared);
        if (value == null || levels == 0 || Nullable.GetUnderlyingType(declared) != null)
            return;
        Type type = value.GetType();
        if (value is string || type.IsPrimitive || type.IsEnum)
            return;
        if (value is Array { Rank: > 1 } grid)
            WalkGrid(path, objectPath, grid);
        else if (Parts.Items(value) is { } items)
            WalkItems(path, objectPath, items, Parts.TypeOfItems(type), names, levels);
        else if (!Parts.IsFramework(type) || value is ITuple || Parts.IsPair(type))
            WalkFields(path, objectPath, value, names, levels);
    }

    private void WalkGrid(string path, string objectPath, Array grid)
    {
        int[] at = new int[grid.Rank];
        for (int seen = 0; seen < Math.Min(grid.Length, 2 * Items); seen++)
        {
            Walk(path + string.Concat(at.Select(i => $"[{i}]")), objectPath + "[" + string.Join(",", at) + "]", grid.GetValue(at), grid.GetType().GetElementType(), null, 0);
            for (int d = grid.Rank - 1; d >= 0 && ++at[d] == grid.GetLength(d); d--)
                at[d] = 0;
        }
    }

    private void WalkItems(string path, string objectPath, IEnumerable<(object Key, object Item, bool HasKey)> items, Type type, string[] names, int levels)
    {
        int i = 0;
        foreach (var (key, item, hasKey) in items.Take(Items))
        {
            string index = $"[{i}]", step = !hasKey ? index : key switch
            {
                string s => "[\"" + s + "\"]",
                Enum or int or long => "[" + Convert.ToString(key, CultureInfo.InvariantCulture) + "]",
                _ => null, // `clr object` has no words for it
            };
            Walk(path + index, step == null || objectPath == null ? null : objectPath + step, item, type, names, levels - 1);
            i++;
        }
    }

    private void WalkFields(string path, string objectPath, object value, string[] names, int levels)
    {
        var fields = Parts.Fields(value, names).ToList();
        foreach (var field in fields)
            if (!field.Name.EndsWith(" (hidden)"))
                Walk(path + "." + field.Name, objectPath == null ? null : objectPath + "." + field.Name, field.Value, field.Type, field.Names, levels - 1);
        Fields(path, fields.Select(field => field.Name).ToArray());
    }
}
