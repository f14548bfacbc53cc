/** The one answer to every request for key material. It reaches the caller without any language model's help. */
export const SECURITY_MESSAGE =
  "For your security, private keys, seed phrases and keystores are never shown or exported by this service. " +
  "Keys stay encrypted on the server and are used only to sign the transactions you ask for. " +
  "Anyone who asks you for a private key or seed phrase is trying to take your funds.";

const SECRET =
  /\b(?:private|secret|signing|priv|wallet) ?keys?\b|\b(?:seed|recovery|mnemonic|backup|secret recovery) ?(?:phrases?|words?)\b|\bmnemonics?\b|\bkey ?stores?\b|\bxprv\b|\b(?:12|24|twelve|twenty.?four) words\b/g;
const DISCLOSE =
  /\b(?:give|show|tell|send|reveal|export|print|display|provide|share|get|fetch|return|dump|leak|output|need|want|read|list|copy|see|view|retrieve|recover|back ?up|extract|decrypt|expose|disclose|hand|email|download|access|write|type|spell|repeat|reply|respond|include|encode|know)\b/;
const OWNED = /\b(?:my|your|our|his|her|their|its|this|that|the|user'?s?|wallet'?s?|\w+'s)\b/;
const POSSESSED = /\b(?:my|your|our|his|her|their|its|user'?s|wallet'?s|\w+'s)\b/;
const TEACHING =
  /\b(?:what|how|why|when|about|explain|explanation|definition|define|difference|meaning|mean|tips|advice)\b/;
const ADVICE =
  /\b(?:should (?:i|we|you|one)|is it (?:safe|ok|okay|wise)|never|don'?t|do not|ought|could (?:someone|anyone|a hacker)|can (?:someone|anyone|a hacker)|(?:safe|safely|secure|securely)|stolen|leaked|lost)\b/;
const FOREIGN_SECRET =
  /clave privada|frase semilla|cl[eé] priv[ée]e|phrase secr[èe]te|privaten? schl[üu]ssel|chave privada|frase-semente|приватн\S* ключ|секретн\S* ключ|сид-?фраз|私钥|私鑰|助记词|助記詞|秘密鍵|개인 ?키/;
const FOREIGN_TEACHING = /qu[ée] es|qu'est-ce|was ist|o que [ée]|что такое|是什么|是什麼|とは|무엇/;

/**
 * Whether a text asks for a private key, a seed phrase or a keystore export. A question about what such a thing is,
 * or how to keep one safe, does not. When in doubt it says yes: the answer is only a reminder.
 */
export function asksForKey(question: string): boolean {
  const text = normalise(question);
  if (FOREIGN_SECRET.test(text)) return !FOREIGN_TEACHING.test(text);
  for (const match of text.matchAll(SECRET)) {
    const sentence = sentenceAround(text, match.index);
    if (isRequest(sentence.before, match[0], sentence.after)) return true;
  }
  return false;
}

function isRequest(before: string, secret: string, after: string): boolean {
  if (/^ ?(?:exports?|please|pls)\b/.test(after)) return true;
  const disclosing = DISCLOSE.exec(before);
  if (ADVICE.test(before) || (ADVICE.test(after) && disclosing === null)) return false;
  const determiner = before.slice(-40);
  if (disclosing !== null) {
    const between = before.slice(disclosing.index);
    return !TEACHING.test(between) || POSSESSED.test(determiner);
  }
  if (/\b(?:what|where|which)(?:'s| is| are|s)\b/.test(before)) {
    return OWNED.test(determiner) && !/^ (?:used|mean|work|does|for\b.{0,2}$)/.test(after);
  }
  // "my private key?" and nothing else.
  return (
    POSSESSED.test(determiner) && before.length + secret.length + after.length < 40 && !TEACHING.test(before)
  );
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

function sentenceAround(text: string, index: number): { before: string; after: string } {
  const start = Math.max(...[". ", "! ", "? ", "; "].map((end) => text.lastIndexOf(end, index) + 1), 0);
  const matched = SECRET_AT_START.exec(text.slice(index));
  const after = text.slice(index + (matched?.[0].length ?? 0));
  const stop = after.search(/[.!?;](?: |$)/);
  return { before: text.slice(start, index), after: stop === -1 ? after : after.slice(0, stop) };
}

const SECRET_AT_START = new RegExp(`^(?:${SECRET.source})`);
