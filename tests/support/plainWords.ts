/** Words that only operators and developers understand: no card and no page for users contains one. */

const REFUSED: readonly RegExp[] = [
  /\barms?\b(?!-)/i,
  /\be-?values?\b/i,
  /\bn (?:=\s*)?\d/,
  /\bshadow/i,
  /\boperators?\b/i,
  /\b(?:ledger|lease|cron|mutation|endpoint|payload|gateway|webhook|backend|schema|idempotency|nonce)\b/i,
  /\b(?:null|undefined|NaN|JSON|HTTP|RPC|LLM)\b/,
  // The service's own names: of fields, functions, settings and paths of its interface.
  /\b(?:user|job|chat|alert|wallet|agent|link)Ids?\b/,
  /\b[a-z]+(?:\/[a-zA-Z]+)*:[a-z][a-zA-Z]+\(?\b(?!\/)/,
  /\b[A-Z]{2,}(?:_[A-Z]{2,})+\b/,
  /\b(?:GET|POST) \//,
  /\bstatus [45]\d\d\b/,
];

/** The forbidden words of a text, with their surroundings. */
function developersWords(text: string): string[] {
  return REFUSED.flatMap((refused) => {
    const found = refused.exec(text);
    return found === null ? [] : [text.slice(Math.max(0, found.index - 40), found.index + 40)];
  });
}

/** The one card for operators. */
const OPERATORS = /^Today's budget of [\d.]+ USD is nearly used up/;

/** The forbidden words of a card for users. */
export function developersWordsIn(card: string): string[] {
  const said = saidIn(card);
  return OPERATORS.test(said) ? [] : developersWords(said);
}

/** Pages for programmers. */
const TECHNICAL = /^\/docs\b/;

/** The forbidden words of a page for users. */
export function developersWordsOn(path: string, page: string): string[] {
  if (TECHNICAL.test(path)) return [];
  const shown = page.replace(/<style>[^<]*<\/style>|<code>[^<]*<\/code>|<footer[^]*<\/html>/g, "");
  return developersWords(saidIn(shown));
}

/** A card's words without tags, addresses of links, and quotations of its user or a stranger. */
function saidIn(html: string): string {
  // An invisible character breaks other people's words that must not be tappable, such as an address.
  return html
    .replace(/<[^>]*>/g, "")
    .replace(/“[^”]*”/g, "“”")
    .replace(/\S*\u2060\S*/g, "");
}
