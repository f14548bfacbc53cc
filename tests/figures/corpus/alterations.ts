import type { Report } from "./reports";
import { random, type Random } from "../../../scripts/standins/random";

/** Plain figures of a text, altered as a careless or lying writer would: in the form they had. */

export type Altered = Report & { figure: string };

/** With a unit before or behind; digits of slots, citations, quotations and lengths of time are none. */
const FIGURE =
  /(?:US\$ ?|\$ ?)\d[\d.,\s]*\d|\d[\d.,]*\d?(?=\s?(?:%|percent|Prozent|bps|gwei|\$|dollars?|dólares|Dollar|美元|[万亿]|mil(?:lones|hões)|milli|Mio|Mrd))/g;
const FACTORS = [0.1, 0.31, 0.5, 0.8, 0.9, 0.94, 1.06, 1.13, 1.4, 2, 3.7, 10] as const;

/** A report with one of its figures altered, for each figure `times` times. */
export function alteredOf(report: Report, times: number): Altered[] {
  const { text, name } = report;
  const chance = random("alterations", name);
  const open = text.replace(/\[[^\]]*\]|\{[^}]*\}|[“«„][^”»“]*[”»“]/g, (part) => "_".repeat(part.length));
  return [...open.matchAll(FIGURE)].flatMap(({ 0: told, index }) =>
    Array.from({ length: times }, () => alteredFigure(told, chance)).flatMap((figure) => {
      const altered = text.slice(0, index) + figure + text.slice(index + told.length);
      return figure === told ? [] : [{ ...report, figure, text: altered }];
    }),
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

/** A report of a writer that slips: some citations are missing, some are another fact's. */
export function slipped(report: Report): Report {
  const chance = random("slips", report.name);
  const all = report.text.match(/\[f\d+\]/g) ?? [];
  const slip = (own: string) => (chance.between(0, 1) > SLIPS ? own : chance.pick(["", ...all]));
  return { ...report, text: report.text.replace(/\[f\d+\]/g, slip) };
}
