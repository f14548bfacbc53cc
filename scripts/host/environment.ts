/**
 * A deployment's environment variables are the process's. They are watched, because a query reads them: its answer is
 * not kept beyond a change, and nobody is told when one is set.
 */

let watched: NodeJS.ProcessEnv | null = null;
let version = 0;

/** A number that another one replaces as soon as a variable has been set or deleted. */
export function environmentVersion(): number {
  if (process.env !== watched) watch();
  return version;
}

/** Replaces the process's own object, which somebody else may have replaced since. */
function watch(): void {
  version += 1;
  watched = new Proxy(process.env, {
    set: (target, name, value) => {
      version += 1;
      return Reflect.set(target, name, value);
    },
    defineProperty: (target, name, descriptor) => {
      version += 1;
      return Reflect.defineProperty(target, name, descriptor);
    },
    deleteProperty: (target, name) => {
      version += 1;
      return Reflect.deleteProperty(target, name);
    },
  });
  process.env = watched;
}
