"""What a perfect crawler does, on small webs written by hand."""

from __future__ import annotations

import pytest

from gossamer_simweb import PlantedPage, PlantedRobots, WebPlan, WebSpec, expected, plain_web

A, B, C = (f"http://{name}.test:8080" for name in "abc")


def web(*pages: PlantedPage, robots: tuple[PlantedRobots, ...] = ()) -> WebPlan:
    return WebPlan(plain_web(sites=1, pages=1, planted=pages, planted_robots=robots))


def page(url: str, *links: str) -> PlantedPage:
    host, slash, path = url.removeprefix("http://").replace(":8080", "").partition("/")
    return PlantedPage(host=host, path=slash + path, links=links)


def redirect(url: str, to: str, status: int = 301) -> PlantedPage:
    host, slash, path = url.removeprefix("http://").replace(":8080", "").partition("/")
    return PlantedPage(host=host, path=slash + path, status=status, leads_to=to)


def visited(plan: WebPlan, *seeds: str, **options: object) -> set[str]:
    return set(expected(plan, seeds, token="x", **options).visited)  # type: ignore[arg-type]


def test_links_are_followed_within_the_scope() -> None:
    plan = web(
        page(f"{A}/", f"{A}/1", f"{B}/", "http://sub.a.test:8080/"),
        page(f"{A}/1"),
        page(f"{B}/", f"{B}/1", f"{A}/hidden"),
        page(f"{B}/1"),
        page("http://sub.a.test:8080/"),
        page(f"{A}/hidden"),
    )
    own = {f"{A}/", f"{A}/1"}
    assert visited(plan, f"{A}/", scope="host") == own
    assert visited(plan, f"{A}/", scope="site") == own | {"http://sub.a.test:8080/"}
    everything = own | {"http://sub.a.test:8080/", f"{B}/", f"{B}/1", f"{A}/hidden"}
    assert visited(plan, f"{A}/", scope="web") == everything
    assert visited(plan, f"{A}/", f"{B}/", scope="site") == everything


def test_pages_that_do_not_exist_are_visited_and_hosts_that_do_not_are_not() -> None:
    plan = web(page(f"{A}/", f"{A}/gone", "http://nowhere.test:8080/", "http://a.test:9999/", "https://a.test:8443/"))
    assert visited(plan, f"{A}/", scope="web") == {f"{A}/", f"{A}/gone"}


def test_where_a_seed_redirects_is_a_seed_however_long_the_chain() -> None:
    plan = web(
        redirect(f"{A}/", f"{B}/"),
        redirect(f"{B}/", f"{C}/"),
        page(f"{C}/", f"{C}/1", f"{B}/1", f"{A}/1"),
        page(f"{C}/1"),
        page(f"{B}/1"),
        page(f"{A}/1"),
    )
    both = {f"{A}/", f"{B}/", f"{C}/", f"{C}/1", f"{B}/1", f"{A}/1"}
    assert visited(plan, f"{A}/", scope="site") == both
    assert visited(plan, f"{A}/", scope="host") == both


def test_a_link_that_redirects_out_of_scope_is_visited_and_its_target_is_not() -> None:
    plan = web(page(f"{A}/", f"{A}/away"), redirect(f"{A}/away", f"{B}/"), page(f"{B}/"))
    assert visited(plan, f"{A}/", scope="site") == {f"{A}/", f"{A}/away"}


def test_a_site_that_joins_the_scope_late_brings_in_links_that_were_met_before() -> None:
    plan = web(
        page(f"{A}/", f"{C}/only-from-a"),
        redirect(f"{B}/", f"{B}/2"),
        redirect(f"{B}/2", f"{C}/"),
        page(f"{C}/"),
        page(f"{C}/only-from-a"),
    )
    assert f"{C}/only-from-a" in visited(plan, f"{A}/", f"{B}/", scope="site")


def test_a_page_that_is_linked_first_and_seeded_by_a_redirect_later_is_a_seed() -> None:
    plan = web(
        page(f"{A}/", f"{A}/moved"),
        redirect(f"{A}/start", f"{A}/moved"),
        redirect(f"{A}/moved", f"{B}/"),
        page(f"{B}/"),
    )
    assert f"{B}/" not in visited(plan, f"{A}/", scope="site")
    assert f"{B}/" in visited(plan, f"{A}/", f"{A}/start", scope="site")


def test_loops_end() -> None:
    plan = web(page(f"{A}/", f"{A}/1", f"{A}/me"), redirect(f"{A}/1", f"{A}/2"), redirect(f"{A}/2", f"{A}/1"),
               redirect(f"{A}/me", f"{A}/me"))  # fmt: skip
    assert visited(plan, f"{A}/") == {f"{A}/", f"{A}/1", f"{A}/2", f"{A}/me"}


def test_disallowed_urls_are_named_and_nothing_behind_them_is_visited() -> None:
    plan = web(
        page(f"{A}/", f"{A}/private/1", f"{A}/private/open/1", f"{A}/go"),
        page(f"{A}/private/1", f"{A}/behind"),
        page(f"{A}/private/open/1"),
        redirect(f"{A}/go", f"{A}/private/2"),
        robots=(PlantedRobots(host="a.test", rules=((False, "/private/"), (True, "/private/open/"))),),
    )
    should = expected(plan, [f"{A}/"], token="x")
    assert should.visited == {f"{A}/", f"{A}/private/open/1", f"{A}/go"}
    assert should.disallowed == {f"{A}/private/1", f"{A}/private/2"}


@pytest.mark.parametrize(("status", "is_visited"), [(404, True), (401, True), (429, False), (503, False)])
def test_a_robots_txt_that_fails_forbids_everything_and_one_that_is_missing_nothing(
    status: int, is_visited: bool
) -> None:
    plan = web(page(f"{A}/"), robots=(PlantedRobots(host="a.test", status=status),))
    assert bool(visited(plan, f"{A}/")) is is_visited


def test_depth_counts_links_and_not_redirects_and_takes_the_shortest_way() -> None:
    plan = web(
        page(f"{A}/", f"{A}/1", f"{A}/go"),
        page(f"{A}/1", f"{A}/2"),
        page(f"{A}/2", f"{A}/3"),
        page(f"{A}/3", f"{A}/4"),
        page(f"{A}/4"),
        redirect(f"{A}/go", f"{A}/go2", 302),
        redirect(f"{A}/go2", f"{A}/3", 307),
    )
    should = expected(plan, [f"{A}/"], token="x")
    depths = {url.removeprefix(A): depth for url, depth in should.depths.items()}
    assert depths == {"/": 0, "/1": 1, "/go": 1, "/go2": 1, "/3": 1, "/2": 2, "/4": 2}
    assert visited(plan, f"{A}/", max_depth=1) == {f"{A}{path}" for path in ("/", "/1", "/go", "/go2", "/3")}


def test_robots_rules_depend_on_the_crawlers_name_and_not_on_its_case() -> None:
    plan = WebPlan(WebSpec(sites=30, pages=30, members=0.1, robots_named=1.0, robots_missing=0))
    by_name = {
        token: expected(plan, plan.seeds(), token=token) for token in ("Gossamer", "gossamer", "other", "BadBot")
    }
    assert by_name["Gossamer"] == by_name["gossamer"]
    assert by_name["gossamer"].visited - by_name["other"].visited
    assert by_name["other"].visited - by_name["gossamer"].visited
    assert len(by_name["BadBot"].visited) < 30


def test_a_seed_that_is_no_url_is_an_error() -> None:
    with pytest.raises(ValueError, match="mailto"):
        expected(web(), ["mailto:someone@example.org"], token="x")
