/** Words that say how often or what part, without a digit. */

/** As percentages: a change, or a share, and how far the fact may lie from it. */
export const MULTIPLES: readonly { pattern: RegExp; percent: number; within: number }[] = [
  { pattern: /\b(?:doubled|doubles|doubling|twofold)\b/gi, percent: 100, within: 5 },
  // Not a double top, nor double digits.
  {
    pattern: /\b(?:to|could|can|may|might|will|would|than|nearly|almost) double\b(?!-)/gi,
    percent: 100,
    within: 5,
  },
  { pattern: /\btwice (?:that of|its|their)\b/gi, percent: 100, within: 5 },
  { pattern: /\b(?:tripled|triples|tripling|threefold)\b/gi, percent: 200, within: 10 },
  {
    pattern: /\b(?:to|could|can|may|might|will|would|than|nearly|almost) triple\b(?!-)/gi,
    percent: 200,
    within: 10,
  },
  { pattern: /\b(?:quadrupled|quadruples|quadrupling|fourfold)\b/gi, percent: 300, within: 15 },
  { pattern: /\bfivefold\b/gi, percent: 400, within: 20 },
  { pattern: /\bsixfold\b/gi, percent: 500, within: 25 },
  { pattern: /\bsevenfold\b/gi, percent: 600, within: 30 },
  { pattern: /\beightfold\b/gi, percent: 700, within: 35 },
  { pattern: /\bninefold\b/gi, percent: 800, within: 40 },
  { pattern: /\btenfold\b/gi, percent: 900, within: 45 },
  { pattern: /\b(?:halved|halves|halving of|in half)\b/gi, percent: -50, within: 2.5 },
  {
    pattern: /\b(?:(?:one[- ])?half of (?:all|the|its|their|supply|coins)|half (?:its|their)|by half)\b/gi,
    percent: 50,
    within: 2.5,
  },
  { pattern: part("third"), percent: 33.333, within: 1.7 },
  { pattern: /\btwo[- ]thirds of (?:all|the|its|their)\b/gi, percent: 66.667, within: 1.7 },
  { pattern: part("quarter"), percent: 25, within: 1.3 },
  { pattern: /\bthree[- ]quarters of (?:all|the|its|their)\b/gi, percent: 75, within: 1.3 },
  { pattern: part("fifth"), percent: 20, within: 1 },
  { pattern: part("tenth"), percent: 10, within: 0.5 },
];

/** `a third of its value`, `by a third`. */
function part(name: string): RegExp {
  return new RegExp(
    `\\b(?:(?:a|one)[- ]${name} of (?:all|the|its|their)|by (?:a|one)[- ]${name}(?! of))\\b`,
    "gi",
  );
}

/** `nine in ten wallets`: no fact says a share like that. */
export const SHARE =
  /\b(?:one|two|three|four|five|six|seven|eight|nine) (?:in|out of) (?:every )?(?:two|three|four|five|six|seven|eight|nine|ten)\b/gi;
