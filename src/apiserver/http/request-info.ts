/** What a request's path and method ask for. */
import { selectorExcess } from '#apiserver/http/selector-limits.ts'

export type RequestInfo = {
  /** Without the query. */
  readonly path: string
  /** The Kubernetes verb; for other paths the HTTP method in lower case. */
  readonly verb: string
  readonly isResourceRequest: boolean
  readonly group: string
  readonly version: string
  /** Plural. */
  readonly resource: string
  readonly subresource: string
  readonly namespace: string
  readonly name: string
  /** What follows the subresource: the path behind a proxy. */
  readonly rest: string
}

const verbOfMethod: Readonly<Record<string, string>> = {
  GET: 'get',
  HEAD: 'get',
  POST: 'create',
  PUT: 'update',
  PATCH: 'patch',
  DELETE: 'delete',
}

/** Subresources of a namespace, which would otherwise be taken for resources in it. */
const namespaceSubresources = new Set(['status', 'finalize'])

export function requestInfo(method: string, path: string, query: URLSearchParams): RequestInfo {
  const other = (group = '', version = ''): RequestInfo => ({
    path,
    verb: method.toLowerCase(),
    isResourceRequest: false,
    group,
    version,
    resource: '',
    subresource: '',
    namespace: '',
    name: '',
    rest: '',
  })
  const parts = segments(path)
  const prefix = parts[0]
  if (prefix !== 'api' && prefix !== 'apis') return other()
  const group = prefix === 'api' ? '' : (parts[1] ?? '')
  const start = prefix === 'api' ? 1 : 2
  const version = parts[start] ?? ''
  let rest = parts.slice(start + 1)
  if (version === '' || rest.length === 0) return other(group, version)

  let verb = verbOfMethod[method] ?? ''
  // The old form of watching: /api/v1/watch/…
  if (rest[0] === 'watch' && method === 'GET') {
    verb = 'watch'
    rest = rest.slice(1)
    if (rest.length === 0) return other(group, version)
  }
  let namespace = ''
  if (rest[0] === 'namespaces' && rest.length > 1) {
    namespace = rest[1] ?? ''
    if (rest.length > 2 && !namespaceSubresources.has(rest[2] ?? '')) rest = rest.slice(2)
  }
  const resource = rest[0] ?? ''
  let name = rest[1] ?? ''
  const subresource = rest[2] ?? ''
  if (name === '' && verb === 'get') {
    verb = isTrue(query.get('watch')) ? 'watch' : 'list'
  } else if (name !== '' && verb === 'get' && subresource === '' && isTrue(query.get('watch'))) {
    verb = 'watch'
  }
  if ((verb === 'list' || verb === 'watch') && name === '') name = nameFromFieldSelector(query.get('fieldSelector'))
  if (verb === 'delete' && name === '') verb = 'deletecollection'
  return { path, verb, isResourceRequest: true, group, version, resource, subresource, namespace, name, rest: rest.slice(3).join('/') }
}

/** `apis`, group, version, `watch`, `namespaces`, namespace, resource, name, subresource: what follows is one, whatever is in it. */
const mostSegments = 10

function segments(path: string): string[] {
  let start = 0
  let end = path.length
  while (start < end && path[start] === '/') start++
  while (end > start && path[end - 1] === '/') end--
  if (start === end) return []
  const parts: string[] = []
  while (parts.length < mostSegments - 1) {
    const slash = path.indexOf('/', start)
    if (slash < 0 || slash >= end) break
    parts.push(path.slice(start, slash))
    start = slash + 1
  }
  parts.push(path.slice(start, end))
  return path.includes('%') ? parts.map(decoded) : parts
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

/** As Go's conversion of query parameters: everything but "false" and "0" is true. */
export function isTrue(value: string | null): boolean {
  return value !== null && value !== 'false' && value !== '0' && value !== 'False' && value !== 'FALSE'
}

/** Permission to list or watch one object by name is permission on that name. */
function nameFromFieldSelector(selector: string | null): string {
  if (selector === null || selectorExcess(selector) !== undefined) return ''
  for (const term of selector.split(',')) {
    const match = /^metadata\.name==?(.+)$/.exec(term)
    if (match?.[1] !== undefined) return match[1]
  }
  return ''
}
