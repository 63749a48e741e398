"""Words for relatives, friends and pets in English and Chinese, each with its attribute and its English noun."""

from __future__ import annotations

_ENGLISH: dict[str, tuple[str, str]] = {
    word.replace("_", " "): (attribute, noun.replace("_", " "))
    for attribute, nouns in {
        "partner": "wife husband partner spouse girlfriend boyfriend fiancé fiancée fiance=fiancé fiancee=fiancée",
        "mother": "mother mom=mother mum=mother mama=mother mommy=mother",
        "father": "father dad=father papa=father daddy=father",
        "parent": "parent",
        "child": "son daughter child kid=child baby=child toddler=child stepson stepdaughter",
        "sibling": "brother sister sibling stepbrother stepsister half-brother half-sister",
        "relative": """grandmother grandma=grandmother granny=grandmother nana=grandmother grandfather
            grandpa=grandfather granddad=grandfather grandson granddaughter uncle aunt auntie=aunt cousin nephew niece
            mother-in-law father-in-law brother-in-law sister-in-law son-in-law daughter-in-law stepmother
            stepmom=stepmother stepfather stepdad=stepfather""",
        "friend": "friend buddy=friend pal=friend bestie=friend",
        "colleague": "colleague coworker=colleague co-worker=colleague teammate=colleague",
        "boss": "boss manager=boss supervisor=boss",
        "neighbour": "neighbour neighbor=neighbour",
        "roommate": "roommate flatmate=roommate housemate=roommate",
        "pet": """dog cat puppy=dog kitten=cat parrot hamster rabbit bunny=rabbit goldfish horse pony turtle tortoise
            budgie canary ferret lizard snake gecko parakeet""",
    }.items()
    for entry in nouns.split()
    for word, noun in [(entry.split("=")[0], entry.split("=")[-1])]
}

_CHINESE: dict[str, tuple[str, str]] = {
    word: (attribute, noun.replace("_", " "))
    for attribute, lines in {
        "partner": "wife=妻子,老婆,太太,媳妇 husband=丈夫,老公 girlfriend=女朋友,女友 boyfriend=男朋友,男友 "
                   "fiancée=未婚妻 fiancé=未婚夫 partner=爱人,对象,伴侣,另一半,配偶",
        "mother": "mother=妈妈,母亲,老妈,妈咪,妈",
        "father": "father=爸爸,父亲,老爸,爸",
        "parent": "parents=父母,爸妈",
        "child": "son=儿子 daughter=女儿,闺女 child=孩子,小孩,宝宝 older_son=大儿子 younger_son=小儿子 "
                 "older_daughter=大女儿 younger_daughter=小女儿",
        "sibling": "older_brother=哥哥,哥,大哥 younger_brother=弟弟,弟 older_sister=姐姐,姐,大姐 "
                   "younger_sister=妹妹,妹 twin_brother=双胞胎哥哥,双胞胎弟弟 twin_sister=双胞胎姐姐,双胞胎妹妹",
        "relative": "grandfather=爷爷 grandmother=奶奶 maternal_grandfather=外公,姥爷 maternal_grandmother=外婆,姥姥 "
                    "uncle=叔叔,叔父 older_uncle=伯伯,大伯,伯父 maternal_uncle=舅舅 uncle_by_marriage=姑父,姨父,姑丈 "
                    "aunt=姑姑,姑妈 maternal_aunt=姨妈,阿姨,小姨,大姨 aunt_by_marriage=婶婶,婶子,伯母 "
                    "maternal_uncle's_wife=舅妈,舅母 older_male_cousin=表哥,堂哥 younger_male_cousin=表弟,堂弟 "
                    "older_female_cousin=表姐,堂姐 younger_female_cousin=表妹,堂妹 nephew=侄子,外甥 niece=侄女,外甥"
                    "女 "
                    "grandson=孙子,外孙 granddaughter=孙女,外孙女 father-in-law=岳父,公公,老丈人 mother-in-law=岳母,"
                    "婆婆,丈母娘 "
                    "son-in-law=女婿 daughter-in-law=儿媳,儿媳妇 older_brother's_wife=嫂子 older_sister's_husband=姐"
                    "夫 "
                    "younger_sister's_husband=妹夫",
        "friend": "friend=朋友,好友,哥们 best_friend=闺蜜,死党,发小,最好的朋友,好朋友 classmate=同学 schoolmate=校友",
        "colleague": "colleague=同事,搭档 subordinate=下属,手下,助理",
        "boss": "boss=上司,老板,领导,主管",
        "neighbour": "neighbour=邻居",
        "roommate": "roommate=室友,舍友",
    }.items()
    for entry in lines.split()
    for noun, _, words in [entry.partition("=")]
    for word in words.split(",")
}  # fmt: skip

KIN = {**_ENGLISH, **_CHINESE}
