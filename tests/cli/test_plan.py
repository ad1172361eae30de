import json

import pytest

EC2 = """
currency = "USD"
date = "2012-09-21"
[[offer]]
name = "m1.small"
price = "0.08"
limit = 10
[[offer]]
name = "m1.medium"
price = "0.16"
limit = 10
[[offer]]
name = "m1.large"
price = "0.32"
limit = 10
"""
KNOWN = ("--assume", "m1.small=1.66m,m1.medium=0.86m,m1.large=0.97m")


def test_known_run_times_give_the_published_choices(place):
    place.write("ec2.toml", EC2)
    words = ("plan", "--market", "ec2.toml", "--tasks", "4841", *KNOWN, "--faithful")
    found = place.json(*words)
    assert found["tasks"] == 4841
    assert [plan["fleet"] for plan in found["plans"]] == [
        {"m1.small": 2},
        {"m1.small": 9, "m1.medium": 10},
        {"m1.small": 10, "m1.medium": 10},
        {"m1.small": 10, "m1.medium": 10, "m1.large": 3},
        {"m1.small": 10, "m1.medium": 10, "m1.large": 4},
        {"m1.small": 10, "m1.medium": 10, "m1.large": 10},
    ]
    first = found["plans"][0]
    assert set(first["makespan_s"]) == {"estimate", "p50", "p90", "upper"}
    assert {"name", "units", "cost", "cost_p90", "cost_upper", "cushion", "risk"} <= set(first)
    out, _ = place.bursar(*words)
    assert "storage and transfer are not included" in out
    assert "<- knee" in out


def test_a_real_sample_is_planned_chosen_and_run_within_its_promises(place):
    place.script("work.sh", "sleep 0.0$1")
    words = ("./work.sh {}", ":::", *(str(n) for n in range(1, 10)), *["5"] * 71)
    out, err = place.bursar("plan", "-m", "market.toml", "--name", "p", "--json", *words)
    found = json.loads(out)
    assert 0 < found["tasks"] < 80
    assert "bursar run p --choose" in err
    again = place.json("plan", "p")
    assert again == found, "a saved plan is shown again, and nothing runs"
    out, err = place.bursar("run", "p", "--choose", "fastest", "--json")
    result = json.loads(out)
    assert result["status"] == "done"
    assert result["tasks"] == {"total": 80, "done": 80, "failed": 0}
    assert float(result["money"]["committed"]) <= float(result["money"]["budget"])
    assert "predicted" in err
    won, _ = place.bursar("export", "p", "--joblog", "-")
    kept = [line for line in won.splitlines()[1:] if line.split("\t")[6] == "0"]
    assert 80 <= len(kept) <= 80 + 2 * 7, "only the compared tasks ran more than once"
    place.write("old.log", won)
    learned = place.json("plan", "-m", "market.toml", "--tasks", "50", "--joblog", "old.log")
    assert learned["tasks"] == 50


SECONDS = """
currency = "USD"
date = "2026-07-01"
[[offer]]
name = "one"
price = "0.01"
billing = "1s"
limit = 2
[[offer]]
name = "two"
price = "0.02"
billing = "1s"
minimum = "2s"
slots = 2
limit = 1
"""


def test_a_real_run_on_offers_billed_by_the_second_keeps_the_bound_of_its_cost(place):
    """Nine of ten do: three that do not would be a wrong bound, not bad luck."""
    place.write("seconds.toml", SECONDS)
    place.script("work.sh", "sleep 0.$1")
    words = ("./work.sh {}", ":::", *[str(1 + n * 7 % 4) for n in range(60)])
    for turn in range(3):
        name = f"by-second-{turn}"
        options = ("--name", name, "--sample-budget", "0.40", "--json")
        out, _ = place.bursar("plan", "-m", "seconds.toml", *options, *words)
        plan = json.loads(out)["plans"][0]
        bound = max(float(plan["cost_upper"]), float(plan["cost"]))
        sample = float(plan["cap"]) - bound - float(plan["reserve"])
        out, _ = place.bursar("run", name, "--choose", "1", "--json")
        result = json.loads(out)
        assert result["tasks"]["done"] == 60
        if float(result["money"]["committed"]) - sample <= bound + 1e-9:
            return
    pytest.fail("the cost was above its bound in three runs of three")


def test_an_ordinary_log_of_gnu_parallel_tells_run_times_at_speed_1(place):
    """Its host is `:`, this computer, and no offer of any market."""
    row = "{}\t:\t1794788431.693\t     {}.000\t0\t0\t0\t0\t./simulate {}\n"
    head = "Seq\tHost\tStarttime\tJobRuntime\tSend\tReceive\tExitval\tSignal\tCommand\n"
    place.write("local.log", head + "".join(row.format(n, 8 + n % 3, n) for n in range(1, 31)))
    words = ("plan", "-m", "market.toml", "--tasks", "200", "--joblog", "local.log")
    found = place.json(*words)
    assert "taken as those of speed 1" in found["cautions"][0]
    assumed = place.json(*words[:-2], "--assume", "small=9s~0.83s,large=4.5s~0.42s")
    learned, reported = found["plans"][-1], assumed["plans"][-1]
    assert learned["fleet"] == reported["fleet"]
    assert learned["makespan_s"]["p50"] == pytest.approx(reported["makespan_s"]["p50"], rel=0.05)
    spot = '[[offer]]\nname = "spot"\nprice = "0.001"\nbilling = "1s"\npool = "unreliable"\n'
    place.write("mixed.toml", (place.path / "market.toml").read_text() + spot)
    mixed = ("plan", "-m", "mixed.toml", *words[3:])
    assert any("nothing is known of spot" in one for one in place.json(*mixed)["cautions"])
    with_spot = place.json(*mixed, "--reliability", "0.9")
    assert any("spot" in plan["fleet"] for plan in with_spot["plans"])


def test_a_bag_that_its_sample_has_done_leaves_nothing_to_plan(place):
    words = ("plan", "-m", "market.toml", "--name", "p")
    out, err = place.bursar(*words, "--json", "true", ":::", "1", "2")
    assert (json.loads(out)["tasks"], json.loads(out)["plans"]) == (0, [])
    assert "no fleet to choose" in json.loads(out)["cautions"][0]
    assert "nothing is left to plan" in err
    assert f"results: {place.outputs('p')}" in err
    _, err = place.bursar("plan", "p")
    assert "nothing is left to plan" in err


def test_a_sample_whose_tasks_all_fail_is_a_failure(place):
    place.script("bad.sh", "echo no such model >&2; exit 7")
    _, err = place.bursar("plan", "-m", "market.toml", "./bad.sh", ":::", "1", "2", code=3)
    assert "no task of the sample succeeded" in err
    assert "why: every task fails on every offer" in err
    assert "no such model" in err
    assert "--choose" not in err


def test_a_bag_that_is_small_for_its_sample_is_planned_with_a_caution(place):
    place.script("work.sh", "sleep 0.02")
    words = ("-m", "market.toml", "./work.sh {}", ":::", *map(str, range(20)))
    _, err = place.bursar("plan", *words)
    assert "Caution: The sample takes 13 of 20 tasks" in err
    assert "no plan can save that" in err


def test_an_offer_on_which_every_task_fails_is_left_out_of_all_plans(place):
    place.script("picky.sh", "test $BURSAR_OFFER = small && sleep 0.02")
    words = ("./picky.sh {}", ":::", *map(str, range(80)))
    out, _ = place.bursar("plan", "-m", "market.toml", "--retries", "9", "--json", *words)
    found = json.loads(out)
    assert all(set(plan["fleet"]) == {"small"} for plan in found["plans"])
    assert "every task failed on large" in found["cautions"]


def test_run_times_that_fall_where_others_rise_are_reported(place):
    place.script("odd.sh", "test $BURSAR_OFFER = small && sleep 0.$1 || sleep 0.$((60 - $1))")
    words = ("./odd.sh {}", ":::", *map(str, range(10, 50)))
    _, err = place.bursar("plan", "-m", "market.toml", "--sample-workers", "2", *words)
    assert "Caution: Run times on large do not follow those on small" in err
    assert "in proportion to the means" in err


def test_a_sample_that_ran_out_of_money_is_planned_from_with_a_caution(place):
    words = ("-m", "market.toml", "--sample-budget", "0.01", "--name")
    _, err = place.bursar("plan", *words, "poor", "sleep 0.2{}", ":::", *map(str, range(1, 90)))
    assert "tasks of the sample were timed" in err
    assert "nothing is known of large" in err
    _, err = place.bursar("plan", *words, "poorest", "sleep 3{}", ":::", "1", "2", code=4)
    assert "no task of the sample succeeded" in err
    assert "--sample-budget" in err


def test_a_goal_that_cannot_be_kept_does_not_lose_the_sample(place):
    words = ("-m", "market.toml", "--name", "p", "sleep 0.02{}", ":::", *map(str, range(60)))
    _, err = place.bursar("plan", "--deadline", "1ms", *words, code=2)
    assert "the earliest is about" in err
    assert "continue with bursar plan p" in err
    out, _ = place.bursar("plan", "p")
    assert "cheapest" in out
    least = 1.01 * float(place.json("status", "p")["money"]["committed"])
    _, err = place.bursar("plan", "p", "--budget", f"{least:.4f}", code=2)
    assert "give at least $" in err
    assert "of which the sample has cost" in err


def test_a_plan_table_explains_its_columns_and_names_equal_fleets(place):
    place.write("ec2.toml", EC2)
    words = ("plan", "-m", "ec2.toml", "--tasks", "40", "--assume", "m1.small=10m")
    out, err = place.bursar(*words, "--faithful")
    assert "same fleet as 1" in out
    assert "upper: not exceeded with 90% confidence" in err
    assert max(map(len, out.splitlines())) <= 100


PER_SECOND = """
currency = "USD"
date = "2026-07-01"
[[offer]]
name = "c7a.large"
price = "0.10264/h"
billing = "1s"
minimum = "60s"
boot = "45s"
slots = 2
limit = 50
[[offer]]
name = "fast"
price = "0.60/h"
billing = "1s"
minimum = "60s"
boot = "40s"
slots = 8
speed = 1.25
limit = 50
"""


def test_the_list_is_a_frontier_with_terms_names_and_what_is_over_the_budget(place):
    place.write("ec2.toml", PER_SECOND)
    words = ("plan", "-m", "ec2.toml", "--tasks", "500", "--runtime", "3m", "--budget", "1.40")
    out, _ = place.bursar(*words, "--deviation", "40s")
    assert "Prices of 2026-07-01, USD, billed by the second, at least 60 s" in out
    plans = place.json(*words, "--deviation", "40s")["plans"]
    assert len(plans) <= 7
    assert [plan["makespan_s"]["p90"] for plan in plans] == sorted(
        (plan["makespan_s"]["p90"] for plan in plans), reverse=True
    )
    assert out.count("over the budget") == sum(float(plan["cost_p90"]) > 1.4 for plan in plans) > 0
    [within] = [plan for plan in plans if "budget" in plan["names"]]
    assert float(within["cost_p90"]) <= 1.40
    assert max(map(len, out.splitlines())) <= 100
    wide, err = place.bursar(*words, "--deviation", "20%", "--wide")
    assert "cushion" in wide.splitlines()[2]
    assert "risk +N: " in err
    many = place.json(*words, "--choices", "20")["plans"]
    assert len(many) > len(plans)


def test_mistakes_of_planning(place):
    place.write("ec2.toml", EC2)
    base = ("plan", "-m", "ec2.toml", "--tasks", "100")
    for words, reported in [
        ((*base,), "--assume"),
        ((*base, "--assume", "m1.tiny=1m"), "no offer"),
        ((*base, "--assume", "m1.small"), "is not a run time"),
        ((*base, "--assume", "m1.small=0s"), "a run time of 0"),
        ((*base, *KNOWN, "--budget", "0.01"), "give at least"),
        ((*base, *KNOWN, "--deadline", "1s"), "the earliest is"),
        ((*base, "--joblog", "none.log"), "none.log"),
        ((*base, *KNOWN, "--runtime", "3m"), "run times are given twice"),
        ((*base, "--runtime", "0s"), "0s"),
        (("plan", "-m", "ec2.toml", "--runtime", "3m", "true", ":::", "1"), "without a command"),
        (("plan", *KNOWN, "--tasks", "3"), "--market"),
        (("plan", "-m", "ec2.toml", *KNOWN), "--tasks"),
        (("run", "nothing", "--choose", "knee"), "no run"),
    ]:
        _, err = place.bursar(*words, code=2)
        assert reported in err
        assert len(err.strip().splitlines()) == 1
