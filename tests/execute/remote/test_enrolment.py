"""How machines of a provider get at their configuration: once, for a secret, from nobody else."""

from __future__ import annotations

import ssl

import msgspec
import pytest

pytest.importorskip("distributed", reason="dask.distributed is not installed: bursar[dask]")

from bursar.execute.remote.enrol import Invitation, ask
from bursar.execute.remote.enrolment import Enrolment, EnrolmentError
from bursar.execute.remote.messages import AgentConfig
from bursar.execute.remote.security import make_credentials

CREDENTIALS = make_credentials()


def config_of(machine):
    if machine > 3:
        return None
    return AgentConfig(
        token=f"t/{machine}",
        run="r",
        machine=machine,
        offer="o",
        slots=1,
        speed=1.0,
        stay=1,
        expires=0.0,
    )


@pytest.fixture
def enrolment(tmp_path):
    made = Enrolment(tmp_path, "127.0.0.1", CREDENTIALS, config_of)
    yield made
    made.close()


def invitation(enrolment, batch="1-5", **changes):
    values = (enrolment.address, CREDENTIALS.certificate, batch, enrolment.secret(batch))
    return msgspec.structs.replace(Invitation(*values), **changes)


def test_each_machine_of_a_batch_gets_its_own_configuration(enrolment):
    invited = invitation(enrolment)
    assert ask(invited, 1, "a").config.machine == 1
    assert ask(invited, 2, "b").config.machine == 2


def test_a_secret_that_was_used_is_refused_unless_the_answer_was_lost(enrolment):
    invited = invitation(enrolment)
    assert ask(invited, 1, "mine").config is not None
    assert ask(invited, 1, "mine").config is not None
    thief = ask(invited, 1, "another")
    assert thief.config is None
    assert thief.is_final
    assert "used before" in thief.error


def test_a_wrong_secret_and_one_of_another_batch_are_refused(enrolment):
    assert "wrong" in ask(invitation(enrolment, secret="guessed"), 1, "a").error
    stretched = invitation(enrolment, "1-9", secret=enrolment.secret("1-5"))
    assert "wrong" in ask(stretched, 9, "a").error
    other = invitation(enrolment, "2-3")
    assert "other machines" in ask(other, 1, "a").error


def test_a_machine_that_is_not_wanted_yet_may_ask_again(enrolment):
    answer = ask(invitation(enrolment), 4, "a")
    assert answer.config is None
    assert not answer.is_final


def test_a_resumed_run_listens_at_the_same_place_and_knows_which_secrets_were_used(tmp_path):
    first = Enrolment(tmp_path, "127.0.0.1", CREDENTIALS, config_of)
    invited = invitation(first)
    assert ask(invited, 1, "mine").config is not None
    first.close()
    second = Enrolment(tmp_path, "127.0.0.1", CREDENTIALS, config_of)
    try:
        assert "used before" in ask(invited, 1, "another").error
        assert ask(invited, 2, "other").config is not None
    finally:
        second.close()
    for name in ("enrolment.json", "enrolled"):
        assert (tmp_path / name).stat().st_mode & 0o077 == 0


def test_a_machine_does_not_talk_to_one_with_another_certificate(enrolment):
    foreign = invitation(enrolment, certificate=make_credentials().certificate)
    with pytest.raises(ssl.SSLError):
        ask(foreign, 1, "a")


def test_an_address_that_is_not_ours_is_reported_in_one_line(tmp_path):
    with pytest.raises(EnrolmentError, match=r"cannot be heard at 192\.0\.2\.1:0"):
        Enrolment(tmp_path, "192.0.2.1", CREDENTIALS, config_of)
