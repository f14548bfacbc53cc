/** The names of a list's entries, in its order. */
export function listKeys<Entries extends object>(entries: Entries): (keyof Entries & string)[] {
  return Object.keys(entries).filter((name): name is keyof Entries & string => Object.hasOwn(entries, name));
}

type Defined<Fields> = { [Name in keyof Fields]?: Exclude<Fields[Name], undefined> };

/**
 * The fields that have a value, for optional fields of a row or an answer.
 * @example
 * const row = { userId, ...defined({ keyHash, idempotencyKey }) };
 */
export function defined<Fields extends Record<string, unknown>>(fields: Fields): Defined<Fields>;
export function defined(fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

/**
 * The fields that an object validator has, and no other: the public form of a row. convex-helpers' `parse` checks the values
 * too, in a file that every function call would evaluate.
 * @example
 * return pickFields(vRun, row);
 */
export function pickFields<Shape extends Record<string, unknown>>(
  validator: { type: Shape; fields: object },
  given: NoInfer<Shape>,
): Shape;
export function pickFields({ fields }: { fields: object }, given: Record<string, unknown>): object {
  return Object.fromEntries(Object.entries(given).filter(([name]) => Object.hasOwn(fields, name)));
}

/** A row after a change, as the database stores it: an `undefined` has removed its field. */
export function applyChange<Row extends object>(
  row: Row,
  change: { [Name in keyof Row]?: Row[Name] | undefined },
): Row;
export function applyChange(row: object, change: object): object {
  return defined({ ...row, ...change });
}

/** The items by a key, in the order of their first appearance; in linear time. */
export function groupBy<Item, Key>(items: Iterable<Item>, toKey: (item: Item) => Key): Map<Key, Item[]> {
  const groups = new Map<Key, Item[]>();
  for (const item of items) {
    const key = toKey(item);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [item]);
    else group.push(item);
  }
  return groups;
}

/** Calls `make` once, at the first use: for values that are slow to build, such as zod shapes. */
export function once<Value>(make: () => Value): () => Value {
  let made: { value: Value } | undefined;
  return () => (made ??= { value: make() }).value;
}
