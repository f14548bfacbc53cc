import { claimsOf, type Claim } from "./claims";
import { isSameMoment, type DateFigure } from "./dates";
import { CITATION, plain, readFigures, type Figure } from "./figures";
import type { About } from "./meanings";
import { mentionsIn, type Names } from "./names";
import type { Unit } from "./numbers";
import { isRatioOf } from "./ratios";
import { isStated, statementsOf, type Statement, type Told } from "./vouching";
import { withoutCitations } from "./whose";

/**
 * Holds the figures of a sentence against the facts that it cites. A figure is held against the citations that stand
 * right behind it (where none does, against the last before it), each of which can vouch for each of its figures once. It
 * passes when one of them says the same within the rounding that the sentence shows, in the same unit, of the same
 * subject, and of what the words around it say: kind, window and direction. Pure.
 */

/** A fact with the number under which a text cites it. */
export type CitableFact = {
  id: number;
  /** As the writer was told it. */
  says: string;
  /** `null` for what is words alone. */
  value: number | null;
  unit: Unit | null;
  /** Whose figure it is, and of what; `null` for what is words alone. */
  about: About | null;
  /** Epoch ms. */
  observedAt: number;
};

/** What a text is held against. */
export type Ledger<Fact extends CitableFact = CitableFact> = {
  facts: ReadonlyMap<number, Fact>;
  names: Names;
  /** The symbol that the text is about; "" for the whole market. */
  focus: string;
  /** When the text is written, in epoch ms: its own date needs no witness. */
  now: number;
  /** Of a text without citations any fact may vouch for a figure that is of its subject and kind. */
  isUncited?: true;
};

export type Checked = {
  /** How many figures the sentence states. */
  figures: number;
  /** What is wrong, a phrase per figure; empty where all is well. */
  problems: string[];
  /** The facts it cites, in its order. */
  cites: number[];
  /** Whom it names. */
  subjects: string[];
};

/**
 * What a sentence may hold at most to be read: whose each figure is takes time that grows with the third power of the names
 * and figures, and nobody writes so many. A longer one is not proven, whatever it says.
 */
const MOST_CHARS = 1_500;
const MOST_NAMED = 60;
const TOO_MUCH = {
  figures: 0,
  problems: ["a sentence is too long to be held against facts"],
  cites: [],
  subjects: [],
};

type Group = { start: number; end: number; ids: number[] };

/** Checks sentences that stand together: one that names nobody goes on about whom the last one named. */
export function checkTogether(sentences: readonly string[], ledger: Ledger): Checked[] {
  let named: string[] = [];
  return sentences.map((sentence) => {
    const checked = checkSentence(sentence, ledger, named);
    if (checked.subjects.length > 0) named = checked.subjects;
    return checked;
  });
}

/** @param named Whom the sentence before it named. */
export function checkSentence(sentence: string, ledger: Ledger, named: readonly string[] = []): Checked {
  const { facts, names, focus, now } = ledger;
  const text = plain(sentence);
  if (text.length > MOST_CHARS) return TOO_MUCH;
  const figures = readFigures(text, [...names.subjects.keys()]);
  const groups = groupsOf(text);
  const cites = groups.flatMap(({ ids }) => ids);
  const problems = cites.filter((id) => !facts.has(id)).map((id) => `[f${id}] is no fact`);
  const bare = withoutCitations(text);
  const mentions = mentionsIn(bare, names);
  if (figures.length > MOST_NAMED || mentions.length > MOST_NAMED) return TOO_MUCH;
  const claims = claimsOf({ text, bare, figures, mentions });
  const meant = named.length === 0 && focus !== "" ? [focus] : named;
  const told: Told = { bare, mentions, named: meant, ledger };
  const byGroup = new Map<Group | null, Figure[]>();
  for (const figure of figures) {
    const group = groupFor(figure, groups);
    byGroup.set(group, [...(byGroup.get(group) ?? []), figure]);
  }
  const known = ledger.isUncited === true ? [...facts.values()] : null;
  const all = known ?? cites.flatMap((id) => facts.get(id) ?? []);
  for (const [group, own] of byGroup) {
    const cited = known ?? (group?.ids ?? []).flatMap((id) => facts.get(id) ?? []);
    const rest = own.filter(
      (figure) => !isOwnDate(figure, cited, now) && !isRatioOf(figure, claims.get(figure), all, told),
    );
    problems.push(
      ...unvouched(rest, claims, cited, told).map((figure) =>
        known === null ? problemOf(figure, group, cited) : `"${figure.text}" is what no source says`,
      ),
    );
  }
  const subjects = [...new Set(mentions.map(({ subject }) => subject))];
  return { figures: figures.length, problems, cites: [...new Set(cites)], subjects };
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

/** A figure as it is said of one subject. */
type Said = { figure: Figure; claim: Claim; subjects: readonly string[] };

/** The figures that the cited facts do not state, where each statement vouches for one figure. */
function unvouched(
  figures: readonly Figure[],
  claims: ReadonlyMap<Figure, Claim>,
  cited: readonly CitableFact[],
  told: Told,
): Figure[] {
  const statements = cited.flatMap(statementsOf);
  const owners = new Map<Statement, Said>();
  /** Finds the figure a statement, moving others to further ones where that helps. */
  const place = (said: Said, tried: Set<Statement>): boolean => {
    for (const statement of statements) {
      if (tried.has(statement) || !isStated(statement, said.figure, said.claim, said.subjects, told))
        continue;
      tried.add(statement);
      const owner = owners.get(statement);
      if (owner === undefined || place(owner, tried)) {
        owners.set(statement, said);
        return true;
      }
    }
    return false;
  };
  return figures.filter((figure) => {
    const claim = claims.get(figure);
    if (claim === undefined) return true;
    const every = claim.every.length === 0 ? [[]] : claim.every;
    return !every.every((subjects) => place({ figure, claim, subjects }, new Set()));
  });
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

type Moment = DateFigure["shows"];

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
