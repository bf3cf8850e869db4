"""The page in a real browser: every tab in both languages, by mouse and keyboard, wide and narrow, light and dark."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver.common.keys import Keys

from unmask.model.named import find_model
from unmask.serve.models import Models

from .browser import Visitor, chromium, listening, until
from .fake_apps import FAKES, open_fake

pytestmark = pytest.mark.slow

TABS = ["fill", "classify", "tag", "answer", "documents", "faq", "chat", "similar", "explain"]
NAMES = {
    "en": "Fill Classify Entities Answer Documents FAQ Chat Similar Explain",
    "zh": "填空 分类 实体 阅读问答 文档问答 常见问题 对话 相似 解释",
}
PHONE = {"width": 375, "height": 812, "deviceScaleFactor": 2, "mobile": True}
ANSWERED = ".took, .bubble.its"


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with chromium(tmp_path_factory.mktemp("profile")) as opened:
        opened.set_window_size(1280, 900)
        yield opened


@pytest.fixture(scope="module")
def served(folders: dict[str, Path]) -> Models:
    return Models(folders | {name: Path(name) for name in FAKES}, open=open_fake)


@pytest.fixture(scope="module")
def address(served: Models) -> Iterator[str]:
    with listening(served) as found:
        yield found


@pytest.fixture
def visitor(browser: Any, address: str) -> Iterator[Visitor]:
    visitor = Visitor(browser, address)
    yield visitor
    assert_well_behaved(visitor, address)


def assert_well_behaved(visitor: Visitor, address: str) -> None:
    """The page complained of nothing and asked nobody but its own server."""
    assert visitor.complaints() == []
    assert {
        url for url in visitor.requests() if url.startswith(("http", "ws")) and not url.startswith(address)
    } == set()


def press_first_example(visitor: Visitor, tab: str) -> None:
    visitor.click(f"#tab-{tab}")
    visitor.see(f"#tab-{tab}[aria-selected=true]")
    visitor.click(".chip")
    visitor.see(ANSWERED)


@pytest.mark.parametrize(("language", "theme"), [("en", "light"), ("zh", "dark")])
def test_every_tab_answers_its_first_example(visitor: Visitor, language: str, theme: str) -> None:
    visitor.visit("fill", language=language, theme=theme)
    assert " ".join(tab.text for tab in visitor.all("[role=tab]")) == NAMES[language]
    for tab in TABS:
        press_first_example(visitor, tab)
        assert "curl" in visitor.see(".calls").text
        assert (
            f"client.{'embed' if tab == 'similar' else 'answer' if tab == 'documents' else tab}("
            in visitor.see(".calls").text
        )
        assert not visitor.all(".problem")


def test_on_a_phone_nothing_is_wider_than_the_screen(visitor: Visitor) -> None:
    visitor.tell("Emulation.setDeviceMetricsOverride", **PHONE)
    try:
        visitor.visit("fill", language="zh")
        for tab in TABS:
            press_first_example(visitor, tab)
            assert visitor.do("return document.documentElement.scrollWidth") <= 375, tab
            small = (
                "return [...document.querySelectorAll('button, input, select')].filter(e => e.offsetHeight < 24).length"
            )
            assert visitor.do(small) == 0, tab
    finally:
        visitor.tell("Emulation.clearDeviceMetricsOverride")


def test_by_keyboard_alone_a_mask_is_filled(visitor: Visitor) -> None:
    visitor.visit("similar", language="en")
    visitor.tab_until("[role=tab]")
    visitor.press(Keys.HOME)
    visitor.see("#tab-fill[aria-selected=true]")
    visitor.tab_until("textarea")
    visitor.press("the [MASK] fox")
    visitor.ask()
    visitor.see(".bars li")
    visitor.tab_until(".bars li:nth-child(2) button")
    word = visitor.do("return document.activeElement.textContent")
    visitor.press(Keys.ENTER)
    assert visitor.see(".sentence mark").text == word.removeprefix("##")
    visitor.tab_until(".calls button")


def test_by_keyboard_alone_every_word_of_an_explanation_tells_its_number(visitor: Visitor) -> None:
    visitor.visit("explain", language="en")
    visitor.type("textarea[name=text]", "the [MASK] fox was lazy")
    visitor.ask()
    visitor.see(".coloured")
    visitor.tab_until(".coloured span")
    visitor.press(Keys.ARROW_RIGHT)
    assert re.fullmatch(r"fox: [+-]?\d\.\d+", visitor.see(".told").text)


def test_the_skip_link_comes_first_and_leads_to_the_form(visitor: Visitor) -> None:
    visitor.visit("fill", language="en")
    visitor.do("document.body.tabIndex = -1; document.body.focus()")
    visitor.press(Keys.TAB)
    assert visitor.do("return document.activeElement.id") == "skip"
    visitor.press(Keys.ENTER)
    assert visitor.do("return document.activeElement.id") == "panel"


def test_whatever_can_be_used_has_a_name_for_those_who_do_not_see_it(visitor: Visitor) -> None:
    visitor.visit("fill", language="en")
    used = {"button", "link", "textbox", "combobox", "tab", "spinbutton", "checkbox", "tabpanel", "log"}
    for tab in TABS:
        press_first_example(visitor, tab)
        nodes = visitor.tell("Accessibility.getFullAXTree")["nodes"]
        seen = [n for n in nodes if not n["ignored"] and n["role"]["value"] in used]
        assert len(seen) > 10
        assert [n["role"]["value"] for n in seen if not n.get("name", {}).get("value")] == [], tab
        ids = visitor.do("return [...document.querySelectorAll('[id]')].map(element => element.id)")
        assert len(ids) == len(set(ids))


CONTRAST = """
const numbers = (colour) => { const c = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
  c.fillStyle = colour; c.fillRect(0, 0, 1, 1); return [...c.getImageData(0, 0, 1, 1).data].slice(0, 3); };
const linear = (v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
const light = (colour) => { const [r, g, b] = numbers(colour).map(linear);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
const ground = (e) => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor;
  if (!/rgba\\(.*, 0\\)|transparent/.test(c)) return c; } };
return [...document.querySelectorAll("h1, h2, h3, p, a, label, button, .number, .hint, code, .name, .who")]
  .filter(e => e.offsetParent && e.textContent.trim())
  .map(e => { const [a, b] = [light(getComputedStyle(e).color), light(ground(e))].sort((x, y) => y - x);
    return [(a + 0.05) / (b + 0.05), e.className || e.tagName]; }).filter(([ratio]) => ratio < 4.5);
"""


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_word_stands_out_from_its_ground(visitor: Visitor, theme: str) -> None:
    visitor.visit("fill", language="en", theme=theme)
    for tab in ("fill", "classify", "chat"):
        press_first_example(visitor, tab)
        assert visitor.do(CONTRAST) == [], tab


def test_colours_follow_the_system_until_they_are_chosen(visitor: Visitor) -> None:
    ground = "return getComputedStyle(document.body).backgroundColor"
    seen = {}
    for scheme in ("light", "dark"):
        visitor.tell("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        visitor.visit("fill", language="en")
        seen[scheme] = visitor.do(ground)
    assert seen["light"] != seen["dark"]
    visitor.click("header select option[value=light]")
    assert visitor.do(ground) == seen["light"]
    visitor.tell("Emulation.setEmulatedMedia", features=[])


def test_the_language_is_the_browsers_then_the_chosen_and_loses_no_word(visitor: Visitor) -> None:
    agent = visitor.do("return navigator.userAgent")
    visitor.tell("Network.setUserAgentOverride", userAgent=agent, acceptLanguage="zh-CN")
    visitor.visit("classify")
    assert visitor.do("return document.documentElement.lang") == "zh-CN"
    visitor.type("textarea[name=text]", "the lazy dog")
    visitor.click("button.main")
    visitor.see(".took")
    visitor.click("#language-en")
    assert visitor.see("textarea[name=text]").get_attribute("value") == "the lazy dog"
    assert visitor.see(".verdict")
    visitor.browser.refresh()
    visitor.see("#panel form")
    assert visitor.do("return document.documentElement.lang") == "en"
    visitor.tell("Network.setUserAgentOverride", userAgent=agent, acceptLanguage="en-US")


def test_both_languages_say_the_same_things(visitor: Visitor) -> None:
    visitor.visit("fill", language="en")
    keys = visitor.browser.execute_async_script("""
        const done = arguments[0];
        import("./page/language.js").then(({ LANGUAGES }) => done(Object.values(LANGUAGES).map(words =>
          Object.entries(words).map(([key, said]) => [key, (said.match(/\\{\\w+\\}/g) ?? []).sort().join()]))))""")
    assert sorted(keys[0]) == sorted(keys[1])


def test_marks_stand_at_the_right_characters_after_an_emoji(visitor: Visitor) -> None:
    visitor.visit("documents", language="en")
    press_first_example(visitor, "documents")
    assert visitor.see(".marked mark").text == "at nine 😀"
    assert "ferry.md" in visitor.see(".source").text


def test_a_model_is_chosen_where_several_fit(visitor: Visitor) -> None:
    visitor.visit("classify", language="en")
    visitor.click("select[name=model] option[value=stars]")
    visitor.type("textarea[name=text]", "the lazy dog")
    visitor.click("button.main")
    assert re.search(r"Value\s+-?\d", visitor.see(".headline").text)
    assert '"model":"stars"' in visitor.see(".calls code").text


@pytest.mark.parametrize(("language", "neutral", "unsure"), [("en", "neutral", "not sure"), ("zh", "中性", "把握不足")])
def test_a_feeling_is_named_doubted_and_traced_to_its_words(
    browser: Any, language: str, neutral: str, unsure: str
) -> None:
    with listening(Models({"feeling": find_model("default:sentiment")})) as address:
        visitor = Visitor(browser, address).visit("classify", language=language)
        visitor.type("textarea[name=text]", "The meeting is on Tuesday.")
        visitor.click("button.main")
        visitor.see(".verdict", lambda verdict: verdict.text == neutral)
        visitor.type("textarea[name=text]", "A warm, funny 😀 film.")
        visitor.click("input[name=words]")
        visitor.click("button.main")
        visitor.see(".verdict.good")
        assert "film" in [word.text for word in visitor.all(".coloured span")]
        visitor.click("form summary")
        visitor.type("input[name=threshold]", "1")
        visitor.click("button.main")
        visitor.see(".headline", lambda headline: unsure in headline.text)
        assert '"threshold":1,"words":true' in visitor.see(".calls code").text
        assert "threshold=1, words=True" in visitor.see(".calls").text
        assert_well_behaved(visitor, address)


@pytest.mark.parametrize(
    ("language", "unknown", "said"),
    [
        ("en", "I do not know what to say to that.", "I have said so already."),
        ("zh", "这个我不知道怎么回答。", "这个我刚才说过了。"),
    ],
)
def test_a_chat_without_an_answer_says_whether_it_gave_one(
    visitor: Visitor, language: str, unknown: str, said: str
) -> None:
    visitor.visit("chat", language=language)
    visitor.type("input[name=text]", "nothing")
    visitor.click("button.main")
    visitor.see(".bubble.its:last-child p", lambda words: words.text == unknown)
    visitor.type("input[name=text]", "again")
    visitor.click("button.main")
    visitor.see(".bubble.its:last-child p", lambda words: words.text == said)


def test_what_goes_wrong_is_said_in_words(visitor: Visitor) -> None:
    visitor.visit("fill", language="en")
    visitor.click("button.main")
    assert visitor.see(".problem").text == "“Text with [MASK]” is empty."
    visitor.type("textarea", "nothing to fill")
    visitor.click("button.main")
    visitor.see(".problem", lambda problem: "no [MASK]" in problem.text)
    visitor.type("textarea", "[MASK] " * 65)
    visitor.click("button.main")
    visitor.see(".problem", lambda problem: "65 masks" in problem.text)
    assert [line for line in visitor.complaints() if "422" not in line] == []


def test_a_tab_without_a_model_says_how_to_get_one(browser: Any, folders: dict[str, Path]) -> None:
    with listening(Models({"quick": folders["quick"]})) as address:
        visitor = Visitor(browser, address).visit("", language="en")
        visitor.see("#tab-classify[aria-selected=true]")
        visitor.click("#tab-faq")
        assert "unmask faq build" in visitor.see("#panel pre").text
        assert visitor.complaints() == []


def test_a_token_is_asked_for_and_kept_for_this_tab_only(browser: Any, folders: dict[str, Path]) -> None:
    with listening(Models({"quick": folders["quick"]}), token="hunter2") as address:
        visitor = Visitor(browser, address)
        visitor.browser.get(address)
        visitor.type("dialog input", "wrong")
        visitor.click("dialog .main")
        visitor.see("dialog", lambda dialog: "was wrong" in dialog.text or "令牌不对" in dialog.text)
        visitor.type("dialog input", "hunter2")
        visitor.click("dialog .main")
        visitor.click(".chip")
        visitor.see(".took")
        assert visitor.do("return Object.values(sessionStorage)") == ["hunter2"]
        assert "hunter2" not in visitor.do("return JSON.stringify(localStorage) + document.documentElement.outerHTML")
        assert "$UNMASK_TOKEN" in visitor.see(".calls").text
        assert [line for line in visitor.complaints() if "401" not in line] == []


def test_a_server_that_is_gone_is_said_to_be(browser: Any, folders: dict[str, Path]) -> None:
    with listening(Models({"quick": folders["quick"]})) as address:
        visitor = Visitor(browser, address).visit("classify", language="en")
    visitor.click(".chip")
    assert "does not answer" in visitor.see(".problem").text
    until(lambda: visitor.complaints() or True, "the console")
