import type { Source } from "../../../convex/lib/figures/ledger";
import type { Report } from "./reports";

/** A report as its writer would have sent it with slots: each figure that its own citations have, alone or by one operation. */

const SCALES: readonly [pattern: string, times: number][] = [
  ["mil millones|milliards?|Milliarden?|Mrd\\.?|bilh(?:ão|ões)|billions?|bn|B|bi|Md", 1e9],
  ["trilh(?:ão|ões)|trillions?|tn|T|Billionen|Bio\\.?|billones|万亿|兆", 1e12],
  ["millions?|Millionen|Mio\\.?|mill[óo]n(?:es)?|milh(?:ão|ões)|M|mi", 1e6],
  ["亿|億", 1e8],
  ["万", 1e4],
  ["thousand|Tausend|mille?|mil|k", 1e3],
];
const UNITS =
  "%|percentage points?|percent|per cent|Prozentpunkten?|Prozent|puntos porcentuales|por ciento|pour cent|por cento|pontos percentuais|points?|个?百分点|basis points?|Basispunkten?|bps|gwei|US-Dollar|dollars?|Dollar|dólares|USD|\\$|美元|ドル|times|-?fold|Mal|veces|fois|vezes|倍|x|×|of 10|coins?|BTC|ETH|SOL|pp";
const scale = SCALES.map(([pattern], index) => `(?<s${index}>${pattern})`).join("|");
const FIGURE = new RegExp(
  `(?<![\\p{Script=Latin}\\d.,:-])[+-]?(?:US\\$ ?|\\$ ?)?[+-]?(?<number>\\d+(?:[.,'’]\\d+|[ \\u00A0\\u202F]\\d{3}(?!\\d))*)` +
    `(?:[ \\u00A0-]?(?:${scale})(?!\\p{Script=Latin}))?(?:[ \\u00A0]?(?:de |d['’])?(?<unit>${UNITS})(?!\\p{Script=Latin}))?`,
  "gu",
);
/** What is none of the writer's own figures, and lengths of time. */
const CLOSED =
  /\{[^}]*\}|\[[^\]]*\]|[“«„][^”»“]*[”»“]|(?:24|48)[ -]?(?:to|bis|a|à|至)?[ -]?(?:24|48)?[ -]?(?:h\b|hours?|Stunden|horas?|heures?|小时|時間)|^\s*\d+[.)] |within 1%/gmu;

/** The figures that stay as they were: no citation of their sentence or paragraph has them. */
export function slotForm({ text, scene, ...report }: Report): Report & { plain: string[] } {
  const left: string[] = [];
  const paragraphs = text.split(/\n{2,}/).map((paragraph) =>
    paragraph
      .split("\n")
      .map((line) => {
        const parts: string[] = [];
        const open = line.replace(CLOSED, (part) => `\uE000${"#".repeat(parts.push(part))}\uE001`);
        const factsIn = (told: string) =>
          [
            ...new Set(Array.from(told.matchAll(/(?<=[[{+/%-]|[,;] ?)f(\d+)/g), ([, id]) => Number(id))),
          ].flatMap((id) => scene.ledger.facts.get(id) ?? []);
        const own = factsIn(line);
        const cited = [...new Set([...own, ...factsIn(paragraph), ...factsIn(text)])];
        return open
          .replace(FIGURE, (whole, ...more) => {
            const groups = Object(more.at(-1)) as Record<string, string | undefined>;
            const made = slotFor(groups, cited, own);
            if (made === null) left.push(whole);
            return made ?? whole;
          })
          .replace(/\uE000([^\uE001]*)\uE001/g, (_all, at: string) => parts[at.length - 1] ?? "");
      })
      .join("\n"),
  );
  return { ...report, scene, text: paragraphs.join("\n\n"), plain: left };
}

function slotFor(
  { number = "", unit = "", ...groups }: Record<string, string | undefined>,
  cited: readonly Source[],
  own: readonly Source[],
) {
  const [, times] = SCALES.find((_one, index) => groups[`s${index}`] !== undefined) ?? ["", 1];
  const bare = number.replace(/[\s'’]/g, "");
  const readings = [bare.replaceAll(",", ""), bare.replaceAll(".", "").replace(",", ".")].filter(
    (one) => !Number.isNaN(Number(one)),
  );
  const fits = (value: number, most = 0.06) =>
    readings.some((told) => {
      const zeros = told.includes(".") ? 0 : (/0*$/.exec(told)?.[0].length ?? 0);
      const place = times * 10 ** (zeros - (told.split(".")[1]?.length ?? 0));
      const size = Math.abs(value);
      return Math.abs(Number(told) * times - size) <= Math.min(place * 0.51, size * most);
    });
  const isPercent = /%|per|Pro|por|pour|百|pp|poin|pun|pon/.test(unit);
  const single = (facts: readonly Source[], most: number) =>
    facts.find(
      (fact) => fact.value !== null && (fact.unit === "percent") === isPercent && fits(fact.value, most),
    );
  const one = single(own, 0.25) ?? single(cited, 0.06);
  if (one !== undefined) return `{f${one.id}}`;
  for (const a of own)
    for (const b of own) {
      if (a === b || a.value === null || b.value === null || a.unit !== b.unit) continue;
      const isRate = a.unit === "percent";
      if (isRate === isPercent && fits(a.value - b.value)) return `{f${a.id}-f${b.id}}`;
      if (!isRate && isPercent && fits((100 * a.value) / b.value)) return `{f${a.id}%f${b.id}}`;
      if (!isPercent && fits(a.value / b.value)) return `{f${a.id}/f${b.id}}`;
      if (!isRate && !isPercent && fits(a.value + b.value)) return `{f${a.id}+f${b.id}}`;
    }
  return null;
}
