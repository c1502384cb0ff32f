using System.Globalization;

namespace LldbClr;

/// <summary>The command line cannot be understood.</summary>
sealed class UsageException(string message) : Exception(message);

/// <summary>The words of the command line: options may stand anywhere behind the command.</summary>
sealed class Words
{
    readonly Queue<string> places = new();

    public string Command { get; }
    public string? Sysroot { get; }
    public List<string[]> PathMap { get; } = [];
    public List<string> Symbols { get; } = [];
    public int? Count { get; }
    public bool Json { get; }
    public bool System { get; }

    public Words(string[] words)
    {
        if (words.Length == 0) throw new UsageException("no command is given");
        Command = words[0];
        for (int i = 1; i < words.Length; ++i)
        {
            string word = words[i];
            string Value() => ++i < words.Length ? words[i] : throw new UsageException($"{word} needs a value");
            switch (word)
            {
                case "--sysroot": Sysroot = Value(); break;
                case "--path-map": PathMap.Add(Pair(Value())); break;
                case "--symbols": Symbols.Add(Value()); break;
                case "--count": Count = Number(Value()); break;
                case "--json": Json = true; break;
                case "--system": System = true; break;
                default:
                    if (word.StartsWith('-')) throw new UsageException($"there is no option {word}");
                    places.Enqueue(word);
                    break;
            }
        }
    }

    public string Next(string what) => places.TryDequeue(out string? word) ? word : throw new UsageException($"{what} is missing");
    public string? NextIfAny() => places.TryDequeue(out string? word) ? word : null;

    public void RequireEnd()
    {
        if (places.TryPeek(out string? word)) throw new UsageException($"'{word}' is one word too many");
    }

    static string[] Pair(string text)
    {
        int at = text.IndexOf('=');
        return at > 0 ? [text[..at], text[(at + 1)..]] : throw new UsageException($"--path-map takes FROM=TO, not '{text}'");
    }

    static int Number(string text) =>
        int.TryParse(text, NumberStyles.None, CultureInfo.InvariantCulture, out int number) && number > 0
            ? number
            : throw new UsageException($"--count takes a number from 1, not '{text}'");
}
