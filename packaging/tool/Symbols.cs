using System.Globalization;
using System.Text.Encodings.Web;
using System.Text.Json;

namespace LldbClr;

/// <summary>`lldb-clr symbolize`: a file of addresses as a list of methods, those with most samples first.</summary>
static class Symbols
{
    /// <summary>More different addresses than any profile has: the rest is left out, and said.</summary>
    const int MaxAddresses = 1 << 24;
    const int Together = 1 << 16;

    public static int Print(Core core, Words words, TextWriter output)
    {
        string? file = words.NextIfAny();
        words.RequireEnd();
        using TextReader input = file is null ? Console.In : new StreamReader(file);
        (Dictionary<ulong, ulong> counts, long left) = Read(input);
        Dictionary<(string Module, string Function, string File, uint Line), ulong> rows = Named(core, counts);
        var sorted = rows.OrderByDescending(row => row.Value).ThenBy(row => row.Key).Take(words.Count ?? int.MaxValue);
        ulong total = counts.Values.Aggregate(0ul, (sum, count) => sum + count);
        if (words.Json)
            PrintJson(sorted, total, output);
        else
        {
            output.WriteLine("     count percent  function");
            foreach (var ((module, function, source, line), count) in sorted)
            {
                string place = line == 0 ? "" : $" at {source[(source.LastIndexOfAny(['/', '\\']) + 1)..]}:{line}";
                output.WriteLine(string.Create(CultureInfo.InvariantCulture,
                    $"{count,10} {100.0 * count / total,6:F2}%  {(module.Length > 0 ? module + "`" : "")}{Analysis.Printable(function)}{place}"));
            }
            output.WriteLine($"{total} samples, {rows.Count} rows");
        }
        if (left > 0) Console.Error.WriteLine($"warning: {left} lines left out: they are not ADDRESS [COUNT], the address in hexadecimal");
        return 0;
    }

    static (Dictionary<ulong, ulong>, long) Read(TextReader input)
    {
        var counts = new Dictionary<ulong, ulong>();
        long left = 0;
        while (input.ReadLine() is { } line)
        {
            string[] words = line.Split((char[]?)null, StringSplitOptions.RemoveEmptyEntries);
            if (words.Length == 0 || words[0].StartsWith('#')) continue;
            ReadOnlySpan<char> digits = words[0].StartsWith("0x", StringComparison.OrdinalIgnoreCase) ? words[0].AsSpan(2) : words[0];
            ulong count = 1;
            if (!ulong.TryParse(digits, NumberStyles.AllowHexSpecifier, CultureInfo.InvariantCulture, out ulong address) ||
                (words.Length > 1 && (!ulong.TryParse(words[1], NumberStyles.None, CultureInfo.InvariantCulture, out count) || count > uint.MaxValue)) ||
                (counts.Count >= MaxAddresses && !counts.ContainsKey(address)))
            {
                ++left;
                continue;
            }
            counts[address] = counts.GetValueOrDefault(address) + count;
        }
        return (counts, left);
    }

    static Dictionary<(string, string, string, uint), ulong> Named(Core core, Dictionary<ulong, ulong> counts)
    {
        var rows = new Dictionary<(string, string, string, uint), ulong>();
        foreach (ulong[] part in counts.Keys.Chunk(Together))
        {
            (byte[] owners, byte[] files, uint[] owner, Library.Place[] places) = Library.Symbolize(core.Handle, part);
            using JsonDocument names = JsonDocument.Parse(owners), paths = JsonDocument.Parse(files);
            var named = names.RootElement.EnumerateArray().Select(Named).ToArray();
            string[] sources = paths.RootElement.EnumerateArray().Select(path => path.GetString()!).ToArray();
            for (int i = 0; i < part.Length; ++i)
            {
                (string module, string? function) = named[owner[i]];
                Library.Place place = places[i];
                bool has = place.File != Library.Place.NoFile && place.File < sources.Length;
                var key = (module, function ?? $"0x{part[i]:x}", has ? sources[place.File] : "", has ? place.Line : 0);
                rows[key] = rows.GetValueOrDefault(key) + counts[part[i]];
            }
        }
        return rows;
    }

    /// <summary>The name as the commands show it; none: the address stands for itself.</summary>
    static (string Module, string? Function) Named(JsonElement owner)
    {
        if (owner.TryGetProperty("method", out JsonElement method))
        {
            string name = "";
            if (method.TryGetProperty("user_method", out JsonElement user) && user.ValueKind == JsonValueKind.Object)
                name = $"{Analysis.Plain(user, "full_name")} [{Analysis.Plain(user, "mark")}]";
            foreach (string kind in (string[])["full_name", "name", "sos_name"])
                if (name.Length == 0) name = Analysis.Plain(method, kind);
            return (Analysis.Plain(method, "module"), name.Length == 0 ? null : name);
        }
        // "libc.so.6`read + 18", "libcoreclr.so + 0x638e09": all places of a function are one row.
        string symbol = Analysis.Plain(owner, "symbol");
        int tick = symbol.IndexOf('`'), place = symbol.LastIndexOf(" + ", StringComparison.Ordinal);
        if (tick < 0) return ("", symbol.Length == 0 ? null : symbol);
        return (symbol[..tick], place > tick ? symbol[(tick + 1)..place] : symbol[(tick + 1)..]);
    }

    static void PrintJson(IEnumerable<KeyValuePair<(string Module, string Function, string File, uint Line), ulong>> rows, ulong total, TextWriter output)
    {
        using var stream = Console.OpenStandardOutput();
        using (var json = new Utf8JsonWriter(stream, new JsonWriterOptions { Encoder = JavaScriptEncoder.UnsafeRelaxedJsonEscaping }))
        {
            json.WriteStartArray();
            foreach (var ((module, function, file, line), count) in rows)
            {
                json.WriteStartObject();
                json.WriteNumber("count", count);
                json.WriteNumber("percent", Math.Round(100.0 * count / total, 4));
                json.WriteString("function", function);
                if (module.Length > 0) json.WriteString("module", module);
                if (file.Length > 0) json.WriteString("file", file);
                if (line != 0) json.WriteNumber("line", line);
                json.WriteEndObject();
            }
            json.WriteEndArray();
        }
        output.WriteLine();
    }
}
