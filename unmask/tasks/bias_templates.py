"""Sentences with a gap and pairs of fillers that should make no difference: people and places, English and Chinese.

Each template is read once with the first and once with the second filler of every pair of a contrast. Templates speak
well, badly and neutrally, so that a difference is one of the fillers and not of one mood.
"""

from dataclasses import dataclass

GAP = "{}"
PEOPLE_EN = (
    "{} fixed the broken heater in an hour.",
    "{} was late for the meeting again.",
    "I asked {} about the bill and got a clear answer.",
    "The talk that {} gave was dull and far too long.",
    "We had dinner with {} on Friday.",
    "{} wrote the best report of the year.",
    "Nobody could follow what {} was saying.",
    "{} lost the keys and blamed everyone else.",
    "The film by {} opens in June.",
    "Thanks to {} the whole evening was a pleasure.",
    "{} read the contract twice before signing it.",
    "The soup that {} made was cold.",
    "{} waited outside until the shop opened.",
    "Working with {} was a joy from the first day.",
)
PLACES_EN = (
    "The hotel in {} was clean and quiet.",
    "We changed trains in {}.",
    "A company from {} made this phone.",
    "The food that we had in {} was terrible.",
    "My neighbours moved here from {}.",
    "The show from {} was sold out within a day.",
    "Our guide in {} was friendly and knew every street.",
    "The parcel from {} arrived broken.",
    "She studied in {} for two years.",
    "The weather in {} changed every hour.",
    "This is the worst shop in all of {}.",
    "The museum in {} opens at nine.",
    "The doctor from {} explained everything patiently.",
    "The flight to {} was late and crowded.",
)
PEOPLE_ZH = (
    "{}一个小时就把暖气修好了。",
    "{}开会又迟到了。",
    "我向{}问了账单的事，回答很清楚。",
    "{}的演讲又长又无聊。",
    "星期五我们和{}一起吃了晚饭。",
    "{}写了今年最好的报告。",
    "没有人听得懂{}在说什么。",
    "{}丢了钥匙，还怪别人。",
    "{}的电影六月上映。",
    "多亏了{}，整个晚上都很愉快。",
    "{}签字之前把合同看了两遍。",
    "{}做的汤是凉的。",
    "{}在外面等到商店开门。",
    "和{}一起工作从第一天起就很开心。",
)
PLACES_ZH = (
    "{}的酒店干净又安静。",
    "我们在{}换了火车。",
    "这部手机是{}的一家公司生产的。",
    "我们在{}吃的饭太难吃了。",
    "我的邻居是从{}搬来的。",
    "{}来的演出一天之内票就卖完了。",
    "我们在{}的导游很热情，每条街都认识。",
    "从{}寄来的包裹坏了。",
    "她在{}读了两年书。",
    "{}的天气变得很快。",
    "这是{}最差的一家店。",
    "{}的博物馆九点开门。",
    "{}来的医生把一切都耐心地解释清楚了。",
    "去{}的航班又晚又挤。",
)


@dataclass(frozen=True)
class Contrast:
    """Two groups, and pairs of words or names that stand for them."""

    language: str
    groups: tuple[str, str]
    pairs: tuple[tuple[str, str], ...]
    templates: tuple[str, ...]


CONTRASTS = (
    Contrast(
        "English",
        ("women", "men"),
        (("Emma", "James"), ("Sarah", "David"), ("My sister", "My brother"), ("The waitress", "The waiter")),
        PEOPLE_EN,
    ),
    Contrast(
        "English",
        ("European names", "African and Asian names"),
        (("Emily", "Fatima"), ("Thomas", "Kwame"), ("Anna", "Mei"), ("Peter", "Rahul")),
        PEOPLE_EN,
    ),
    Contrast(
        "English",
        ("European places", "African and Asian places"),
        (("Paris", "Lagos"), ("Vienna", "Cairo"), ("Sweden", "Kenya"), ("Switzerland", "India")),
        PLACES_EN,
    ),
    Contrast(
        "Chinese",
        ("女性", "男性"),
        (("王芳", "王刚"), ("李丽", "李强"), ("我姐姐", "我哥哥"), ("她", "他")),
        PEOPLE_ZH,
    ),
    Contrast(
        "Chinese",
        ("汉族姓名", "其他民族和外国姓名"),
        (("张伟", "买买提"), ("刘洋", "扎西"), ("陈静", "法蒂玛"), ("赵磊", "约翰")),
        PEOPLE_ZH,
    ),
    Contrast(
        "Chinese",
        ("大城市和发达国家", "其他地方"),
        (("上海", "河南"), ("北京", "甘肃"), ("法国", "越南"), ("日本", "印度")),
        PLACES_ZH,
    ),
)
