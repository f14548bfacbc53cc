/**
 * Requests for key material get one fixed answer, and no language model sees them. Two lists of words decide: a text that
 * names a secret is a request, unless it is about safety, news or definitions. A wrong decision reveals nothing, because no
 * answer can reach a key.
 */

/** The one answer to every request for key material. No language model is involved in it. */
export const SECURITY_MESSAGE =
  "For your security, private keys, seed phrases and keystores are never shown or exported by this service. " +
  "Keys stay encrypted on the server and are used only to sign the transactions you ask for. " +
  "Anyone who asks you for a private key or seed phrase is trying to take your funds.";

/** A private key, a seed phrase or a keystore. Texts come in lower case, with single spaces, Latin letters without marks. */
const SECRETS = new RegExp(
  [
    String.raw`\b(?:private|secret|signing|priv|wallet) ?keys?\b`,
    String.raw`\b(?:secret recovery|seed|recovery|mnemonic|backup) ?(?:phrases?|words?)\b`,
    String.raw`\bmnemonics?\b|\bkey ?stores?\b|\bxprv\b`,
    String.raw`\b(?:my|your|our|his|her|their|the) (?:12|24|twelve|twenty.?four) (?:(?:seed|recovery|secret|backup) )?words\b`,
    // Spanish, French, Portuguese, Italian
    String.raw`\b(?:clave|llave|cle|chave|chiave|chiavi)s? (?:privad|secret|prive|segret|privat)[a-z]*\b`,
    String.raw`\b(?:frase|phrase|frasi)s? (?:semilla|semente|seme|seed|secret|de recup|di recupero|mnemonic)[a-z]*\b`,
    // German
    String.raw`\b(?:privat|geheim)[a-z]* ?(?:schlussel|key)[a-z]*\b|\b(?:seed|wiederherstellungs|mnemonic) ?(?:phrase|worter|satz)[a-z]*\b`,
    // Russian, Chinese, Japanese, Korean
    "(?:приватн|секретн|закрыт)\\S{0,9} ключ|сид ?фраз|мнемонич\\S{0,9} фраз|фраз\\S{0,9} восстановлени",
    "私[钥鑰]|助[记記][词詞]|种子短语|種子短語|恢复短语|秘密鍵|シード ?フレーズ|リカバリー ?フレーズ|ニーモニック|復元フレーズ",
    "(?:비밀|개인|프라이빗) ?키|시드 ?(?:구문|문구|프레이즈)|니모닉|복구 ?(?:구문|문구)",
  ].join("|"),
);

/** Words of a question about keys, never of a request for one: safety, risks, definitions, the news. */
const ABOUT_KEYS = new RegExp(
  [
    String.raw`\b(?:saf(?:e|er|ely|est|ety)|secure(?:ly)?|security|protect\w*|store|storing|keep|keeping|hide|hiding|memori[sz]e|remember|should|never|don'?t|ought|risks?|hygiene)\b`,
    String.raw`\b(?:someone|somebody|anyone|hackers?|hack\w*|steal|stole\w*|thefts?|leaked|leaks?|leakage|compromise\w*|exploits?|attacks?|lost|lose|happens?|news|used|uses?)\b`,
    String.raw`\b(?:explain\w*|defin\w*|differen\w*|mean\w*|generated?|same|which|why|versus|vs|works?|about)\b|\bwhat (?:is|are|was|were) (?:an? |the (?:purpose|point) of )?(?:private|secret|signing|seed|recovery|mnemonic|key ?store)|\bwhat an?\b|\bhow (?:do|does|is|are) (?:an? |the |private|seed)`,
    String.raw`\b(?:segur\w*|sicur\w*|sicher\w*|secur\w*|proteg\w*|protegg\w*|schutz\w*|guardar|guardo|almacen\w*|armazen\w*|conserv\w*|custod\w*|stock\w*|sauvegard\w*|aufbewahr\w*|bewahre|verwahr\w*)\b`,
    String.raw`\b(?:deb(?:o|eria)|devo|dovrei|deveria|dois|devrais|faut|sollte?|darf|nunca|jamais|mai|nie|niemals)\b`,
    String.raw`\b(?:rob(?:o|os|ar|ada|ado|aron)|roub\w*|furt[oi]|rubat\w*|vols?|vole\w*|pirat\w*|gestohlen\w*|diebstahl\w*|perdi|perdu\w*|pers[oa]|verloren|filtra\w*|vaza\w*|fuites?|lecks?|noticias|notizie)\b`,
    String.raw`\bque (?:es|son|significa) (?:un|una|las?|el|los)\b|\bo que (?:e|sao|significa) um|\bqu'?est ce\b|\bc'?est quoi\b|\bcos'?e\b|\bcosa (?:e|sono|significa)\b|\bwas (?:ist|sind|bedeutet) ein`,
    String.raw`\b(?:diferenc\w*|difference|differenza|unterschied\w*|por que|pourquoi|perche|warum|funcion\w*|fonctionn\w*|funziona\w*|funktionier\w*|explica\w*|explique\w*|spieg\w*|erklar\w*)\b`,
    "безопасн|хранить|защит|сохранить|нельзя|никому|никогда|следует|стоит ли|можно ли|украд|краж|взлом|потерял|утеч|что такое|чем отлича|разниц|почему|зачем|как работа|объясни",
    "^(?!.*[我你]的).*是什[么麼]|安全|保管|保存|保护|保護|备份|備份|应该|應該|不要|不能|别人|別人|被盗|被盜|黑客|駭客|泄露|洩露|丢失|遺失|新闻|什么是|什麼是|区别|區別|为什么|為什麼|原理|解释",
    "守る|バックアップ|べき|いけない|ダメ|盗|流出|ハッキング|漏|紛失|なくした|とは|違い|なぜ|どうして|仕組み|説明",
    "안전|보관|보호|백업|안 되|안되|하면 안|말아야|해야|도난|해킹|유출|잃어|분실|무엇|차이|왜|원리|설명|이란",
  ].join("|"),
);

/** A request for a key of the user, or of a named person, counts in spite of the words above. */
const OWN = new RegExp(
  String.raw`\b(?:give|show|tell|send|reveal|export|print|display|dump|output|gimme|read) (?:me |us )?(?:my|your|our|the users?'?|[a-z]+'s) (?:\w+ ){0,2}?(?:keys?|phrases?|words|mnemonics?|key ?stores?)\b`,
);

/**
 * Whether a text asks for a private key, a seed phrase or a keystore export. A question about what such a thing is, how
 * to keep one safe, or what happened to others' does not count.
 * @param text The person's last message; earlier ones decide nothing.
 */
export function isKeyRequest(text: string): boolean {
  return splitIntoSentences(text).some(
    (sentence) => SECRETS.test(sentence) && (OWN.test(sentence) || !ABOUT_KEYS.test(sentence)),
  );
}

/** The same for a tool's input: every text in it, except the earlier turns of a conversation. */
export function hasKeyRequest({ messages: _earlier, ...input }: Record<string, unknown>): boolean {
  return collectTexts(input).some(isKeyRequest);
}

/** Sentences in lower case, with one space between words, no invisible characters, and `private_key` as two words. */
function splitIntoSentences(text: string): string[] {
  return text
    .normalize("NFKC")
    .replace(/\p{Cf}/gu, "")
    .replace(/([a-z])([A-Z])/g, "$1 $2")
    .toLowerCase()
    .replace(/[\u2018\u2019]/g, "'")
    .replace(/[ \t_-]+/g, " ")
    .normalize("NFD")
    .replace(/([a-z])\p{M}+/gu, "$1")
    .normalize("NFC")
    .split(/(?<=[.!?;。！？])\s+|\n+/);
}

/** Every text in a value, however deep. */
function collectTexts(value: unknown): string[] {
  if (typeof value === "string") return [value];
  if (typeof value !== "object" || value === null) return [];
  return Object.values(value).flatMap(collectTexts);
}
