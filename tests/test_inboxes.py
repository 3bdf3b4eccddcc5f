"""`[inboxes.<id>]` of desk.toml: whose clocks a rule's window is told by."""

import tomllib
from zoneinfo import ZoneInfo

import pytest

from desk_ui import declared as all_of_it
from models import declarations, inboxes
from models.declarations import Declared
from models.tenants import Tenant

TENANT = Tenant(key="acme", timezone="America/Sao_Paulo")
OF_TENANT = ZoneInfo("America/Sao_Paulo")


def declared(toml: str) -> Declared:
    return Declared(1, tomllib.loads(toml))


HERE = declared('[inboxes.3]\ntimezone = "Europe/Berlin"\n[inboxes."shop"]\ntimezone = "Asia/Tokyo"\n')


@pytest.mark.parametrize(
    ("inbox_id", "zone"),
    [
        (3, ZoneInfo("Europe/Berlin")),
        ("3", ZoneInfo("Europe/Berlin")),
        ("shop", ZoneInfo("Asia/Tokyo")),
        (4, OF_TENANT),
        (None, OF_TENANT),
        ("None", OF_TENANT),
        ("", OF_TENANT),
    ],
)
def test_zone_is_the_inboxes_own_when_it_is_declared_else_the_tenants(inbox_id, zone):
    assert inboxes.zone(HERE, inbox_id, TENANT) == zone
    assert inboxes.faults(HERE) == []
    assert declarations.faults(HERE) == []


def test_zone_is_the_tenants_when_nothing_is_declared():
    assert inboxes.zone(Declared(), 3, TENANT) == OF_TENANT


@pytest.mark.parametrize(
    ("table", "path", "words"),
    [
        ('[inboxes.3]\ntimezone = "Berlin"', "inboxes.3.timezone", "not a known IANA time zone"),
        ("[inboxes.3]\ntimezone = 2", "inboxes.3.timezone", "not a known IANA time zone"),
        ("[inboxes.3]", "inboxes.3.timezone", "not a known IANA time zone"),
        ('[inboxes.3]\ntimezone = "UTC"\nzone = "UTC"', "inboxes.3.zone", "not a known field"),
        ("[inboxes]\n3 = 1", "inboxes.3", "must be a table"),
    ],
)
def test_fault_names_its_path_and_the_tenants_zone_holds_when_a_table_is_wrong(table, path, words):
    here = declared(table)
    [fault] = inboxes.faults(here)
    assert fault.path == path
    assert words in fault.fault
    assert inboxes.zone(here, 3, TENANT) == OF_TENANT
    assert fault in all_of_it.faults(here)
