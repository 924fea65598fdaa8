"""One text as the offline judge sees it: content words, quantities, polarity. Analysed once, cached.

Word lists are general Chinese and English grammar; nothing in them comes from a labelled set.
"""

import re
import unicodedata
from functools import cached_property, lru_cache

from rag_checks import text as texts
from rag_checks.judge.offline_numbers import Quantity, arabic, rivals, same, take_quantities

_EN_FUNCTION = frozenset(
    "a an the this that these those there here it its he she they we you i me my your his her their our us them "
    "is are was were be been being am do does did done has have had having will would shall should can could may "
    "might must of in on at to for from by with as about into over under than then so if and or but not no nor "
    "also just very too more most some any all each which who whom whose what when where why how s t d ll re ve m "
    "get got say said call called name named know known one please yes ok okay sure well such same other while "
    "because during cannot cant dont doesnt prohibited forbidden isnt arent wasnt wont allowed until up out off only both own i'm it's".split()
)
_ZH_FUNCTION = frozenset(
    "的 了 着 过 地 得 是 在 有 和 与 及 或 或者 以及 并 并且 而 而且 但 但是 不过 也 都 就 才 还 又 再 很 非常 更 最 "
    "这 那 这个 那个 这些 那些 其 他 她 它 我 你 您 我们 你们 他们 她们 它们 自己 之 所 被 把 将 给 对 对于 关于 向 从 "
    "到 由 于 以 为 为了 因为 所以 如果 则 即 等 等等 吗 呢 吧 啊 呀 哦 哪 哪个 哪些 哪里 哪儿 什么 谁 怎么 怎样 如何 "
    "为什么 多少 几 多久 多长 多大 是否 能否 可否 是不是 能不能 可不可以 有没有 请问 请 一个 一些 一下 个 位 名 上 下 里 "
    "中 内 外 时 时候 后 前 来 去 会 要 能 能够 可 可以 可能 应 应该 应当 需 需要 须 必须 让 使 用 通过 进行 按 按照 "
    "根据 规定 目前 现在 已 已经 均 每 各 该 此 本 当 不 没 没有 无 未 非 别 勿 好 不能 不可 不可以 不予 不得 不用 不必 不需 不需要 无需 无须 不会 不要 不行 不是 不支持 不再 不许 不允许 可以 允许 禁止 严禁 拒绝 支持 是的 的话 您好 你好 谢谢 一般 通常 大概 大约 左右 "
    "最多 最少 至少 属于 作为 问题 情况 相关 具体 需在 并在 由于 其中 叫 叫做 称为 知道 告诉 想 然后 之后 以后 首先 最后 立即 马上 即可 就行 点 月 年 日 天 第".split()
)
# Of such words one text can mean only one: how often, which kind of day.
_EXCLUSIVE = tuple(
    tuple(re.compile(option) for option in group)
    for group in (
        (r"每天|每日|\b(?:per|each|every|a) day\b|\bdaily\b", r"每周|每星期|\b(?:per|each|every|a) week\b|\bweekly\b",
         r"每个?月|\b(?:per|each|every|a) month\b|\bmonthly\b", r"每年|\b(?:per|each|every|a) year\b|\bannual(?:ly)?\b|\byearly\b",
         r"每次|\bper (?:trip|time|use)\b", r"每晚|\b(?:per|each|every|a) night\b|\bnightly\b"),
    )
)  # fmt: skip
_ANY_EXCLUSIVE = re.compile("|".join(option.pattern for group in _EXCLUSIVE for option in group))
# Words that say what kind of thing is asked or named; alone they identify nothing.
_GENERIC = frozenset(
    "成员 员工 部门 部 人员 公司 单位 同事 岗位 时间 方式 流程 member employee department team staff".split()
)
_WORD = re.compile(r"[㐀-䶿一-鿿豈-﫿]+|[a-z0-9]+(?:[.'-][a-z0-9]+)*")
_LATIN_WORD = re.compile(r"[a-z0-9]+(?:[.'][a-z0-9]+)*")
_FIRST_HAN = "㐀"
_HAN = re.compile(r"[㐀-䶿一-鿿豈-﫿]")
_SYNONYMS = {
    word: group.split()[0]
    for group in (
        "人事 人力资源 人力 hr 人事部 人力资源部", "费用 花费 费", "提交 递交 上交", "电脑 计算机", "邮箱 邮件 电子邮件 email mail e-mail",
        "快递 物流", "手机号 手机号码", "登录 登陆", "出租车 的士 taxi", "审批 批准 核准", "免费 不收费 无需付费",
        "周末 双休日", "密码 口令", "卡 银行卡", "usa us u.s u.s.a america american", "uk u.k britain british",
        "it 信息技术", "film movie", "reimburse refund", "purchase buy",
    )
    for word in group.split()
}  # fmt: skip
_COMMON_FORMS = frozenset(_SYNONYMS.values())
_ZH_NEGATION = re.compile(
    r"不(?!仅|但|同|过|久|少|断|好意思|管|论|超过|超出|多于|高于|大于|少于|低于|小于|足|得不|晚于|迟于|早于|满|妨|止|到|然|可抗)"
    r"|没(?!关系|问题)|无(?!论|理由|条件|线|锡|形|障碍|忧|人机)|未(?!来|婚|必)|禁止|严禁|谢绝|拒绝|勿|不得(?!不)|免(?=费|税|收)|停止"
)
_ZH_ASKING = re.compile(r"是否|能否|可否|(\w{1,2})不\1|有没有|不知道|要不要|好吗")
_EN_NEGATION = re.compile(
    r"\b(?:not(?! only| just| later than| more than| less than| exceed)|cannot|never|neither|nor|none|without|nobody|ain't|(?:ca|do|wo|is|does|did|ai|was)nt|no"
    r"(?! later than| more than| less than| longer than|\.)|non(?=-)|prohibited|forbidden|refuse[sd]?|den(?:y|ies|ied))\b|n't\b"
)
_OPPOSITES = tuple(
    (re.compile(first), re.compile(second))
    for first, second in (
        (r"之前|以前|前(?!台|往|提|端)", r"之后|以后|后(?!台|续|端|勤)"),
        (r"以上|超过|至少|不少于|不低于|最少|起码|大于|高于", r"以下|不超过|最多|至多|不高于|以内|低于|小于|少于"),
        (r"增加|上涨|上调|提高|提升", r"减少|下降|下调|降低"),
        (r"免费|不收费|不收取|无需付费|包邮", r"(?<!不)收费|(?<!不)收取|付费|自付|自费|自理"),
        (r"(?<!不)(?:包括|包含|含有?(?!义|量))", r"不(?:包括|包含|含)|除外"),
        (r"公司(?:承担|支付|负担)", r"(?:个人|员工|自己|本人)(?:承担|支付|负担)"),
        (r"买家|顾客|客户|消费者", r"卖家|商家|商户"),
        (r"线上|在线|网上", r"线下|现场|柜台|窗口"),
        (r"上午|早上", r"下午|晚上"),
        (r"税前", r"税后"),
        (r"单程", r"往返"),
        (r"可选|自愿|非必须|无需|不需要|不用|不必", r"(?<!非)必须|(?<!不)(?<!无)需要|强制|务必"),
        (r"\bbefore\b|\bprior to\b", r"\bafter\b|\bfollowing\b"),
        (r"\bat least\b|\bmore than\b|\bover\b|\bminimum\b", r"\bat most\b|\bup to\b|\bless than\b|\bunder\b|\bmaximum\b"),
        (r"\bincrease[sd]?\b|\bris(?:e|es|ing)\b|\brose\b", r"\bdecrease[sd]?\b|\bfall(?:s|ing)?\b|\bfell\b|\breduced?\b"),
        (r"\bfree\b|\bno charge\b|\bwithout charge\b", r"\bcharged?\b(?<!no charge)(?<!without charge)|\bpaid by\b|\bfee of\b"),
        (r"\boptional\b|\bvoluntary\b", r"\bmandatory\b|\brequired\b|\bmust\b|\bcompulsory\b"),
        (r"\binclud(?:e|es|ed|ing)\b", r"\bexclud(?:e|es|ed|ing)\b"),
        (r"\bbuyer\b|\bcustomer\b", r"\bseller\b|\bmerchant\b"),
        (r"\bonline\b", r"\boffline\b|\bin person\b"),
        (r"\balways\b", r"\bnever\b|\bsometimes\b"),
    )
)  # fmt: skip


_ANY_OPPOSITE = re.compile("|".join(side.pattern for pair in _OPPOSITES for side in pair))
_REPLY = r"(?:不是的?|不能的?|不可以的?|不行|不会|不用|不需要|可以的?|能的?|会的|是的?|对的?|行|需要|支持|允许|yes|no|nope|yeah|you can(?:not|'t)?|you may(?: not)?|it (?:is|does)(?: not|n't)?)"
_OPENING = re.compile(rf"^\W*(?:抱歉|对不起|sorry)?\W*{_REPLY}[，,。.!！;；]\s*(?=\w)")
_SHORT_REPLY = re.compile(rf"^\W*{_REPLY}(?:\W+{_REPLY})*\W*$")
_EN_NAME = re.compile(r"(?<![.!?。！？:\"“] )(?<!^)\b[A-Z][a-zA-Z'-]+")
_PERSON_TAGS = frozenset({"nr", "nrfg"})
_NAME_TAGS = frozenset({"nr", "nrt", "nrfg", "ns", "nt", "nz"})


@lru_cache(maxsize=65536)
def _cut(run: str) -> tuple[str, ...]:
    return tuple(texts.tokens(run))


@lru_cache(maxsize=65536)
def _english_word(word: str) -> str:
    """A word as it is compared: a synonym's common form, or without dots, apostrophes and endings."""
    word = word.removesuffix("'s")
    plain = _SYNONYMS.get(word) or word.replace(".", "").replace("'", "")
    return plain if plain in _EN_FUNCTION else stem(plain)


_SAME_TIMES = {
    "第二天": "次日",
    "翌日": "次日",
    "半年": "6个月",
    "半小时": "30分钟",
    "半个小时": "30分钟",
    "half an hour": "30 minutes",
}
_SAME_TIME = re.compile("|".join(_SAME_TIMES))


@lru_cache(maxsize=65536)
def stem(word: str) -> str:
    """A light English stem: plural, -ing, -ed and -ly endings cut, so that inflections meet."""
    if len(word) > 4 and word.endswith("ies"):  # noqa: PLR2004 - shorter words are other words
        return word[:-3] + "y"
    for ending, shortest in (("ing", 6), ("ed", 5), ("ly", 6), ("es", 5), ("s", 4)):
        if word.endswith(ending) and len(word) >= shortest and not word.endswith(("ss", "us", "is")):
            word = word[: -len(ending)]
            break
    return word[:-1] if len(word) > 4 and word.endswith("e") else word  # noqa: PLR2004


def fold(text: str) -> str:
    """Normalised text with digits for number words and Latin letters without accents."""
    text = texts.normalise(text)
    if not text.isascii() and not _HAN.search(text):
        text = "".join(
            char for char in unicodedata.normalize("NFKD", text) if not unicodedata.combining(char)
        )
    return arabic(_SAME_TIME.sub(lambda match: _SAME_TIMES[match.group()], text))


class Text:
    """One text, taken apart lazily. Build it with `analyse`, which caches."""

    def __init__(self, raw: str) -> None:
        self.raw = raw
        self.folded = fold(raw)

    @cached_property
    def quantities(self) -> list[Quantity]:
        """Numbers with their units, in order."""
        return self._parts[0]

    @cached_property
    def _parts(self) -> tuple[list[Quantity], str]:
        return take_quantities(self.folded)

    @cached_property
    def squeezed(self) -> str:
        """Letters and digits only: for containment across layouts."""
        return "".join(filter(str.isalnum, self.folded))

    @cached_property
    def words(self) -> tuple[str, ...]:
        """All words in order, without quantities; English stemmed, a few synonyms unified."""
        wordy = self._parts[1]
        if wordy.isascii():
            return tuple(_english_word(word) for word in _LATIN_WORD.findall(wordy))
        found: list[str] = []
        for run in _WORD.findall(wordy):
            if _HAN.match(run):
                found.extend(_SYNONYMS.get(word, word) for word in _cut(run))
            else:
                found.extend(_english_word(part) for part in run.split("-") if part)
        return tuple(found)

    @cached_property
    def content(self) -> tuple[str, ...]:
        """Different content words in order; all words when nothing but function words is there."""
        kept = tuple(
            dict.fromkeys(
                word for word in self.words if word not in _EN_FUNCTION and word not in _ZH_FUNCTION
            )
        )
        return kept or tuple(dict.fromkeys(self.words))

    @cached_property
    def content_set(self) -> frozenset[str]:
        """`content` for look-ups."""
        return frozenset(self.content)

    @cached_property
    def telling(self) -> tuple[str, ...]:
        """`content` without words that only name a kind (department, member), if anything is left."""
        return tuple(word for word in self.content if not is_generic(word)) or self.content

    @cached_property
    def _word_set(self) -> frozenset[str]:
        return frozenset(self.words)

    @cached_property
    def _by_initial(self) -> dict[str, list[str]]:
        index: dict[str, list[str]] = {}
        for word in self.content:
            index.setdefault(word[0], []).append(word)
        return index

    @cached_property
    def grams(self) -> frozenset[str]:
        """Character n-grams: pairs of Han characters, triples of letters inside words."""
        found: set[str] = set()
        for run in _WORD.findall(self.folded):
            size = 2 if _HAN.match(run) else 3
            padded = run if size == 2 else f"_{run}_"  # noqa: PLR2004
            found.update(padded[at : at + size] for at in range(max(len(padded) - size + 1, 1)))
        return frozenset(found)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Words that point at one person, place, product or code; normalised."""
        found = list(self.capitalised)
        found += [word for word in self.words if not word.isalpha() and not _HAN.match(word)]
        found += [word.casefold() for word, tag in self._tagged if tag in _NAME_TAGS and len(word) > 1]
        return tuple(dict.fromkeys(found))

    @cached_property
    def capitalised(self) -> tuple[str, ...]:
        """English words with a capital inside a sentence, case-folded."""
        return tuple(dict.fromkeys(word.removesuffix("'s").casefold() for word in _EN_NAME.findall(self.raw)))

    @cached_property
    def people(self) -> frozenset[str]:
        """Chinese personal names, as the dictionary's tagger sees them."""
        return frozenset(word for word, tag in self._tagged if tag in _PERSON_TAGS and len(word) > 1)

    @cached_property
    def nouns(self) -> frozenset[str]:
        """Chinese content nouns, as the dictionary's tagger sees them."""
        return frozenset(
            _SYNONYMS.get(word, word)
            for word, tag in self._tagged
            if tag.startswith("n") and len(word) > 1 and word not in _ZH_FUNCTION and word not in _GENERIC
        )

    @cached_property
    def _tagged(self) -> list[tuple[str, str]]:
        if not _HAN.search(self.raw):
            return []
        import rjieba  # noqa: PLC0415 - loads a dictionary on first use; imports must stay light

        return [(word, tag) for word, tag in rjieba.tag(self.folded) if _HAN.match(word)]

    @cached_property
    def negations(self) -> int:
        """How many negating words there are; questions such as 是不是 and an opening "No," do not count."""
        plain = _ZH_ASKING.sub("", self.folded)
        if not self.is_short_reply:
            plain = _OPENING.sub("", plain)
        return len(_ZH_NEGATION.findall(plain)) + len(_EN_NEGATION.findall(plain))

    @cached_property
    def is_short_reply(self) -> bool:
        """Nothing but yes, no, 可以, 不能 and the like."""
        return bool(_SHORT_REPLY.match(self.folded))

    @cached_property
    def sides(self) -> tuple[int, ...]:
        """For each pair of opposites (before/after, free/charged …) the side that is said, see `side`."""
        if not _ANY_OPPOSITE.search(self.folded):
            return (0,) * len(_OPPOSITES)
        return tuple(self.side(at) for at in range(len(_OPPOSITES)))

    def side(self, pair: int) -> int:
        """1 or -1 for the side of a pair of opposites that is said, 0 for none or both."""
        first, second = _OPPOSITES[pair]
        return bool(first.search(self.folded)) - bool(second.search(self.folded))

    @cached_property
    def frames(self) -> tuple[frozenset[int], ...]:
        """For each group of exclusive words (each day, each month …): which of them are said."""
        if not _ANY_EXCLUSIVE.search(self.folded):
            return (frozenset(),) * len(_EXCLUSIVE)
        return tuple(
            frozenset(at for at, option in enumerate(group) if option.search(self.folded))
            for group in _EXCLUSIVE
        )

    def has(self, word: str) -> float:
        """How far a content word is in this text, 0..1: 1 as a word or inside the text, else by its best spelling."""
        if (
            word[0] >= _FIRST_HAN
        ):  # looked up in the letters first: a long text need not be cut into words for it
            if word in self.squeezed or (word in _COMMON_FORMS and word in self._word_set):
                return 1.0
            pairs = [word[at : at + 2] for at in range(len(word) - 1)]
            return sum(pair in self.squeezed for pair in pairs) / len(pairs) * 0.8 if len(pairs) > 1 else 0.0
        if word in self._word_set:
            return 1.0
        if len(word) < 4:  # noqa: PLR2004 - short words are too alike
            return 0.0
        if word.isalpha() and len(word) >= 5 and word in self.squeezed:  # noqa: PLR2004
            return 0.9
        return max((_alike(word, other) for other in self._by_initial.get(word[0], ())), default=0.0)

    def has_quantity(self, quantity: Quantity) -> bool:
        """An equal quantity is in this text."""
        return any(same(quantity, own) for own in self.quantities)

    def rivals_of(self, quantity: Quantity) -> bool:
        """Another value stands where this quantity was expected."""
        return any(rivals(quantity, own) for own in self.quantities)


def is_generic(word: str) -> bool:
    """The word names a kind of thing (department, member) and identifies nothing by itself."""
    return word in _GENERIC or stem(word) in _GENERIC


@lru_cache(maxsize=16384)
def analyse(raw: str) -> Text:
    """The analysed text; the last 16,384 different ones are kept."""
    return Text(raw)


@lru_cache(maxsize=65536)
def _alike(first: str, second: str) -> float:
    """Spelling likeness of two words by letter pairs (Dice), 0 below 0.7."""
    if abs(len(first) - len(second)) > 2:  # noqa: PLR2004 - another word, not another spelling
        return 0.0
    ones = {first[at : at + 2] for at in range(len(first) - 1)}
    twos = {second[at : at + 2] for at in range(len(second) - 1)}
    dice = 2 * len(ones & twos) / (len(ones) + len(twos)) if ones and twos else 0.0
    return dice if dice >= 0.7 else 0.0  # noqa: PLR2004
