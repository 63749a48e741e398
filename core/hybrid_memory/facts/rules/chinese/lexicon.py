"""Chinese words by meaning: relatives, work, places, languages, health, animals, events."""

from __future__ import annotations

from collections.abc import Iterable

KIN: dict[str, tuple[str, str]] = {
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
"""A noun as written: the attribute of the related person, and the noun used in a subject."""

MALE = frozenset(noun for _, noun in KIN.values() if any(word in noun for word in (
    "husband", "boyfriend", "fiancé", "father", "son", "brother", "uncle", "male cousin", "nephew",
)) and "female" not in noun and "wife" not in noun and "daughter" not in noun and "fiancée" not in noun)  # fmt: skip
FEMALE = frozenset(noun for _, noun in KIN.values() if any(word in noun for word in (
    "wife", "girlfriend", "fiancée", "mother", "daughter", "sister", "aunt", "female cousin", "niece",
)) and "husband" not in noun)  # fmt: skip

OCCUPATIONS = tuple(
    """工程师 设计师 程序员 护士 护士长 医生 大夫 牙医 兽医 药师 老师 教师 教授 讲师 教练 导师 律师 法官 警察 消防员
    军人 会计 会计师 出纳 经理 总监 主管 主任 总裁 校长 厂长 店长 秘书 助理 文员 职员 公务员 业务员 销售 客服 记者 编辑
    作家 诗人 翻译 编剧 导演 演员 歌手 舞者 音乐家 钢琴家 画家 插画师 摄影师 艺术家 主持人 博主 模特 厨师 面包师 咖啡师
    服务员 收银员 司机 飞行员 空姐 乘务员 快递员 外卖员 保安 保姆 保洁 工人 技工 木匠 电工 焊工 技师 技术员 架构师
    产品经理 项目经理 分析师 科学家 研究员 研究生 博士生 大学生 高中生 留学生 实习生 学生 顾问 咨询师 理财师 经纪人
    企业家 商人 自由职业者 个体户 农民 渔民 园丁 裁缝 理发师 美容师 化妆师 运动员 志愿者 社工 导游 家庭主妇 全职妈妈
    数学家 物理学家 化学家 建筑师 船长 海员 营养师 月嫂 牧师 科长 处长 局长 部长 辅导员 合伙人 漫画家""".split()
)
PLACES = tuple(
    """北京 上海 天津 重庆 河北 山西 辽宁 吉林 黑龙江 江苏 浙江 安徽 福建 江西 山东 河南 湖北 湖南 广东 海南 四川 贵州
    云南 陕西 甘肃 青海 台湾 内蒙古 广西 西藏 宁夏 新疆 香港 澳门 石家庄 太原 沈阳 大连 长春 哈尔滨 南京 苏州 无锡 徐州
    扬州 杭州 宁波 温州 绍兴 合肥 福州 厦门 泉州 南昌 济南 青岛 烟台 郑州 洛阳 武汉 长沙 广州 深圳 珠海 佛山 东莞 海口
    三亚 成都 绵阳 贵阳 昆明 大理 丽江 西安 兰州 西宁 台北 高雄 呼和浩特 南宁 桂林 拉萨 银川 乌鲁木齐 伦敦 巴黎 柏林
    慕尼黑 汉堡 法兰克福 罗马 米兰 马德里 维也纳 苏黎世 莫斯科 纽约 洛杉矶 旧金山 芝加哥 波士顿 西雅图 多伦多 温哥华
    悉尼 墨尔本 东京 大阪 京都 首尔 曼谷 新加坡 吉隆坡 迪拜 中国 美国 英国 法国 德国 意大利 西班牙 荷兰 瑞士 瑞典
    俄罗斯 日本 韩国 印度 泰国 越南 马来西亚 澳大利亚 新西兰 加拿大 巴西""".split()
)
LANGUAGES = tuple(
    """英语 英文 汉语 中文 普通话 粤语 广东话 闽南语 上海话 四川话 客家话 法语 德语 日语 韩语 西班牙语 葡萄牙语
    意大利语 俄语 阿拉伯语 荷兰语 瑞典语 泰语 越南语 手语""".split()
)
AILMENTS = (
    r"(?:糖尿病|高血压|低血压|高血脂|低血糖|心脏病|冠心病|哮喘|鼻炎|胃炎|胃病|胃溃疡|肝炎|肾结石|关节炎|颈椎病|"
    r"腰椎间盘突出|痛风|偏头痛|失眠症?|抑郁症|焦虑症|自闭症|多动症|癫痫|贫血|甲亢|甲减|癌症|[胃肺肝肠乳腺]{1,2}癌|"
    r"湿疹|荨麻疹|近视|色盲|耳鸣|乳糖不耐受?|恐高症?|晕车|晕船|怀孕)"
)
ANIMALS = (
    r"(?:橘猫|布偶猫?|英短|小猫咪?|猫咪|猫|金毛|柯基|泰迪|拉布拉多|哈士奇|柴犬|小狗|狗狗|狗|仓鼠|兔子|兔|鹦鹉|金鱼|"
    r"乌龟|龙猫|刺猬|马|鸟)"
)
EVENTS = (
    r"(?:会议|例会|周会|开会|会|面试|考试|体检|复查|复诊|手术|约会|婚礼|聚会|派对|聚餐|晚饭|午饭|演唱会|音乐会|比赛|"
    r"马拉松|讲座|培训|课|论坛|发布会|展览|答辩|演讲|汇报|航班|飞机|高铁|火车|预约|旅行|出差|演出|活动|典礼|家长会|"
    r"团建|年会)"
)


def either(words: Iterable[str]) -> str:
    """A pattern for any of the words, the longest first."""
    return "|".join(sorted(words, key=len, reverse=True))
