"""What to say where a command needs what was left out of the installation."""

from importlib.util import find_spec


def what_to_install(error: ModuleNotFoundError) -> str:
    """What a command lacks where only the library is installed.

    Raises:
        ModuleNotFoundError: it lacks a part of a package that is here, which no installation would bring.
    """
    package = (error.name or "").partition(".")[0]
    if not package or find_spec(package):
        raise error
    return (
        f"this needs {package}, which is not installed; what draws and shows comes by pip install 'circuitcore[book]'"
    )
