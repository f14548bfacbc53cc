/** Calls `make` once, at the first use: for values that are slow to build, such as zod shapes. */
export function once<Value>(make: () => Value): () => Value {
  let made: { value: Value } | undefined;
  return () => (made ??= { value: make() }).value;
}
