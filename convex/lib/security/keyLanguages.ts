/**
 * How people speak of keys in languages other than English. Every pattern meets a text in lower case with single spaces
 * and without accents on Latin letters.
 */

export type Language = {
  /** A private key or seed phrase. */
  secret: RegExp;
  /** Keeping it safe, whether to share it, losing it, thefts: the question asks for advice or news. */
  advice: RegExp;
  /** What such a thing is, how it works. */
  learning: RegExp;
  /** A wish to get it. */
  asking: RegExp;
  /** It is somebody's: "my", "of my wallet"; in questions such as "which is my …". */
  owned: RegExp;
};

export const LANGUAGES: readonly Language[] = [
  {
    // Spanish
    secret:
      /\b(?:clave|llave)s? (?:privada|secreta)s?\b|\bfrases? (?:semilla|de recuperacion|secreta|mnemonica)s?\b/,
    advice:
      /\b(?:segur[oa]s?|seguridad|proteg\w*|guard(?:o|ar)|almacen\w*|deb(?:o|eria)|nunca|jamas|robos?|roba\w*|hacke\w*|perdi|filtra\w*|noticias)\b/,
    learning: /\bque (?:es|son|significa)\b|\bdiferencia\b|\bpor que\b|\bfunciona\w*\b|\bexplica\w*\b/,
    asking:
      /\b(?:dame|damel[ao]|dime|muestra\w*|mostrar\w*|envia\w*|ensena\w*|exporta\w*|revela\w*|necesito|quiero|ver|obtener|recupera\w*|por favor)\b/,
    owned: /\b(?:mi|mis|tu|su)\b/,
  },
  {
    // French
    secret:
      /\bcles? (?:privee|secrete)s?\b|\bphrases? (?:secrete|de recuperation|mnemonique|de recup|seed)s?\b/,
    advice:
      /\b(?:securite|secur\w*|prote[gj]\w*|conserv\w*|stock\w*|sauvegard\w*|dois je|devrais|faut il|jamais|vols?|vole\w*|pirat\w*|hack\w*|perdu\w*|fuites?)\b/,
    learning: /\bqu'?est ce\b|\bc'?est quoi\b|\bdifference\b|\bpourquoi\b|\bfonctionn\w*\b|\bexplique\w*\b/,
    asking:
      /\b(?:donne\w*|montre\w*|affiche\w*|envoie\w*|envoyer|dis|revele\w*|export\w*|besoin|veux|voudrais|voir|obtenir|recupere\w*|s'il (?:te|vous) plait)\b/,
    owned: /\b(?:ma|mon|mes|ta|ton|votre)\b/,
  },
  {
    // German
    secret:
      /\b(?:privat|geheim)\w* (?:schlussel|key)\w*\b|\bprivat ?schlussel\w*\b|\b(?:seed|wiederherstellungs|mnemonic) ?(?:phrase|worter|satz)\w*\b/,
    advice:
      /\b(?:sicher\w*|schutz\w*|aufbewahr\w*|bewahre\w*|verwahr\w*|sollte?\w*|darf|niemals|nie|gestohlen\w*|diebstahl\w*|hack\w*|verloren|lecks?)\b/,
    learning: /\bwas (?:ist|sind|bedeutet)\b|\bunterschied\w*\b|\bwarum\b|\bfunktionier\w*\b|\berklar\w*\b/,
    asking:
      /\b(?:gib|gebt|zeig\w*|sag\w*|schick\w*|sende\w*|verrat\w*|exportier\w*|brauche|will|mochte|sehen|auslesen|bitte|herausgeben)\b/,
    owned: /\b(?:mein|meine[rnms]?|dein\w*|ihr\w*)\b/,
  },
  {
    // Portuguese
    secret: /\bchaves? (?:privada|secreta)s?\b|\bfrases? (?:semente|de recuperacao|secreta|mnemonica)s?\b/,
    advice:
      /\b(?:segur[oa]s?|seguranca|proteg\w*|guard(?:o|ar)|armazen\w*|devo|deveria|nunca|jamais|roub\w*|hacke\w*|perdi|vaza\w*|noticias)\b/,
    learning: /\bo que (?:e|sao|significa)\b|\bdiferenca\b|\bpor que\b|\bfunciona\w*\b|\bexpli\w*\b/,
    asking:
      /\b(?:de me|da me|me de|me da|mostr\w*|envi\w*|diga\w*|revel\w*|export\w*|preciso|quero|ver|obter|recuper\w+ (?:a|minha)|por favor)\b/,
    owned: /\b(?:minha|meu|minhas|meus|tua|sua)\b/,
  },
  {
    // Italian
    secret: /\bchiav[ei] (?:privat|segret)[ae]\b|\bfras[ei] (?:seme|seed|di recupero|segreta|mnemonica)\b/,
    advice:
      /\b(?:sicur\w*|protegg\w*|conserv\w*|custod\w*|dovrei|devo|mai|furt[oi]|rubat\w*|hacker\w*|pers[oa]|notizie)\b/,
    learning:
      /\b(?:cos'?e|cosa (?:e|sono|significa)|che cos'?e)\b|\bdifferenza\b|\bperche\b|\bfunziona\w*\b|\bspieg\w*\b/,
    asking:
      /\b(?:dammi|dimmi|mostra\w*|invia\w*|manda\w*|rivela\w*|esporta\w*|ho bisogno|voglio|vorrei|vedere|ottenere|per favore)\b/,
    owned: /\b(?:mi[ao]|miei|mie|tu[ao])\b/,
  },
  {
    // Russian
    secret: /(?:приватн|секретн|закрыт)\S* ключ|сид ?фраз|мнемонич\S* фраз|фраз\S* восстановлени/,
    advice:
      /безопасн|хранить|защит|сохранить|нельзя|никому|никогда|следует|стоит ли|можно ли|украд|краж|взлом|потерял|утеч/,
    learning: /что такое|чем отлича|разниц|почему|зачем|как работа|объясни/,
    asking: /покажи|дай|скажи|пришли|отправь|экспортир|раскрой|нужн|хочу|выведи|восстанови|пожалуйста|верни/,
    owned: /мо(?:й|я|ю|е|и|его|ей|ем)(?![а-я])|у меня|тво/,
  },
  {
    // Chinese
    secret: /私[钥鑰]|助[记記][词詞]|种子短语|種子短語|恢复短语/,
    advice:
      /安全|保管|保存|保护|保護|备份|備份|应该|應該|不要|不能|别人|別人|被盗|被盜|黑客|駭客|泄露|洩露|丢失|遺失|新闻/,
    learning: /^(?!.*(?:我|你)的).*(?:是什么|是什麼)|什么是|什麼是|区别|區別|为什么|為什麼|原理|解释/,
    asking: /给我|給我|告诉我|告訴我|显示|顯示|发给|發給|导出|匯出|查看|看看|我要|我想|需要|输出|請|请/,
    owned: /我的|你的|我(?:钱包|錢包)/,
  },
  {
    // Japanese
    secret: /秘密鍵|シード ?フレーズ|リカバリー ?フレーズ|ニーモニック|復元フレーズ/,
    advice: /安全|保管|守る|保護|バックアップ|べき|いけない|ダメ|盗|流出|ハッキング|漏|紛失|なくした/,
    learning: /とは|違い|なぜ|どうして|仕組み|説明/,
    asking: /見せて|教えて|表示|ください|送って|エクスポート|欲しい|ほしい|知りたい|出力|くれ/,
    owned: /私の|僕の|俺の|あなたの|ウォレットの/,
  },
  {
    // Korean
    secret: /(?:비밀|개인|프라이빗) ?키|시드 ?(?:구문|문구|프레이즈)|니모닉|복구 ?(?:구문|문구)/,
    advice: /안전|보관|보호|백업|안 되|안되|하면 안|말아야|해야|도난|해킹|유출|잃어|분실/,
    learning: /무엇|뭐(?:야|예요|인가)|차이|왜|원리|설명|이란/,
    asking: /알려|보여|내보내|보내|줘|주세요|원해|싶|필요|출력|추출/,
    owned: /내 |제 |나의|너의|지갑의/,
  },
];
