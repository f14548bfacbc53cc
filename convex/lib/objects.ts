/** The names of a list's entries, in its order. */
export function listKeys<Entries extends object>(entries: Entries): (keyof Entries & string)[] {
  return Object.keys(entries).filter((name): name is keyof Entries & string => Object.hasOwn(entries, name));
}
