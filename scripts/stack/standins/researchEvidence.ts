/** Part of the gateway's stand-in for local use: what a research note can cite from the evidence in its prompt. */

export type Cited = {
  sentiment: string | null;
  onchain: string | null;
  /** One line about one token. */
  detail: string | null;
  persistent: string[];
  /** How many sources the evidence names as missing. */
  missing: number;
};

/** Keeps a quotation from filling the note. */
const QUOTED_WORDS = 24;
const QUOTED_CHARACTERS = 170;

export function citedEvidence(prompt: string, choose: (lines: string[]) => string): Cited {
  const lines = prompt
    .slice(prompt.indexOf("Evidence:"))
    .split("\n")
    .map((line) => line.trim());
  const after = (pattern: RegExp) =>
    lines.map((line) => pattern.exec(line)?.[1]).findLast((text) => text !== undefined);
  const sentiment = after(/^Social sentiment at \S+?Z(?: \([^)]*\))?: (.+)$/i);
  const onchain = after(/^On-chain signals at \S+?Z: (.+)$/i);
  const persistent = after(/^Most persistent trending tokens[^:]*: (.+)$/i);
  const details = lines.filter((line) => /^- \S+: \S/.test(line)).map((line) => line.slice(2));
  return {
    sentiment: sentiment === undefined ? null : quoted(sentiment),
    onchain: onchain === undefined ? null : quoted(onchain),
    detail: details.length === 0 ? null : quoted(choose(details)),
    persistent: (persistent ?? "")
      .split(", ")
      .flatMap((one) => one.split(" ")[0] ?? [])
      .filter((symbol) => symbol !== "")
      .slice(0, 3),
    missing: lines.filter((line) => /none could be collected/i.test(line)).length,
  };
}

function quoted(text: string): string {
  const plain = text.replace(/["“”]/g, "'").replace(/[.\s]+$/, "");
  const words = plain.split(/\s+/).slice(0, QUOTED_WORDS).join(" ").slice(0, QUOTED_CHARACTERS);
  return words.length < plain.length ? `${words}…` : words;
}
