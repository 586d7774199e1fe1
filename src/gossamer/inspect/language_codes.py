"""Codes of languages: two letters, as web pages write them, to three letters, as archives write them. Pure."""

from __future__ import annotations

from typing import Final

# ISO 639-1 and ISO 639-3, one after the other.
_PAIRS: Final = """
    aaaar ababk aeave afafr akaka amamh anarg arara asasm avava ayaym azaze babak bebel bgbul bibis bmbam bnben bobod
    brbre bsbos cacat ceche chcha cocos crcre csces cuchu cvchv cycym dadan dedeu dvdiv dzdzo eeewe elell eneng eoepo
    esspa etest eueus fafas ffful fifin fjfij fofao frfra fyfry gagle gdgla glglg gngrn guguj gvglv hahau heheb hihin
    hohmo hrhrv hthat huhun hyhye hzher iaina idind ieile igibo iiiii ikipk ioido isisl itita iuiku jajpn jvjav kakat
    kgkon kikik kjkua kkkaz klkal kmkhm knkan kokor krkau kskas kukur kvkom kwcor kykir lalat lbltz lglug lilim lnlin
    lolao ltlit lulub lvlav mgmlg mhmah mimri mkmkd mlmal mnmon mrmar msmsa mtmlt mymya nanau nbnob ndnde nenep ngndo
    nlnld nnnno nonor nrnbl nvnav nynya ococi ojoji omorm orori ososs papan pipli plpol pspus ptpor quque rmroh rnrun
    roron rurus rwkin sasan scsrd sdsnd sesme sgsag shhbs sisin skslk slslv smsmo snsna sosom sqsqi srsrp ssssw stsot
    susun svswe swswa tatam tetel tgtgk ththa titir tktuk tltgl tntsn toton trtur tstso tttat twtwi tytah uguig ukukr
    ururd uzuzb veven vivie vovol wawln wowol xhxho yiyid yoyor zazha zhzho zuzul
"""
_THREE_LETTERS: Final = {pair[:2]: pair[2:] for pair in _PAIRS.split()}


def three_letters(language: str) -> str:
    """Return the code of ISO 639-3 of a language tag: `deu` for `de` and for `de-AT`; empty if there is none."""
    primary = language.lower().partition("-")[0]
    return _THREE_LETTERS.get(primary, primary if len(primary) == 3 else "")
