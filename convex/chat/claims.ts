import { splitLines } from "../lib/text/sentences";

/**
 * Claims of an assistant to have acted. It can only write, so a claim is false unless a row proves it. Sentences of ten
 * languages are checked: dropping a true one costs less than keeping a false one that a person relies on. Pure.
 */

/** English verbs of the bot's actions, in any form. */
const ACTION = String.raw`(?:set|put|cancel|delet|remov|creat|add|chang|updat|edit|adjust|rais|lower|increas|decreas|sen[dt]|swap|s[oe]l[dl]|bought|buy|purchas|convert|exchang|transfer|withdr[ae]w|deposit|fund|plac|order|open|clos|stop|start|launch|paus|resum|snooz|mut|unmut|silenc|froz|freez|unfr[oe][ez]|link|unlink|connect|subscrib|unsubscrib|switch|turn|enabl|disabl|activat|deactivat|arm|schedul|execut|complet|process|submit|initiat|arrang|configur|register|sav|stor|mov|revok|rotat|generat|replac|restor|approv|refus|notif|remind|track|monitor|watch|log)(?:n|t|p|l|m)?(?:e|ed|en|ing|y|ied|ying|up)?`;
/** The bot's own objects: a report on the market does not call these done. */
const THING = String.raw`(?:alerts?|alarms?|reminders?|subscriptions?|notifications?|digest|brief|login|account|key|limits?|orders?|swaps?|trades?|wallets?|recipients?|shift|research|report)`;
const DONE = String.raw`(?:set|cancell?ed|deleted|removed|created|added|changed|updated|sent|swapped|sold|bought|purchased|transferred|placed|opened|closed|stopped|started|paused|resumed|snoozed|muted|unmuted|frozen|unfrozen|linked|unlinked|enabled|disabled|activated|deactivated|scheduled|executed|completed?|processed|submitted|confirmed|saved|revoked|replaced|raised|lowered|approved|being \w+|(?:on|off|active|live|done|in place)(?=(?: now)?[.!]*$))`;
const SOON = String.raw`(?: (?:just|now|already|also|then|gladly|immediately|successfully|gone ahead and|went ahead and|going to|go ahead and|been))*`;
/** Japanese and Korean verbs of actions, without their endings. */
const JA =
  "(?:設定|セット|キャンセル|取り消し|削除|送信|送金|売却|購入|交換|スワップ|変更|作成|停止|開始|登録|解除|注文|実行|ミュート).{0,4}(?:しました|いたしました|しておきました|済みです|完了|します)";
const KO =
  "(?:설정|취소|삭제|전송|송금|매도|매수|구매|판매|교환|스왑|변경|생성|중지|시작|등록|해제|주문|실행|음소거).{0,3}(?:했|하였|해 ?드렸|됐|되었|완료|하겠|할게)";
const ZH =
  "(?:设置|設置|设定|设好|取消|删除|刪除|发送|發送|卖出|賣出|卖掉|买入|買入|买了|兑换|兌換|转账|轉帳|转给|创建|建立|修改|更改|开启|關閉|关闭|停止|静音|下单|执行|完成|挂单)";

const CLAIMS: readonly RegExp[] = [
  // English: with the actor, with the object, and the action alone.
  new RegExp(
    String.raw`\b(?:i|we)(?:'ve|'ll|'m|'re| have| had| will| shall| am| are| did)?${SOON} ${ACTION}\b`,
    "i",
  ),
  new RegExp(
    String.raw`\byour\b(?: \S{1,30}){0,5} (?:is|are|was|were|has|have|will be|'s)(?: been| being)?${SOON} ${DONE}\b`,
    "i",
  ),
  new RegExp(
    String.raw`^(?:(?:the|your|an?|new|this|that|all|both|price|limit|daily|\w{2,5}) ){0,4}${THING}(?: (?:is|are|has been|have been|was|were))?${SOON} ${DONE}(?: \S{1,30}){0,4}[.!]*$`,
    "i",
  ),
  new RegExp(
    String.raw`^(?:transfer|transaction|payment|deposit|withdrawal|purchase|sale)s?(?: (?:is|was|has been))? ${DONE}[.!]*$`,
    "i",
  ),
  /^(?:ok(?:ay)?,? |sure,? |great,? )?(?:done|all set|all done|consider it done|it's done|it is done|that's done|taken care of)(?=[.!,;:]|$)/i,
  new RegExp(
    String.raw`^(?:successfully )?(?:cancell?|delet|remov|creat|sent|send|swapp|s[oe]ll?d?|bought|buy|transferr|plac|stopp|start|paus|snooz|mut|schedul|execut|enabl|disabl|chang|updat|sett)(?:ed|ing)?(?: up)? (?:(?:all )?your|it|them|that|this|(?:the|an?) (?:\S{1,10} )?alert|.{1,40} for you)\b`,
    "i",
  ),
  // German
  /\b(?:ich|wir) (?:habe|haben|hab|werde|werden)\b.{0,120}(?:gesetzt|gestellt|gerichtet|gelöscht|storniert|abgebrochen|gesendet|geschickt|sende|verkauft?|gekauft|kaufe|getauscht|überwiesen|geändert|angelegt|erstellt|gestartet|gestoppt|beendet|entfernt|aktiviert|eröffnet|stummgeschaltet|pausiert|ausgeführt|setzen|stellen|richten|löschen|stornieren|senden|verkaufen|kaufen|tauschen|ändern)/i,
  /\b(?:ich|wir) (?:lösche|storniere|sende|schicke|verkaufe|kaufe|tausche|überweise|setze|richte|stelle|ändere|starte|stoppe|beende|entferne)\b/i,
  /\b(?:deine?n?|ihre?n?|der alarm|die benachrichtigung)\b.{0,60} (?:wurden?|ist|sind) .{0,60}(?:gesetzt|eingestellt|eingerichtet|gelöscht|storniert|gesendet|verkauft|gekauft|getauscht|geändert|angelegt|erstellt|entfernt|deaktiviert|aktiviert|ausgeführt)[.!]*$/i,
  /^(?:erledigt|fertig|gemacht|hecho|listo|fatto|pronto|feito|c'est fait|voilà|готово|сделано|完成|完了|tamam|bitti|완료)(?![\p{L}])/iu,
  // Spanish, Portuguese, Italian, French
  /\b(?:he|hemos|acabo de|voy a)(?: \S{1,30}){0,2} (?:configura|crea|cancela|elimina|borra|envia|vendi|vende|compra|cambia|puesto|pone|programa|activa|desactiva|silencia|intercambia|transferi|deteni|añadi|modifica)/i,
  /\b(?:cancelei|criei|configurei|enviei|vendi|comprei|troquei|defini|alterei|ativei|desativei|removi|apaguei|excluí|transferi|silenciei|parei|coloquei|programei)(?!\p{L})/iu,
  /\b(?:ho|abbiamo)(?: \S{1,30}){0,2} (?:impostat|creat|cancellat|eliminat|inviat|vendut|comprat|acquistat|scambiat|cambiat|attivat|disattivat|fermat|avviat|trasferit|modificat|silenziat)/i,
  /\b(?:j'ai|nous avons|je viens d[e']|je vais)(?: \S{1,30}){0,3} ?(?:configur|cré|annul|supprim|envoy|vendu|vend|achet|échang|chang|modifi|activ|désactiv|programm|transfér|arrêt|mis|mett|défini)/i,
  /\b(?:tu|su|sua|seu|tua|il tuo|votre|ton|ta|vos|tes)\b.{0,80} (?:ha sido|han sido|fue|fueron|está|foi|foram|è stat[oa]|sono stat[ie]|a été|ont été|est)(?: \S{1,30})? (?:configura|crea|cria|cancela|cancella|elimina|envia|invia|vendi|vendu|compra|achet|cambia|annul|supprim|envoy|ativa|activa|attiva|désactiv|desactiva|programa|créé|défini|impostat)/i,
  // Russian
  /(?<!\p{L})(?:я|мы)(?!\p{L}).{0,30}(?:установил|поставил|отменил|удалил|создал|отправил|продал|купил|обменял|перев[её]л|изменил|включил|выключил|отключил|настроил|остановил|запустил|отменю|удалю|установлю|отправлю|продам|куплю|обменяю)/iu,
  /(?<!\p{L})(?:ваш|тво|оповещени|уведомлени|алерт|подписк)\S{0,10}(?: \S{1,30}){0,4} (?:был[аио]? )?(?:установлен|отменен|отменён|удален|удалён|создан|отправлен|выполнен|продан|куплен|изменен|изменён|включен|включён|отключен|отключён)/iu,
  // Chinese, Japanese, Korean: sentences about the action of somebody else name the actor.
  new RegExp(`(?:我|为您|為您|为你|帮您|帮你|替您|替你|您的|你的).{0,16}${ZH}`, "u"),
  new RegExp(`^(?:好的[，,]?)?已.{0,12}${ZH}`, "u"),
  new RegExp(`(?:^(?:(?![はが]).){0,60}|(?:私|こちら)(?:は|が|で).{0,40})${JA}`, "u"),
  new RegExp(`(?:^(?:(?![이가은는] ).){0,60}|제가 .{0,40})${KO}`, "u"),
  // Turkish
  /(?<!\p{L})(?:ayarladım|kurdum|iptal ettim|sildim|gönderdim|sattım|satın aldım|aldım|takas ettim|değiştirdim|oluşturdum|açtım|kapattım|durdurdum|başlattım|kaldırdım|ekledim)/iu,
  /(?:alarm|uyarı)\S{0,10}(?: \S{1,30}){0,3} (?:kuruldu|ayarlandı|iptal edildi|silindi|oluşturuldu|değiştirildi)/iu,
];

/** Whether a sentence says that its writer has done, or does, something of the bot's. */
export function isClaim(sentence: string): boolean {
  const letters = sentence.normalize("NFKC").replace(/[’‘]/g, "'").replace(/[*_`]/g, "");
  const plain = letters.replace(/^(?:\p{Extended_Pictographic}|[\uFE0F\s])+/u, "").trim();
  return CLAIMS.some((claim) => claim.test(plain));
}

/** A text without its claims. @param isProven Whether a row says the same as a sentence. */
export function dropClaims(text: string, isProven: (sentence: string) => boolean): string {
  const written = text.split("\n");
  const lines = splitLines(text).flatMap(({ lead, sentences }, at) => {
    const kept = sentences.filter((one) => !isClaim(one) || isProven(one));
    if (kept.length === sentences.length) return written[at] ?? "";
    return kept.length === 0 ? [] : lead + kept.join(" ");
  });
  return lines.join("\n").trim();
}
