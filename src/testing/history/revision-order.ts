/** A revision that somebody was told: of a write, or of what a read showed at least. */
export type RevisionSighting = { client: string; what: string; calledMs: number; returnedMs: number; revision: number; isWrite: boolean }

/**
 * Revisions are those of the whole store: whoever asks after somebody was answered is told no older one, and writes get a newer one.
 * Linear after sorting: only the newest revision that was told before a call matters.
 */
export function revisionProblems(sightings: readonly RevisionSighting[], limit = 10): string[] {
  const problems: string[] = []
  const byReturn = sightings.toSorted((one, other) => one.returnedMs - other.returnedMs)
  let next = 0
  let newest: RevisionSighting | undefined
  for (const sighting of sightings.toSorted((one, other) => one.calledMs - other.calledMs)) {
    for (let told = byReturn[next]; told !== undefined && told.returnedMs < sighting.calledMs; told = byReturn[++next])
      if (newest === undefined || told.revision > newest.revision) newest = told
    if (newest === undefined) continue
    const isStale = sighting.isWrite ? sighting.revision <= newest.revision : sighting.revision < newest.revision
    if (isStale)
      problems.push(
        `${sighting.client}: ${sighting.what} got revision ${sighting.revision}, after ${newest.client}: ${newest.what} had got ${newest.revision}`,
      )
  }
  const written = new Map<number, RevisionSighting>()
  for (const sighting of sightings.filter(({ isWrite }) => isWrite)) {
    const other = written.get(sighting.revision)
    if (other !== undefined) problems.push(`${sighting.what} and ${other.what} got the same revision ${sighting.revision}`)
    written.set(sighting.revision, sighting)
  }
  return problems.slice(0, limit)
}
