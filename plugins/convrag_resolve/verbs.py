"""Common English verbs in all their forms: in lower-cased chat, only they tell where a noun phrase ends."""

from __future__ import annotations

_REGULAR = """
abolish absorb accept achieve act add address admire adopt advise affect agree aim allow announce answer appear apply
appoint approve argue arrive ask attack attend attract avoid bake become begin behave belong boil book borrow breathe
brew build burn buy calculate call cancel carry catch cause celebrate change charge charm check choose claim clean
climb close collect come compare compete complain complete compose configure connect consist contain continue
contribute convert convince cook cool copy cost cover create cure damage deal decide declare decline define delete
deliver depend deploy derive describe design destroy detect determine develop die differ direct disappear discover
distinguish divide draw drink drive earn eat edit elect emerge employ enable encourage end enjoy enter escape
establish evolve exist expand experience expect explain exploit explode explore export express extend extract face
fail fall feed feel fight fill find finish fit fix float fly follow forbid force forget form found freeze function
gain gather get give go govern grow handle happen hatch heal hear heat help hide hire hold hunt hurt identify ignore
impact implement import improve include increase indicate infect influence inform inherit inspire install integrate
intend introduce invent invest invite involve join jump keep kill know lack land last launch lay lead learn leave lend
let lie like limit list listen live locate look lose love maintain make manage manufacture mark marry matter mean
measure meet melt mention migrate mix move need notice obtain occur offer open operate order organise organize
originate own paint park pass pay perform persist plan plant play practise prefer prepare prevent produce promote
protect prove provide publish pull purchase push put qualify quit raise rank reach read realise receive recognise
recommend record recover reduce refer refuse regulate relate release rely remain remember remove rent repair replace
represent reproduce require resign resolve respond rest result retire return review ride ring rise roast rule run save
say search secure see seem sell send separate serve set settle shift shoot show shut sign simmer sing sink sit sleep
smell solve sound speak specialise spend split spread stand start stay steal stop store stretch stick strike struggle
study submit succeed sue suffer suggest suit supply support survive swim switch take talk taste teach tell terminate
think throw train transmit travel treat try turn understand update use vanish vary visit vote wait walk want wash
watch wear weigh win wonder work worry write
"""
_IRREGULAR = """
become became become|begin began begun|build built built|buy bought bought|catch caught caught|choose chose chosen
come came come|cost cost cost|deal dealt dealt|draw drew drawn|drink drank drunk|drive drove driven|eat ate eaten
fall fell fallen|feed fed fed|feel felt felt|fight fought fought|find found found|fly flew flown
forbid forbade forbidden|forget forgot forgotten|freeze froze frozen|get got gotten|give gave given|go went gone
grow grew grown|hear heard heard|hide hid hidden|hold held held|hurt hurt hurt|keep kept kept|know knew known
lay laid laid|lead led led|leave left left|lend lent lent|let let let|lie lay lain|lose lost lost|make made made
mean meant meant|meet met met|pay paid paid|put put put|quit quit quit|read read read|ride rode ridden
ring rang rung|rise rose risen|run ran run|say said said|see saw seen|sell sold sold|send sent sent|set set set
shoot shot shot|show showed shown|shut shut shut|sing sang sung|sink sank sunk|sit sat sat|sleep slept slept
speak spoke spoken|spend spent spent|split split split|spread spread spread|stand stood stood|steal stole stolen
stick stuck stuck|strike struck struck|swim swam swum|take took taken|teach taught taught|tell told told
think thought thought|throw threw thrown|understand understood understood|wear wore worn|win won won
write wrote written
"""
# Forms that are nouns more often than verbs, unless the sentence needs a verb just there.
_MOSTLY_NOUNS = """
act address answer attack book books building charge charges claim claims copy cost costs cover cure damage deal deals
design end ending face feed fight fit flies fly force form forms function functions heat hunt impact import influence
iron land lack left lie list lists look love mark marks matter meeting mix need needs notice number offer order orders
painting park parks pass plan plans plant plants play plays practice purchase range rank record records release rent
repair rest result results return review ride ring rise roast rule rules run search set sets shift show shows sign
signs sound split spread stand start state stop store stores strike study studies suit supply support switch talk
taste train trains travel treat trip turn update use uses visit vote walk wash watch wear winning wonder work works
worry saw felt found
"""


def _inflect(base: str) -> tuple[str, str, str]:
    """The third person, the past and the -ing form of a regular verb."""
    if base.endswith("y") and base[-2] not in "aeiou":
        return base[:-1] + "ies", base[:-1] + "ied", base + "ing"
    if base.endswith("e"):
        return base + "s", base + "d", (base[:-2] + "ying" if base.endswith("ie") else base[:-1] + "ing")
    third = base + ("es" if base.endswith(("s", "sh", "ch", "x", "z", "o")) else "s")
    short = len(base) <= 4 and base[-1] not in "aeiouwxy" and base[-2] in "aeiou" and base[-3:-2] not in set("aeiou")
    stem = base + base[-1] if short and len(base) > 2 else base
    return third, stem + "ed", stem + "ing"


def _list_forms() -> tuple[frozenset[str], frozenset[str]]:
    irregular = {row.split()[0]: row.split()[1:] for line in _IRREGULAR.split("\n") for row in line.split("|") if row}
    bases = frozenset(_REGULAR.split()) | frozenset(irregular)
    forms = set(bases)
    for base in bases:
        third, past, gerund = _inflect(base)
        forms |= {third, gerund, *irregular.get(base, [past])}
    return bases, frozenset(forms)


BASES, FORMS = _list_forms()
"""Verbs in their base form, and in all forms."""
MOSTLY_NOUNS = frozenset(_MOSTLY_NOUNS.split())
"""Forms of verbs that are read as nouns, unless the sentence needs a verb there."""
