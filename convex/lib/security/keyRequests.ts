import { LANGUAGES } from "./keyLanguages";

/** The one answer to every request for key material. No language model is involved in it. */
export const SECURITY_MESSAGE =
  "For your security, private keys, seed phrases and keystores are never shown or exported by this service. " +
  "Keys stay encrypted on the server and are used only to sign the transactions you ask for. " +
  "Anyone who asks you for a private key or seed phrase is trying to take your funds.";

/** Counted words are a secret only if they belong to somebody, or are "the" words of a wallet. */
const WORDS = String.raw`(?:12|24|twelve|twenty.?four) (?:(?:seed|recovery|secret|backup) )?words`;
const SECRET = new RegExp(
  [
    String.raw`\b(?:private|secret|signing|priv|wallet) ?keys?\b`,
    String.raw`\b(?:secret recovery|seed|recovery|mnemonic|backup) ?(?:phrases?|words?)\b`,
    String.raw`\bmnemonics?\b|\bkey ?stores?\b|\bxprv\b`,
    String.raw`\b${WORDS}\b`,
  ].join("|"),
  "g",
);
/** A wish to get it. */
const ASKING =
  /\b(?:give|show|tell|send|reveal|export|print|display|provide|share|gets?|fetch|return|dump|leak|output|need|want|read|list|copy|see|view|retrieve|recover|back ?up|extract|decrypt|expose|disclose|hand|email|download|access|write|type|spell|repeat|reply|respond|include|encode|know)\b/g;
/** Between the wish and the secret: the wish is for something else that mentions a secret. */
const INDIRECT =
  /\b(?:what|how|why|when|whether|about|on|explain\w*|definition|define|differen\w*|meaning|mean|tips|advice|ways?|news|hacks?|thefts?|caused|due|because|by|from|after|involving|stolen|leaked|lost)\b/;
/** After the secret: it is part of another thing. */
const PART_OF_ANOTHER =
  /^ (?:compromises?|compromised|theft|thefts|leaks?|leakage|management|security|storage|hygiene|cryptography|encryption|exploits?|attacks?|hacks?|works?|is used|are used|used)\b/;
const POSSESSED =
  /\b(?:my|your|our|his|her|their|users?'?|user's|wallet's|(?!what's|that's|it's|where's|who's|how's)[a-z]+'s)\b/;
const OF_A_WALLET = /^ (?:of|for|to|from|in) (?:my|this|that|the|your|our|all|[a-z]+'s)\b/;
const IDENTITY = /\b(?:what|where|which)(?:'s| is| are|s)\b/;
/** Keeping it safe, whether to share it, what may happen to it. */
const ADVICE =
  /\b(?:should (?:i|we|you|one)|is it (?:safe|ok|okay|wise)|never|don'?t|do not|ought|(?:could|can|if) (?:someone|somebody|anyone|a hacker|hackers)|what happens|lost (?:my|the|its|their)|steal)\b/;
const KEEPING =
  /\b(?:how (?:do|can|should|could|would|to)|best way|good way|where should|tips)\b.*\b(?:back(?:ing)? ?up|stor(?:e|ing)|keep(?:ing)?|protect\w*|secur(?:e|ing)|safeguard\w*|hide|hiding|memori[sz]e|remember|write down|split|save)\b/;
const SAFELY = /\b(?:safe|safely|secure|securely)\b/;

/**
 * Whether a text asks for a private key, a seed phrase or a keystore export. A question about what such a thing is, how
 * to keep one safe, or what happened to others' does not count.
 * @param text The person's last message; earlier ones decide nothing.
 */
export function asksForKey(text: string): boolean {
  const plain = normalise(text);
  for (const match of plain.matchAll(SECRET)) {
    if (isRequest(match[0], sentenceAround(plain, match.index, match[0].length))) return true;
  }
  // In scripts other than Latin, marks are part of the letters.
  const bare = plain
    .normalize("NFD")
    .replace(/([a-z])\p{M}+/gu, "$1")
    .normalize("NFC");
  return LANGUAGES.some(({ secret, advice, learning, asking, owned }) => {
    if (!secret.test(bare) || advice.test(bare) || (learning.test(bare) && !asking.test(bare))) return false;
    return asking.test(bare) || owned.test(bare);
  });
}

/** The same for a tool's input: every text in it, except the earlier turns of a conversation. */
export function inputAsksForKey({ messages: _earlier, ...input }: Record<string, unknown>): boolean {
  return textsOf(input).some(asksForKey);
}

type Sentence = { before: string; after: string };

function isRequest(secret: string, { before, after }: Sentence): boolean {
  if (isCount(secret) && !isSomebodys(before, after)) return false;
  if (/^ ?(?:exports?|please|pls)\b/.test(after)) return true;
  if (ADVICE.test(before) || KEEPING.test(before)) return false;
  const owned = POSSESSED.test(lastWords(before, 40));
  if (PART_OF_ANOTHER.test(after) && !owned) return false;
  const asking = Array.from(before.matchAll(ASKING)).at(-1);
  if (asking !== undefined) {
    const between = before.slice(asking.index);
    return owned || !INDIRECT.test(between);
  }
  if (ADVICE.test(after) || SAFELY.test(after)) return false;
  if (IDENTITY.test(before)) return owned || (/\bthe $/.test(before) && OF_A_WALLET.test(after));
  // "my private key?" and nothing else.
  return owned && before.length + secret.length + after.length < 40;
}

function isCount(secret: string): boolean {
  return new RegExp(`^${WORDS}$`).test(secret);
}

function isSomebodys(before: string, after: string): boolean {
  return (
    POSSESSED.test(lastWords(before, 20)) ||
    (/\bthe $/.test(before) && (after.trim() === "" || OF_A_WALLET.test(after)))
  );
}

/** The whole words among the last characters. */
function lastWords(text: string, length: number): string {
  return text.length <= length ? text : text.slice(-length).replace(/^\S*/, "");
}

/** Lower case, one space between words, no invisible characters, `private_key` and `privateKey` as two words. */
function normalise(text: string): string {
  return text
    .normalize("NFKC")
    .replace(/\p{Cf}/gu, "")
    .replace(/([a-z])([A-Z])/g, "$1 $2")
    .toLowerCase()
    .replace(/[\u2018\u2019]/g, "'")
    .replace(/[\s_-]+/g, " ");
}

function sentenceAround(text: string, index: number, length: number): Sentence {
  const start = Math.max(...[". ", "! ", "? ", "; "].map((end) => text.lastIndexOf(end, index) + 1), 0);
  const after = text.slice(index + length);
  const stop = after.search(/[.!?;](?: |$)/);
  return { before: text.slice(start, index), after: stop === -1 ? after : after.slice(0, stop) };
}

/** Every text in a value, however deep. */
function textsOf(value: unknown): string[] {
  if (typeof value === "string") return [value];
  if (typeof value !== "object" || value === null) return [];
  return Object.values(value).flatMap(textsOf);
}
