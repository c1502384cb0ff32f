"""Which modules of a package import which, read from their sources."""
import ast
import graphlib


def imported(source, package, modules):
    """The modules of `package` that a source of it imports, wherever the statement stands: in a function or below TYPE_CHECKING too."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names = [alias.name.split(".") for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = [package] if node.level else []
            module = above + (node.module.split(".") if node.module else [])
            names = [module + [alias.name] for alias in node.names]
        else:
            continue
        for name in names:
            if name[0] == package:
                found.add(name[1] if len(name) > 1 and name[1] in modules else "__init__")
    return found


def arrows(sources, package):
    """{module: modules that it imports} of a package without folders, from {module: source}."""
    return {module: imported(source, package, sources) for module, source in sources.items()}


def circle(sources, package):
    """The modules of a circle of imports, the first one last again; None when there is no circle."""
    try:
        graphlib.TopologicalSorter(arrows(sources, package)).prepare()
    except graphlib.CycleError as error:
        return error.args[1]
    return None
