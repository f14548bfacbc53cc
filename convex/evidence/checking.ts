import { CITATION, plain, readFigures, type Figure } from "./figures";
import type { Unit } from "./numbers";

/**
 * Holds the figures of a sentence against the facts that it cites. A figure is held against the citations that stand
 * right behind it (where none does, against the last before it), each of which can vouch for each of its figures once. It
 * passes when one of them says the same within the rounding that the sentence shows, in the same unit and direction. Pure.
 */

/** A fact with the number under which a text cites it. */
export type CitableFact = {
  id: number;
  /** As the writer was told it. */
  says: string;
  /** `null` for what is words alone. */
  value: number | null;
  unit: Unit | null;
  /** Epoch ms. */
  observedAt: number;
};

export type Checked = {
  /** How many figures the sentence states. */
  figures: number;
  /** What is wrong, a phrase per figure; empty where all is well. */
  problems: string[];
  /** The facts it cites, in its order. */
  cites: number[];
};

type Group = { start: number; end: number; ids: number[] };

/** @param now When the text is written, in epoch ms: its own date needs no witness. */
export function checkSentence(
  sentence: string,
  facts: ReadonlyMap<number, CitableFact>,
  now: number,
): Checked {
  const text = plain(sentence);
  const figures = readFigures(text, knownNames(facts));
  const groups = groupsOf(text);
  const cites = groups.flatMap(({ ids }) => ids);
  const problems = cites.filter((id) => !facts.has(id)).map((id) => `[f${id}] is no fact`);
  const byGroup = new Map<Group | null, Figure[]>();
  for (const figure of figures) {
    const group = groupFor(figure, groups);
    byGroup.set(group, [...(byGroup.get(group) ?? []), figure]);
  }
  for (const [group, claims] of byGroup) {
    const cited = (group?.ids ?? []).flatMap((id) => facts.get(id) ?? []);
    problems.push(
      ...unvouched(claims, cited, text, group, now).map((figure) => problemOf(figure, group, cited)),
    );
  }
  return { figures: figures.length, problems, cites: [...new Set(cites)] };
}

function problemOf({ text }: Figure, group: Group | null, cited: readonly CitableFact[]): string {
  if (group === null) return `"${text}" cites no fact`;
  const said = cited.map(({ id, says }) => `[f${id}] says: ${says}`).join("; ");
  return `"${text}" is not what is cited${said === "" ? "" : ` (${said})`}`;
}

function groupsOf(text: string): Group[] {
  const groups: Group[] = [];
  for (const found of text.matchAll(CITATION)) {
    const ids = Array.from(found[0].matchAll(/\d+/g), ([id]) => Number(id));
    const end = found.index + found[0].length;
    const last = groups.at(-1);
    if (last !== undefined && /^[\s,;]*$/.test(text.slice(last.end, found.index))) {
      last.ids.push(...ids);
      last.end = end;
    } else groups.push({ start: found.index, end, ids });
  }
  return groups;
}

function groupFor(figure: Figure, groups: readonly Group[]): Group | null {
  return groups.find(({ start }) => start >= figure.end) ?? groups.at(-1) ?? null;
}

/** What one fact states once: its value, or a figure of its words. */
type Statement = {
  fact: CitableFact;
  number: { value: number; unit: Unit | null } | null;
  figure: Figure | null;
};

/** The figures that the cited facts do not state, where each statement vouches for one figure. */
function unvouched(
  figures: readonly Figure[],
  cited: readonly CitableFact[],
  text: string,
  group: Group | null,
  now: number,
): Figure[] {
  const statements = cited.flatMap(statementsOf);
  const owners = new Map<Statement, Figure>();
  const agree = (figure: Figure, statement: Statement) =>
    states(statement, figure, clauseOf(figure, figures, text, group));
  /** Finds the figure a statement, moving others to further ones where that helps. */
  const place = (figure: Figure, tried: Set<Statement>): boolean => {
    for (const statement of statements) {
      if (tried.has(statement) || !agree(figure, statement)) continue;
      tried.add(statement);
      const owner = owners.get(statement);
      if (owner === undefined || place(owner, tried)) {
        owners.set(statement, figure);
        return true;
      }
    }
    return false;
  };
  return figures.filter((figure) => !isOwnDate(figure, cited, now) && !place(figure, new Set()));
}

function statementsOf(fact: CitableFact): Statement[] {
  const words = readFigures(plain(fact.says)).map((figure): Statement => ({ fact, number: null, figure }));
  if (fact.value === null) return words;
  // The value's own words say it once, not twice; who rounds from them may come out one off in the last place.
  const isValue = ({ figure }: Statement) =>
    figure?.kind === "number" && Math.abs(figure.value - (fact.value ?? 0)) <= figure.within * 1.001;
  const own = words.findIndex(isValue);
  const number = { value: fact.value, unit: fact.unit };
  const value: Statement = { fact, number, figure: words[own]?.figure ?? null };
  return [value, ...words.filter((_statement, index) => index !== own)];
}

function states({ fact, number, figure: said }: Statement, figure: Figure, clause: string): boolean {
  if (figure.kind === "unreadable" || said?.kind === "unreadable") return false;
  if (figure.kind === "date") return said?.kind === "date" && isSameMoment(figure.shows, said.shows);
  if (number !== null && isSameNumber(figure, number, clause)) return true;
  if (said?.kind !== "number") return false;
  const told = { value: said.value, unit: said.unit };
  // A year in a headline is no amount, and a headline's figure has no direction to be held against.
  return fact.value === null
    ? isSameNumber({ ...figure, isSigned: true }, told, "")
    : isSameNumber(figure, told, clause);
}

type NumberFigure = Extract<Figure, { kind: "number" }>;

function isSameNumber(
  figure: NumberFigure,
  { value, unit }: { value: number; unit: Unit | null },
  clause: string,
): boolean {
  const factor = factorBetween(figure.unit, unit);
  if (factor === null) return false;
  const fact = value * factor;
  // Half of the last place, and what arithmetic on binary fractions adds.
  const within = figure.within + Math.abs(fact) * 1e-9;
  const isNear = (told: number) => Math.abs(told - fact) <= within;
  if (unit !== "percent" && unit !== "bps") return isNear(figure.value);
  if (figure.isSigned) return isNear(figure.value);
  const direction = directionOf(clause);
  if (direction === 0) return isNear(figure.value) && fact >= -within;
  return isNear(direction * figure.value);
}

/** What to multiply a fact with so that it is in the figure's unit; `null` where the units have nothing to do with each other. */
function factorBetween(figure: Unit | null, fact: Unit | null): number | null {
  if (figure === fact) return 1;
  if (figure === "bps" && fact === "percent") return 100;
  if (figure === "percent" && fact === "bps") return 0.01;
  // A bare number may be any: "from 97,250" is a price. A fact without a unit is a count.
  if (figure === null) return 1;
  return fact === null && (figure === "coins" || figure === "rank") ? 1 : null;
}

/** Where the figure stood in its clause. */
const HERE = "\u0002";
const UP = new RegExp(
  `\\b(?:up|r[io]se[ns]?|rising|gain(?:s|ed|ing|ers?)?|higher|advance[sd]?|advancing|climb(?:s|ed|ing)?|jump(?:s|ed|ing)?|surge[sd]?|surging|add(?:s|ed|ing)|increase[sd]?|increasing|grew|grow(?:s|n|ing)?|growth|rall(?:y|ies|ied)|rebound(?:s|ed)?|expand(?:s|ed|ing)?|expansion|strengthen(?:s|ed)?|firmer|positive)\\b|${HERE}\\s*(?:above|ahead|over its)\\b`,
  "i",
);
const DOWN = new RegExp(
  `\\b(?:down|f[ae]ll(?:s|en|ing)?|drop(?:s|ped|ping)?|los(?:e|es|s|ses|ing|ers?)|lost|lower|decline[sd]?|declining|slip(?:s|ped|ping)?|slid(?:e|es|ing)?|retreat(?:s|ed|ing)?|decrease[sd]?|decreasing|shrank|shr[iu]nk(?:s|ing)?|shed(?:s|ding)?|sank|sinks?|sinking|tumble[sd]?|plunge[sd]?|contract(?:s|ed|ing|ion)|weaken(?:s|ed|ing)?|weaker|eas(?:e|es|ed|ing)|negative)\\b|${HERE}\\s*(?:below|behind|under|off)\\b`,
  "i",
);

/** What the words around a figure say of its direction: 1 up, -1 down, 0 nothing or both. */
function directionOf(clause: string): -1 | 0 | 1 {
  const [up, down] = [UP.test(clause), DOWN.test(clause)];
  if (up === down) return 0;
  return up ? 1 : -1;
}

/** The words that speak of a figure: since the figure before it, or the citations before it, up to its own. */
function clauseOf(figure: Figure, figures: readonly Figure[], text: string, group: Group | null): string {
  const before = figures.filter(({ end }) => end <= figure.start).at(-1)?.end ?? 0;
  const earlier = [...text.slice(0, figure.start).matchAll(CITATION)].at(-1);
  const start = Math.max(before, earlier === undefined ? 0 : earlier.index + earlier[0].length);
  const next = figures.find(({ start: at }) => at >= figure.end)?.start ?? text.length;
  const end = Math.min(next, group === null || group.start < figure.start ? text.length : group.start);
  return text.slice(start, figure.start) + HERE + text.slice(figure.end, end);
}

/** The day on which the text is written, and the moment at which a cited fact was observed. */
function isOwnDate(figure: Figure, cited: readonly CitableFact[], now: number): boolean {
  const moments = [now, ...cited.map(({ observedAt }) => observedAt)].map(momentOf);
  if (figure.kind === "number") {
    return figure.mayBeYear && moments.some(({ year }) => year === figure.value);
  }
  if (figure.kind !== "date") return false;
  // The hour is a fact's: that the text is written at nine says nothing of what was so at nine.
  const own = figure.shows.hour === undefined ? moments : moments.slice(1);
  return own.some((moment) => isSameMoment(figure.shows, moment));
}

type Moment = Extract<Figure, { kind: "date" }>["shows"];

function momentOf(at: number): Moment {
  const date = new Date(at);
  return {
    year: date.getUTCFullYear(),
    month: date.getUTCMonth() + 1,
    day: date.getUTCDate(),
    hour: date.getUTCHours(),
    minute: date.getUTCMinutes(),
  };
}

/** Whether all that is shown of one moment is so of the other. */
function isSameMoment(shown: Moment, moment: Moment): boolean {
  return (["year", "month", "day", "hour", "minute"] as const).every(
    (part) => shown[part] === undefined || shown[part] === moment[part],
  );
}

function knownNames(facts: ReadonlyMap<number, CitableFact>): string[] {
  // A fact's words begin with whom it is about.
  return [...facts.values()].flatMap(({ says }) => /^[A-Z0-9][\w.$-]*/.exec(says)?.[0] ?? []);
}
