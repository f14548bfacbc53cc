import type { Source } from "../../convex/lib/figures/ledger";

/** Reads the figures of a settled text again, without the code that printed them, as a careful reader would. */

/** `ids`: the numbers in the bracket right after it, `null` without one; `place`: the value of one in its last place. */
type ShownFigure = ReturnType<typeof shownFigures>[number];

const SCALES: readonly [pattern: RegExp, times: number][] = [
  [/^(?:T\b|Bio\.|billones|万亿|兆|tri\b|trillion)/, 1e12],
  [/^(?:B\b|Mrd\.|Md\b|bi\b|billion)/, 1e9],
  [/^(?:M\b|Mio\.|mi\b|millones|million)/, 1e6],
  [/^(?:亿|億)/, 1e8],
  [/^(?:万|萬)/, 1e4],
];

/** Every figure outside quotations and brackets, except time spans and "of the 50". */
export function shownFigures(text: string) {
  const brackets: { ids: number[]; label: string }[] = [];
  const open = text
    .replace(/\[(\d+(?:, \d+)*(?:[:;] [^\]]*)?)\]/g, (_whole, told: string) => {
      const parts = told.split(/; (?=\d)/).map((part) => /^([\d, ]+)(?:: (.*))?$/.exec(part) ?? []);
      const ids = parts.flatMap(([, numbers = ""]) => numbers.split(", ").map(Number));
      brackets.push({ ids, label: parts.flatMap(([, , label]) => label ?? []).join("; ") });
      return BRACKET;
    })
    .replace(/[“«„][^”»“]*[”»“]/g, " ")
    .replace(/^\s*\d{1,2}[.)]\s/gm, " ");
  return Array.from(
    open.matchAll(/[−-]?\d(?:[\d.,]|[\u00A0\u202F](?=\d{3}))*(?<=\d)/g),
    ({ 0: told, index }) => {
      const behind = open.slice(index + told.length);
      if (
        /^[-\s]?(?:h\b|hours?|Stunden|horas|heures|小时|days?)/.test(behind) ||
        (/^(?:50|10)$/.test(told) && /of (?:the )?$/.test(open.slice(0, index)))
      )
        return [];
      const scale = behind.trimStart();
      const [, times = 1] = SCALES.find(([pattern]) => pattern.test(scale)) ?? [];
      const bare = told.replace("−", "-").replace(/\s/g, "");
      const decimal = bare.replaceAll(",", "");
      const place = times / 10 ** (decimal.split(".")[1] ?? "").length;
      // Between a figure and its bracket there are only its unit, or figures that share the bracket.
      const hasUnit =
        /[$]\s?$/.test(open.slice(0, index)) || /^\s?(?:%|\$|pp|Prozentpunkte|×|美元|ドル)/.test(behind);
      const isFollowed =
        /^[^\d\n\uE123]{0,14}\uE123/.test(behind) || (hasUnit && /^[^\n\uE123|]*\uE123/.test(behind));
      const count = open.slice(0, index).split(BRACKET).length - 1;
      const { ids = null, label = "" } = (isFollowed ? brackets[count] : undefined) ?? {};
      const before =
        /((?:less )?\p{L}+)(?: de)?[^\p{L}]*$/u.exec(open.slice(Math.max(0, index - 30), index))?.[1] ?? "";
      return [
        { text: told, before: before.toLowerCase(), value: Number(decimal) * times, place, ids, label },
      ];
    },
  ).flat();
}

const BRACKET = "\uE123";
/** Words that state a lower, or an upper, bound. */
const BELOW = /^(?:less than|almost|nearly|under|below|fast|knapp|casi|presque|quase|moins|menos)$/;
const ABOVE = /^(?:over|above|than|least|exceeds|über|más|plus|mais)$/;

/**
 * Whether a figure matches the facts in its bracket, or one operation on two of them; a figure that the bracket
 * corrects, or in quoted words, does.
 */
export function isTrue(
  { text, before, value, place, ids, label }: ShownFigure,
  cited: readonly Source[],
): boolean {
  const facts = (ids ?? []).flatMap((id) => cited[id - 1] ?? []);
  if (facts.some(({ words }) => words?.includes(text.replace(/[−-]/, "")) === true)) return true;
  const values = facts.flatMap((one) => one.value ?? []);
  const sum = values.reduce((all, one) => all + one, 0);
  const made = values.flatMap((a) => values.flatMap((b) => [a - b, a + b, a / b, (a / b) * 100]));
  const gaps = values.flatMap((a) => values.map((b) => (a / b - 1) * 100));
  const isCorrected =
    /(?:^|\s)[−+]?(?:US)?\$?\s?\d[^\s;]*(?:\s(?:%|\$|M|Md|Mio\.|Mrd\.|Prozentpunkte)(?:\s\$)?)?(?:;|$)/.test(
      label.replace(/within 1\s?%$/, ""),
    );
  return [...values, ...made, ...gaps, sum].some((one) => {
    const over = Math.abs(value) - Math.abs(one);
    const isBoundTrue = BELOW.test(before) ? over >= 0 : !ABOVE.test(before) || over <= 0;
    return (
      Math.abs(over) <= place * 0.500_001 ||
      (isCorrected && isBoundTrue && Math.abs(over) <= Math.abs(one) * 0.2)
    );
  });
}
