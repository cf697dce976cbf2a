import { isDeepStrictEqual } from 'node:util'

type Operation = { op: 'add' | 'replace' | 'remove'; path: string; value?: unknown }
type Fields = Record<string, unknown>

/** A JSON patch from one value to another. Lists that differ are replaced as a whole. */
export function jsonDiff(from: unknown, to: unknown, path = ''): Operation[] {
  if (!isFields(from) || !isFields(to)) return isDeepStrictEqual(from, to) ? [] : [{ op: 'replace', path, value: to }]
  const operations: Operation[] = []
  for (const name of Object.keys(from)) if (to[name] === undefined) operations.push({ op: 'remove', path: below(path, name) })
  for (const [name, value] of Object.entries(to)) {
    if (value === undefined) continue
    if (from[name] === undefined) operations.push({ op: 'add', path: below(path, name), value })
    else operations.push(...jsonDiff(from[name], value, below(path, name)))
  }
  return operations
}

const below = (path: string, name: string): string => `${path}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`

const isFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null && !Array.isArray(value)
