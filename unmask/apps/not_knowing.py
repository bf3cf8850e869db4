"""What a chat has no answer to: the words in which it says so, that it does not know or that it has said it, and
questions to strangers, by which it learns to.

The questions are on matters that hardly any dialogues speak of; a chat should answer few of them.
"""

from collections.abc import Iterable, Sequence

from unmask.apps.turns import Said, language_of

WORDS = {
    "en": (
        "I do not know what to say to that.",
        "Sorry, that is beyond me.",
        "I have no good answer here. Could you put it differently?",
        "That is something I have not learned.",
        "I am not sure. What else is on your mind?",
        "You have lost me there.",
    ),
    "zh": (
        "这个我不知道该怎么回答。",
        "抱歉，我还没学过这些。",
        "我没有合适的回答，能换个说法吗？",
        "这超出了我的能力。",
        "我不太确定，我们聊点别的好吗？",
        "你把我问住了。",
    ),
}

AGAIN = {
    "en": (
        "I have said so already.",
        "My answer is still the same.",
        "See what I told you above.",
        "Nothing has changed since you asked.",
    ),
    "zh": (
        "这个我刚才说过了。",
        "我的回答还是一样。",
        "请看上面的回复。",
        "前面已经讲过啦。",
    ),
}

STRANGERS = {
    "en": (
        "What is the melting point of tungsten?",
        "Which enzyme unwinds the double helix before it is copied?",
        "How is the eigenvector of a Hermitian matrix normalised?",
        "Who commanded the Hanseatic fleet at Bornholm?",
        "What tax treaty applies to royalties paid from Malta?",
        "Why does my linker report an undefined vtable symbol?",
        "How deep is the Mariana snailfish found?",
        "What torque do the cylinder head bolts of a tractor need?",
        "Which moon of Neptune orbits backwards?",
        "How do I prune a twenty-year-old grapevine?",
        "What is the half-life of caesium-137?",
        "Which rook endings are theoretically drawn?",
        "How many syllables has a dactylic hexameter?",
        "What dosage of amoxicillin suits a newborn foal?",
        "When was the aqueduct of Segovia last repaired?",
        "What does the subjunctive express in Old Norse?",
        "How is laterite different from podzol?",
        "Which glaze ingredients turn celadon green?",
        "What is the capital gains allowance for trusts?",
        "How do tardigrades survive desiccation?",
        "Explain the Coriolis term in the shallow water equations.",
        "What grit should I use to hone a Japanese chisel?",
        "Which bacteria fix nitrogen in alder roots?",
        "How is a sextant corrected for index error?",
    ),
    "zh": (
        "钨的熔点是多少？",
        "哪种酶在复制前解开双螺旋？",
        "厄米矩阵的特征向量怎么归一化？",
        "铯一三七的半衰期有多长？",
        "海王星的哪颗卫星逆行？",
        "二十年的葡萄藤该怎么修剪？",
        "柴油机缸盖螺栓的拧紧力矩是多少？",
        "链接器为什么报告未定义的虚表符号？",
        "马耳他支付的特许权使用费适用哪个税收协定？",
        "青瓷的绿色来自什么釉料成分？",
        "砖红壤和灰化土有什么区别？",
        "缓步动物如何在干燥中存活？",
        "浅水方程里的科里奥利项怎么解释？",
        "桤木根部由什么细菌固氮？",
        "六分仪的指标差如何校正？",
        "新生马驹的抗生素剂量怎么计算？",
        "古诺尔斯语的虚拟语气表示什么？",
        "哪些车兵残局理论上是和棋？",
        "塞哥维亚的引水渠是哪年修的？",
        "信托的资本利得免税额是多少？",
        "磨日本凿子该用多少目的磨石？",
        "长短短格六步诗有几个音节？",
        "马里亚纳狮子鱼生活在多深的地方？",
        "汉萨同盟在博恩霍尔姆由谁指挥舰队？",
    ),
}


def strangers_to(texts: Iterable[str]) -> list[str]:
    """Questions that hardly any texts speak of, in their languages.

    >>> len(strangers_to(["Where is the key?"])), strangers_to(["钥匙在哪里？"])[0]
    (24, '钨的熔点是多少？')
    """
    return [question for language in sorted({*map(language_of, texts)}) for question in STRANGERS[language]]


def not_knowing(said: str, history: Sequence[str] = ()) -> str:
    """A sentence, in the language of what was said, that says so; another one each time while there are others.

    >>> not_knowing("What is dark matter?"), not_knowing("暗物质是什么？")
    ('I do not know what to say to that.', '这个我不知道该怎么回答。')
    >>> not_knowing("And now?", ["I do not know what to say to that."])
    'Sorry, that is beyond me.'
    """
    return _another(WORDS[language_of(said)], history)


def saying_again(said: str, history: Sequence[str] = ()) -> str:
    """A sentence, in the language of what was said, that it has been answered; another one each time likewise.

    >>> saying_again("Who lit the lamp?"), saying_again("谁点的灯？")
    ('I have said so already.', '这个我刚才说过了。')
    """
    return _another(AGAIN[language_of(said)], history)


def says_nothing(turn: str) -> bool:
    """Whether a turn is one of the sentences above: nothing that a reply could be chosen by.

    >>> says_nothing("You have lost me there."), says_nothing("You have lost your hat there.")
    (True, False)
    """
    return any(turn in words for words in (*WORDS.values(), *AGAIN.values()))


def _another(words: Sequence[str], history: Sequence[str]) -> str:
    before = Said(history)
    return next((sentence for sentence in words if sentence not in before), words[len(history) % len(words)])
