/** Components of one section: repeated parts of the document are stored once, under a name. Pure. */

export type Reference = { $ref: string; description?: string };

/** Shorter parts get no name. */
const LEAST_CHARS = 75;
/** The length of a reference besides its name, and of a component besides its own. */
const REFERENCE_CHARS = 38;
const COMPONENT_CHARS = 4;

export class Shelf<Thing extends { description?: string | undefined }> {
  readonly kept: Record<string, Thing> = {};
  private readonly names = new Map<string, string>();
  private readonly taken = new Set<string>();
  private readonly places = new Map<string, number>();
  private readonly descriptions = new Map<string, string | undefined>();

  constructor(private readonly section: string) {}

  /** To be called for every occurrence. @returns Whether this is the first. */
  count(thing: Thing): boolean {
    const kind = JSON.stringify(thing);
    const before = this.places.get(kind) ?? 0;
    this.places.set(kind, before + 1);
    return before === 0;
  }

  /** Names it, unless it has a name. @returns Whether this is its name. */
  name(thing: Thing, name: string): boolean {
    const kind = JSON.stringify(thing);
    this.taken.add(name);
    if (!this.names.has(kind)) {
      this.names.set(kind, name);
      this.descriptions.set(name, thing.description);
    }
    return this.names.get(kind) === name;
  }

  /** A reference if that is shorter in total; otherwise the thing itself, in published form. */
  shared(thing: Thing, wanted: string, published: () => Thing): Thing | Reference {
    const kind = JSON.stringify(thing);
    const places = this.places.get(kind) ?? 0;
    const saved = (places - 1) * kind.length - places * (REFERENCE_CHARS + wanted.length);
    const isWorth = kind.length >= LEAST_CHARS && saved > wanted.length + COMPONENT_CHARS;
    return isWorth || this.names.has(kind) ? this.place(kind, thing, wanted, published) : published();
  }

  /** @param kind Equal for things that differ only in their description. */
  place(kind: string, { description }: Thing, wanted: string, published: () => Thing): Reference {
    let name = this.names.get(kind);
    if (name === undefined) {
      name = wanted;
      for (let n = 2; this.taken.has(name); n++) name = `${wanted}${n}`;
      this.names.set(kind, name);
      this.taken.add(name);
      this.descriptions.set(name, description);
      this.kept[name] = published();
    }
    const reference = { $ref: `#/components/${this.section}/${name}` };
    return description === this.descriptions.get(name) || description === undefined
      ? reference
      : { ...reference, description };
  }
}
