/**
 * Part of the stand-ins for local use: seeded randomness. Everything that the stand-ins invent depends on a seed and a
 * few words, so that the same request at the same moment gets the same answer.
 */

/** 32 well-spread bits for a text: FNV-1a and a final mix. */
export function hash(text: string): number {
  let state = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) state = Math.imul(state ^ text.charCodeAt(i), 0x01000193);
  state = Math.imul(state ^ (state >>> 16), 0x85ebca6b);
  state = Math.imul(state ^ (state >>> 13), 0xc2b2ae35);
  return (state ^ (state >>> 16)) >>> 0;
}

/** A number in [0, 1) that belongs to these words. */
export function unit(...words: (string | number)[]): number {
  return hash(words.join("\u0000")) / 2 ** 32;
}

/** `unit` of these words and one more. */
export function createUnits(...words: (string | number)[]): (last: string | number) => number {
  const before = `${words.join("\u0000")}\u0000`;
  return (last) => hash(before + String(last)) / 2 ** 32;
}

/** Numbers in [-1, 1] that belong to these words and change smoothly with the position, with new values at whole positions. */
export function smoothNoise(...words: (string | number)[]): (position: number) => number {
  const units = createUnits(...words);
  const at = (lattice: number) => 2 * units(lattice) - 1;
  // Most callers ask along a line: the last two values are kept.
  let [knownAt, before, after] = [NaN, 0, 0];
  return (position) => {
    const left = Math.floor(position);
    if (left !== knownAt) [knownAt, before, after] = [left, at(left), at(left + 1)];
    const part = position - left;
    const weight = part * part * (3 - 2 * part);
    return before * (1 - weight) + after * weight;
  };
}

export type Random = {
  /** In [from, to). */
  between(from: number, to: number): number;
  /** A whole number in [from, to]. */
  whole(from: number, to: number): number;
  /** @throws RangeError for an empty list. */
  pick<Item>(items: readonly Item[]): Item;
  shuffled<Item>(items: readonly Item[]): Item[];
  hex(digits: number): string;
};

/** A sequence that belongs to these words. */
export function random(...words: (string | number)[]): Random {
  let count = 0;
  const units = createUnits(...words);
  const next = () => units(count++);
  const whole = (from: number, to: number) => from + Math.floor(next() * (to - from + 1));
  return {
    between: (from, to) => from + next() * (to - from),
    whole,
    pick: (items) => {
      const item = items[whole(0, items.length - 1)];
      if (item === undefined) throw new RangeError("nothing to pick from");
      return item;
    },
    shuffled: (items) =>
      items
        .map((item) => ({ item, order: next() }))
        .sort((a, b) => a.order - b.order)
        .map(({ item }) => item),
    hex: (digits) => Array.from({ length: digits }, () => whole(0, 15).toString(16)).join(""),
  };
}
