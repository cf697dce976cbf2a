/** Ownership of replicas, which is one field of the object and the same field of its scale. */
import type { V1ManagedFieldsEntry } from '#api/meta/v1/types.gen.ts'
import { differenceOf, emptySet, hasPath, isEmptySet, setOfPaths, unionOf } from './field-set.ts'
import { identityOf, type ManagedEntries, readStoredEntries, withSet, writtenEntries } from './managed-entries.ts'
import { fieldElement, type PathElement } from './path-element.ts'

const scaleVersion = 'autoscaling/v1'
const replicasOfScale: readonly PathElement[] = ['f:spec', 'f:replicas']

/**
 * Where each version of the kind has its replicas: `{ 'apps/v1': 'spec.replicas' }`; null for a version without a
 * scale. Entries of versions that are not listed are dropped.
 */
export type ReplicasPaths = Readonly<Record<string, string | null>>

type Entries = V1ManagedFieldsEntry[]

/** The managedFields of the scale: those who own the object's replicas. */
export function entriesOfScale(ofObject: Entries | undefined, paths: ReplicasPaths): Entries | undefined {
  const entries: ManagedEntries = new Map()
  for (const [identity, entry] of readStoredEntries(ofObject)) {
    const path = pathAt(paths, entry.apiVersion)
    if (path && hasPath(entry.set, path)) {
      entries.set(identity, { ...withSet(entry, setOfPaths([replicasOfScale])), apiVersion: scaleVersion })
    }
  }
  return writtenEntries(entries)
}

/** The managedFields of the object after a write to its scale. `apiVersion` is that of the request. */
export function entriesOfScaled(
  ofObject: Entries | undefined,
  ofScale: Entries | undefined,
  apiVersion: string,
  paths: ReplicasPaths,
): Entries | undefined {
  const scale = readStoredEntries(ofScale)
  const stored = readStoredEntries(ofObject)
  const entries: ManagedEntries = new Map()
  for (const [identity, entry] of stored) {
    const path = pathAt(paths, entry.apiVersion)
    if (path === undefined) continue
    if (path === null || !hasPath(entry.set, path)) entries.set(identity, entry)
    else if (scale.delete(identity)) entries.set(identity, entry)
    else {
      const rest = differenceOf(entry.set, setOfPaths([path]))
      if (!isEmptySet(rest)) entries.set(identity, withSet(entry, rest))
    }
  }
  const replicas = pathAt(paths, apiVersion)
  for (const entry of scale.values()) {
    if (!replicas || !hasPath(entry.set, replicasOfScale)) continue
    const { stored: _, ...owner } = { ...entry, apiVersion }
    const identity = identityOf(owner)
    const own = entries.get(identity)
    // Upstream writes no time here, and a second entry for those who own more of the object than its replicas.
    const set = unionOf(own?.set ?? emptySet, setOfPaths([replicas]))
    entries.set(identity, own === undefined ? { ...owner, time: stored.get(identity)?.time, set } : withSet(own, set))
  }
  return writtenEntries(entries)
}

function pathAt(paths: ReplicasPaths, apiVersion: string): PathElement[] | null | undefined {
  const path = paths[apiVersion]
  return typeof path === 'string' ? path.split('.').map(fieldElement) : path
}
