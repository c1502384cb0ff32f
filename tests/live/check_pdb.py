"""Every sequence point, scope, name and state machine of PDBs as we read them, against System.Reflection.Metadata's reading."""
import collections
import os
import pathlib
import shutil
import subprocess

import processes
from processes import Unavailable

HERE = pathlib.Path(__file__).resolve().parent
DUMP = HERE / "metadata_dump"

PROJECT = """<Project Sdk="Microsoft.NET.Sdk">
  <PropertyGroup>
    <TargetFramework>net10.0</TargetFramework>
    <LangVersion>latest</LangVersion>
    <Nullable>disable</Nullable>
    <NoWarn>$(NoWarn);CS0162;CS0168;CS0219;CS1998</NoWarn>
    <AllowUnsafeBlocks>true</AllowUnsafeBlocks>
    <DebugType>{kind}</DebugType>
    <EmbedAllSources>{sources}</EmbedAllSources>
    <Optimize>{optimize}</Optimize>
  </PropertyGroup>
</Project>
"""

# Contents that make PDBs interesting: several documents in one method, hidden lines, lines far apart and backwards, columns past a byte, scopes in
# scopes, constants of every kind, state machines, lambdas.
MEMBER = """
  public static int Plain{n}(int[] values) {{
    const int limit = {n}; const string word = "w\\u00e4{n}"; const double half = 0.5; const decimal money = 1.5m; const object nothing = null;
    int sum = 0;
    for (int i = 0; i < values.Length; i++) {{ int square = values[i] * values[i]; if (square > limit) {{ long wide = square; sum += (int)wide; }} }}
    foreach (int v in values) sum += v;
{pad}    try {{ sum /= values.Length; }} catch (System.DivideByZeroException e) when (e.Message.Length > limit) {{ var text = e.ToString(); sum = text.Length; }} finally {{ sum++; }}
#line {far} "generated{m}.y"
    sum += {n};
#line hidden
    sum ^= 1;
#line {near} "other\\generated{m}.y"
    sum += 2; switch (sum) {{ case 1: return 1; case 2: {{ int two = 2; return two; }} default: break; }}
#line (3,5)-(4,17) 9 "spans.razor"
    sum -= 3;
#line default
    return sum;
  }}
  public static async System.Threading.Tasks.Task<int> Async{n}(int start) {{
    int local = start; await System.Threading.Tasks.Task.Yield();
    for (int i = 0; i < local; i++) {{ int inner = i; await System.Threading.Tasks.Task.Delay(inner); local -= inner; }}
    return local;
  }}
  public static async void Fire{n}() {{ await System.Threading.Tasks.Task.Yield(); }}
  public static System.Collections.Generic.IEnumerable<int> Iterator{n}(int count) {{ for (int i = 0; i < count; i++) {{ int twice = i * 2; yield return twice; }} }}
  public static async System.Collections.Generic.IAsyncEnumerable<int> Both{n}() {{ int x = {n}; await System.Threading.Tasks.Task.Yield(); yield return x; }}
  public static System.Func<int, int> Lambda{n}(int captured) {{ int Local(int y) {{ int z = y + captured; return z; }} return x => {{ int w = Local(x); return w + captured; }}; }}
  public int Property{n} {{ get; set; }}
  public abstract class Abstract{n} {{ public abstract void Nothing(); public extern static void Outside(); }}
"""


def generated(folder, name, kind, optimize, members):
    """The assembly of a program that is made for its PDB."""
    project = pathlib.Path(folder) / name
    project.mkdir(parents=True, exist_ok=True)
    (project / f"{name}.csproj").write_text(PROJECT.format(kind=kind, sources="true" if kind == "embedded" else "false", optimize=optimize))
    for part in range(4):
        text = "".join(MEMBER.format(n=n, m=n % 7, far=n * 1000 + 70000, near=n + 1, pad=" " * (n % 400))
                       for n in range(part * members // 4, (part + 1) * members // 4))
        (project / f"Part{part}.cs").write_text(f"public partial class Generated {{\n{text}\n}}\n")
    for document in ["spans.razor", *(f"{folder}generated{m}.y" for m in range(7) for folder in ("", "other\\"))]:
        (project / document).write_text(f"the text of {document}\n" * 40)   # what #line names must be there to be embedded
    output = project / "out"
    build(project, output)
    return output / f"{name}.dll"


def build(project, output):
    env = dict(os.environ, DOTNET_CLI_TELEMETRY_OPTOUT="1", DOTNET_NOLOGO="1")
    done = subprocess.run([processes.dotnet(), "build", str(project), "-c", "Release", "-o", str(output), "-v", "q", "-nologo"], env=env,
                          capture_output=True, text=True, timeout=600)
    if done.returncode:
        raise Unavailable(f"building {pathlib.Path(project).name} failed:\n{done.stdout[-2000:]}{done.stderr[-1000:]}")


def reader(folder):
    """The program that asks System.Reflection.Metadata."""
    project = pathlib.Path(folder) / "metadata_dump"
    project.mkdir(parents=True, exist_ok=True)
    for file in [*DUMP.glob("*.cs"), *DUMP.glob("*.csproj")]:
        shutil.copy(file, project)
    build(project, project / "out")
    return project / "out" / "metadata_dump.dll"


def is_portable(path):
    with open(path, "rb") as file:
        return file.read(4) == b"BSJB"


def lines(command, path):
    done = subprocess.run([*map(str, command), "pdb", str(path)], capture_output=True, timeout=300)
    if done.returncode:
        raise AssertionError(f"{pathlib.Path(command[-1]).name} of {path}: {done.stderr.decode(errors='replace')[-300:]}")
    return done.stdout.decode(errors="surrogateescape").splitlines()


def check(core_tool, oracle, files):
    """Both readings of each file (a PDB, or an assembly that leads to one) are equal, line by line."""
    counts = collections.Counter()
    for file in files:
        ours, theirs = lines([core_tool], file), lines([processes.dotnet(), oracle], file)
        for number, (our, their) in enumerate(zip(ours, theirs)):
            assert our == their, f"{file}: line {number + 1}: we read `{our}`, System.Reflection.Metadata `{their}`"
        assert len(ours) == len(theirs), f"{file}: {len(ours)} lines, System.Reflection.Metadata has {len(theirs)}"
        counts.update(line.split(" ", 1)[0] for line in ours)
        counts["hidden"] += sum(line.endswith(" hidden") for line in ours)
        counts["PDBs"] += 1
    assert counts["point"] > 0 and counts["variable"] > 0, "nothing was compared"
    words = {"PDBs": "PDBs", "document": "documents", "method": "methods", "point": "points", "hidden": "of them hidden", "scope": "scopes",
             "variable": "variables", "constant": "constants", "kickoff": "state machines", "await": "awaits", "hoisted": "hoisted variables"}
    return ", ".join(f"{counts[key]:,} {word}" for key, word in words.items()) + ": all equal"
