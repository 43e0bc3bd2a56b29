"""The law inside the data room: readers at the bottom, then what is derived, then the classes."""

from tests.builders import imports_of, modules

DATA = "bayesrank.data"
FLOORS = {
    f"{DATA}.read": {f"{DATA}.read"},
    f"{DATA}.derive": {f"{DATA}.read", f"{DATA}.derive"},
    f"{DATA}.frozen": {f"{DATA}.read"},
    f"{DATA}.pairs": {f"{DATA}.read", f"{DATA}.derive", f"{DATA}.frozen"},
    f"{DATA}.pair_counts": {f"{DATA}.read", f"{DATA}.derive", f"{DATA}.frozen"},
    f"{DATA}.rankings": {
        f"{DATA}.read",
        f"{DATA}.derive",
        f"{DATA}.frozen",
        f"{DATA}.pairs",
        f"{DATA}.pair_counts",
    },
    f"{DATA}.interactions": {
        f"{DATA}.read",
        f"{DATA}.derive",
        f"{DATA}.frozen",
        f"{DATA}.rankings",
    },
    f"{DATA}.datasets": {f"{DATA}.pairs", f"{DATA}.rankings"},
}


def below(name, floors):
    return any(name == floor or name.startswith(f"{floor}.") for floor in floors)


def test_arrows_lead_down():
    found = {
        (module, name)
        for module, path in modules().items()
        for floor, allowed in FLOORS.items()
        if below(module, {floor})
        for name in imports_of(path.read_text(encoding="utf-8"), module)
        if name.startswith(DATA) and not below(name, allowed)
    }
    assert found == set()


def test_every_file_of_the_room_has_a_floor():
    inside = {module for module in modules() if module.startswith(f"{DATA}.")}
    assert {module for module in inside if not below(module, FLOORS)} == {f"{DATA}.__init__"}
