/** How many seats a request takes: lists of much take several, everything else takes one. */
import type { RequestInfo } from '#apiserver/http/request-info.ts'

const objectsPerSeat = 100
const mostSeats = 10

/** `objectCount` is how many objects of the resource there are. */
export function seatsFor(info: RequestInfo, query: URLSearchParams, objectCount: (group: string, resource: string) => number): number {
  const { verb, group, resource, name } = info
  if (verb !== 'list' && verb !== 'watch') return 1
  if (name !== '') return 1
  if (verb === 'watch' && !startsWithState(query)) return 1
  const stored = objectCount(group, resource)
  const limit = Number(query.get('limit') ?? 0)
  const isPage = query.has('continue') || query.get('resourceVersionMatch') === 'Exact'
  // A page that is read from the store is filtered one by one; everything else comes from memory, and is looked at as a whole.
  const looked = isPage && limit > 0 && limit < stored ? 2 * limit : stored
  return Math.min(Math.max(Math.ceil(looked / objectsPerSeat), 1), mostSeats)
}

/** Watches that begin with all there is cost as much as a list. */
function startsWithState(query: URLSearchParams): boolean {
  const revision = query.get('resourceVersion') ?? ''
  return query.get('sendInitialEvents') === 'true' || revision === '' || revision === '0'
}
