/** What filters of a route make of headers and targets. */
import { splitTarget, withPrefixReplaced } from '#ingress/routing/request-path.ts'
import type { HeaderChanges, PathChange, Redirect, Route } from '#ingress/routing/route.ts'

/** Name, value, name, value. The list itself is not changed. */
export function withHeaderChanges(headers: readonly string[], changes: readonly HeaderChanges[]): string[] {
  let list = [...headers]
  for (const { set = [], add = [], remove = [] } of changes) {
    const dropped = new Set([...remove, ...set.map(([name]) => name)].map((name) => name.toLowerCase()))
    if (dropped.size > 0) list = list.filter((_, at) => !dropped.has((list[at - (at % 2)] ?? '').toLowerCase()))
    for (const [name, value] of set) list.push(name, value)
    for (const [name, value] of add) {
      const at = list.findIndex((each, index) => index % 2 === 0 && each.toLowerCase() === name.toLowerCase())
      if (at === -1) list.push(name, value)
      else list[at + 1] = `${list[at + 1]},${value}`
    }
  }
  return list
}

export function withPathChange(target: string, change: PathChange | undefined, route: Pick<Route, 'path'>): string {
  if (change === undefined) return target
  const { path, query } = splitTarget(target)
  if (change.type === 'ReplaceFullPath') return `${change.value.startsWith('/') ? '' : '/'}${change.value}${query}`
  if (route.path.type !== 'Prefix') return target
  return withPrefixReplaced(path, route.path.value, change.value) + query
}

export type RedirectedRequest = { readonly scheme: string; readonly host: string; readonly target: string; readonly port: number }

/** `Location` of the answer. A port that the scheme has anyway is left out. */
export function redirectLocation(redirect: Redirect, request: RedirectedRequest, route: Pick<Route, 'path'>): string {
  const scheme = redirect.scheme ?? request.scheme
  const hostname = redirect.hostname ?? request.host.replace(/:\d*$/, '')
  const usual = scheme === 'https' ? 443 : 80
  const port = redirect.port ?? (redirect.scheme === undefined ? request.port : usual)
  return `${scheme}://${hostname}${port === usual ? '' : `:${port}`}${withPathChange(request.target, redirect.path, route)}`
}
