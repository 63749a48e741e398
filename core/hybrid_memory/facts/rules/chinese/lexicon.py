"""Chinese words by what they stand for: persons around somebody, work, places, languages, health, belongings."""

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
"""A noun as it is said: the attribute of its owner, and the noun that names the person in a subject."""

MALE = frozenset(noun for _, noun in KIN.values() if any(word in noun for word in (
    "husband", "boyfriend", "fiancé", "father", "son", "brother", "uncle", "male cousin", "nephew",
)) and "female" not in noun and "wife" not in noun and "daughter" not in noun and "fiancée" not in noun)  # fmt: skip
FEMALE = frozenset(noun for _, noun in KIN.values() if any(word in noun for word in (
    "wife", "girlfriend", "fiancée", "mother", "daughter", "sister", "aunt", "female cousin", "niece",
)) and "husband" not in noun)  # fmt: skip

OCCUPATIONS = tuple(
    """工程师 设计师 程序员 护士 护士长 医生 医师 大夫 牙医 兽医 药师 药剂师 老师 教师 教授 讲师 教练 导师 律师
    法官 检察官 警察 刑警 民警 警员 消防员 军人 士兵 会计 会计师 审计师 出纳 柜员 经理 总监 主管 主任 总裁 总经理
    董事长 院长 校长 厂长 店长 站长 队长 秘书 助理 文员 职员 公务员 业务员 销售 销售员 销售代表 推销员 客服 代表
    记者 编辑 主编 作家 诗人 翻译 翻译员 译员 编剧 导演 制片人 演员 歌手 舞者 舞蹈家 音乐家 钢琴家 画家 插画师
    摄影师 艺术家 主持人 播音员 博主 模特 厨师 面包师 咖啡师 调酒师 服务员 收银员 司机 飞行员 机长 空姐 空乘 乘务员
    乘务长 列车员 快递员 外卖员 骑手 邮递员 保安 保姆 保洁 清洁工 工人 建筑工人 建筑工 技工 瓦工 木匠 木工 电工
    焊工 技师 技术员 技术总监 架构师 产品经理 项目经理 运维 开发者 开发人员 数据分析师 分析师 科学家 研究员 研究生
    博士生 硕士生 大学生 高中生 初中生 小学生 中学生 本科生 留学生 实习生 学生 博士后 学者 顾问 咨询师 心理咨询师
    规划师 理财师 经纪人 中介 投资人 银行家 企业家 商人 老板 创业者 自由职业者 个体户 农民 渔民 牧民 猎人 园丁 花匠
    裁缝 理发师 美发师 美容师 化妆师 造型师 健身教练 瑜伽老师 运动员 裁判 志愿者 社工 社会工作者 图书管理员 管理员
    导游 家庭主妇 全职妈妈 全职太太 全职爸爸 侦探 魔术师 古生物学家 考古学家 历史学家 数学家 物理学家 化学家
    生物学家 天文学家 气象员 策划 采购 采购员 质检员 测试员 测试工程师 前端 后端 制图师 建筑师 飞机师 船长 水手
    海员 宇航员 药剂员 营养师 按摩师 护工 月嫂 评论家 专栏作家 牧师 神父 和尚 队医 校医 会长 科长 处长 局长 部长
    市长 议员 外交官 大使 秘书长 院士 系主任 班主任 辅导员 合伙人 投资经理 产品专员 专员 操盘手 交易员 精算师
    漫画家 动画师 配音演员 调音师 鼓手 吉他手 贝斯手 主唱 DJ UP主 YouTuber CEO CTO CFO HR""".split()
)

PROVINCES = frozenset(
    """北京 上海 天津 重庆 河北 山西 辽宁 吉林 黑龙江 江苏 浙江 安徽 福建 江西 山东 河南 湖北 湖南 广东 海南 四川
    贵州 云南 陕西 甘肃 青海 台湾 内蒙古 广西 西藏 宁夏 新疆 香港 澳门""".split()
)
CITIES = frozenset(
    """石家庄 唐山 秦皇岛 邯郸 保定 太原 大同 沈阳 大连 鞍山 长春 哈尔滨 齐齐哈尔 大庆 南京 苏州 无锡 常州 徐州
    南通 扬州 镇江 杭州 宁波 温州 嘉兴 湖州 绍兴 金华 义乌 台州 合肥 芜湖 黄山 福州 厦门 泉州 漳州 南昌 九江 景德镇
    赣州 济南 青岛 烟台 威海 潍坊 淄博 临沂 郑州 洛阳 开封 武汉 宜昌 襄阳 荆州 长沙 株洲 湘潭 岳阳 常德 广州 深圳
    珠海 佛山 东莞 中山 惠州 汕头 湛江 海口 三亚 成都 绵阳 乐山 贵阳 遵义 昆明 大理 丽江 西安 咸阳 宝鸡 延安 兰州
    西宁 台北 高雄 台中 呼和浩特 包头 南宁 桂林 柳州 北海 拉萨 银川 乌鲁木齐 伦敦 巴黎 柏林 慕尼黑 汉堡 法兰克福
    科隆 罗马 米兰 威尼斯 佛罗伦萨 马德里 巴塞罗那 里斯本 维也纳 苏黎世 日内瓦 阿姆斯特丹 布鲁塞尔 哥本哈根
    斯德哥尔摩 奥斯陆 赫尔辛基 莫斯科 圣彼得堡 华沙 布拉格 布达佩斯 雅典 伊斯坦布尔 都柏林 爱丁堡 曼彻斯特 利物浦
    牛津 剑桥 纽约 洛杉矶 旧金山 芝加哥 波士顿 西雅图 华盛顿 休斯顿 达拉斯 费城 迈阿密 拉斯维加斯 圣地亚哥 硅谷
    加州 多伦多 温哥华 蒙特利尔 渥太华 墨西哥城 圣保罗 里约热内卢 布宜诺斯艾利斯 悉尼 墨尔本 布里斯班 珀斯 奥克兰
    东京 大阪 京都 横滨 名古屋 札幌 福冈 首尔 釜山 曼谷 清迈 新加坡 吉隆坡 雅加达 巴厘岛 马尼拉 河内 胡志明市 孟买
    新德里 班加罗尔 迪拜 开罗 内罗毕 开普敦 约翰内斯堡""".split()
)
COUNTRIES = frozenset(
    """中国 美国 英国 法国 德国 意大利 西班牙 葡萄牙 荷兰 比利时 瑞士 奥地利 瑞典 挪威 丹麦 芬兰 冰岛 爱尔兰 波兰
    捷克 匈牙利 希腊 俄罗斯 乌克兰 土耳其 日本 韩国 朝鲜 蒙古 印度 巴基斯坦 泰国 越南 老挝 缅甸 柬埔寨 新加坡
    马来西亚 印度尼西亚 菲律宾 澳大利亚 澳洲 新西兰 加拿大 墨西哥 巴西 阿根廷 智利 秘鲁 古巴 埃及 南非 肯尼亚
    尼日利亚 摩洛哥 以色列 伊朗 伊拉克 沙特 阿联酋""".split()
)
PLACES = PROVINCES | CITIES | COUNTRIES

LANGUAGES = tuple(
    """英语 英文 汉语 中文 普通话 国语 粤语 广东话 闽南语 上海话 四川话 客家话 法语 德语 日语 韩语 西班牙语
    葡萄牙语 意大利语 俄语 阿拉伯语 荷兰语 瑞典语 挪威语 丹麦语 芬兰语 波兰语 捷克语 希腊语 土耳其语 泰语 越南语
    印尼语 马来语 印地语 希伯来语 拉丁语 蒙古语 藏语 维语 手语 文言文 世界语""".split()
)

AILMENTS = (
    r"(?:糖尿病|高血压|低血压|高血脂|高血糖|低血糖|心脏病|冠心病|哮喘|鼻炎|胃炎|胃病|胃溃疡|肠胃炎|肝炎|肾炎|肾结石|"
    r"胆结石|关节炎|"
    r"颈椎病|腰椎间盘突出|腰肌劳损|痛风|偏头痛|失眠症?|抑郁症|焦虑症|强迫症|躁郁症|双相情感障碍|自闭症|多动症|癫痫|"
    r"贫血|甲亢|甲减|"
    r"癌症|[胃肺肝肠乳腺]{1,2}癌|白血病|湿疹|荨麻疹|银屑病|皮炎|近视眼?|远视|散光|色盲|色弱|白内障|青光眼|耳鸣|"
    r"听力障碍|乳糖不耐受?|"
    r"麸质不耐受?|恐高症?|幽闭恐惧症|社交恐惧症|社恐|晕车|晕船|晕机|晕血|晕针|密集恐惧症|心律不齐|静脉曲张|骨质疏松|"
    r"风湿病?|类风湿|"
    r"多囊卵巢综合征|子宫肌瘤|睡眠呼吸暂停|肺结核|慢性\w{1,4}[炎病]|过敏性\w{1,3}炎|季节性过敏)"
)

BELONGINGS = (
    r"(?:汽车|轿车|跑车|越野车|电动车|摩托车|自行车|单车|山地车|公路车|房车|卡车|车|房子|房|公寓|别墅|平房|农场|"
    r"菜园|花园|电脑|笔记本|"
    r"笔记本电脑|台式机|平板|手机|相机|单反|无人机|钢琴|吉他|小提琴|大提琴|古筝|二胡|架子鼓|电子琴|尤克里里|望远镜|"
    r"游戏机|音响|投影仪|"
    r"打印机|咖啡机|跑步机|帐篷|皮划艇|游艇|滑板|滑雪板|健身卡|特斯拉|比亚迪|宝马|奔驰|奥迪|丰田|本田|MacBook|iPad|"
    r"iPhone|Switch|PS5)"
)

ANIMALS = (
    r"(?:橘猫|布偶猫?|英短|美短|加菲猫|暹罗猫|小猫咪?|猫咪|猫|金毛|柯基|泰迪|拉布拉多|哈士奇|边牧|柴犬|萨摩耶|"
    r"贵宾犬?|小狗|狗狗|狗|"
    r"仓鼠|兔子|兔|鹦鹉|金鱼|乌龟|龙猫|荷兰猪|刺猬|蜥蜴|蛇|马|鸟|鱼|鸡|鸭|猪|猴子)"
)

EVENTS = (
    r"(?:会议|例会|周会|晨会|开会|会|面试|考试|测验|体检|复查|复诊|手术|约会|婚礼|聚会|派对|聚餐|饭局|晚宴|晚饭|"
    r"午饭|演唱会|音乐会|"
    r"比赛|马拉松|讲座|培训|课|课程|研讨会|论坛|峰会|发布会|展览|展|答辩|演讲|汇报|航班|飞机|高铁|火车|预约|预订|"
    r"行程|旅行|出差|演出|"
    r"活动|典礼|毕业典礼|家长会|同学会|团建|年会|直播|截止日期|体验营|训练营|挑战赛|招聘会|交流会|启动会|分享会|"
    r"沙龙|盛宴|之旅|盛典|"
    r"体验|挑战|节|营|汇)"
)


def either(words: Iterable[str]) -> str:
    """A pattern for any of the words, the longest first."""
    return "|".join(sorted(words, key=len, reverse=True))
