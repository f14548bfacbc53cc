import { formatAmount, formatFact, getMeasure, type Source } from "./facts";
import { groupBy } from "../lib/objects";
import { toIso } from "../lib/time";

/**
 * Facts as a prompt lists them, and the rules of stating them. Tokens are what a prompt costs: each source and time is
 * written once, and so is each kind of figure, above its column. Pure.
 */

/** How a writer states figures: for the system part of a prompt. */
export const PLACEHOLDER_RULES =
  "Do not write figures yourself: {f12} stands for the figure of fact f12, and code prints its value, unit, sign and source " +
  "(“Bitcoin trades at {f12}, {f13} higher than a day ago”): put no currency, percent sign or scale beside it. Of two facts " +
  "of one kind and unit, {f2-f19} is the difference, {f27/f10} the ratio (1.6×), {f10%f11} the share, {f34+f17} the sum. A " +
  "headline's slot quotes it. Cite the fact of a statement without a figure: [f12]. Name the coin of every figure in its " +
  "sentence, what is meant and over what time. Only names and today's date may contain digits: write no other numbers, in " +
  "digits or in words, no targets, probabilities or records.";

/**
 * Numbered facts, below their source and its time: statements one to a line, figures in tables with a column for each kind.
 * The time of another day than `now`'s (epoch ms) has its date.
 * @example
 * // # CoinGecko, 09:00Z
 * // subject | price | market capitalisation
 * // BTC | f1 $97,250.50 | f2 $1.93T
 */
export function describeSources(sources: readonly Source[], now: number): string {
  const groups = groupBy(
    sources,
    ({ fact: { source, observedAt } }) => `# ${source}, ${describeTime(observedAt, now)}`,
  );
  return Array.from(groups, ([head, listed]) => {
    const isFigure = (one: Source) => typeof one.fact.value === "number" && one.says === formatFact(one.fact);
    const rows = groupBy(listed.filter(isFigure), ({ fact }) => fact.subject);
    const tables = groupBy(rows, ([, row]) => row.map(({ fact }) => getMeasure(fact.kind).label).join(" | "));
    const statements = listed.filter((one) => !isFigure(one)).map(({ id, says }) => `f${id} ${says}`);
    return [
      head,
      ...Array.from(tables, ([kinds, lines]) => [`subject | ${kinds}`, ...lines.map(describeRow)].join("\n")),
      ...statements,
    ].join("\n");
  }).join("\n");
}

function describeRow([subject, row]: [string, Source[]]): string {
  const cells = row.map(({ id, fact }) => `f${id} ${describeValue(fact)}`);
  return [subject === "market" ? "Market" : subject, ...cells].join(" | ");
}

/** A figure without the typography of readers, whose signs take a token each. */
function describeValue({ value, ...of }: Source["fact"]): string {
  if (typeof value === "string") return value;
  return formatAmount({ ...of, value })
    .replace(/\u202F(?=%)/g, "")
    .replace("−", "-")
    .replace(/\u00A0/g, " ");
}

/** `09:00Z`, or `2026-01-04T21:30Z`. */
function describeTime(at: number, now: number): string {
  const [day = "", time = ""] = toIso(at).split("T");
  const minute = `${time.slice(0, 5)}Z`;
  return toIso(now).startsWith(day) ? minute : `${day}T${minute}`;
}
