import type { V1ObjectMeta } from '#api/meta/v1/types.gen.ts'

/** For writes to a status that may not touch metadata at all; managed fields tell of this very write and stay. */
export function putBackMetadata<T extends { metadata: V1ObjectMeta }>(next: T, prev: T): void {
  const { managedFields } = next.metadata
  next.metadata = { ...prev.metadata }
  if (managedFields === undefined) delete next.metadata.managedFields
  else next.metadata.managedFields = managedFields
}
