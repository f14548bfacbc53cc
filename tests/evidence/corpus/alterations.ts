import { random, type Random } from "../../../scripts/standins/random";

/** Plain figures of a text, altered as a careless or lying writer would: in the form they had. */

export type Altered = { text: string; figure: string };

/** With a unit before or behind; digits of slots, citations, quotations and lengths of time are none. */
const FIGURE =
  /(?:US\$ ?|\$ ?)\d[\d.,\s]*\d|\d[\d.,]*\d?(?=\s?(?:%|percent|Prozent|bps|gwei|\$|dollars?|dólares|Dollar|美元|[万亿]|mil(?:lones|hões)|milli|Mio|Mrd))/g;
const FACTORS = [0.1, 0.31, 0.5, 0.8, 0.9, 0.94, 1.06, 1.13, 1.4, 2, 3.7, 10] as const;

/** The text with one of its figures altered, for each figure `times` times. */
export function alteredTexts(text: string, seed: string, times: number): Altered[] {
  const chance = random("alterations", seed);
  const open = text.replace(/\[[^\]]*\]|\{[^}]*\}|[“«„][^”»“]*[”»“]/g, (part) => "_".repeat(part.length));
  return [...open.matchAll(FIGURE)].flatMap(({ 0: told, index }) =>
    Array.from({ length: times }, () => alteredFigure(told, chance))
      .filter((figure) => figure !== told)
      .map((figure) => ({ figure, text: text.slice(0, index) + figure + text.slice(index + told.length) })),
  );
}

/** A figure as somebody else would have it, in the form it had. */
function alteredFigure(told: string, chance: Random): string {
  const digits = /\d[\d.,\s]*\d|\d/.exec(told)?.[0] ?? "";
  const places = /[.,](\d{1,2}|\d{4,})$/.exec(digits)?.[1]?.length ?? 0;
  const point = places > 0 ? digits.charAt(digits.length - places - 1) : "";
  const whole = Number(digits.replace(/\D/g, "")) / 10 ** places;
  const made = (whole * chance.pick(FACTORS)).toFixed(places);
  const [front = "", back = ""] = made.split(".");
  const group = point === "." ? "," : point === "," ? "." : (/[,.\s]/.exec(digits)?.[0] ?? "");
  const grouped = /\d[,.\s]\d{3}/.test(digits) ? front.replace(/\B(?=(?:\d{3})+$)/g, group) : front;
  return told.replace(digits, back === "" ? grouped : `${grouped}${point}${back}`);
}

const SLIPS = 0.1;

/** The text of a writer that slips: some citations are missing, some are another fact's. */
export function slipped(text: string, seed: string): string {
  const chance = random("slips", seed);
  const all = text.match(/\[f\d+\]/g) ?? [];
  return text.replace(/\[f\d+\]/g, (own) => (chance.between(0, 1) > SLIPS ? own : chance.pick(["", ...all])));
}
