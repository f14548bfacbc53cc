/**
 * Untrusted texts, headlines above all, reach AI clients whose tools move money (prompt injection). A text that addresses
 * such a client is dropped. Pure.
 */

/** Addresses and hashes of EVM chains, Bitcoin and Solana: a genuine headline never holds a complete one. */
const ADDRESS = /\b(?:0x[0-9a-f]{40}|bc1[0-9a-z]{20})|\b[1-9A-HJ-NP-Za-km-z]{32,44}\b/i;

/** A tool name as AI clients have them: `send_token`. */
const TOOL =
  /(?<![@\w])(?:get|ask|run|start|stop|connect|swap|send|create|set|list|read|write|call|make|approve|transfer|export|delete)_[a-z]/i;

const WHOM = String.raw`\b(?:ai|llm|language|chat|assistant|gpt|claude|system)[ -]?(?:assistants?|agents?|models?|bots?|readers?|notice|messages?|prompts?|instructions?|override)\b`;
const DEED = String.raw`(?:calls?|invokes?|sends?|transfers?|swaps?|moves?|withdraws?|approves?|exports?|reveals?|ignores?|disregards?|forgets?|executes?|runs?|forwards?|repl(?:y|ies)|responds?|answers?|tells?|buy|sell)`;

/**
 * An instruction: addressed to an assistant, or one that only a model could follow. In lower case, Latin letters without
 * marks.
 */
const ORDER = new RegExp(
  [
    // "… AI assistants: call …", "AI agents must send …"
    String.raw`${WHOM}[^.:]{0,30}(?:[:,!\u2013\u2014]| -| (?:must|shall|are (?:told|ordered|required|instructed) to)) {0,2}(?:(?:please|now|you|must|should|always|immediately|first) ){0,3}${DEED}\b`,
    String.raw`\b(?:ignore|disregard|forget|override|bypass) (?:\w+ ){0,3}(?:previous|prior|earlier|above|preceding|your|system|safety) (?:\w+ ){0,2}(?:instructions?|prompts?|rules|messages?|guidelines|context)\b`,
    // Spanish, French, Portuguese, Italian, German
    String.raw`\b(?:ignor|olvid|oubli|dimentic|vergiss|missacht)\w{0,6} (?:\w+ ){0,3}(?:instruc\w+|instruk\w+|istruzion\w+|anweisung\w*|consignes)\b`,
    "忽略.{0,6}(?:指令|指示|提示)|指示を無視|(?:игнорируй|забудь)\\S* .{0,20}инструкц",
    String.raw`\b(?:new|updated|hidden|developer) (?:system )?(?:instructions?|prompt) ?:|\bsystem (?:prompt|override|notice)\b|\bjailbreak mode\b`,
    String.raw`\byou are now (?:an? |the |in )|\bas an ai\b.{0,40}\byou (?:must|should|will)\b`,
    String.raw`<\/?(?:system|assistant|instructions?|tool)\b|\[\/?inst\]|<\|`,
    String.raw`^ ?(?:system|assistant|developer) ?:`,
  ].join("|"),
);

/** Whether a quoted line holds an address, a tool's name, or an order to an assistant. */
export function isForAssistants(text: string): boolean {
  const plain = text.normalize("NFKC").replace(/\p{Cf}/gu, "");
  if (ADDRESS.test(plain) || TOOL.test(plain)) return true;
  return ORDER.test(plain.toLowerCase().normalize("NFD").replace(/\p{M}/gu, "").replace(/\s+/g, " "));
}
