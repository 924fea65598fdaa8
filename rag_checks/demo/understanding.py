"""What the demo bot makes of a question before it searches: an intent guess and a rewritten query, by rules."""

import re
from collections.abc import Sequence

from rag_checks import text
from rag_checks.demo.handbook import people
from rag_checks.demo.retrieval import topic
from rag_checks.records import Message

SMALL_TALK = "small_talk"
EMPLOYEE_LOOKUP = "employee_lookup"

# Keywords of each intent; the intent with most of them wins, the earlier one on a tie.
_KEYWORDS = {
    EMPLOYEE_LOOKUP: "哪个部门 什么部门 部门的 分机 工位 坐在 坐哪 职务 职位 岗位 汇报 直属主管 领导是谁 负责什么 谁负责 谁管 谁维护 找谁 "
    "英文名 拼音 谁审核 谁安排 谁采购 归谁 which_department what_department extension desk report_to job_title 's_manager "
    "who_is who_books who_manages who_maintains who_repairs who_issues who_reviews who_buys who_audits who_calculates "
    "who_arranges who_follows responsible_for 's_e-mail",
    "leave": "年假 病假 事假 婚假 产假 陪产 丧假 调休 加班 请假 休假 天假 leave sick overtime day_off lieu",
    "expenses": "报销 发票 抬头 餐补 餐费 打车 招待 礼品 晚餐 expense claim invoice receipt taxi reimburse meal",
    "travel": "出差 机票 高铁 酒店 住宿 签证 舱 出国 trip travel hotel flight train visa economy",
    "it_support": "vpn 密码 账号 电脑 笔记本 打印 无线网 wifi wi-fi 附件 软件 服务台 it_desk password laptop print "
    "account attachment",
    "facilities": "会议室 访客 门禁 停车 食堂 午餐 午饭 办公用品 椅子 显示器 工作时间 上班 在家办公 居家办公 meeting_room visitor "
    "access_card parking canteen lunch working_hours from_home",
    "onboarding": "入职 报到 试用期 转正 导师 新员工 first_day probation confirmation_request documents join",
    "payroll": "工资 发薪 年终奖 公积金 在职证明 收入证明 salar payslip payday bonus",
    "benefits": "保险 体检 医疗 社保 福利 购物卡 加保 insurance health_check child",
    "security": "钓鱼 可疑 u盘 遗失 丢了 机密 个人信息 phishing suspicious usb stolen lost",
    "training": "培训 晋升 图书 借书 分享课 课程 训练 training promotion course",
}
_GREETING = re.compile(
    r"(你好|您好|在吗|谢谢|好的谢谢|早上好|再见|你是谁|你能做什么|hello|hi( there)?|thanks|thank you|bye|"
    r"good morning|who are you)[\s!！。.?？~]*"
)
_POLITE = re.compile(
    r"请问(一下)?|麻烦(帮我)?(查|问)?一下|帮我查一下|想问一下|谢谢|你好|您好|please|could you tell me|hi,|hello,|, help$",
    re.IGNORECASE,
)
_FOLLOW_UP = re.compile(
    r"^(那|还是|然后|and\b|what if\b|what about\b)|(?<!其)他|[她它]|呢[？?]?$|\b(his|her|(?-i:it)|that person)\b", re.IGNORECASE
)
# "那病假呢", "And sick leave?": the question before, about something else.
_WHAT_ABOUT = re.compile(
    r"那(?P<zh>[^谁几多哪]+)呢[？?]?|(?:and|what about) (?!.*\b(?:how|when|where|who|what|which)\b)(?P<en>[^?]+)\??", re.IGNORECASE
)
# Which column of the staff table is asked for, first match wins.
_FIELDS = {
    "pinyin": r"英文名|拼音",
    "extension": r"分机|打电话|电话|extension|phone number",
    "email": r"邮箱|发邮件|e-?mail",
    "seat": r"工位|座位|坐|\bsit\b|\bdesk\b|\bseat\b",
    "manager": r"主管|领导|上级|汇报|manager|report to",
    "title": r"职务|职位|岗位|job title|position",
    "duties": r"负责|做什么|responsible|\bdoes .+ do\b",
    "department": r"部门|department",
}
_FIELD_ALONE = 6  # words of a question that asks for a column and leaves out whose

# How people say it → how the handbook says it.
_SYNONYMS = {
    "发工资": "发薪日 发放", "发钱": "发薪日 发放 工资", "哪天发薪": "发薪日 发放", "工资几号": "发薪日 发放", 
    "设置": "安装客户端 服务器地址", "wifi": "无线网", "彩打": "彩色打印", "连接失败": "连不上", "电脑坏": "电脑故障", "开不了机": "电脑故障",
    "领证": "婚假 登记结婚", "结婚可以": "婚假", "生孩子": "产假", "老婆": "陪产假", "去世": "丧假", "打车": "市内交通 打车费",
    "吃晚饭": "晚餐", "吃饭": "用餐", "用完": "休完 结转", "出国": "境外", "资料": "材料", "午饭": "午餐 食堂", "被锁": "账号 锁定 密码", "忘带": "忘带 门禁卡", "没带门禁卡": "忘带", "上班": "工作时间", "在家办公": "居家办公", "订会议室": "会议室预订",
    "约个会议室": "会议室预订", "丢了": "遗失", "培训费": "培训经费", "考证": "考试", "借书": "图书角", "看门诊": "门诊 医疗保险",
    "逾期": "逾期 报销期限", "北京出差": "住宿标准", "酒店每晚": "住宿标准", "怎么报销": "报销流程 填写报销单", "在哪儿可以报销": "填写报销单 链接",
    "几等座": "二等座", "签证": "国际出差 签证", "咋整": "怎么办", "在哪里填": "填写", "领导": "直属主管", "坐哪": "工位", "坐在": "工位",
    "password": "account reset", "reimbursed": "expense claim approved", "the wifi": "Wi-Fi network", "set up": "install client server",
    "stolen": "lost", "wi-fi": "network", "sit": "seat", "payday": "salaries paid",
    "doctors note": "certificate", "ill?": "sick leave ill", "broke": "breaks ticket", "annual leave": "paid annual leave",
}  # fmt: skip


def guess_intent(question: str) -> str:
    """The intent whose keywords the question holds most of; `other` without any, `small_talk` for a greeting."""
    asked = text.normalise(question)
    if _GREETING.fullmatch(asked):
        return SMALL_TALK
    counts = {
        intent: sum((1 + ("_" in keyword)) * _holds(asked, keyword.replace("_", " ")) for keyword in keywords.split())
        for intent, keywords in _KEYWORDS.items()
    }
    counts[EMPLOYEE_LOOKUP] += 2 * bool(people_in(question))
    best = max(counts, key=lambda intent: counts[intent])
    return best if counts[best] else "other"


def rewrite(question: str, history: Sequence[Message] = ()) -> str:
    """The query for the retriever: without politeness, complete without the history, in the handbook's words."""
    asked = " ".join(_POLITE.sub(" ", question).split()).strip("，, ") or question
    if history and _leans_on_history(asked):
        asked = _complete(asked, history)
    lowered = asked.casefold()
    language = text.language_of(asked)
    added = [own for said, own in _SYNONYMS.items() if said in lowered and text.language_of(own) == language]
    for person in people_in(asked):
        added += [person[key] for key in ("name", "pinyin") if person[key].casefold() not in lowered]
    return " ".join([asked, *added])


def people_in(value: str) -> list[dict[str, str]]:
    """The people of the staff table whose name or pinyin a text holds, in the order of the text."""
    plain = text.normalise(value)
    places = ((_place(person, plain), person) for person in people())
    return [person for _, person in sorted((p for p in places if p[0] >= 0), key=lambda p: p[0])]


def asked_field(query: str) -> str | None:
    """The column of the staff table a query asks for; None when it asks for none of them."""
    return next((field for field, pattern in _FIELDS.items() if re.search(pattern, query, re.IGNORECASE)), None)


def _place(person: dict[str, str], plain: str) -> int:
    if person["name"] in plain:
        return plain.index(person["name"])
    found = re.search(rf"\b{person['pinyin'].casefold()}\b", plain)
    return found.start() if found else -1


def _holds(asked: str, keyword: str) -> bool:
    if keyword.isascii():
        return re.search(rf"(?<![a-z]){re.escape(keyword)}", asked) is not None
    return keyword in asked


def _leans_on_history(asked: str) -> bool:
    if people_in(asked):
        return _WHAT_ABOUT.fullmatch(asked) is not None
    if _FOLLOW_UP.search(asked) or guess_intent(asked) == "other":
        return True
    is_short = len(text.tokens(asked)) <= _FIELD_ALONE
    return is_short and asked_field(asked) is not None and not re.search("谁|who", asked, re.IGNORECASE)


def _complete(asked: str, history: Sequence[Message]) -> str:
    """A follow-up question with the person or the topic it leaves out, taken from the latest message that has one.

    What users said counts before what the bot said: its answers name managers and colleagues too.
    """
    users = [message.content for message in reversed(history) if message.role == "user"]
    previous = users[0] if users else ""
    before = people_in(previous)
    what_about = _WHAT_ABOUT.fullmatch(asked)
    if before and (named := people_in(asked)):
        swapped = previous.replace(before[0]["name"], named[0]["name"])
        return re.sub(before[0]["pinyin"], named[0]["pinyin"], swapped, flags=re.IGNORECASE)
    if what_about and not before and asked_field(asked) is None:
        rest = previous
        for word in topic(previous):
            rest = re.sub(re.escape(word), "", rest, flags=re.IGNORECASE)
        return f"{what_about['zh'] or what_about['en']} {' '.join(rest.split())}"
    for said in [*users, *(message.content for message in reversed(history))]:
        if found := people_in(said):
            return f"{found[0]['name' if text.language_of(asked) == 'zh' else 'pinyin']} {asked}"
    return f"{previous} {asked}"
