"""What bursar asks of EC2, by boto3, and what the answers mean.

Credentials, region and endpoint are those of the user's AWS configuration. All calls wait; they
are for threads. Which machine an instance is, its tags say: all that were rented by one call have
the same tags, which name their machines, and each instance has its place among them.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Any, Final, NamedTuple

from bursar.execute.remote.places import name_of
from bursar.model.errors import BursarError, one_line
from bursar.model.market import Offer, Place
from bursar.model.money import NANOS
from bursar.model.number_ranges import read_ranges
from bursar.model.text import cut
from bursar.model.time import HOUR

TRIES: Final = 6
"""for a call that may be repeated, with pauses that adapt to what EC2 allows"""
PATIENCE: Final = (60.0, 120.0, 240.0)
"""seconds for a page of a list, at the first try and at those after one that took too long"""
PAGE: Final = 1000
"""instances in one answer; without pages only some come"""
MOST_ENDED: Final = 500
"""instances to end in one call"""
NOTICE: Final = timedelta(minutes=2)
"""between the notice that a spot machine is taken away, and that"""
RUN_TAG: Final = "bursar-run"
MACHINES_TAG: Final = "bursar-machines"
OFFER_TAG: Final = "bursar-offer"
LIMITS: Final = frozenset(
    (
        "InstanceLimitExceeded",
        "InsufficientFreeAddressesInSubnet",
        "MaxSpotInstanceCountExceeded",
        "VcpuLimitExceeded",
    )
)
"""fewer machines may be possible"""
THROTTLES: Final = frozenset(
    ("RequestLimitExceeded", "Throttling", "ThrottlingException", "RequestThrottled")
)
NOT_FOUND: Final = "InvalidInstanceID.NotFound"
MISMATCH: Final = "IdempotentParameterMismatch"
NOWHERE: Final = Place()


class Ec2Error(BursarError):
    """What EC2 refused, in one line, or why it could not be asked."""

    exit_code = 1

    def __init__(
        self, why: str, code: str = "", *, is_doubtful: bool = False, is_late: bool = False
    ) -> None:
        super().__init__(why)
        self.code = code
        self.is_late = is_late
        """whether it was reached, and the answer took too long"""
        self.is_doubtful = is_doubtful
        """whether it may have been done all the same"""

    @property
    def is_throttled(self) -> bool:
        return self.code in THROTTLES


class Ec2Instance(NamedTuple):
    id: str
    region: str
    machine: int
    offer: str
    """the name of what it was rented as"""
    state: str
    why: str
    """of its state, if EC2 says so"""


def run_tag(mark: str) -> str:
    """A mark as the value of a tag, which may have few letters."""
    return name_of(mark)


def region_of(offer: Offer) -> str:
    return (offer.place or NOWHERE).region


def instance_type_of(offer: Offer) -> str:
    return (offer.place or NOWHERE).instance_type or offer.name


class Ec2Api:
    """For any number of threads; a region is named, or empty for the user's own."""

    def __init__(self, endpoint: str = "") -> None:
        """`endpoint`: an address; empty: that of the user's configuration."""
        self._endpoint = endpoint
        self._lock = threading.Lock()
        self._clients: dict[tuple[str, str, bool, float], Any] = {}
        self._session: Any = None

    def client(
        self, region: str, *, service: str = "ec2", repeats: bool = True, patience: float = 0.0
    ) -> Any:
        """`repeats`: whether a call that fails is made again.

        `patience`: seconds after which it is not, since it only takes long; 0: it is made again.
        """
        key = (region, service, repeats, patience)
        with self._lock:
            if key not in self._clients:
                self._clients[key] = self._make(*key)
            return self._clients[key]

    def _make(self, region: str, service: str, repeats: bool, patience: float) -> Any:
        self._session = self._session or require_boto3().session.Session()
        from botocore.config import Config
        from botocore.exceptions import BotoCoreError

        settings = Config(
            connect_timeout=10,
            read_timeout=patience or 60,
            max_pool_connections=16,
            retries={"mode": "adaptive", "total_max_attempts": TRIES}
            if repeats
            else {"mode": "standard", "total_max_attempts": 1},
        )
        try:
            made = self._session.client(
                service,
                region_name=region or None,
                endpoint_url=self._endpoint or None,
                config=settings,
            )
        except BotoCoreError as error:
            raise _plainly(error) from None
        if patience:
            made.meta.events.register_first(f"needs-retry.{service}", _stop_if_late)
        return made

    def _pages(self, region: str, name: str, filters: Sequence[object]) -> Sequence[Any]:
        """All pages of a list; where one takes long, the list is asked for with more patience."""
        request = {"Filters": filters, "PaginationConfig": {"PageSize": PAGE}}
        for patience in PATIENCE:
            pages = self.client(region, patience=patience).get_paginator(name)
            try:
                return list(asked_pages(pages.paginate(**request)))
            except Ec2Error as error:
                if not error.is_late:
                    raise
                late = error
        raise late

    def launch(
        self, offer: Offer, count: int, token: str, tags: dict[str, str], script: str
    ) -> list[Ec2Instance]:
        """Rent at least one and at most `count`; asked again with the same token, the same.

        Never repeats a call that failed, since the caller must know.
        """
        region = region_of(offer)
        client = self.client(region, repeats=False)
        reply = _asked(client.run_instances, **_request_of(offer, count, token, tags, script))
        return list(_instances(region, reply["Instances"], tags))

    def describe(
        self, regions: Iterable[str], mark: str, states: Sequence[str]
    ) -> list[Ec2Instance]:
        """All instances with this mark."""
        filters = [
            {"Name": f"tag:{RUN_TAG}", "Values": [run_tag(mark)]},
            {"Name": "instance-state-name", "Values": list(states)},
        ]
        found: list[Ec2Instance] = []
        for region in regions:
            for page in self._pages(region, "describe_instances", filters):
                for reservation in page["Reservations"]:
                    found += _instances(region, reservation["Instances"])
        return found

    def end(self, region: str, ids: Sequence[str]) -> list[str]:
        """Which of these instances cost nothing any more; what EC2 does not know is left out."""
        ended: list[str] = []
        for first in range(0, len(ids), MOST_ENDED):
            ended += self._end(region, ids[first : first + MOST_ENDED])
        return ended

    def _end(self, region: str, ids: Sequence[str]) -> list[str]:
        """One id that is not known makes the whole call fail: then each half is tried."""
        try:
            reply = _asked(self.client(region).terminate_instances, InstanceIds=list(ids))
        except Ec2Error as error:
            if error.code != NOT_FOUND:
                raise
            half = len(ids) // 2
            return [*self._end(region, ids[:half]), *self._end(region, ids[half:])] if half else []
        return [
            one["InstanceId"]
            for one in reply["TerminatingInstances"]
            if one["CurrentState"]["Name"] in ("shutting-down", "terminated")
        ]

    def notices(self, regions: Iterable[str], mark: str) -> dict[str, float]:
        """Spot instances that will be taken away, and when, in seconds since 1970."""
        filters = [
            {"Name": f"tag:{RUN_TAG}", "Values": [run_tag(mark)]},
            {"Name": "status-code", "Values": ["marked-for-termination"]},
        ]
        found: dict[str, float] = {}
        for region in regions:
            for page in self._pages(region, "describe_spot_instance_requests", filters):
                for one in page["SpotInstanceRequests"]:
                    if "InstanceId" in one:
                        gone = one["Status"]["UpdateTime"] + NOTICE
                        found[one["InstanceId"]] = gone.timestamp()
        return found

    def check(self, offers: Iterable[Offer]) -> None:
        """Whether there are such types and images; Ec2Error in one line if not."""
        by_region: dict[str, list[Offer]] = {}
        for offer in offers:
            by_region.setdefault(region_of(offer), []).append(offer)
        for region, group in by_region.items():
            client = self.client(region)
            types = sorted({instance_type_of(offer) for offer in group})
            _asked(client.describe_instance_types, InstanceTypes=types)
            images = sorted({(offer.place or NOWHERE).image for offer in group})
            _asked(client.describe_images, ImageIds=images)


def require_boto3() -> Any:
    """EC2 needs an extra of bursar."""
    try:
        import boto3
    except ImportError:
        raise Ec2Error("EC2 needs boto3: pip install 'bursar[aws,dask]'") from None
    return boto3


def hourly_price(offer: Offer) -> str:
    """What an hour costs, rounded down to a millionth: never more than the budget counts."""
    millionths = offer.price.nanos * HOUR // offer.billing // (NANOS // 1_000_000)
    return f"{millionths // 1_000_000}.{millionths % 1_000_000:06d}"


def _request_of(
    offer: Offer, count: int, token: str, tags: dict[str, str], script: str
) -> dict[str, Any]:
    place = offer.place or NOWHERE
    labels = [{"Key": key, "Value": value} for key, value in tags.items()]
    tagged = ["instance", "volume"]
    request: dict[str, Any] = {
        "ImageId": place.image,
        "InstanceType": instance_type_of(offer),
        "MinCount": 1,
        "MaxCount": count,
        "ClientToken": token,
        "UserData": script,
        "InstanceInitiatedShutdownBehavior": "terminate",
        "MetadataOptions": {"HttpTokens": "required", "HttpEndpoint": "enabled"},
    }
    if place.subnet:
        request["SubnetId"] = place.subnet
    if place.security_group:
        request["SecurityGroupIds"] = [place.security_group]
    if place.zone:
        request["Placement"] = {"AvailabilityZone": place.zone}
    if offer.pool == "unreliable":
        tagged.append("spot-instances-request")
        request["InstanceMarketOptions"] = {
            "MarketType": "spot",
            "SpotOptions": {
                "SpotInstanceType": "one-time",
                "InstanceInterruptionBehavior": "terminate",
                "MaxPrice": hourly_price(offer),
            },
        }
    request["TagSpecifications"] = [{"ResourceType": kind, "Tags": labels} for kind in tagged]
    return request


def _instances(
    region: str, reply: Iterable[dict[str, Any]], given: dict[str, str] | None = None
) -> Iterable[Ec2Instance]:
    """Those of which the tags say which machine they are; `given` are tags that are known."""
    numbers: dict[str, list[int]] = {}
    for one in reply:
        tags = given or {tag["Key"]: tag["Value"] for tag in one.get("Tags", ())}
        text = tags.get(MACHINES_TAG, "")
        try:
            if text not in numbers:
                numbers[text] = read_ranges(text)
            machine = numbers[text][one["AmiLaunchIndex"]]
        except (ValueError, IndexError):
            continue
        why = one.get("StateReason", {}).get("Message", "")
        offer, state = tags.get(OFFER_TAG, ""), one["State"]["Name"]
        yield Ec2Instance(one["InstanceId"], region, machine, offer, state, why)


def _asked(call: Any, **values: Any) -> Any:
    try:
        return call(**values)
    except Exception as error:  # an answer that cannot be read is of yet other kinds
        raise _plainly(error) from None


def asked_pages(pages: Any) -> Iterable[Any]:
    """The pages of an answer; Ec2Error if one does not come."""
    try:
        yield from pages
    except Exception as error:
        raise _plainly(error) from None


def _stop_if_late(caught_exception: Exception | None = None, **more: object) -> None:
    """For botocore, which would ask again with no more patience while EC2 still answers."""
    from botocore.exceptions import ReadTimeoutError

    if isinstance(caught_exception, ReadTimeoutError):
        raise caught_exception


def _plainly(error: Exception) -> Ec2Error:
    from botocore.exceptions import (
        ClientError,
        NoCredentialsError,
        NoRegionError,
        ParamValidationError,
        PartialCredentialsError,
        ReadTimeoutError,
    )

    reply = cut(one_line(re.sub(r"\s+", " ", str(error)).strip()), 300)
    if isinstance(error, ClientError):
        answer = error.response.get("Error", {})
        code, status = answer.get("Code", ""), error.response["ResponseMetadata"]["HTTPStatusCode"]
        message = cut(one_line(answer.get("Message", "")), 250)
        doubtful = status >= 500 and code not in (*THROTTLES, *LIMITS, *_CAPACITY)
        return Ec2Error(f"EC2: {_HINTS.get(code, message)} ({code})", code, is_doubtful=doubtful)
    if isinstance(error, NoRegionError):
        why = 'which region of EC2? Write region = "us-east-1" in the market file'
        return Ec2Error(why)
    if isinstance(error, NoCredentialsError | PartialCredentialsError):
        return Ec2Error("EC2: no credentials were found; set them up as for the AWS command line")
    if isinstance(error, ParamValidationError):
        return Ec2Error(f"EC2: {reply}")
    if isinstance(error, ReadTimeoutError):
        why = f"EC2 was reached, but took too long to answer: {reply}"
        return Ec2Error(why, is_doubtful=True, is_late=True)
    return Ec2Error(f"EC2 cannot be reached: {reply}", is_doubtful=True)


_CAPACITY: Final = (
    "InsufficientCapacity",
    "InsufficientHostCapacity",
    "InsufficientInstanceCapacity",
    "InsufficientReservedInstanceCapacity",
    "SpotMaxPriceTooLow",
    "Unsupported",
)
"""some of these come with the status of an internal error"""
_HINTS: Final = {
    "InsufficientInstanceCapacity": "there is no such machine now, try others or other zones",
    "InstanceLimitExceeded": "the quota of the account is used up",
    "MaxSpotInstanceCountExceeded": "the quota of the account for spot machines is used up",
    "SpotMaxPriceTooLow": "the price of the spot machine is above that of the market file",
    "RequestLimitExceeded": "it refuses to answer so many calls",
    "UnauthorizedOperation": "the credentials do not allow this call",
    "VcpuLimitExceeded": "the quota of the account for processors is used up",
}
