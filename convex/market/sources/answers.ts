import { counted, ledgerOf, sourceOfFact, type Ledger } from "../../evidence/text/sources";
import { factsOf } from "../../evidence/wordings";
import { namesOf } from "../../lib/money/names";
import { leftoverProblem, settle } from "../../evidence/text/settlement";
import { groundToken, references, type Observed } from "./grounding";
import type { AskedFigures } from "../shapes";

/**
 * What the answer to a token question may state: the sources' figures, and for a token that no source knows the model's
 * own. Pure.
 */

function ledgerFor(token: AskedFigures | null, observed: Observed, now: number): Ledger {
  // For the token of the answer, figures without a source are marked as the model's in its row.
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
  const sources = counted(facts.map((fact) => sourceOfFact(fact)));
  const about = { names: namesOf([...facts, ...name]), focus: own?.symbol ?? "" };
  return ledgerOf(sources, now, about);
}

/** What is wrong with the figures of an answer, in words for the model; `null` if nothing is. */
export function answerProblems(
  { token, answer }: { token: AskedFigures | null; answer: string },
  observed: Observed,
  now: number,
): string | null {
  return leftoverProblem(settle(answer, ledgerFor(token, observed, now), UNCITED).leftovers);
}

const UNCITED = { isUncited: true, isBare: true } as const;

/** The sentences of an answer whose figures have a source, printed from it; `null` if none is left. */
export function provenPart(
  { token, answer }: { token: AskedFigures | null; answer: string },
  observed: Observed,
  now: number,
): string | null {
  const { text } = settle(answer, ledgerFor(token, observed, now), UNCITED);
  return text === "" ? null : text;
}
