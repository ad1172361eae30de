import json

FLOW = """
name: variants
tasks:
  split: {runtime: 30s, files: {out: [a, b]}}
  align-a: {runtime: 60s, files: {in: a}}
  align-b: {runtime: 40s, files: {in: b}}
  merge: {runtime: 30s, needs: [align-a, align-b]}
"""


def test_a_small_workflow_is_shown_with_the_names_of_its_tasks(place):
    place.write("flow.yaml", FLOW)
    out, err = place.bursar("show", "flow.yaml")
    assert err == ""
    lines = out.splitlines()
    assert lines[0] == "variants: 4 tasks, 4 edges, 2 files, 3 levels, the fullest of 2 tasks"
    assert "critical path 2.0 min" in lines[1]
    assert "1.3 tasks at once" in lines[1]
    assert [line.split()[0] for line in lines[5:8]] == ["split", "align-a", "merge"]
    assert lines[-2].split() == ["2", "2", "#" * 24, "align-a,", "align-b"]


def test_json_has_what_programs_ask_for(place):
    place.write("flow.yaml", FLOW)
    found = place.json("show", "flow.yaml")
    assert (found["tasks"], found["edges"], found["depth"], found["width"]) == (4, 4, 3, 2)
    assert found["critical_path_s"] == 120.0
    assert found["critical_path"] == ["split", "align-a", "merge"]
    assert found["lop"] == 160 / 120
    assert found["levels"] == [1, 2, 1]
    assert found["kinds"] == {"split": 1, "align-a": 1, "align-b": 1, "merge": 1}


def test_one_task_without_a_run_time_is_shown(place):
    place.write("flow.toml", '[tasks.only]\nrun = "true"\n')
    out, _ = place.bursar("show", "flow.toml")
    assert "1 task without a run time: each task counts as one" in out
    found = place.json("show", "flow.toml")
    assert (found["tasks"], found["lop"], found["critical_path_s"]) == (1, 1.0, None)


def test_a_large_workflow_fits_on_a_screen(place):
    kinds = ["map", "sort", *(f"kind-{letter}" for letter in "abcdefghijk")]
    count = 5000
    compact = {
        "kind": "large",
        "name": [kinds[task % len(kinds)] for task in range(count)],
        "runtime": [1.0] * count,
        "parents": [[task - 50] if task >= 50 else [] for task in range(count)],
    }
    place.write("large.json", json.dumps(compact))
    out, _ = place.bursar("show", "large.json")
    lines = out.splitlines()
    assert len(lines) < 60
    assert max(map(len, lines)) <= 130
    assert "88 tasks more" in out
    assert "13-88" in out
    assert "more kinds" in out
    assert sum(place.json("show", "large.json")["levels"]) == count


def test_levels_alike_are_one_line(place):
    tasks = [f"  step-{number}: {{needs: step-{number - 1}}}" for number in range(1, 40)]
    place.write("chain.yaml", "\n".join(["tasks:", "  step-0:", *tasks]))
    out, _ = place.bursar("show", "chain.yaml")
    assert out.splitlines()[-1].split() == ["1-40", "1", "#" * 24, "1", "step"]


def test_a_cycle_is_reported_in_one_line(place):
    place.write("flow.yaml", "tasks: {a: {needs: b}, b: {needs: a}}")
    out, err = place.bursar("show", "flow.yaml", code=2)
    assert out == ""
    assert err == (
        "bursar: flow.yaml: the tasks wait for each other: a -> b -> a; remove one of these needs\n"
    )
