"""The English words that the rules of this package know, by class."""

from __future__ import annotations


def split_words(words: str) -> frozenset[str]:
    """The words of a text, as a set."""
    return frozenset(words.split())


SUBJECT_PRONOUNS = split_words("it they he she")
POSSESSIVES = split_words("its their his her")
OBJECT_PRONOUNS = split_words("it them him her itself themselves himself herself theirs hers")
PERSONAL = SUBJECT_PRONOUNS | OBJECT_PRONOUNS | POSSESSIVES
DEMONSTRATIVES = split_words("this that these those")
MALE = split_words("he him his himself")
FEMALE = split_words("she her hers herself")
PLURAL = split_words("they them their theirs themselves these those")

SPEAKERS = split_words(
    "i you we me us myself yourself ourselves everyone someone anyone nobody everything something anything"
    " nothing everybody somebody anybody mine yours ours"
)
SPEAKERS_POSSESSIVES = split_words("my your our")
ARTICLES = split_words("a an the")
DETERMINERS = (
    ARTICLES
    | SPEAKERS_POSSESSIVES
    | split_words(
        "some any no each every either neither both all another such several many few much more most less other"
    )
)
QUESTION_WORDS = split_words("what which who whom whose when where why how whatever whichever")
BE = split_words("is are was were be been being am isn't aren't wasn't weren't 's 're 'm")
DO = split_words("do does did don't doesn't didn't")
HAVE = split_words("has have had having hasn't haven't hadn't 've")
MODALS = split_words(
    "can could will would shall should may might must can't cannot couldn't won't wouldn't shouldn't mustn't 'll 'd"
)
AUXILIARIES = BE | DO | HAVE | MODALS
PREPOSITIONS = split_words(
    "about above across after against along among around as at before behind below beneath beside besides"
    " between beyond by despite during except for from in inside into like near of off on onto out outside over"
    " past per regarding since than through throughout till to toward towards under underneath unlike until up"
    " upon versus via vs with within without concerning compared"
)
LOCATIVE = split_words("in at to from near around inside outside within into visit visiting across through")
CONJUNCTIONS = split_words(
    "and or but nor yet so plus because if when while although though unless whether whereas once"
)
CLAUSE_WORDS = split_words("because if when while although though unless whether whereas but where who which since")
ADVERBS = split_words(
    "also always again ago ahead already almost alone apart away back barely best better else enough even ever"
    " far fast forward further hard hence here however instead just late later least long longer maybe mostly"
    " never next not now nowadays often once only otherwise perhaps please quite rather really right same soon"
    " still then there therefore thus today together tomorrow tonight too twice usually very well yesterday yet"
    " n't actually currently exactly generally typically originally probably possibly specifically mainly"
    " nearly likely early earlier afterwards anyway overall up down first"
)
INTERJECTIONS = split_words(
    "hi hello hey thanks thank ok okay yes no yeah yep nope sorry please great cool nice wow hmm oh"
)
NUMBERS = split_words(
    "one two three four five six seven eight nine ten eleven twelve twenty thirty forty fifty hundred thousand"
    " million billion dozen"
)
_PLAIN_ADJECTIVES = split_words(
    "able available bad beautiful best better big bigger biggest busy cheap cheaper cheapest clean clear close"
    " closed cold common correct crowded dangerous dead deep different difficult easy effective empty exact"
    " expensive false familiar famous far fast fine first free fresh full good great happy hard harmful healthy"
    " heavy high higher hot important large larger largest last late legal light long longer low lower lowest main"
    " major minor modern most natural necessary new next nice normal old older oldest open other own poor popular"
    " possible present private public quick quiet rare real recent related rich right rough safe same scary serious"
    " severe short similar simple slow small smaller soft special specific strong sure sweet tall taller tasty"
    " thick thin tight toxic true typical ugly unusual useful usual vegan vegetarian warm weak wet whole wide"
    " worse worst worth wrong young"
)

_UNGRADED = split_words("open own main last first next other whole past same better best worse worst real")


def _compare(adjective: str) -> set[str]:
    """The comparative and the superlative of a short adjective, doubled consonants too ("hotter")."""
    stem = adjective[:-1] + "i" if adjective.endswith("y") else adjective.removesuffix("e")
    doubled = stem + stem[-1]
    return {stem + "er", stem + "est", doubled + "er", doubled + "est"}


ADJECTIVES = _PLAIN_ADJECTIVES.union(*(_compare(word) for word in _PLAIN_ADJECTIVES - _UNGRADED if len(word) < 7))
COMPARISON = split_words(
    "compare compared compares comparison differ differs difference differences different versus vs same"
    " similar better worse between"
)

TIME_NOUNS = split_words(
    "year month week weekend day morning afternoon evening night time century decade season summer winter"
    " spring autumn fall moment era period date hour minute january february march april may june july august"
    " september october november december monday tuesday wednesday thursday friday saturday sunday"
)
STATEMENT_NOUNS = split_words("point statement explanation topic subject")
UTTERANCE_NOUNS = STATEMENT_NOUNS | split_words("question answer response reply")
PERSON_NOUNS = split_words(
    "man woman boy girl person king queen prince princess president minister mayor author writer poet painter"
    " artist actor actress singer composer musician director player coach captain founder inventor scientist"
    " physicist chemist doctor nurse patient teacher professor lawyer judge landlord tenant employer employee"
    " father mother son daughter brother sister wife husband friend boss chef striker goalkeeper emperor pope"
    " saint leader politician philosopher mathematician historian viceroy governor general lawyer architect"
    " designer guy lady gentleman"
)
MALE_NOUNS = split_words("man boy king prince father son brother husband actor emperor pope gentleman guy mr sir lord")
FEMALE_NOUNS = split_words("woman girl queen princess mother daughter sister wife actress lady mrs ms miss")
TITLES = split_words("mr mrs ms miss dr sir lord lady professor president king queen saint pope captain judge")
PLACE_NOUNS = split_words(
    "city town village country state region island islands river lake mountain mountains valley beach coast"
    " park museum gallery university college school hospital airport station street square castle palace"
    " cathedral church temple mosque tower bridge stadium restaurant hotel market province county district"
    " desert forest sea ocean bay"
)
# Nouns that need another: a population is of something (Loebner 1985 calls them relational nouns).
RELATIONAL_NOUNS = split_words(
    "accuracy address adaptations advantage advantages aftermath age aim alternative alternatives altitude"
    " ancestor ancestors area arguments author authors background basics beginning benefit benefits biggest"
    " boss budget capacity capital cast cause causes challenges chances characteristics characters colour color"
    " competitors components composition conditions cons consequence consequences contents controversy"
    " conclusion cost costs creator cure currency danger dangers deadline deadlines definition density depth"
    " diagnosis diameter difference differences dimensions directions director disadvantage disadvantages"
    " distance dosage dose downside downsides drawback drawbacks duration eaten effect effects elevation ending"
    " end evidence examples exceptions features fee fees findings flavor flavour followers founder founders"
    " function functions fuel goal goals height history illustrator impact implications ingredients inventor"
    " inventors key kinds language languages largest leader leaders length limit limitations limits lifespan"
    " location lyrics main maximum mayor meaning members method methods minimum motto name names number"
    " opponents origin origins outcome owner owners parents parts penalties penalty plot population preparation"
    " prerequisites president price prices principle principles procedure process pros prognosis properties"
    " punishment purpose range rate rates reaction reason reasons religion religions requirement requirements"
    " result results risk risks role roles roots rules runtime salary scope score sequel setting shape"
    " side-effects sign signs size source sources speed stages start statistics steps story strengths structure"
    " subscribers successor summary summit symptom symptoms syntax taste temperature texture themes theme"
    " timeline title topic trade-offs treatment treatments type types usage use uses value values variants"
    " varieties version versions victims volume weaknesses weather weight width winner winners"
)

IRREGULAR_PLURALS = split_words(
    "people children men women mice feet teeth geese oxen police cattle criteria phenomena bacteria"
)
SINGULAR_IN_S = split_words(
    "news physics mathematics economics politics gas bus lens analysis basis crisis thesis series species"
    " diabetes canvas atlas tennis iris virus campus process address"
)
NOT_ADVERBS_IN_LY = split_words(
    "family italy july reply supply assembly fly jelly belly ally anomaly bully rally monopoly"
)
ADJECTIVE_ENDINGS = ("able", "ible", "ous", "ful", "less", "ive", "ish", "ier", "iest")
PREDICATE_ENDINGS = ("al", "ic", "ant", "ent", "ed", "ing", "ary", "er")
