"""Lookup of names: answers of a name server, how long they are cached, and servers that do not answer."""

from __future__ import annotations

import asyncio

import aiodns
import pytest

from gossamer.fetch import names as module
from gossamer.fetch.names import AnswerCache, Resolved, Resolver, Unresolved
from gossamer.records import Failed, Fetched, Reason
from tests.fetch.nameserver import NO_SUCH_NAME, REFUSED, SERVER_FAILURE, SILENCE, NameServer, Record, Reply, a, naming
from tests.fetch.servers import PAGE, fetcher, serving

GONE = Unresolved(reason=Reason.NO_SUCH_NAME, detail="")


class Clock:
    """A clock that only a test advances."""

    now_s = 1_000.0

    def __call__(self) -> float:
        return self.now_s


def resolver(server: NameServer, clock: Clock | None = None, timeout_s: float = 5.0) -> Resolver:
    """Return a resolver that asks this server."""
    return Resolver(nameserver=server.address, timeout_s=timeout_s, clock=clock or Clock())


async def ask(
    zone: dict[tuple[str, str], list[Reply]], name: str = "a.test", timeout_s: float = 30.0
) -> tuple[module.Answer, list[str]]:
    """Return the answer, and which records were requested."""
    async with naming(zone) as server, resolver(server, timeout_s=timeout_s) as names:
        answer = await names.resolve(name)
        return answer, [record for _, record in server.asked]


async def test_ipv4_is_asked_for_first_and_is_enough() -> None:
    answer, asked = await ask({("a.test", "A"): [a("192.0.2.1", "192.0.2.2")], ("a.test", "AAAA"): [a("2001:db8::1")]})
    assert answer == Resolved(addresses=("192.0.2.1", "192.0.2.2"))
    assert asked == ["A"]


async def test_ipv6_is_taken_if_there_is_nothing_else() -> None:
    answer, asked = await ask({("a.test", "AAAA"): [a("2001:db8::1")]})
    assert answer == Resolved(addresses=("2001:db8::1",))
    assert asked == ["A", "AAAA"]


async def test_an_alias_is_followed_to_its_addresses() -> None:
    answer, _ = await ask({("a.test", "A"): [[Record("CNAME", "b.test"), Record("A", "192.0.2.1", name="b.test")]]})
    assert answer == Resolved(addresses=("192.0.2.1",))


async def test_a_name_with_thousands_of_addresses_is_not_remembered_with_all_of_them() -> None:
    answer, _ = await ask({("a.test", "A"): [a(*(f"192.0.2.{n}" for n in range(20)))]})
    assert isinstance(answer, Resolved)
    assert len(answer.addresses) == 16


@pytest.mark.parametrize(
    ("reply", "reason", "asked"),
    [
        (NO_SUCH_NAME, Reason.NO_SUCH_NAME, ["A"]),
        ([], Reason.NO_SUCH_NAME, ["A", "AAAA"]),
        ([Record("CNAME", "nowhere.test")], Reason.NO_SUCH_NAME, ["A", "AAAA"]),
        (SERVER_FAILURE, Reason.DNS_FAILED, ["A", "A"]),
        (REFUSED, Reason.DNS_FAILED, ["A", "A"]),
        (SILENCE, Reason.DNS_FAILED, ["A", "A"]),
    ],
)
async def test_every_way_to_have_no_address_has_its_reason(reply: Reply, reason: Reason, asked: list[str]) -> None:
    answer, heard = await ask({("a.test", "*"): [reply]}, timeout_s=0.5 if reply == SILENCE else 30)
    assert isinstance(answer, Unresolved)
    assert answer.reason is reason
    assert answer.detail
    assert heard == asked


@pytest.mark.parametrize("name", ["a" * 64 + ".test", "a$b.test", "a b.test", ("a" * 60 + ".") * 5 + "test"])
async def test_a_name_that_cannot_be_in_dns_is_not_asked_for(name: str) -> None:
    answer, asked = await ask({}, name)
    assert isinstance(answer, Unresolved)
    assert (answer.reason, asked) == (Reason.NO_SUCH_NAME, [])


async def test_a_lost_question_is_asked_again() -> None:
    answer, asked = await ask({("a.test", "A"): [SILENCE, a("192.0.2.1")]}, timeout_s=1.5)
    assert answer == Resolved(addresses=("192.0.2.1",))
    assert asked == ["A", "A"]


@pytest.mark.parametrize(
    ("reply", "held_s"),
    [
        (a("192.0.2.1", ttl_s=0), module.MIN_TTL_S),
        (SERVER_FAILURE, module.FAILURE_TTL_S),
        (NO_SUCH_NAME, module.NO_SUCH_NAME_TTL_S),
    ],
)
async def test_an_answer_is_believed_until_it_expires(reply: Reply, held_s: float) -> None:
    clock = Clock()
    async with naming({("a.test", "A"): [reply]}) as server, resolver(server, clock) as names:
        first = await names.resolve("a.test")
        questions = len(server.asked)
        clock.now_s += held_s - 0.1
        assert await names.resolve("a.test") is first
        assert len(server.asked) == questions
        clock.now_s += 0.2
        assert await names.resolve("a.test") is not first


@pytest.mark.parametrize(
    ("ttls_s", "held_s"), [((60, 300), 60), ((300, 60), 60), ((5, 300), 10), ((90_000, 90_000), 3_600)]
)
async def test_the_shortest_time_to_live_of_an_answer_counts_within_bounds(
    ttls_s: tuple[int, int], held_s: float
) -> None:
    clock = Clock()
    reply = [Record("CNAME", "b.test", ttls_s[0]), Record("A", "192.0.2.1", ttls_s[1], "b.test")]
    async with naming({("a.test", "A"): [reply]}) as server, resolver(server, clock) as names:
        first = await names.resolve("a.test")
        clock.now_s += held_s - 0.1
        assert await names.resolve("a.test") is first
        clock.now_s += 0.2
        assert await names.resolve("a.test") is not first


async def test_all_who_ask_for_a_name_at_once_share_one_question_even_if_the_first_gives_up() -> None:
    async with naming({("a.test", "A"): [a("192.0.2.1")]}) as server, resolver(server) as names:
        first, *others = [asyncio.create_task(names.resolve("a.test")) for _ in range(10)]
        await asyncio.sleep(0)
        first.cancel()
        answers = await asyncio.gather(*others)
        assert answers == [Resolved(addresses=("192.0.2.1",))] * 9
        assert server.asked == [("a.test", "A")]


async def test_a_thousand_names_at_once_are_all_found() -> None:
    zone: dict[tuple[str, str], list[Reply]] = {(f"n{n}.test", "A"): [a(f"192.0.2.{n % 250}")] for n in range(1_000)}
    async with naming(zone) as server, resolver(server) as names:
        answers = await asyncio.gather(*(names.resolve(f"n{n}.test") for n in range(1_000)))
        assert answers == [Resolved(addresses=(f"192.0.2.{n % 250}",)) for n in range(1_000)]


async def test_the_library_below_is_renewed_before_it_remembers_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_LOOKUPS_PER_CHANNEL", 2)
    clock = Clock()
    async with naming({("a.test", "A"): [a("192.0.2.1")]}) as server, resolver(server, clock) as names:
        for _ in range(5):  # c-ares itself would ask only once: the answer holds for 300 s of real time
            assert isinstance(await names.resolve("a.test"), Resolved)
            clock.now_s += 1_000
        assert len(server.asked) == 3


async def test_closing_does_not_wait_for_an_answer_that_never_comes() -> None:
    async with naming({("a.test", "A"): [SILENCE]}) as server:
        async with resolver(server, timeout_s=60) as names:
            waiting = asyncio.create_task(names.resolve("a.test"))
            await asyncio.sleep(0)
        with pytest.raises(asyncio.CancelledError):
            await waiting


def test_the_cache_keeps_the_names_that_were_used_last() -> None:
    cache = AnswerCache(max_names=2)
    cache.put("a", GONE, expires_s=10)
    cache.put("b", GONE, expires_s=10)
    assert cache.get("a", now_s=0) is GONE
    cache.put("c", GONE, expires_s=10)
    assert [cache.get(name, now_s=0) for name in "abc"] == [GONE, None, GONE]
    assert cache.get("a", now_s=10) is None


async def test_a_name_without_address_is_a_failure_with_its_reason() -> None:
    async with (
        naming({("a.test", "*"): [NO_SUCH_NAME], ("b.test", "*"): [SILENCE]}) as server,
        fetcher(nameserver=server.address, dns_timeout_s=0.5) as web,
    ):
        for name, reason in (("a.test", Reason.NO_SUCH_NAME), ("b.test", Reason.DNS_FAILED)):
            outcome = await web.fetch(f"http://{name}/")
            assert isinstance(outcome, Failed)
            assert outcome.reason is reason


async def test_a_retry_meets_another_address() -> None:
    async with (
        serving(PAGE, address="127.0.0.2") as server,
        naming({("two.test", "A"): [a("127.0.0.2", "127.0.0.3")]}) as names,
        fetcher(nameserver=names.address) as web,
    ):
        outcomes = [await web.fetch(server.url(host="two.test")) for _ in range(2)]
        assert {outcome.address for outcome in outcomes} == {"127.0.0.2", "127.0.0.3"}
        assert {type(outcome) for outcome in outcomes} == {Fetched, Failed}


async def test_a_lookup_whose_answer_is_lost_ends_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """This happens when there is no memory for the answer: c-ares is done, and no callback is called."""

    def never(_resolver: aiodns.DNSResolver, _name: str, _record: str) -> asyncio.Future[None]:
        return asyncio.get_running_loop().create_future()

    monkeypatch.setattr(aiodns.DNSResolver, "query_dns", never)
    async with naming({}) as server, resolver(server, timeout_s=0.01) as names:
        answer = await names.resolve("a.test")
    assert answer == Unresolved(reason=Reason.DNS_FAILED, detail="the lookup never ended")


async def test_names_whose_servers_are_silent_do_not_hold_up_the_others() -> None:
    zone: dict[tuple[str, str], list[Reply]] = {(f"{number}.test", "A"): [SILENCE] for number in range(120)}
    zone["good.test", "A"] = [a("192.0.2.1")]
    async with naming(zone) as server, Resolver(nameserver=server.address, timeout_s=30) as resolver:
        silent = [asyncio.create_task(resolver.resolve(f"{number}.test")) for number in range(120)]
        await asyncio.sleep(0)
        assert await resolver.resolve("good.test") == Resolved(addresses=("192.0.2.1",))
        assert resolver.slow >= 50
        assert not any(task.done() for task in silent)
        for task in silent:
            task.cancel()
        await asyncio.gather(*silent, return_exceptions=True)
    assert resolver.slow == 0
