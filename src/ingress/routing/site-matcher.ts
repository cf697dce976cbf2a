import type { RE2JS } from 're2js'
import { aboutInstructions, goPattern } from '#api/meta/go-pattern.ts'
import { comparablePrefix } from '#ingress/routing/request-path.ts'
import type { Route, ValueMatch } from '#ingress/routing/route.ts'

/** What is asked of a request. Names of headers are in small letters; several of one name are joined by commas. */
export type MatchedRequest = {
  readonly method: string
  readonly path: string
  /** Begins with `?`, or is empty. */
  readonly query: string
  header(lowerName: string): string | undefined
}

type Condition = (request: MatchedRequest) => boolean
type Candidate = { readonly route: Route; readonly holds: Condition | undefined }
type Pattern = Candidate & { readonly regex: SizedPattern }

/** Of all patterns that a request is tried by: characters times instructions. The worst of patterns do that many in less than half a second. */
const mostSteps = 10_000_000
/** Of the request that is being matched; there is one at a time. */
let stepsLeft = mostSteps

/** A request that its routes cannot be tried by: the path, or a value that is looked at, is too long for their patterns. */
export class TooLongToMatch extends Error {
  override name = 'TooLongToMatch'
}

/**
 * The routes of one host. The most specific path decides: exact, then by pattern, then the longest prefix. Of several for one path the one with a method,
 * then the one with more headers, then with more query parameters, then the first in order.
 */
export class SiteMatcher {
  readonly #exact = new Map<string, Candidate[]>()
  readonly #prefixes = new Map<string, Candidate[]>()
  readonly #patterns: Pattern[] = []
  readonly #fallbacks: Candidate[] = []
  #longestPrefix = 0

  constructor(routes: readonly Route[]) {
    for (const route of [...routes].sort(byPrecedence)) {
      const candidate = { route, holds: conditionOf(route) }
      const { type, value } = route.path
      if (route.isFallback) this.#fallbacks.push(candidate)
      else if (type === 'Exact') append(this.#exact, value, candidate)
      else if (type === 'Prefix') {
        const prefix = comparablePrefix(value)
        this.#longestPrefix = Math.max(this.#longestPrefix, prefix.length)
        append(this.#prefixes, prefix, candidate)
      } else {
        const regex = patternOf(value)
        // What cannot be read matches nothing.
        if (regex !== undefined) this.#patterns.push({ ...candidate, regex })
      }
    }
  }

  /** Throws `TooLongToMatch`. */
  find(request: MatchedRequest): Route | undefined {
    const { path } = request
    stepsLeft = mostSteps
    const exact = this.#exact.get(path)
    const found = exact && firstOf(exact, request)
    if (found !== undefined) return found
    for (const { regex, route, holds } of this.#patterns) if ((holds === undefined || holds(request)) && regex.matches(path)) return route
    return this.#byPrefix(request) ?? firstOf(this.#fallbacks, request)
  }

  #byPrefix(request: MatchedRequest): Route | undefined {
    if (this.#prefixes.size === 0) return undefined
    const { path } = request
    // Elements end at a slash or at the path's end; beyond the longest prefix there is none to find.
    let end = path.length <= this.#longestPrefix ? path.length : path.lastIndexOf('/', this.#longestPrefix)
    for (; end >= 0; end = end === 0 ? -1 : path.lastIndexOf('/', end - 1)) {
      const candidates = this.#prefixes.get(path.slice(0, end))
      const found = candidates && firstOf(candidates, request)
      if (found !== undefined) return found
    }
    return undefined
  }
}

function append(map: Map<string, Candidate[]>, key: string, candidate: Candidate): void {
  const list = map.get(key)
  if (list === undefined) map.set(key, [candidate])
  else list.push(candidate)
}

function firstOf(candidates: readonly Candidate[], request: MatchedRequest): Route | undefined {
  for (const { route, holds } of candidates) if (holds === undefined || holds(request)) return route
  return undefined
}

function byPrecedence(one: Route, other: Route): number {
  if (one.path.type === 'RegularExpression' && other.path.type === 'RegularExpression') {
    const longer = other.path.value.length - one.path.value.length
    if (longer !== 0) return longer
  }
  return (
    Number(other.method !== undefined) - Number(one.method !== undefined) ||
    (other.headers?.length ?? 0) - (one.headers?.length ?? 0) ||
    (other.query?.length ?? 0) - (one.query?.length ?? 0) ||
    (one.order < other.order ? -1 : Number(one.order > other.order))
  )
}

function conditionOf({ method, headers = [], query = [] }: Route): Condition | undefined {
  if (method === undefined && headers.length === 0 && query.length === 0) return undefined
  const ofHeaders = headers.map((match) => ({ name: match.name.toLowerCase(), holds: valueTest(match) }))
  const ofQuery = query.map((match) => ({ name: match.name, holds: valueTest(match) }))
  return (request) => {
    if (method !== undefined && request.method !== method) return false
    for (const { name, holds } of ofHeaders) {
      const value = request.header(name)
      if (value === undefined || !holds(value)) return false
    }
    if (ofQuery.length === 0) return true
    const given = new URLSearchParams(request.query)
    return ofQuery.every(({ name, holds }) => {
      const value = given.get(name)
      return value !== null && holds(value)
    })
  }
}

function valueTest({ type, value }: ValueMatch): (given: string) => boolean {
  if (type === 'Exact') return (given) => given === value
  const regex = patternOf(value)
  return regex === undefined ? () => false : (given) => regex.matches(given)
}

class SizedPattern {
  readonly #regex: RE2JS
  readonly #instructions: number

  constructor(text: string) {
    this.#regex = goPattern(text)
    this.#instructions = aboutInstructions(text)
  }

  matches(given: string): boolean {
    stepsLeft -= given.length * this.#instructions
    if (stepsLeft < 0) throw new TooLongToMatch('the request is too long to be matched')
    return this.#regex.matcher(given).matches()
  }
}

function patternOf(text: string): SizedPattern | undefined {
  try {
    return new SizedPattern(text)
  } catch {
    return undefined
  }
}
