"""Files that are not YAML, or not as we want it, and the places of what is read."""

import pytest

from linkwork.machine import MachineError, load
from linkwork.machine.yaml_document import LARGEST_FILE_BYTES, parse_yaml, read_yaml


def refusal(source: str | bytes) -> str:
    with pytest.raises(MachineError) as caught:
        parse_yaml(source, "f.yaml")
    return str(caught.value)


def test_values_are_those_of_yaml_1_2():
    data = parse_yaml("[1, 2.5, 1e3, 010, 0o17, 0x1f, on, yes, true, ~, 12:30:45, 2001-01-01, '3', <<]").data
    assert data == [1, 2.5, 1000.0, 10, 15, 31, "on", "yes", True, None, "12:30:45", "2001-01-01", "3", "<<"]


def test_every_key_and_value_knows_its_place():
    document = parse_yaml("a: 1\nb:\n  - 2\n  - {c: 3, 'd e': [4, 5]}\n", "f.yaml")
    assert document.position(("a",)) == (1, 4)
    assert document.position(("a",), of_key=True) == (1, 1)
    assert document.position(("b", 0)) == (3, 5)
    assert document.position(("b", 1, "d e", 1)) == (4, 23)
    assert document.position(("b", 1, "d e"), of_key=True) == (4, 12)
    assert document.position(("b", 1, "missing")) == (4, 5)
    assert document.position(("missing",)) == (1, 1)
    assert str(document.problem(("b", 0), "no")) == "f.yaml:3:5: error: b[0]: no"


def test_aliases_are_followed():
    assert parse_yaml("a: &motor {x: 1}\nb: *motor").data == {"a": {"x": 1}, "b": {"x": 1}}
    assert parse_yaml("a: &x 1\nb: &x 2\nc: *x").data["c"] == 2


def test_byte_order_marks_and_windows_line_ends_are_read():
    assert parse_yaml("a: 1\r\nb: 2\r\n".encode("utf-8-sig")).data == {"a": 1, "b": 2}


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (b"", "f.yaml: error: the file is empty"),
        (b"# only a comment\n", "f.yaml: error: the file is empty"),
        (b"a: 1\nb: \xe9\n", "f.yaml:2:4: error: the file is not UTF-8 text\n    found    the byte 0xe9"),
        ("a: 1\n".encode("utf-16"), "f.yaml:1:1: error: the file is not UTF-8 text"),
        (b"a: \x00", "f.yaml:1:4: error: this character is not allowed in YAML"),
        (b"a: \x1b[0m", "f.yaml:1:4: error: this character is not allowed in YAML"),
        (b"a:\n\tb: 1\n", "f.yaml:2:1: error: a tab in the indentation; YAML needs spaces"),
        (
            b"a: 1\na: 2\na: 3\n",
            "f.yaml:2:1: error: a: this key is given twice\n    found    first on line 1",
        ),
        (b"a: 1\n---\nb: 2\n", "f.yaml:2:1: error: "),
        (b"a: *b", "f.yaml:1:4: error: "),
        (b"a: {b: 1", "f.yaml:1:9: error: "),
        (b"a: b: c", "f.yaml:1:5: error: "),
        (b'a: "b', "f.yaml:1:6: error: "),
        (b"a: !!python/object:os.system {}", "f.yaml:1:4: error: a: unknown tag"),
        (b"a: !!binary aGFsbG8=", "f.yaml:1:4: error: a: unknown tag"),
        (b"a: !!int five", "f.yaml:1:4: error: a: this is not an integer"),
        (b"a: !!int ''", "f.yaml:1:4: error: a: this is not an integer"),
        (b"a: !!float ''", "f.yaml:1:4: error: a: this is not a number"),
        (b"a: !!bool maybe", "f.yaml:1:4: error: a: this is not true or false"),
        (rb'a: "\ud800"', "f.yaml:1:4: error: a: this text is not valid Unicode"),
        (rb'"\ud800": 1', "f.yaml:1:1: error: this key is not valid Unicode"),
        (rb'a: "\U00110000"', "f.yaml: error: this is not YAML"),
        (b"? [1, 2]\n: 3", "f.yaml:1:3: error: a key must be text"),
        (b"null: 3", "f.yaml:1:1: error: a key must be text"),
        (b"a: &a [*a]", "nested too deeply"),
        (b"[" * 100_000, "nested too deeply"),
        (b"- " * 60 + b"1", "nested too deeply"),
        (b"%YAML 3.0\n---\na: 1", "f.yaml:1"),
        (b"a: 1" + b"0" * 5000, "f.yaml:1:4: error: a: this is not an integer"),
    ],
)
def test_what_is_no_good_is_placed(source, words):
    assert words in refusal(source)


def test_a_report_cannot_drive_the_terminal(problems_of):
    reports = "\n".join(map(str, problems_of('"\\e[2J\\n": 1\nname: "\\a"\n')))
    assert "\\x1b[2J\\n" in reports
    assert all(line.isprintable() for line in reports.split("\n"))


def test_two_keys_that_stand_twice_are_told_at_once():
    assert refusal("a: 1\nb: 2\na: 3\nb: 4").count("this key is given twice") == 2


def test_aliases_cannot_make_a_small_file_huge():
    lines = ["a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    assert "too many values" in refusal("\n".join(lines))


def test_huge_files_are_not_read_at_all(write):
    path = write(b"#" * (LARGEST_FILE_BYTES + 1))
    with pytest.raises(MachineError, match="too large"):
        read_yaml(path)


@pytest.mark.parametrize("reader", [read_yaml, load])
def test_files_that_are_none(reader, tmp_path):
    with pytest.raises(MachineError, match="this is a folder") as caught:
        reader(tmp_path)
    assert caught.value.problems[0].line is None
    with pytest.raises(MachineError, match="no such file"):
        reader(tmp_path / "none.yaml")
    with pytest.raises(MachineError, match="cannot be read"):
        reader("a\0b")


def test_a_missing_machine_names_those_that_are_there(tmp_path, write, scara_text):
    write(scara_text, "crank.yaml")
    with pytest.raises(MachineError) as caught:
        load(tmp_path / "crnk.yaml")
    assert caught.value.problems[0].remedy == "write crank.yaml"
    with pytest.raises(MachineError) as caught:
        load("skara")
    assert caught.value.problems[0].remedy == "write scara"
    assert "scara" in caught.value.problems[0].allowed
