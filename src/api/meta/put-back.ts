/** Undoes what a write did to a field that it may not touch: `putBack(next, prev, 'status')`. */
export function putBack<T extends object, K extends keyof T>(next: T, prev: T, field: K): void {
  if (prev[field] === undefined) delete next[field]
  else next[field] = prev[field]
}
