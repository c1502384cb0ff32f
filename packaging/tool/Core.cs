using System.Text.Json;
using System.Text.Json.Nodes;

namespace LldbClr;

/// <summary>A core file that libclr.so has open.</summary>
sealed class Core : IDisposable
{
    nint handle;

    public string Path { get; }
    public nint Handle => handle;

    Core(string path, nint opened) => (Path, handle) = (path, opened);

    public static Core Open(string path, Words words)
    {
        var options = new JsonObject
        {
            ["path_map"] = JsonSerializer.SerializeToNode(words.PathMap),
            ["symbols"] = JsonSerializer.SerializeToNode(words.Symbols),
        };
        if (words.Sysroot is { } sysroot) options["sysroot"] = sysroot;
        return new Core(path, Library.Open(path, options.ToJsonString()));
    }

    /// <summary>All rows of a query, and what it says at its end.</summary>
    public static (List<JsonElement> Rows, JsonElement? End) All(nint query)
    {
        var rows = new List<JsonElement>();
        JsonElement? end = null;
        try
        {
            while (Library.Next(query) is { } json)
            {
                JsonElement batch = JsonDocument.Parse(json).RootElement;
                rows.AddRange(batch.GetProperty("rows").EnumerateArray());
                if (batch.TryGetProperty("end", out JsonElement last)) end = last;
            }
        }
        finally
        {
            Library.clr_rows_close(query);
        }
        return (rows, end);
    }

    public static JsonElement One(nint query) => All(query).Rows[0];

    public void Dispose()
    {
        Library.clr_close(handle);
        handle = 0;
    }
}
