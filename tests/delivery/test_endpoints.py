"""Webhook endpoints: what can be added, changed, removed, and what each leaves in the audit."""

import base64
import dataclasses

import pytest
from sqlalchemy import select

from jobs.delivery.webhook import deliver_due
from models import endpoint_urls, endpoints, secrets
from models.audit import AuditEvent
from models.deliveries import Delivery
from models.endpoints import WebhookEndpoint
from models.errors import Conflict, Invalid, NotFound
from models.event_types import check_event_types
from models.transactions import commit, rollback
from tests.conftest import settings_for
from tests.support.create import API, create_tenant

URL = "https://hooks.example.com/desk?token=abc"


def told(session):
    query = select(AuditEvent).where(AuditEvent.resource_type == "endpoint").order_by(AuditEvent.id)
    return [(event.action, event.detail) for event in session.scalars(query)]


@pytest.fixture
def act(session, tenant, settings, now):
    """Call a verb of `endpoints` on one endpoint of the tenant, and commit."""

    def call(verb, endpoint, **given):
        with_settings = {"settings": settings} if verb in {"update", "rotate_secret"} else {}
        made = getattr(endpoints, verb)(
            session, tenant.id, endpoint.id, actor=API, now=now, **with_settings, **given
        )
        commit(session, "tests.act")
        return made

    return call


def test_add_shows_the_secret_once_and_keeps_it_encrypted_when_valid(session, add_endpoint, settings):
    endpoint, secret = add_endpoint(URL, event_types=("task.created", "followup.fired", "task.created"))
    assert secret.startswith("whsec_")
    assert len(base64.b64decode(secret.removeprefix("whsec_"))) == 32
    assert secret not in endpoint.secret and secret.removeprefix("whsec_") not in endpoint.secret
    assert endpoints.secret_of(endpoint.id, endpoint.secret, settings) == secret
    assert endpoint.event_types == ["followup.fired", "task.created"]
    [(action, detail)] = told(session)
    assert action == "endpoint.added"
    assert detail["to"] == "active"
    assert detail["address"] == "https://hooks.example.com"
    assert "token" not in str(detail)


def test_secret_is_unreadable_when_the_key_or_the_owner_is_another(add_endpoint, settings):
    first, _secret = add_endpoint(URL)
    second, _secret = add_endpoint(URL)
    with pytest.raises(secrets.Unreadable):
        endpoints.secret_of(second.id, first.secret, settings)
    other = dataclasses.replace(settings, secret_key="another key of some length")
    with pytest.raises(secrets.Unreadable):
        endpoints.secret_of(first.id, first.secret, other)
    with pytest.raises(secrets.Unreadable):
        endpoints.secret_of(first.id, "v1:not base64", settings)


BAD_URLS = [
    "",
    "   ",
    "ftp://example.com/",
    "example.com/hook",
    "https://",
    "https:///x",
    "javascript:alert(1)",
    "https://user:secret@example.com/",
    "https://example.com/#x",
    "https://example.com/\r\nX: y",
    "https://exa mple.com/",
    "https://example.com:99999/",
    "https://example.com:0/",
    "https://[::1/",
    "https://ex\u00e4mple.com/",
    "https://example.com\\@evil.com/",
    "https://example.com/" + "x" * 2_000,
    "http://localhost./",
    "http://intranet/",
    "http://db.internal/",
    "http://printer.local/",
    "http://10.0.0.1/",
    "http://2130706433/",
    "http://0x7f.1/",
    "http://127.1/",
    "http://127.0.0.2/",
    "http://[::ffff:127.0.0.1]/",
    "http://[fe80::1]/",
    "http://169.254.169.254/latest/meta-data/",
    "https://example.com/\x00",
]


@pytest.mark.parametrize("url", BAD_URLS)
def test_url_is_refused_when_it_can_not_be_sent_to(tmp_path, url):
    with pytest.raises(Invalid) as refusal:
        endpoint_urls.check(url, settings_for("sqlite:///unused.db", tmp_path))
    assert refusal.value.field == "url"


@pytest.mark.parametrize("url", ["http://127.0.0.1:9009/", "http://hooks.internal/x", "https://example.com"])
def test_url_is_taken_when_its_host_is_public_or_allowed(tmp_path, url):
    settings = settings_for("sqlite:///unused.db", tmp_path, DESK_WEBHOOK_HOSTS="127.0.0.1,hooks.internal")
    assert endpoint_urls.check(url, settings) == url


@pytest.mark.parametrize(
    "types", [(), ("",), ("followup.unheard",), ("task.created", "**"), ("endpoint.test",)]
)
def test_event_types_are_refused_when_one_is_unknown(types):
    with pytest.raises(Invalid) as refusal:
        check_event_types(types)
    assert refusal.value.field == "event_types"


def test_add_writes_nothing_when_it_is_refused(session, add_endpoint):
    for given in ({"url": "http://10.0.0.1/"}, {"url": URL, "event_types": ("followup.unheard",)}):
        with pytest.raises(Invalid):
            add_endpoint(**given)
    rollback(session)
    assert session.scalars(select(WebhookEndpoint)).all() == []
    assert told(session) == []


def test_add_keeps_the_star_alone_when_others_stand_beside_it(add_endpoint):
    endpoint, _secret = add_endpoint(URL, event_types=("task.created", "*"))
    assert endpoint.event_types == ["*"]


def test_add_is_refused_when_the_tenant_has_as_many_as_it_may(add_endpoint, monkeypatch):
    monkeypatch.setattr(endpoints, "MOST_ENDPOINTS", 1)
    add_endpoint(URL)
    with pytest.raises(Conflict):
        add_endpoint(URL)


def test_update_tells_what_changed_when_something_did(session, add_endpoint, act):
    endpoint, _secret = add_endpoint(URL)
    act("update", endpoint, url="https://new.example.com/x", event_types=["task.created"])
    assert endpoint.version == 2
    action, detail = told(session)[-1]
    assert action == "endpoint.updated"
    assert detail == {
        "address": {"before": "https://hooks.example.com", "after": "https://new.example.com"},
        "event_types": {"before": ["*"], "after": ["task.created"]},
    }


def test_update_leaves_no_event_when_nothing_changes(session, add_endpoint, act):
    endpoint, _secret = add_endpoint(URL)
    act("update", endpoint, url=URL, event_types=["*"], active=True)
    assert endpoint.version == 1
    assert [action for action, _detail in told(session)] == ["endpoint.added"]


def test_update_pauses_and_resumes_when_asked(session, add_endpoint, act):
    endpoint, _secret = add_endpoint(URL)
    act("update", endpoint, active=False)
    assert not endpoint.active
    act("update", endpoint, active=True)
    assert endpoint.active
    assert [action for action, _detail in told(session)] == [
        "endpoint.added",
        "endpoint.paused",
        "endpoint.resumed",
    ]


def test_update_is_refused_when_the_version_moved(session, add_endpoint, act):
    endpoint, _secret = add_endpoint(URL)
    act("update", endpoint, active=False)
    with pytest.raises(Conflict) as refusal:
        act("update", endpoint, active=True, expected_version=1)
    assert refusal.value.current is endpoint


def test_rotate_gives_another_secret_when_called(session, add_endpoint, act, settings):
    endpoint, first = add_endpoint(URL)
    _endpoint, second = act("rotate_secret", endpoint)
    assert first != second
    assert endpoints.secret_of(endpoint.id, endpoint.secret, settings) == second
    assert told(session)[-1] == ("endpoint.secret_rotated", {})


def test_remove_forgets_the_secret_and_answers_as_unknown_when_repeated(session, tenant, add_endpoint, act):
    endpoint, _secret = add_endpoint(URL)
    act("remove", endpoint)
    assert endpoint.secret == ""
    assert endpoints.of_tenant(session, tenant.id) == []
    for verb in ("remove", "update", "rotate_secret", "test"):
        with pytest.raises(NotFound):
            act(verb, endpoint)
    assert [action for action, _detail in told(session)] == ["endpoint.added", "endpoint.removed"]


def test_every_verb_answers_as_unknown_when_the_tenant_is_another(session, add_endpoint, settings, now):
    endpoint, _secret = add_endpoint(URL)
    other = create_tenant(session, "other", now=now)
    given = {"actor": API, "now": now}
    with pytest.raises(NotFound):
        endpoints.get(session, other.id, endpoint.id)
    with pytest.raises(NotFound):
        endpoints.update(session, other.id, endpoint.id, active=False, settings=settings, **given)
    with pytest.raises(NotFound):
        endpoints.rotate_secret(session, other.id, endpoint.id, settings=settings, **given)
    with pytest.raises(NotFound):
        endpoints.remove(session, other.id, endpoint.id, **given)
    with pytest.raises(NotFound):
        endpoints.test(session, other.id, endpoint.id, **given)
    assert endpoints.of_tenant(session, other.id) == []


def test_test_reaches_this_endpoint_alone_when_called(session, now, receiver, add_endpoint, act):
    endpoint, secret = add_endpoint(receiver.url("/one"), event_types=("task.created",))
    add_endpoint(receiver.url("/two"))
    act("test", endpoint)
    deliver_due(session, now=now, limit=100)
    assert receiver.at("/two") == []
    [request] = receiver.at("/one")
    document = request.verified(secret)
    assert (document["type"], document["data"]) == ("endpoint.test", {"endpoint_id": str(endpoint.id)})
    assert told(session)[-1][0] == "endpoint.tested"


def test_test_is_refused_when_the_endpoint_is_paused(session, add_endpoint, act):
    endpoint, _secret = add_endpoint(URL, active=False)
    with pytest.raises(Conflict, match="paused"):
        act("test", endpoint)
    rollback(session)
    assert session.scalars(select(Delivery)).all() == []
