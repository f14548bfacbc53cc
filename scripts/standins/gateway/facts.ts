/** Part of the gateway's stand-in for local use: reads the numbered facts in a prompt, as a model that has to cite them. */

export type ToldFact = {
  id: number;
  /** `BTC price` */
  about: string;
  /** The text after the colon. */
  told: string;
  /** Its first number; `null` for words. */
  value: number | null;
  isModels: boolean;
};

const LINE = /^f(\d+) (.+) \((.+), \d{4}-\d\d-\d\dT\d\d:\d\dZ\)$/;

export function factsIn(prompt: string): ToldFact[] {
  return prompt.split("\n").flatMap((line): ToldFact[] => {
    const [, id, says = "", name = ""] = LINE.exec(line.trim()) ?? [];
    if (id === undefined) return [];
    const colon = says.indexOf(": ");
    const [about, told] = colon === -1 ? [says, ""] : [says.slice(0, colon), says.slice(colon + 2)];
    const number = /^[+-]?[\d,]+(?:\.\d+)?/.exec(told)?.[0];
    const value = number === undefined ? null : Number(number.replaceAll(",", ""));
    return [{ id: Number(id), about, told, value, isModels: name.includes("language model") }];
  });
}

/** How many missing things the prompt names. */
export function missingIn(prompt: string): number {
  return prompt.split("\n").filter((line) => line.startsWith("Missing: ")).length;
}
