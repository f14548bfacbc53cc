import { ledgerOf, counted, sourceOfFact, type Ledger, type Source } from "../../../convex/evidence/facts";
import { namesOf } from "../../../convex/evidence/names";
import { CHINESE_DOWN } from "./chinese";
import { ENGLISH_DOWN, ENGLISH_UP } from "./english";
import { FRENCH_DOWN } from "./french";
import { GERMAN_UP } from "./german";
import { SUBJECTS, type Part } from "./parts";
import { PORTUGUESE_UP } from "./portuguese";
import { factsOfScene, MOMENTS, type Scene } from "./scenes";
import { SPANISH_UP } from "./spanish";

/** Reports put together from the corpus, each of another mixture of hands. */

export type Report = { name: string; scene: Scene; text: string };

/** As many of each language. */
const SETS: { name: string; scene: Scene; part: Part; reports: number }[] = [
  { name: "English, up", scene: "up", part: ENGLISH_UP, reports: 12 },
  { name: "English, down", scene: "down", part: ENGLISH_DOWN, reports: 12 },
  { name: "German", scene: "up", part: GERMAN_UP, reports: 24 },
  { name: "Spanish", scene: "up", part: SPANISH_UP, reports: 24 },
  { name: "French", scene: "down", part: FRENCH_DOWN, reports: 24 },
  { name: "Portuguese", scene: "up", part: PORTUGUESE_UP, reports: 24 },
  { name: "Chinese", scene: "down", part: CHINESE_DOWN, reports: 24 },
];

/** A hand for each subject, so that every paragraph is used and no two reports are alike. */
export function reports(): Report[] {
  return SETS.flatMap(({ name, scene, part, reports: count }) =>
    Array.from({ length: count }, (_, index): Report => {
      // A prime step through all mixtures meets none twice.
      const mixture = (index + 1) * 7_919;
      const paragraphs = SUBJECTS.map((subject, place) => {
        const hands = part[subject];
        return hands[Math.floor(mixture / hands.length ** place) % hands.length] ?? "";
      });
      return { name: `${name} ${index + 1}`, scene, text: numbered(paragraphs.join("\n\n"), scene) };
    }),
  );
}

/** How a report's language writes decimals. */
export function pointOf({ name }: Pick<Report, "name">): "." | "," {
  return /^(?:German|Spanish|French|Portuguese)/.test(name) ? "," : ".";
}

/** Every paragraph of the corpus by itself. */
export function paragraphs(): (Report & { point: "." | "," })[] {
  return SETS.flatMap(({ name, scene, part }) =>
    SUBJECTS.flatMap((subject) =>
      part[subject].map((text, hand) => {
        const one = { name: `${name}, ${subject} ${hand + 1}`, scene, text: numbered(text, scene) };
        return { ...one, point: pointOf(one) };
      }),
    ),
  );
}

const ledgers = new Map<Scene, { sources: Source[]; ledger: Ledger }>();

/** What a report of the scene is held against. */
export function ledgerFor(scene: Scene): { sources: Source[]; ledger: Ledger } {
  const known = ledgers.get(scene);
  if (known !== undefined) return known;
  const facts = factsOfScene(scene);
  const sources = counted(facts.filter(({ kind }) => kind !== "name").map((fact) => sourceOfFact(fact)));
  const made = { sources, ledger: ledgerOf(sources, MOMENTS[scene], { names: namesOf(facts) }) };
  ledgers.set(scene, made);
  return made;
}

/** `[BTC.price]` as `[f1]`, `{BTC.price/ETH.price}` as `{f1/f17}`: the numbers that the prompt gave them. */
export function numbered(text: string, scene: Scene): string {
  const { sources } = ledgerFor(scene);
  const facts = factsOfScene(scene).filter(({ kind }) => kind !== "name");
  const numberOf = (key: string): string => {
    const [subject = "", kind = ""] = key.split(".");
    const nth = /\d$/.test(kind) && kind.startsWith("headline") ? Number(kind.slice(-1)) - 1 : 0;
    const wanted = kind.replace(/^headline\d$/, "headline");
    const found = facts.flatMap((fact, index) =>
      fact.subject === subject && fact.kind === wanted ? [sources[index]?.id] : [],
    )[nth];
    if (found === undefined) throw new Error(`The scene has no ${key}`);
    return `f${found}`;
  };
  const key = String.raw`[A-Za-z]+\.[A-Za-z0-9]+`;
  return text
    .replace(
      new RegExp(String.raw`\[(${key}(?:, ?${key})*)\]`, "g"),
      (_whole, keys: string) => `[${keys.split(/, ?/).map(numberOf).join(", ")}]`,
    )
    .replace(
      new RegExp(String.raw`\{(${key}(?:[-+/%]${key})*)\}`, "g"),
      (_whole, keys: string) => `{${keys.replace(new RegExp(key, "g"), numberOf)}}`,
    );
}
