"""The API keeps what its description promises, whatever is sent to it."""

import json

import pytest
from hypothesis import HealthCheck, Phase, given, settings

schemathesis = pytest.importorskip("schemathesis", reason="schemathesis is not installed")

EXAMPLES = 12
"""requests of each operation"""


def test_no_request_gets_an_answer_that_is_not_described(served):
    """Streams are left out, since they do not end; what makes no sense may be refused."""
    from schemathesis.specs.openapi import checks

    _, described = served.ask("GET", "/openapi.json")
    schema = schemathesis.openapi.from_dict(described).exclude(path_regex="/events$")
    headers = {"Authorization": f"Bearer {served.token('ann')}"}
    served.client("ann").submit_bag("true", repeat=1)
    operations = [one.ok() for one in schema.get_all_operations()]
    assert len(operations) == 11
    for operation in operations:

        @settings(
            max_examples=EXAMPLES,
            derandomize=True,
            deadline=None,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(case=operation.as_strategy())
        def check(case):
            case.call_and_validate(
                base_url=served.url,
                headers=headers,
                excluded_checks=[checks.positive_data_acceptance],
            )

        check()
    assert not served.service.is_over
    assert json.dumps(served.ask("GET", "/api/v1/works", "ann")[1])
