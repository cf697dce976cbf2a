/** Paths of requests, as routes are matched by them. */

/** The path and the query, which begins with `?` or is empty. */
export function splitTarget(target: string): { path: string; query: string } {
  const mark = target.indexOf('?')
  return mark === -1 ? { path: target, query: '' } : { path: target.slice(0, mark), query: target.slice(mark) }
}

const dotSegment = /\/(?:\.|%2e){1,2}(?:\/|$)/i

/**
 * Without `.` and `..`: a backend that resolves them would serve what another route was asked for. What goes to the backend is the same path.
 * Undefined where it leads above the root.
 */
export function resolvedPath(path: string): string | undefined {
  if (!path.includes('/.') && !/%2e/i.test(path)) return path
  if (!dotSegment.test(path)) return path
  const kept: string[] = []
  const segments = path.split('/').slice(1)
  for (const [index, segment] of segments.entries()) {
    const plain = segment.replace(/%2e/gi, '.')
    const isLast = index === segments.length - 1
    if (plain === '.') {
      if (isLast) kept.push('')
    } else if (plain === '..') {
      if (kept.pop() === undefined) return undefined
      if (isLast) kept.push('')
    } else kept.push(segment)
  }
  return `/${kept.join('/')}`
}

/** A prefix as it is compared: `/` and a slash at the end say nothing. */
export const comparablePrefix = (prefix: string): string => {
  let end = prefix.length
  while (end > 0 && prefix[end - 1] === '/') end--
  return prefix.slice(0, end)
}

/** By whole elements: `/foo` is a prefix of `/foo` and `/foo/bar`, not of `/foobar`. */
export function hasPathPrefix(path: string, prefix: string): boolean {
  const plain = comparablePrefix(prefix)
  return path.startsWith(plain) && (path.length === plain.length || path[plain.length] === '/')
}

/** The path with the prefix that matched replaced by another. */
export function withPrefixReplaced(path: string, prefix: string, replacement: string): string {
  const rest = path.slice(comparablePrefix(prefix).length)
  const begin = comparablePrefix(replacement)
  const joined = rest === '' ? replacement : `${begin}${rest}`
  return joined.startsWith('/') ? joined : `/${joined}`
}
