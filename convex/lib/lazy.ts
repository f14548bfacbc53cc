/** Calls `make` once, when it is first needed: for what is slow to make, such as shapes. */
export function once<Value>(make: () => Value): () => Value {
  let made: { value: Value } | undefined;
  return () => (made ??= { value: make() }).value;
}
