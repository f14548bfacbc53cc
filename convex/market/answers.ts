import { checkTogether, type Ledger } from "../evidence/checking";
import { listed, ledgerOf, sourceOfFact, type Source, type Uncounted } from "../evidence/citing";
import { factsOf } from "../evidence/kinds";
import { namesOf } from "../evidence/names";
import { sentencesOf } from "../evidence/sentences";
import { groundToken, references, type Observed } from "./grounding";
import type { AskedFigures } from "./tables";

/** What the answer to a token question may state: what the sources say, and of a token that none knows the model's own figures. Pure. */

function ledgerFor(token: AskedFigures | null, observed: Observed, now: number): Ledger<Source> {
  // What no source says of the token that is answered with, its row marks as the model's.
  const own = token === null ? null : groundToken(token, observed).token;
  const byModel = (subject: string) => ({ subject, source: "model", observedAt: now, url: "" });
  const isKnown = own !== null && references(observed).has(own.symbol);
  const model =
    own === null
      ? []
      : factsOf(byModel(own.symbol), {
          ...(isKnown ? { change24h: own.change24h } : { price: own.price, change24h: own.change24h }),
          ...(own.sizeSource === "model" ? { marketCap: own.marketCap, volume24h: own.volume24h } : {}),
        });
  const quoted = observed.quoted.flatMap(({ name: source, quotes }) =>
    quotes.flatMap(({ symbol: subject, usd: price, change24h, observedAt }) =>
      factsOf({ subject, source, observedAt, url: "" }, { price, change24h }),
    ),
  );
  const name = own === null ? [] : factsOf(byModel(own.symbol), { name: own.name });
  const facts = [...quoted, ...observed.facts, ...model];
  const sources = facts.map(sourceOfFact).map((one: Uncounted, index) => ({ ...one, id: index + 1 }));
  const about = { names: namesOf([...facts, ...name]), focus: own?.symbol ?? "" };
  return { ...ledgerOf(sources, now, about), isUncited: true };
}

/** What is wrong with the figures of an answer, in words for the model; `null` when nothing is. */
export function answerProblems(
  { token, answer }: { token: AskedFigures | null; answer: string },
  observed: Observed,
  now: number,
): string | null {
  const problems = listed(checkTogether(sentencesOf(answer), ledgerFor(token, observed, now)));
  if (problems === null) return null;
  return `every figure of the answer must be one given here of the same token, of the same kind and over the same time, or go: ${problems}`;
}

/** The sentences of an answer whose figures a source says; `null` where none is left. */
export function provenPart(
  { token, answer }: { token: AskedFigures | null; answer: string },
  observed: Observed,
  now: number,
): string | null {
  const sentences = sentencesOf(answer);
  const checked = checkTogether(sentences, ledgerFor(token, observed, now));
  const kept = sentences.filter((_sentence, index) => checked[index]?.problems.length === 0);
  return kept.length === 0 ? null : kept.join(" ");
}
