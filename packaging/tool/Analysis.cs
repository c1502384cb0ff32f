using System.Globalization;
using System.Text;
using System.Text.Json;

namespace LldbClr;

/// <summary>`lldb-clr analyze`: what `clr analyze` tells, of a core.</summary>
static class Analysis
{
    public static int Print(Core core, Words words, TextWriter output)
    {
        words.RequireEnd();
        JsonElement analysis = Core.One(Library.Analysis(core.Handle));
        if (words.Json)
        {
            output.WriteLine(analysis.GetRawText());
            return 0;
        }
        bool absent = PrintProcess(core, analysis, output);
        Section(output, "evidence:", Texts(analysis.GetProperty("evidence")));
        if (analysis.TryGetProperty("thread", out JsonElement thread))
        {
            ulong id = thread.GetProperty("os_id").GetUInt64();
            output.WriteLine($"thread:    thread #{thread.GetProperty("index")}, id {id} ({Plain(thread, "why")})");
            if (!absent) PrintException(core, id, output);
            PrintStack(core, id, words.Count ?? 0, output);
        }
        else
        {
            output.WriteLine("thread:    none is known");
        }
        if (!Section(output, "missing or doubtful:", Missing(core, analysis)))
            output.WriteLine("missing:   nothing that was asked for");
        return 0;
    }

    /// <summary>True when there is no runtime to ask.</summary>
    static bool PrintProcess(Core core, JsonElement analysis, TextWriter output)
    {
        JsonElement info = Core.One(Library.Info(core.Handle));
        bool absent = info.TryGetProperty("absent", out JsonElement why);
        if (!absent) output.WriteLine($"verdict:   {Plain(analysis, "sentence")}");
        output.WriteLine($"process:   {analysis.GetProperty("process")}, {analysis.GetProperty("threads")} threads, core {core.Path}");
        if (absent)
        {
            output.WriteLine($"runtime:   {Printable(why.GetString())}");
            return true;
        }
        JsonElement runtime = info.GetProperty("runtime");
        string version = Plain(runtime, "version") is { Length: > 0 } known ? known : "of unknown version";
        string found = info.TryGetProperty("descriptor", out JsonElement descriptor) ? Plain(descriptor, "found_in") : "";
        output.WriteLine($"runtime:   {Plain(runtime, "name")} {version} ({Plain(runtime, "os")} {Plain(runtime, "cpu")}){(found.Length > 0 ? " in " + found : "")}");
        return false;
    }

    static void PrintException(Core core, ulong thread, TextWriter output)
    {
        JsonElement found = default;
        bool flies = false;
        foreach (JsonElement row in Core.All(Library.Threads(core.Handle)).Rows)
            if (row.GetProperty("os_id") is { ValueKind: JsonValueKind.Number } id && id.GetUInt64() == thread &&
                ((flies = row.TryGetProperty("exception", out found)) || row.TryGetProperty("last_thrown", out found)))
                break;
        if (found.ValueKind != JsonValueKind.Object)
        {
            output.WriteLine("exception: none");
            return;
        }
        output.WriteLine($"exception: {(flies ? "in flight:" : "none in flight; the last one that was thrown:")}");
        try
        {
            bool first = true;
            foreach (JsonElement one in Core.All(Library.Exception(core.Handle, Address(found, "address"))).Rows)
            {
                PrintOne(one, first ? "" : "inner exception: ", output);
                first = false;
            }
        }
        catch (ClrException error)
        {
            output.WriteLine($"  {Plain(found, "address")}: {error.Message}");
        }
    }

    static void PrintOne(JsonElement exception, string role, TextWriter output)
    {
        string type = Plain(exception, "type") is { Length: > 0 } known ? known : "exception of unknown type";
        output.WriteLine($"{role}{type} at {Plain(exception, "address")}");
        if (exception.GetProperty("message").ValueKind == JsonValueKind.String) output.WriteLine($"  message: {Plain(exception, "message")}");
        if (exception.GetProperty("hresult").ValueKind == JsonValueKind.String) output.WriteLine($"  HResult: {Plain(exception, "hresult")}");
        int index = 0;
        foreach (JsonElement row in exception.GetProperty("trace").EnumerateArray())
        {
            if (index == 0) output.WriteLine("  stack trace:");
            output.WriteLine($"    #{index++}: {Plain(row, "text")}");
        }
        if (Plain(exception, "fault") is { Length: > 0 } fault) output.WriteLine($"  not known: {fault}");
    }

    static void PrintStack(Core core, ulong thread, int most, TextWriter output)
    {
        output.WriteLine("stack:");
        (List<JsonElement> frames, JsonElement? end) = Core.All(Library.Frames(core.Handle, thread, most));
        foreach (JsonElement frame in frames)
            if (Plain(frame, "kind") != "runtime")
            {
                string fault = Plain(frame, "fault");
                output.WriteLine($"    frame #{frame.GetProperty("index")}: {Plain(frame, "text")} [{Plain(frame, "found_by")}]{(fault.Length > 0 ? $" ({fault})" : "")}");
            }
        if (end is not { } last) return;
        string why = Plain(last, "end");
        if (why == "limit") output.WriteLine($"    ... (stopped at {most} frames)");
        else if (why != "bottom") output.WriteLine($"    (the walk ends here: {why})");
        foreach (JsonElement note in last.GetProperty("notes").EnumerateArray()) output.WriteLine($"    (note: {Printable(note.GetString())})");
    }

    /// <summary>What the analysis lacked, and what the stack and the exception lacked since.</summary>
    static IEnumerable<string> Missing(Core core, JsonElement analysis)
    {
        JsonElement memory = Core.One(Library.Info(core.Handle)).GetProperty("memory");
        return Texts(memory.GetProperty("notes")).Concat(Texts(memory.GetProperty("refusals"))).Concat(Texts(analysis.GetProperty("missing"))).Distinct();
    }

    static IEnumerable<string> Texts(JsonElement array) => array.EnumerateArray().Select(text => Printable(text.GetString()));

    static bool Section(TextWriter output, string head, IEnumerable<string> texts)
    {
        bool any = false;
        foreach (string text in texts)
        {
            if (!any) output.WriteLine(head);
            any = true;
            output.WriteLine($"  {text}");
        }
        return any;
    }

    static ulong Address(JsonElement of, string name) =>
        ulong.Parse(of.GetProperty(name).GetString()!.AsSpan(2), NumberStyles.HexNumber, CultureInfo.InvariantCulture);

    /// <summary>A text of the answer; "" where there is none.</summary>
    internal static string Plain(JsonElement of, string name) =>
        of.TryGetProperty(name, out JsonElement value) && value.ValueKind == JsonValueKind.String ? Printable(value.GetString()) : "";

    /// <summary>Text of a target, without what a terminal would obey.</summary>
    internal static string Printable(string? text)
    {
        var shown = new StringBuilder();
        foreach (Rune rune in (text ?? "").EnumerateRunes())
            if (Rune.IsControl(rune)) shown.Append(CultureInfo.InvariantCulture, $"\\x{rune.Value:x2}");
            else shown.Append(rune);
        return shown.ToString();
    }
}
