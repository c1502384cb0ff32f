// The command `lldb-clr`: cores without LLDB, and the way to install the extension in LLDB.
using LldbClr;

const string usage = """
    usage: lldb-clr analyze CORE [OPTION]...           what is the matter: the verdict, the thread that failed, its exception, its stack
           lldb-clr symbolize CORE [FILE] [OPTION]...  names the addresses of FILE (else of the standard input), lines ADDRESS [COUNT]
           lldb-clr install [--system]                 LLDB has the extension when it starts: for this user, or for all (as root)
           lldb-clr uninstall [--system]               takes it away
           lldb-clr version
    options: --sysroot FOLDER    where the target's file system lies on this host
             --path-map FROM=TO  the target's files below FROM lie below TO
             --symbols FOLDER    a folder of PDBs
             --count N           at most N frames (analyze) or rows (symbolize)
             --json              JSON as the commands of the extension print it
    """;

try
{
    var words = new Words(args);
    switch (words.Command)
    {
        case "analyze":
            using (var core = Core.Open(words.Next("CORE"), words)) return Analysis.Print(core, words, Console.Out);
        case "symbolize":
            using (var core = Core.Open(words.Next("CORE"), words)) return Symbols.Print(core, words, Console.Out);
        case "install":
            return Installation.Run(words);
        case "uninstall":
            return Installation.Run(words, "--uninstall");
        case "version":
            words.RequireEnd();
            Console.WriteLine($"lldb-clr {Library.Version()}, {Native.Folder}");
            return 0;
        default:
            throw new UsageException($"there is no command '{words.Command}'");
    }
}
catch (UsageException wrong)
{
    Console.Error.WriteLine(args.Length == 0 || args[0] is "--help" or "-h" or "help" ? usage : $"error: {wrong.Message}\n{usage}");
    return args.Length > 0 && args[0] is "--help" or "-h" or "help" ? 0 : 2;
}
catch (Exception error) when (error is ClrException or IOException or UnauthorizedAccessException or PlatformNotSupportedException)
{
    Console.Error.WriteLine($"error: {error.Message}");
    return 1;
}
