/** Words for powers of ten, as people and models write them. A billion is 10⁹. */
export const MAGNITUDES: Readonly<Record<string, number>> = {
  ...named(3, ["k", "tsd", "thousand"]),
  ...named(6, ["m", "mm", "mn", "mln", "mio", "million", "millions", "millionen"]),
  ...named(9, ["b", "bn", "bln", "mrd", "billion", "billions", "milliarde", "milliarden"]),
  ...named(12, ["t", "tn", "trn", "trillion", "trillions"]),
};

function named(power: number, words: readonly string[]): Record<string, number> {
  return Object.fromEntries(words.map((word) => [word, power]));
}
