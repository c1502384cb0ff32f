"""docs/commands.md as manual pages: one for each command, clr-NAME(1), and clr(1) which lists them."""
import re


def roff(text):
    """A line of the page as roff: code in bold, nothing taken for a request."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    text = re.sub(r"`([^`]*)`", r"\\fB\1\\fR", text).replace("**", "")
    return "\\&" + text if text.startswith((".", "'")) else text


def command_page(name, body, version):
    lines = body.strip("\n").split("\n")
    page = [f'.TH {name.replace(" ", "-").upper()} 1 "" "lldb-clr {version}" "Commands of LLDB"', ".SH NAME", f"{name.replace(' ', '-')} \\- {roff(lines[0])}"]
    section = "DESCRIPTION"
    for line in lines:
        if line.startswith("    "):
            page += [".SH SYNOPSIS", ".nf", roff(line.strip()), ".fi", ".SH DESCRIPTION"]
            section = "DESCRIPTION"
        elif match := re.match(r"\| (.+?) \| (.*) \|$", line):
            if section != "OPTIONS":
                page.append(".SH OPTIONS")
                section = "OPTIONS"
            page += [".TP", roff(match[1]), roff(match[2].replace("\\|", "|"))]
        elif line.startswith("|"):
            continue
        elif line.startswith("Example: "):
            page += [".SH EXAMPLE", roff(line[len("Example: "):])]
            section = "EXAMPLE"
        elif line and line is not lines[0]:
            if section == "OPTIONS":
                page.append(".SH NOTES")
                section = "NOTES"
            page.append(roff(line))
        else:
            page.append(".PP")
    page += [".SH SEE ALSO", ".BR clr (1),", ".BR lldb (1)"]
    return "\n".join(page) + "\n"


def man_pages(markdown, version):
    """(name of the file, text) of each page."""
    commands = re.findall(r"^## (clr [\w-]+)\n\n(.*?)(?=^## |\Z)", markdown, re.M | re.S)
    assert len(commands) > 20, "docs/commands.md has another form"
    pages = [(f"{name.replace(' ', '-')}.1", command_page(name, body, version)) for name, body in commands]
    listed = "\n".join(f".TP\n.B {name}\n{roff(body.strip().splitlines()[0])}" for name, body in commands)
    pages.append(("clr.1", f'.TH CLR 1 "" "lldb-clr {version}" "Commands of LLDB"\n.SH NAME\nclr \\- commands of LLDB for managed code of .NET\n.SH DESCRIPTION\n'
                           f"LLDB has these commands when lldb\\-clr is installed.\n{listed}\n.SH SEE ALSO\n.BR lldb (1)\n"))
    return pages
