import { Pod } from '#api/core/v1/kinds.gen.ts'
import type { V1Pod } from '#api/core/v1/types.gen.ts'
import { equalityOf } from '#api/meta/equality.ts'

/** Endpoints that change a part of the spec count generations as writes to the whole do. */
export function countGeneration(next: V1Pod, prev: V1Pod): void {
  if (!equalityOf(Pod).at('spec')(next.spec, prev.spec)) next.metadata.generation = (prev.metadata.generation ?? 0) + 1
}
