import { AppError } from "../errors";

/** Visible characters, without the replacement character: two different ids must not become one. */
export const PRINTABLE = /^[^\p{C}\uFFFD]+$/u;
export const MAX_USER_ID = 128;

/** What earlier clients send if no `userId` is set: it stands for many people, so it belongs to nobody. */
export const SHARED_ID = "mcp-anonymous";
export const NOT_SHARED =
  "must be your own: set a userId, a long random one; clients without one all send this";

/** A `userId` as `lib/http/input` takes it. @throws AppError `invalid_request` */
export function userIdFrom(text: string): string {
  const userId = text.trim();
  const problem =
    Array.from(text).length > MAX_USER_ID
      ? `must be at most ${MAX_USER_ID} characters`
      : userId === ""
        ? "is required"
        : PRINTABLE.test(userId)
          ? userId === SHARED_ID
            ? NOT_SHARED
            : null
          : "must consist of printable characters";
  if (problem !== null) throw new AppError("invalid_request", `userId ${problem}`);
  return userId;
}

/** So many random letters and digits are as strong as a UUID. */
const LEAST_ID_CHARS = 22;
/** The fewest bits of a strong id: a UUID has 122, random letters of one case 103, words of the same length about 60. */
const LEAST_BITS = 72;

/** Whether a person or a program could guess a `userId`: it is short, public, or made of words, sequences and repetitions. */
export function isGuessable(id: string): boolean {
  return id.length < LEAST_ID_CHARS || isPublic(id) || guessBits(id, LEAST_BITS) < LEAST_BITS;
}

/** The warning about a wallet under an id that could be guessed, with a strong id; `null` for a good one. */
export function guessableWarning(id: string): { warning: string; suggestedUserId: string } | null {
  if (!isGuessable(id)) return null;
  const warning = `This userId could be guessed, and anyone who knows it controls the wallet: use one of at least ${LEAST_ID_CHARS} random characters instead, and keep it.`;
  return { warning, suggestedUserId: crypto.randomUUID() };
}

/**
 * Texts that are public: addresses of Bitcoin and Solana, and digits alone, like telephone numbers, times and messenger
 * accounts. UUIDs of versions other than 4 and 7 are made of a time, a machine or a name.
 */
const PUBLIC = [
  /^bc1[0-9a-z]{20,80}$/i,
  /^(?=.*[A-Z])(?=.*[a-z])(?:[13][1-9A-HJ-NP-Za-km-z]{25,34}|[1-9A-HJ-NP-Za-km-z]{43,44})$/,
  /^[\d\s+()./:|_-]+$/,
  /^[0-9a-f]{8}-[0-9a-f]{4}-[^47][0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/i,
];
/**
 * Mail addresses, and addresses and transactions of EVM chains, with or without 0x or the chain's name, as a part of an
 * id: the rest has to be strong enough alone.
 */
const PUBLISHED =
  /[\w.+-]{1,64}@(?:[\w-]{1,63}\.){1,8}[a-z]{2,24}|0x[0-9a-f]{40,64}|(?<![0-9a-z])[0-9a-f]{40}(?![0-9a-z])/gi;

function isPublic(id: string): boolean {
  return PUBLIC.some((pattern) => pattern.test(id));
}

/** What people type without thinking, what they think of first, and the ids of documents, including this service's. */
const USUAL =
  "550e8400-e29b-41d4-a716-446655440000 f47ac10b-58cc-4372-a567-0e02b2c3d479 abcdefghijklmnopqrstuvwxyz 01234567890 qwertyuiopasdfghjklzxcvbnm zyxwvutsrqponmlkjihgfedcba 09876543210 " +
  "local-user-4f8kq2zt7xw9 3f0c2a9e-6d1b-4c7e-9a54-b2f1d8e0c6a7 " +
  "user password wallet telegram admin test demo default customer account crypto bitcoin ethereum secret random ";
/** The commonest pairs of letters in words of English and similar languages. */
const PAIRS = new Set(
  (
    "th he in er an re nd at on nt ha es st en ed to it ou ea hi is or ti as te et ng of al de se le sa si ar ve ra ld " +
    "ur me co ro ll ic ne io ri li ch be ma om el ta la ns di ho pe ec pr no ct us ac ot il tr ly nc ut ss so rs un " +
    "lo wa ge ie wh ee wi em ad ol rt po we na ul ni ts mo ow pa im mi ai sh ir su id os iv ia am fi ci vi pl ig tu ev " +
    "ce ca ry ag oo bl cr sp ck cl ke ap pi ru ga um br bo fa ab rd fo do ty gr oc ba lu mp ex fe rr au op bu ui mb ov cu tt sc qu ay od pu"
  ).split(" "),
);
/** Letters in a row, as in words, and the part of common pairs that makes them a word: of random letters a fifth are. */
const WORDS = /[A-Z]?[a-z]{2,}|[A-Z]{3,}/g;
const LEAST_PAIRS = 0.5;
/** Bits of one letter of 26. */
const LETTER = 4.7;
/** Bits to say which place is repeated, and for how long. */
const REPEAT_BITS = 10;
const LEAST_REPEAT = 4;

/**
 * About how many bits it takes to guess a text: fewer if it is usual, repeated or like a word. An estimate, not a list
 * of what people choose.
 * @param enough Bits beyond these are not counted.
 */
export function guessBits(id: string, enough = Infinity): number {
  const text = id.replace(PUBLISHED, " ");
  // Some other letters have another length in lower case.
  const lower = text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
  const costs = bitsOfEach(text, lower);
  const all = USUAL + lower;
  let bits = 0;
  for (let at = 0; at < lower.length && bits < enough;) {
    const length = longestMatch(all, USUAL.length + at);
    const repeats = length > 0 && sum(costs.slice(at, at + length)) > REPEAT_BITS;
    bits += repeats ? REPEAT_BITS : (costs[at] ?? 0);
    at += repeats ? length : 1;
  }
  return bits;
}

/**
 * How much of a text from `at` on occurs before; 0 for less than a repetition. The match may overlap itself: twenty times
 * a letter is one letter and a repetition.
 */
function longestMatch(text: string, at: number): number {
  const least = text.slice(at, at + LEAST_REPEAT);
  // What stands at `at` is found there at the latest.
  if (least.length < LEAST_REPEAT || text.indexOf(least) === at) return 0;
  let length = LEAST_REPEAT;
  while (at + length < text.length && text.indexOf(text.slice(at, at + length + 1)) < at) length++;
  return length;
}

/**
 * The bits of each character: by itself, or by the one before it if the two are a common pair. If most pairs of a run
 * of letters are common, all count as such, because a guesser tries whole words.
 */
function bitsOfEach(text: string, lower: string): number[] {
  const letter = /[a-z]/.test(text) && /[A-Z]/.test(text.slice(1)) ? 5.7 : LETTER;
  const costs: number[] = [];
  for (let at = 0; at < lower.length; at++) {
    const char = lower.charAt(at);
    if (char >= "a" && char <= "z") costs.push(letter);
    else if (char >= "0" && char <= "9") costs.push(3.3);
    else costs.push(char >= " " && char <= "~" ? 1 : 7);
  }
  for (const { index, 0: written } of text.matchAll(WORDS)) {
    const row = written.toLowerCase();
    const isCommon = Array.from(row, (_, at) => at > 0 && PAIRS.has(row.slice(at - 1, at + 1)));
    const areWords = isCommon.filter(Boolean).length > (row.length - 1) * LEAST_PAIRS;
    if (areWords) costs[index] = LETTER;
    for (let at = 1; at < row.length; at++) if (areWords || isCommon[at] === true) costs[index + at] = 1.5;
  }
  return costs;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0);
}
