import type { V1Pod } from '#api/core/v1/types.gen.ts'
import { semanticEqual } from '#api/meta/equality.ts'

/** Endpoints that change a part of the spec count generations as writes to the whole do. */
export function countGeneration(next: V1Pod, prev: V1Pod): void {
  if (!semanticEqual(next.spec, prev.spec)) next.metadata.generation = (prev.metadata.generation ?? 0) + 1
}
