import type { CitableFact } from "./checking";
import type { Claim } from "./claims";
import type { Figure } from "./figures";
import { HERE } from "./meanings";
import type { NumberFigure, Ratio } from "./numbers";
import { statementsOf, type Told } from "./vouching";

/** Whether "twice Ether's" or "half of the 50" is what two cited amounts come to: the one figure that two facts state. Pure. */

export function isRatioOf(
  figure: Figure,
  claim: Claim | undefined,
  cited: readonly CitableFact[],
  told: Told,
): boolean {
  if (figure.kind !== "number" || claim === undefined) return false;
  const ratio = figure.ratio ?? shareOf(figure, claim);
  if (ratio === null) return false;
  const isSo = (part: number, whole: number) => whole !== 0 && holds(ratio, part / whole);
  return isOfOneFact(cited, isSo) || isOfTwoFacts(figure, claim, cited, told, isSo);
}

/** "62 % of the 50 largest" */
function shareOf({ unit, value, within }: NumberFigure, { around }: Claim): Ratio | null {
  if (unit !== "percent" || !/^\s+of\b/.test(around.split(HERE)[1] ?? "")) return null;
  return { value: value / 100, within: within / 100, bound: null };
}

function holds({ value, within, bound }: Ratio, told: number): boolean {
  if (bound === "over") return told > value - within;
  if (bound === "under") return told < value + within;
  return Math.abs(told - value) <= within;
}

/** A count of so many: 31 of 50. */
function isOfOneFact(cited: readonly CitableFact[], isSo: (part: number, whole: number) => boolean): boolean {
  return cited.some((fact) => {
    if (fact.about === null || fact.unit !== null || fact.value === null) return false;
    const part = fact.value;
    return statementsOf(fact).some(
      ({ role, figure }) => role === "words" && figure?.kind === "number" && isSo(part, figure.value),
    );
  });
}

function isOfTwoFacts(
  figure: NumberFigure,
  { mention }: Claim,
  cited: readonly CitableFact[],
  { mentions }: Told,
  isSo: (part: number, whole: number) => boolean,
): boolean {
  const behind = mentions.find(({ start }) => start >= figure.end);
  const first = mentions.find(({ end }) => end <= figure.start) ?? mention;
  return cited.some((part) =>
    cited.some((whole) => {
      if (part === whole || part.about === null || whole.about === null) return false;
      if (part.about.kind !== whole.about.kind || part.value === null || whole.value === null) return false;
      const isTheirs =
        (first == null || first.subject === part.about.subject) &&
        (behind === undefined || behind.subject === whole.about.subject);
      return isTheirs && isSo(part.value, whole.value);
    }),
  );
}
