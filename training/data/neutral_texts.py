"""Texts that complete the probes of a small collection: sentences in several languages and scripts.

They are put together of the phrases below, always in the same way, so that every proof of the same
model is the same. They have no meaning beyond that, and nobody judged them.
"""

from collections.abc import Iterator
from functools import cache
from itertools import count
from math import prod

# Who, does, what and where, in the order in which the language puts them; | is between phrases.
_PHRASES = {
    "en": (
        "The old gardener|A young engineer|My neighbour|Every tourist|The chemist|Our team|"
        "A careful reader|The tired pilot|Her youngest brother|The committee",
        "repairs|describes|has sold|quickly measures|never forgets|is looking for|paints|compares",
        "a broken clock|the price of bread|two heavy boxes|an unknown island|the speed of light|"
        "several files of a database|a recipe for soup|the history of the railway|green apples|"
        "a treatment against fever",
        "in the harbour|before the winter|with great patience|near the old bridge|on Monday|"
        "in spite of the rain|at the university|for 25 euros",
    ),
    "de": (
        "Die Lehrerin|Ein müder Bäcker|Unser Nachbar|Das Orchester",
        "sucht|verkauft|übersetzt|zeichnet",
        "einen alten Schlüssel|das Bevölkerungswachstum|fünf Straßenbahnen|ein Kochbuch",
        "im Gebirge|vor dem Frühstück|trotz der Kälte|in Köln",
    ),
    "fr": (
        "La boulangère|Un élève curieux|Notre équipe|Le médecin",
        "répare|décrit|achète|n'oublie pas",
        "l'horloge cassée|une île inconnue|le prix du café|deux pommes vertes",
        "près du marché|avant l'hiver|sous la pluie|à l'université",
    ),
    "es": (
        "La enfermera|Un viejo marinero|Nuestro equipo|Mi hermana",
        "busca|describe|ha vendido|pinta",
        "una llave pequeña|el precio del pan|la historia del tren|tres manzanas",
        "en el puerto|por la mañana|cerca del puente|con mucha paciencia",
    ),
    "pl": (
        "Młody inżynier|Moja sąsiadka|Stary ogrodnik|Nasza drużyna",
        "naprawia|opisuje|sprzedaje|szuka",
        "zepsuty zegar|cenę chleba|książkę o górach|dwa jabłka",
        "przed zimą|koło mostu|w porcie|mimo deszczu",
    ),
    "tr": (
        "Yaşlı bahçıvan|Genç mühendis|Komşumuz|Öğretmen",
        "köprünün yanında|kıştan önce|limanda|sabahleyin",
        "bozuk saati|ekmeğin fiyatını|iki elmayı|eski haritayı",
        "onarıyor|anlatıyor|arıyor|satıyor",
    ),
    "ru": (
        "Старый садовник|Молодой инженер|Наша соседка|Учитель",
        "чинит|описывает|ищет|продаёт",
        "сломанные часы|цену хлеба|карту острова|два яблока",
        "у моста|перед зимой|в порту|несмотря на дождь",
    ),
    "el": (
        "Ο γέρος κηπουρός|Η νέα μηχανικός|Ο γείτονας|Η δασκάλα",
        "επισκευάζει|περιγράφει|ψάχνει|πουλά",
        "το παλιό ρολόι|την τιμή του ψωμιού|δύο μήλα|έναν χάρτη",
        "στο λιμάνι|πριν από τον χειμώνα|κοντά στη γέφυρα|τη Δευτέρα",
    ),
    "ar": (
        "البستاني العجوز|المهندسة الشابة|جارنا|المعلم",
        "يصلح|يصف|يبيع|يبحث عن",
        "ساعة مكسورة|سعر الخبز|خريطة الجزيرة|تفاحتين",
        "قرب الجسر|قبل الشتاء|في الميناء|رغم المطر",
    ),
    "he": (
        "הגנן הזקן|המהנדס הצעיר|השכן שלנו|המורה",
        "מתקן|מתאר|מוכר|מחפש",
        "שעון שבור|את מחיר הלחם|מפה של האי|שני תפוחים",
        "ליד הגשר|לפני החורף|בנמל|למרות הגשם",
    ),
    "hi": (
        "बूढ़ा माली|युवा इंजीनियर|हमारा पड़ोसी|अध्यापक",
        "पुल के पास|सर्दियों से पहले|बंदरगाह में|सुबह",
        "टूटी घड़ी|रोटी का दाम|द्वीप का नक्शा|दो सेब",
        "ढूँढता है|बताता है|बेचता है|देखता है",
    ),
    "th": (
        "คนสวน|วิศวกรหนุ่ม|เพื่อนบ้าน|ครู",
        "ซ่อม|อธิบาย|ขาย|หา",
        "นาฬิกาเก่า|ราคาขนมปัง|แผนที่เกาะ|แอปเปิลสองผล",
        "ใกล้สะพาน|ก่อนฤดูหนาว|ที่ท่าเรือ|ในวันจันทร์",
    ),
    "zh": (
        "老园丁|年轻的工程师|我们的邻居|老师",
        "在桥边|在冬天以前|在港口|星期一",
        "修理|描述|出售|寻找",
        "坏了的钟|面包的价格|海岛的地图|两个苹果",
    ),
    "ja": (
        "年老いた庭師は|若い技術者は|隣の人は|先生は",
        "橋のそばで|冬の前に|港で|月曜日に",
        "壊れた時計を|パンの値段を|島の地図を|リンゴを二つ",
        "直している|説明する|売った|探している",
    ),
    "ko": (
        "늙은 정원사가|젊은 기술자가|우리 이웃이|선생님이",
        "다리 옆에서|겨울 전에|항구에서|월요일에",
        "고장 난 시계를|빵의 가격을|섬의 지도를|사과 두 개를",
        "고친다|설명한다|팔았다|찾고 있다",
    ),
}  # fmt: skip
_UNSPACED, _CHINESE_STOP = ("th", "zh", "ja"), ("zh", "ja")
_OTHERS = [language for language in _PHRASES if language != "en"]
# What is no sentence; a proof has all of them.
_ODD = (
    "§",
    "42",
    "INVOICE NO. 2024-0817/B: 1,299.00 EUR (incl. 19% VAT), due on 31/12/2024",
    "def area(width: float, height: float) -> float:\n    return width * height  # in m²",
    "https://www.example.org/a/b?page=2&sort=asc#top user@example.org",
    "🙂🚲 ☂ → ½ ≠ ∞",
    "naïve café — “quoted”… it's A.B.C.; co-operate/re-enter\ttab",
    "Москва Tokyo 東京 αβγ mixed",
    "unbrokenwordthatgoesonandon" * 12,
)
_STRIDE = 7919  # a prime, so that neighbouring sentences share few phrases
_SENTENCES = (1, 3, 8, 2, 5, 1, 13, 4, 2, 6)  # of documents, in turn
# Documents that most models do not read to their end. Models that read thousands of tokens do;
# texts longer than that would take a processor minutes.
_LONG, _LONG_SENTENCES = (5, 44), 90


@cache
def neutral_queries(number: int) -> tuple[str, ...]:
    """Return different short texts: phrases, sentences and questions, half of them in English."""
    return _first(number, _queries())


@cache
def neutral_documents(number: int) -> tuple[str, ...]:
    """Return different texts of one word to some thousand characters, half of them in English."""
    return _first(number, _documents())


def _first(number: int, texts: Iterator[str]) -> tuple[str, ...]:
    """Return the first different texts of a source that has more of them."""
    found: dict[str, None] = {}
    while len(found) < number:
        found[next(texts)] = None
    return tuple(found)


def _queries() -> Iterator[str]:
    for number in count():
        language = _language(number)
        whole, parts = _sentence(language, 2 * number + 1)
        if number % 10 == 3 and number // 10 < len(_ODD):
            yield _ODD[number // 10]
        elif number % 4 == 0:
            yield whole
        elif number % 4 == 1:
            yield parts[-1] if number % 8 == 1 else parts[0]
        else:
            yield _joined(language, parts[1:3]) + ("?" if number % 3 == 0 else "")


def _documents() -> Iterator[str]:
    first = 0
    for number in count():
        language = _language(number)
        size = _LONG_SENTENCES if number in _LONG else _SENTENCES[number % len(_SENTENCES)]
        if number % 10 == 8 and number // 10 < len(_ODD):
            yield _ODD[number // 10]
            continue
        space = "" if language in _CHINESE_STOP else " "
        yield space.join(_sentence(language, first + each)[0] for each in range(size))
        first += size


def _language(number: int) -> str:
    return "en" if number % 2 == 0 else _OTHERS[number // 2 % len(_OTHERS)]


def _sentence(language: str, number: int) -> tuple[str, list[str]]:
    """Return a sentence and its phrases; a number past the last sentence starts over."""
    lists = [phrases.split("|") for phrases in _PHRASES[language]]
    rest, parts = number * _STRIDE % prod(map(len, lists)), []
    for phrases in lists:
        rest, at = divmod(rest, len(phrases))
        parts.append(phrases[at])
    return _joined(language, parts) + ("。" if language in _CHINESE_STOP else "."), parts


def _joined(language: str, parts: list[str]) -> str:
    return ("" if language in _UNSPACED else " ").join(parts)
