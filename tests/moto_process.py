"""moto's server, but that the tags of an instance are looked up, and not searched for among all.

moto compares every tag that there is with every instance that it lists, twice: to list thousands
takes it minutes. The answers are the same.
"""

from __future__ import annotations

import sys
from types import SimpleNamespace

from moto.ec2.models.tags import TagBackend
from moto.server import main

search = TagBackend.describe_tags


def look_up(self, filters=None):
    names = (filters or {}).get("resource-id")
    if not names or any("*" in name or "?" in name for name in names):
        return search(self, filters)
    tags = {name: self.tags[name] for name in names if name in self.tags}
    few = SimpleNamespace(tags=tags, VALID_TAG_FILTERS=self.VALID_TAG_FILTERS)
    return search(few, filters)


TagBackend.describe_tags = look_up

if __name__ == "__main__":
    sys.exit(main())
